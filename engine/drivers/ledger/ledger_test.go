package ledger

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestAppendKeepsEveryLineAndWritesNoLastLineEnd(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	foreign(t, remote, gateFile, "{\"a\":1}\n")
	l := server(t, remote)
	w := add(t, l, `{"b":2}`)
	add(t, l, `{"c":3}`)
	if got, want := onRemoteBytes(t, remote), "{\"a\":1}\n{\"b\":2}\n{\"c\":3}"; got != want {
		t.Errorf("the file is %q, want %q", got, want)
	}
	if !w.Pushed || w.Warning != "" {
		t.Errorf("written %+v, want pushed", w)
	}
	commit := gittest.Run(t, remote, "log", "-1", "--format=%an <%ae> %cn <%ce> %cI %B", w.Tip)
	if want := "chant <chant@localhost> chant <chant@localhost> 2026-11-30T10:00:00+00:00 Gate resolution record"; strings.TrimSpace(commit) != want {
		t.Errorf("commit is %q, want %q", commit, want)
	}
	if out := gittest.Run(t, remote, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Errorf("fsck: %s", out)
	}
}

func onRemoteBytes(t *testing.T, remote string) string {
	t.Helper()
	return gittest.Run(t, remote, "show", localRef+":"+gateFile)
}

func TestFilesAreWrittenTogetherWithTheRecordThatNamesThem(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	before := foreign(t, remote, "prod/releases.jsonl", "{}")
	w, err := l.Update(t.Context(), "Merge record", func(*Snapshot) ([]File, error) {
		return []File{
			{Path: "_documents/ab/abcd.json", Content: []byte("{}\n")},
			{Path: "_merges/prod/12/1234.json", Content: []byte("{}\n")},
			{Path: gateFile, Content: []byte("1"), Append: true},
			{Path: gateFile, Content: []byte("2"), Append: true},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := gittest.Run(t, remote, "rev-list", "--count", before+".."+w.Tip); got != "1" {
		t.Errorf("%s commits, want one", got)
	}
	s, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string][]string{
		"":             {"_documents/", "_gates/", "_merges/", "prod/"},
		"_merges/prod": {"12/"}, "_documents/ab/": {"abcd.json"}, "nope": nil,
	} {
		got, err := s.List(dir)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: %s", dir, diff)
		}
	}
	if got := onRemote(t, remote); got != "1\n2" {
		t.Errorf("two lines in one write: %q", got)
	}
}

func TestASnapshotStaysAtItsTip(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	empty, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := add(t, l, "1")
	first, err := l.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	add(t, l, "2")
	if content, found, err := first.Read(gateFile); string(content) != "1" || !found || err != nil {
		t.Errorf("the old snapshot reads %q, %v, %v", content, found, err)
	}
	if first.Tip() != w.Tip {
		t.Errorf("tip %s, want %s", first.Tip(), w.Tip)
	}
	if _, found, err := empty.Read(gateFile); found || err != nil || empty.Tip() != "" {
		t.Errorf("the snapshot of no ledger reads found %v, error %v, tip %q", found, err, empty.Tip())
	}
}

func TestNothingToWriteMakesNoCommit(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	first := add(t, l, "1")
	again := add(t, l, "1")
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	same, err := l.Update(t.Context(), "x", func(*Snapshot) ([]File, error) {
		return []File{{Path: gateFile, Content: []byte("1")}}, nil
	})
	if err != nil || same.Tip != first.Tip {
		t.Errorf("the same content made %+v, %v; want tip %s", same, err, first.Tip)
	}
}

func TestADecideThatFailsFailsAlone(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	refused := errors.New("not an approver")
	_, err := l.Update(t.Context(), "x", func(*Snapshot) ([]File, error) { return nil, refused })
	wantErr(t, err, refused)
	for name, f := range map[string]File{
		"two lines at once":    {Path: gateFile, Content: []byte("1\n2"), Append: true},
		"an empty line":        {Path: gateFile, Append: true},
		"a path out of it":     {Path: "../x", Content: []byte("1")},
		"a name of git's":      {Path: ".git/x", Content: []byte("1")},
		"a directory as a dot": {Path: "_gates/./x", Content: []byte("1")},
	} {
		if _, err := l.Update(t.Context(), "x", func(*Snapshot) ([]File, error) { return []File{f}, nil }); err == nil {
			t.Errorf("%s was written", name)
		}
	}
	add(t, l, "1")
	_, err = l.Update(t.Context(), "x", lineTo("_gates", "x"))
	if err == nil {
		t.Error("a directory was written as a file")
	}
}

func TestWithoutARemoteTheLedgerIsLocal(t *testing.T) {
	t.Parallel()
	l := checkout(t, "")
	w := add(t, l, "1")
	if w.Pushed || w.Warning != "" || w.Tip != refOf(t, l, localRef) {
		t.Errorf("written %+v, local ref %s", w, refOf(t, l, localRef))
	}
	add(t, l, "2")
	if got := read(t, l, gateFile); got != "1\n2" {
		t.Errorf("got %q", got)
	}
}

func TestAStaleLockIsItsOwnError(t *testing.T) {
	t.Parallel()
	l := checkout(t, "")
	add(t, l, "1")
	lock := l.clone.Dir() + "/.git/" + localRef + ".lock"
	gittest.Touch(t, lock)
	_, err := l.Update(t.Context(), "x", line("2"))
	wantErr(t, err, git.ErrStaleLock)
	if err == nil || !strings.Contains(err.Error(), lock) || !strings.Contains(err.Error(), gateFile) || !strings.Contains(err.Error(), Branch) {
		t.Errorf("error %q names lock file, path and branch", err)
	}
}

func TestALockOnTheLocalBranchDoesNotLoseAPushedRecord(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	add(t, l, "1")
	gittest.Touch(t, l.clone.Dir()+"/"+localRef+".lock")
	w := add(t, l, "2")
	if !w.Pushed || w.Warning == "" {
		t.Errorf("written %+v, want pushed with a warning", w)
	}
	if got := onRemote(t, remote); got != "1\n2" {
		t.Errorf("remote holds %q", got)
	}
}

func TestAPushTheRemoteForbids(t *testing.T) {
	t.Parallel()
	t.Run("stays a local fact in a checkout", func(t *testing.T) {
		t.Parallel()
		remote := gittest.Bare(t)
		l := checkout(t, remote)
		gittest.Hook(t, remote, "pre-receive", "exit 1")
		w := add(t, l, "1")
		if w.Pushed || !strings.Contains(w.Warning, "recorded here only") {
			t.Errorf("written %+v, want a local fact with a warning", w)
		}
		if got := read(t, l, gateFile); got != "1" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("is an error in a clone of ours", func(t *testing.T) {
		t.Parallel()
		remote := gittest.Bare(t)
		l := server(t, remote)
		gittest.Hook(t, remote, "pre-receive", "exit 1")
		_, err := l.Update(t.Context(), "x", line("1"))
		var rejected *git.Rejected
		if !errors.As(err, &rejected) || rejected.Stale {
			t.Errorf("got %v, want a rejection", err)
		}
		if got := read(t, l, gateFile); got != "" {
			t.Errorf("got %q", got)
		}
	})
}

func TestACallerThatLeavesBeforeItsTurnWritesNothing(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	ctx, cancel := context.WithCancel(t.Context())
	deciding, leave := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		_, err := l.Update(t.Context(), "x", func(s *Snapshot) ([]File, error) {
			close(deciding)
			<-leave
			return line("first")(s)
		})
		first <- err
	}()
	<-deciding
	second := make(chan error, 1)
	go func() {
		_, err := l.Update(ctx, "x", line("second"))
		second <- err
	}()
	for queued := 0; queued == 0; {
		l.mu.Lock()
		queued = len(l.waiting)
		l.mu.Unlock()
	}
	cancel()
	wantErr(t, <-second, context.Canceled)
	close(leave)
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	if got := onRemote(t, remote); got != "first" {
		t.Errorf("the ledger holds %q, want the first line only", got)
	}
}

func TestADecideThatPanicsHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := server(t, remote)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not reach its caller")
			}
		}()
		_, _ = l.Update(t.Context(), "x", func(*Snapshot) ([]File, error) { panic("bug") })
	}()
	add(t, l, "1")
	if got := onRemote(t, remote); got != "1" {
		t.Errorf("got %q", got)
	}
}
