package soundness_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// tool is terraform, or tofu, behind a script that writes down every run of it, and can
// hold one before it starts or after it ended.
type tool struct {
	path, dir string
	terraform string // the real one
}

const toolScript = `#!/bin/sh
dir='%s'
echo "$1 $PWD" >>"$dir/runs"
hold() {
	mv "$dir/$1" "$dir/$1.taken" 2>/dev/null || return 0
	echo here >"$dir/$1.taken"
	read -r _ <"$dir/$1.on"
}
hold "$1.start"
hold "$1-$2.start"
'%s' "$@"
code=$?
hold "$1.end"
hold "$1-$2.end"
exit $code
`

func newTool(t testing.TB, dir, terraform string) *tool {
	t.Helper()
	s := &tool{path: filepath.Join(dir, "bin", filepath.Base(terraform)), dir: filepath.Join(dir, "runs-of-terraform"), terraform: terraform}
	for _, d := range []string{filepath.Dir(s.path), s.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(s.path, fmt.Appendf(nil, toolScript, s.dir, terraform), 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

// runs counts how often a subcommand ran.
func (s *tool) runs(command string) int {
	data, _ := os.ReadFile(filepath.Join(s.dir, "runs")) // none yet
	n := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, command+" ") {
			n++
		}
	}
	return n
}

// stop is a place in a run of the tool.
type stop struct {
	t        testing.TB
	hit, let *os.File
}

// at holds the next run of a command at its "start" or "end". state-push is one, too.
func (s *tool) at(t testing.TB, command, place string) *stop {
	t.Helper()
	name := filepath.Join(s.dir, command+"."+place)
	return &stop{t: t, hit: fifo(t, name), let: fifo(t, name+".on")}
}

// fifo makes a pipe that is open on both ends, so that neither side of it blocks
// to open it.
func fifo(t testing.TB, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// wait returns once a run is held.
func (s *stop) wait(ctx context.Context) {
	s.t.Helper()
	ended := context.AfterFunc(ctx, func() { _ = s.hit.Close() })
	defer ended()
	if _, err := s.hit.Read(make([]byte, 16)); err != nil {
		s.t.Fatalf("no run of terraform came to the point: %v", err)
	}
}

// release lets the run go on.
func (s *stop) release() {
	if _, err := s.let.Write([]byte("\n")); err != nil {
		s.t.Error(err)
	}
}
