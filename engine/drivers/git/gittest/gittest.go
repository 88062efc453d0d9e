// Package gittest gives tests real git repositories: bare ones, commits made
// without a checkout, and smart HTTP over a local server. Only tests import it.
package gittest

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

// Identity is who commits in tests, unless a test says otherwise.
const Identity = "Test <test@example.com>"

// Bare makes an empty bare repository whose HEAD is main, and returns its
// directory.
func Bare(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	Run(tb, dir, "init", "--bare", "--quiet", "--initial-branch=main", ".")
	Run(tb, dir, "config", "http.receivepack", "true")
	return dir
}

// Env is an environment in which git reads no configuration but the
// repository's.
func Env(dir string) []string {
	return exec.BaseEnv(dir, dir, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.com",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.com")
}

// Run runs git in dir and returns its output without the last line end.
func Run(tb testing.TB, dir string, args ...string) string {
	tb.Helper()
	return run(tb, dir, "", args...)
}

func run(tb testing.TB, dir, stdin string, args ...string) string {
	tb.Helper()
	res, err := exec.Run(context.WithoutCancel(tb.Context()), exec.Cmd{
		Args: append([]string{"git"}, args...), Dir: dir, Env: Env(dir), Stdin: strings.NewReader(stdin),
	})
	if err == nil {
		err = res.Err("git " + strings.Join(args, " "))
	}
	if err != nil {
		tb.Fatalf("in %s: %v", dir, err)
	}
	return strings.TrimSuffix(string(res.Stdout), "\n")
}

// Commit is a commit to make with Write. Everything but Branch may be empty.
type Commit struct {
	Branch  string
	Message string
	// Files are added or replaced; content nil deletes. A name ending in "@" is
	// a symbolic link (without the "@"), one ending in "*" is executable.
	Files     map[string][]byte
	From      string   // first parent; the branch's tip when empty
	Merge     []string // further parents
	At        int64    // committer and author time, unix seconds; grows by itself when 0
	Author    string   // "Name <email>"
	Committer string
}

// firstTime is the time of a first commit in tests, unix seconds.
const firstTime = 1_700_000_000

// Write makes a commit on a branch and returns its id.
func Write(tb testing.TB, dir string, c Commit) string {
	tb.Helper()
	ref := "refs/heads/" + c.Branch
	if c.From == "" {
		c.From = tip(tb, dir, ref)
	}
	if c.At == 0 {
		c.At = firstTime
		if c.From != "" {
			_, _ = fmt.Sscan(Run(tb, dir, "log", "-1", "--format=%ct", c.From), &c.At)
			c.At += 60
		}
	}
	if c.Author == "" {
		c.Author = Identity
	}
	if c.Committer == "" {
		c.Committer = Identity
	}
	if c.Message == "" {
		c.Message = "change"
	}
	run(tb, dir, c.stream(ref), "fast-import", "--quiet", "--force")
	return tip(tb, dir, ref)
}

func (c Commit) stream(ref string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "commit %s\nauthor %s %d +0000\ncommitter %s %d +0000\ndata %d\n%s\n",
		ref, c.Author, c.At, c.Committer, c.At, len(c.Message), c.Message)
	if c.From != "" {
		fmt.Fprintf(&b, "from %s\n", c.From)
	}
	for _, m := range c.Merge {
		fmt.Fprintf(&b, "merge %s\n", m)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		content := c.Files[name]
		mode := "100644"
		if link, found := strings.CutSuffix(name, "@"); found {
			name, mode = link, "120000"
		} else if program, found := strings.CutSuffix(name, "*"); found {
			name, mode = program, "100755"
		}
		if content == nil {
			fmt.Fprintf(&b, "D %s\n", quoted(name))
			continue
		}
		fmt.Fprintf(&b, "M %s inline %s\ndata %d\n%s\n", mode, quoted(name), len(content), content)
	}
	return b.String()
}

// quoted is a path as fast-import reads it.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(path) + `"`
}

func tip(tb testing.TB, dir, ref string) string {
	tb.Helper()
	return Run(tb, dir, "for-each-ref", "--format=%(objectname)", ref)
}

// Text is a file's content for Commit.Files.
func Text(s string) []byte { return []byte(s) }

// Hook installs a hook of a bare repository.
func Hook(tb testing.TB, dir, name, script string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "hooks"), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hooks", name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		tb.Fatal(err)
	}
}

// Touch makes an empty file, as a crash leaves a lock behind.
func Touch(tb testing.TB, path string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
}
