package ledger

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

// countGit puts a program before git that notes each start, and returns what
// was started since the last call, without what talks to the remote.
func countGit(t *testing.T) func() []string {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes")
	shim := fmt.Sprintf("#!/bin/sh\necho \"$1\" >>%s\nexec %s \"$@\"\n", notes, program)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(shim), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return func() []string {
		data, err := os.ReadFile(notes)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(notes, 0); err != nil {
			t.Fatal(err)
		}
		var local []string
		for verb := range strings.Lines(string(data)) {
			if verb = strings.TrimSpace(verb); verb != "fetch" && verb != "push" {
				local = append(local, verb)
			}
		}
		return local
	}
}

func TestAnAppendStartsAtMostTwoProcesses(t *testing.T) {
	started := countGit(t)
	remote := gittest.Bare(t)
	foreign(t, remote, gateFile, "0")
	l := checkout(t, remote)
	read(t, l, gateFile)
	started()
	add(t, l, "1")
	if got := started(); len(got) > 2 {
		t.Errorf("the first append started %v", got)
	}
	add(t, l, "2")
	if got := started(); len(got) > 1 {
		t.Errorf("the second append started %v", got)
	}
	foreign(t, remote, gateFile, "0\n1\n2\ntheirs")
	started()
	add(t, l, "3")
	if got := started(); len(got) > 2 { // the other one follows the remote
		t.Errorf("an append after another writer's started %v", got)
	}
}

// fill makes a ledger of n files: flat gate files, or documents fanned out by
// two hex digits.
func fill(b *testing.B, l *Ledger, n int, flat bool) {
	b.Helper()
	_, err := l.Update(context.Background(), "fill", func(*Snapshot) ([]File, error) {
		all := make([]File, 0, n)
		for i := range n {
			path := fmt.Sprintf("_gates/pr-%d.jsonl", i)
			if !flat {
				sum := fmt.Sprintf("%x", sha256.Sum256([]byte(path)))
				path = "_documents/" + sum[:2] + "/" + sum + ".json"
			}
			all = append(all, File{Path: path, Content: []byte("{}")}) // one blob for all: trees are what is measured
		}
		return all, nil
	})
	if err != nil {
		b.Fatal(err)
	}
}

// BenchmarkAppend is one append with no remote: reading, deciding, writing, and
// moving the ref. Bars: fan-out/50000 at most 1.3 times fan-out/10; flat/50000
// at most 4 times flat/10.
func BenchmarkAppend(b *testing.B) {
	for _, shape := range []string{"fan-out", "flat"} {
		for _, files := range []int{10, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", shape, files), func(b *testing.B) {
				l := checkout(b, "")
				fill(b, l, files, shape == "flat")
				for i := 0; b.Loop(); i++ {
					path := fmt.Sprintf("_gates/pr-x%d.jsonl", i)
					if shape == "fan-out" {
						sum := fmt.Sprintf("%x", sha256.Sum256([]byte(path)))
						path = "_documents/" + sum[:2] + "/" + sum + ".json"
					}
					if _, err := l.Update(b.Context(), "x", lineTo(path, "1")); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkAppendRemote is the same over smart HTTP, with its fetch and push.
func BenchmarkAppendRemote(b *testing.B) {
	for _, shape := range []string{"fan-out", "flat"} {
		for _, files := range []int{10, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", shape, files), func(b *testing.B) {
				l := server(b, gittest.Serve(b, gittest.Bare(b)).URL)
				fill(b, l, files, shape == "flat")
				for i := 0; b.Loop(); i++ {
					path := fmt.Sprintf("_gates/pr-x%d.jsonl", i)
					if shape == "fan-out" {
						sum := fmt.Sprintf("%x", sha256.Sum256([]byte(path)))
						path = "_documents/" + sum[:2] + "/" + sum + ".json"
					}
					if _, err := l.Update(b.Context(), "x", lineTo(path, "1")); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkAppendConcurrent is 50 appends at once over smart HTTP, against 50
// rounds one after another. Bar: at most 0.15 times.
func BenchmarkAppendConcurrent(b *testing.B) {
	const writers = 50
	for _, together := range []bool{false, true} {
		b.Run(fmt.Sprintf("together=%v", together), func(b *testing.B) {
			l := server(b, gittest.Serve(b, gittest.Bare(b)).URL)
			fill(b, l, 10, true)
			for i := 0; b.Loop(); i++ {
				var all sync.WaitGroup
				for w := range writers {
					one := func() { add(b, l, fmt.Sprintf("%d-%d", i, w)) }
					if together {
						all.Go(one)
					} else {
						one()
					}
				}
				all.Wait()
			}
			if lines := strings.Count(read(b, l, gateFile), "\n") + 1; (lines-1)%writers != 0 {
				b.Fatalf("%d lines", lines)
			}
		})
	}
}

// BenchmarkSnapshot opens a snapshot when nothing moved: one fetch.
func BenchmarkSnapshot(b *testing.B) {
	l := server(b, gittest.Serve(b, gittest.Bare(b)).URL)
	fill(b, l, 10, true)
	for b.Loop() {
		if _, err := l.Snapshot(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
