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
func server(tb testing.TB, remote string) *Ledger {
	tb.Helper()
	c, err := git.Open(tb.Context(), filepath.Join(tb.TempDir(), "clone.git"), remote, git.Auth{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
	return Open(c, clock)
}

// checkout is a ledger in a user's checkout, as the command line has it.
func checkout(tb testing.TB, remote string) *Ledger {
	tb.Helper()
	dir := tb.TempDir()
	gittest.Run(tb, dir, "init", "--quiet", "--initial-branch=main")
	if remote != "" {
		gittest.Run(tb, dir, "remote", "add", "origin", remote)
	}
	c, err := git.Existing(tb.Context(), dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(c.Close)
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

func add(tb testing.TB, l *Ledger, text string) Written {
	tb.Helper()
	w, err := l.Update(tb.Context(), "Gate resolution record", line(text))
	if err != nil {
		tb.Fatalf("adding %q: %v", text, err)
	}
	return w
}

func read(tb testing.TB, l *Ledger, path string) string {
	tb.Helper()
	s, err := l.Snapshot(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	content, _, err := s.Read(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}

// onRemote is the gate file as anyone else sees it.
func onRemote(tb testing.TB, remote string) string {
	tb.Helper()
	return gittest.Run(tb, remote, "cat-file", "blob", localRef+":"+gateFile)
}

func refOf(tb testing.TB, l *Ledger, ref string) string {
	tb.Helper()
	oid, err := l.clone.Ref(tb.Context(), ref)
	if err != nil {
		tb.Fatal(err)
	}
	return oid
}

// foreign writes to the ledger branch of the remote as another program would.
func foreign(tb testing.TB, remote, path, content string) string {
	tb.Helper()
	return gittest.Write(tb, remote, gittest.Commit{Branch: Branch, Files: map[string][]byte{path: []byte(content)}})
}

func wantErr(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("got %v, want %v", err, want)
	}
}

func snapshotErr(ctx context.Context, l *Ledger) error {
	_, err := l.Snapshot(ctx)
	return err
}
