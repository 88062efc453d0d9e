package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

const gateFile = "_gates/pr-1.jsonl"

func clock() time.Time { return time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC) }

// server is a ledger in a clone of ours, as the server has it.
func server(t testing.TB, remote string) *Ledger {
	t.Helper()
	c, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "clone.git"), remote, git.Auth{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return Open(c, clock)
}

// checkout is a ledger in a user's checkout, as the command line has it.
func checkout(t testing.TB, remote string) *Ledger {
	t.Helper()
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "--quiet", "--initial-branch=main")
	if remote != "" {
		gittest.Run(t, dir, "remote", "add", "origin", remote)
	}
	c, err := git.Existing(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return Open(c, clock)
}

// line decides to add one line to the gate file unless it is there, as every
// decide must.
func line(text string) Decide { return lineTo(gateFile, text) }

func lineTo(path, text string) Decide {
	return func(s *Snapshot) ([]File, error) {
		content, _, err := s.Read(path)
		if err != nil {
			return nil, err
		}
		for have := range strings.SplitSeq(string(content), "\n") {
			if have == text {
				return nil, nil
			}
		}
		return []File{{Path: path, Content: []byte(text), Append: true}}, nil
	}
}

func add(t testing.TB, l *Ledger, text string) Written {
	t.Helper()
	w, err := l.Update(t.Context(), "Gate resolution record", line(text))
	if err != nil {
		t.Fatalf("adding %q: %v", text, err)
	}
	return w
}

func read(t testing.TB, l *Ledger, path string) string {
	t.Helper()
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	content, _, err := s.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// onRemote is the gate file as anyone else sees it.
func onRemote(t testing.TB, remote string) string {
	t.Helper()
	return gittest.Run(t, remote, "cat-file", "blob", localRef+":"+gateFile)
}

func refOf(t testing.TB, l *Ledger, ref string) string {
	t.Helper()
	oid, err := l.clone.Ref(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	return oid
}

// foreign writes to the ledger branch of the remote as another program would.
func foreign(t testing.TB, remote, path, content string) string {
	t.Helper()
	return gittest.Write(t, remote, gittest.Commit{Branch: Branch, Files: map[string][]byte{path: []byte(content)}})
}

func wantErr(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func snapshotErr(ctx context.Context, l *Ledger) error {
	_, err := l.Snapshot(ctx)
	return err
}
