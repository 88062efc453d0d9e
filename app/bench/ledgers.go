package main

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/forges/forgetest"
)

// ledgers measures appends: processes, how they grow with the branch, and many
// at once over smart HTTP.
func ledgers(ctx context.Context, b *bench) error {
	if err := appendProcesses(ctx, b); err != nil {
		return err
	}
	for _, shape := range []struct {
		name  string
		path  func(int) string
		limit float64
	}{{"two hex digits", fanned, 1.3}, {"flat _gates", flat, 4}} {
		if err := appendSizes(ctx, b, shape.name, shape.path, shape.limit); err != nil {
			return err
		}
	}
	return appendTogether(ctx, b)
}

func flat(i int) string { return fmt.Sprintf("_gates/pr-%d.jsonl", i) }

func fanned(i int) string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(flat(i))))
	return "_documents/" + sum[:2] + "/" + sum + ".json"
}

// alone opens a ledger without a remote: what an append costs apart from fetch
// and push.
func alone(ctx context.Context, b *bench) (*ledger.Ledger, *git.Clone, error) {
	dir, err := b.tempDir("ledger")
	if err != nil {
		return nil, nil, err
	}
	cmd := osexec.CommandContext(ctx, "git", "init", "--quiet", "--bare", dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, nil, fmt.Errorf("making a repository: %w\n%s", err, out)
	}
	clone, err := git.Existing(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	return ledger.Open(clone, time.Now), clone, nil
}

// line decides to append a line to a file.
func line(path, text string) ledger.Decide {
	return func(*ledger.Snapshot) ([]ledger.File, error) {
		return []ledger.File{{Path: path, Content: []byte(text), Append: true}}, nil
	}
}

func appendSizes(ctx context.Context, b *bench, name string, path func(int) string, limit float64) error {
	sizes := []int{b.of(50_000, 2000), 10}
	take := make([]sample, len(sizes))
	for i, files := range sizes {
		l, clone, err := alone(ctx, b)
		if err != nil {
			return err
		}
		defer clone.Close()
		if _, err := l.Update(ctx, "fill", fill(files, path)); err != nil {
			return err
		}
		next := files
		take[i] = func() (float64, error) {
			next++
			begin := time.Now()
			_, err := l.Update(ctx, "append", line(path(next), "{}"))
			return time.Since(begin).Seconds(), err
		}
		for range 3 { // the first ones read the trees
			if _, err := take[i](); err != nil {
				return err
			}
		}
	}
	taken, err := inTurn(b.of(60, 5), take...)
	if err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("append beside %d files, of 10, %s", sizes[0], name), over(taken[0], taken[1]), limit, ratio)
	b.note("append beside 10 files, "+name, millis(taken[1]), " ms")
	return nil
}

func millis(seconds []float64) []float64 {
	out := make([]float64, len(seconds))
	for i, s := range seconds {
		out[i] = s * 1000
	}
	return out
}

// fill writes n files. Their content is one, for trees are what is measured.
func fill(n int, path func(int) string) ledger.Decide {
	return func(*ledger.Snapshot) ([]ledger.File, error) {
		files := make([]ledger.File, n)
		for i := range files {
			files[i] = ledger.File{Path: path(i), Content: []byte("{}")}
		}
		return files, nil
	}
}

// appendProcesses counts what one append starts besides fetch and push.
func appendProcesses(ctx context.Context, b *bench) error {
	started, restore, err := countGit(b)
	if err != nil {
		return err
	}
	l, clone, _, done, err := served(ctx, b)
	restore() // the clone keeps to the git it found, the forge does not
	if err != nil {
		return err
	}
	defer done()
	defer clone.Close()
	var counts []float64
	for i := range 5 {
		if _, err := started(); err != nil {
			return err
		}
		if _, err := l.Update(ctx, "append", line(flat(0), fmt.Sprint(i))); err != nil {
			return err
		}
		n, err := started()
		if err != nil {
			return err
		}
		counts = append(counts, float64(n))
	}
	b.add(row{figure: "processes of an append (the most of any)", samples: counts, limit: "<= 2", missed: quantile(counts, 1) > 2})
	return nil
}

// countGit puts a program before git that notes each start. The count since the
// last call leaves out fetch and push, and what git starts itself.
func countGit(b *bench) (started func() (int, error), restore func(), err error) {
	program, err := osexec.LookPath("git")
	if err != nil {
		return nil, nil, err
	}
	dir, err := b.tempDir("count")
	if err != nil {
		return nil, nil, err
	}
	notes := filepath.Join(dir, "notes")
	shim := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>%s\nexec %s \"$@\"\n", notes, program)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(shim), 0o700); err != nil { //nolint:gosec // a program
		return nil, nil, err
	}
	path := os.Getenv("PATH") //nolint:forbidigo // put back by restore
	if err := os.Setenv("PATH", dir+string(os.PathListSeparator)+path); err != nil {
		return nil, nil, err
	}
	started = func() (int, error) {
		data, err := os.ReadFile(notes)
		if err != nil && !os.IsNotExist(err) {
			return 0, err
		}
		n := 0
		for verb := range strings.Lines(string(data)) {
			if verb = strings.TrimSpace(verb); verb != "fetch" && verb != "push" {
				n++
			}
		}
		return n, os.WriteFile(notes, nil, 0o600)
	}
	return started, func() { _ = os.Setenv("PATH", path) }, nil
}

// served opens a ledger whose remote is a repository over smart HTTP.
func served(ctx context.Context, b *bench) (l *ledger.Ledger, clone *git.Clone, repo *forgetest.Repo, done func(), err error) {
	dir, err := b.tempDir("served")
	if err != nil {
		return nil, nil, nil, nil, err
	}
	forge, err := forgetest.NewGitHub(forgetest.Options{Dir: filepath.Join(dir, "forge")})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	done = func() { _ = forge.Close() }
	forge.Org("acme")
	if repo, err = forge.CreateRepo("acme", "ledger"); err == nil {
		alice := forge.User("alice")
		repo.SetPermission(alice, "admin")
		header := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("alice:"+forge.Token(alice)))
		auth := git.Auth{Header: func(context.Context) (string, error) { return header, nil }}
		clone, err = git.Open(ctx, filepath.Join(dir, "clone"), repo.GitURL(), auth)
	}
	if err != nil {
		done()
		return nil, nil, nil, nil, err
	}
	return ledger.Open(clone, time.Now), clone, repo, done, nil
}

// appendTogether compares appends at once with as many one after the other, and
// counts their lines.
func appendTogether(ctx context.Context, b *bench) error {
	l, clone, repo, done, err := served(ctx, b)
	if err != nil {
		return err
	}
	defer done()
	defer clone.Close()
	writers, written := b.of(50, 10), 0
	add := func(n int) error {
		_, err := l.Update(ctx, "append", line(flat(0), fmt.Sprint(n)))
		return err
	}
	singles := func() (float64, error) {
		begin := time.Now()
		for range writers {
			if err := add(written); err != nil {
				return 0, err
			}
			written++
		}
		return time.Since(begin).Seconds(), nil
	}
	together := func() (float64, error) {
		errs := make([]error, writers)
		begin := time.Now()
		var all sync.WaitGroup
		for i := range writers {
			all.Go(func() { errs[i] = add(written + i) })
		}
		all.Wait()
		took := time.Since(begin).Seconds()
		written += writers
		for _, err := range errs {
			if err != nil {
				return 0, err
			}
		}
		return took, nil
	}
	if err := add(-1); err != nil {
		return err
	}
	taken, err := inTurn(b.of(5, 1), together, singles)
	if err != nil {
		return err
	}
	text, err := repo.ReadFile(ledger.Branch, flat(0))
	if err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("%d appends at once, of one after another", writers), over(taken[0], taken[1]), 0.15, ratio)
	b.atMost("lines lost", []float64{float64(written + 1 - len(strings.Split(text, "\n")))}, 0, "")
	return nil
}
