package ledger

import (
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

// Fetch before use (pr-loop §1.4): one test a row of its table.

func TestARemoteWithoutTheBranchIsAnEmptyLedger(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	write := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": []byte("1")}})
	l := checkout(t, remote)
	if got := read(t, l, gateFile); got != "" || write == "" {
		t.Errorf("got %q", got)
	}
}

func TestABranchOnlyTheRemoteHasIsFetched(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	tip := foreign(t, remote, gateFile, "1")
	l := checkout(t, remote)
	if got := read(t, l, gateFile); got != "1" || refOf(t, l, localRef) != tip {
		t.Errorf("got %q, local branch %s", got, refOf(t, l, localRef))
	}
}

func TestABranchBehindIsMovedOn(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	foreign(t, remote, gateFile, "1")
	l := checkout(t, remote)
	read(t, l, gateFile)
	tip := foreign(t, remote, gateFile, "1\n2")
	if got := read(t, l, gateFile); got != "1\n2" || refOf(t, l, localRef) != tip {
		t.Errorf("got %q, local branch %s", got, refOf(t, l, localRef))
	}
}

func TestABranchAheadIsReadAndPushedWithTheNextWrite(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := checkout(t, remote)
	add(t, l, "1")
	ahead(t, l, "1\n2")
	if got := read(t, l, gateFile); got != "1\n2" {
		t.Errorf("got %q", got)
	}
	if w := add(t, l, "3"); !w.Pushed {
		t.Errorf("written %+v", w)
	}
	if got := onRemote(t, remote); got != "1\n2\n3" {
		t.Errorf("remote holds %q", got)
	}
}

func TestADivergedLedgerIsNeitherReadNorWritten(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	l := checkout(t, remote)
	add(t, l, "1")
	ahead(t, l, "1\nlocal")
	foreign(t, remote, gateFile, "1\nremote")
	wantErr(t, snapshotErr(t.Context(), l), ErrDiverged)
	_, err := l.Update(t.Context(), "x", line("2"))
	wantErr(t, err, ErrDiverged)
	if err := l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, l, gateFile); got != "1\nremote" {
		t.Errorf("after accept it reads %q", got)
	}
	aside := gittest.Run(t, l.clone.Dir(), "show", setAsideRef+":"+gateFile)
	if aside != "1\nlocal" {
		t.Errorf("the local facts were not set aside: %q", aside)
	}
}

func TestAnUnreachableRemoteIsNeverReadAsEmpty(t *testing.T) {
	t.Parallel()
	web := gittest.Serve(t, gittest.Bare(t))
	l := checkout(t, web.URL)
	web.SetDown(true)
	wantErr(t, snapshotErr(t.Context(), l), git.ErrUnreachable)
	_, err := l.Update(t.Context(), "x", line("1"))
	wantErr(t, err, git.ErrUnreachable)
	web.SetDown(false)
	add(t, l, "1")
	web.SetDown(true)
	wantErr(t, snapshotErr(t.Context(), l), git.ErrUnreachable)
}

// ahead makes a local commit that was never pushed.
func ahead(t *testing.T, l *Ledger, content string) {
	t.Helper()
	gittest.Write(t, l.clone.Dir(), gittest.Commit{Branch: Branch, Files: map[string][]byte{gateFile: []byte(content)}})
}

func TestARewoundRemoteIsRefusedUntilAccepted(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(t *testing.T, remote, first string)
		after  string
	}{
		{"deleted", func(t *testing.T, remote, _ string) {
			t.Helper()
			gittest.Run(t, remote, "update-ref", "-d", localRef)
		}, "new"},
		{"set back", func(t *testing.T, remote, first string) {
			t.Helper()
			gittest.Run(t, remote, "update-ref", localRef, first)
		}, "1\nnew"},
		{"rewritten", func(t *testing.T, remote, first string) {
			t.Helper()
			gittest.Write(t, remote, gittest.Commit{Branch: Branch, From: first, Files: map[string][]byte{gateFile: []byte("1\nforged")}})
		}, "1\nforged\nnew"},
		{"replaced by an unrelated history", func(t *testing.T, remote, _ string) {
			t.Helper()
			gittest.Run(t, remote, "update-ref", "-d", localRef)
			foreign(t, remote, gateFile, "other")
		}, "other\nnew"},
	}
	for _, tt := range tests {
		for kind, open := range map[string]func(testing.TB, string) *Ledger{"server": server, "checkout": checkout} {
			t.Run(tt.name+", "+kind, func(t *testing.T) {
				t.Parallel()
				remote := gittest.Bare(t)
				l := open(t, remote)
				first := add(t, l, "1").Tip
				add(t, l, "2")
				tt.change(t, remote, first)

				wantErr(t, snapshotErr(t.Context(), l), ErrRewound)
				_, err := l.Update(t.Context(), "x", line("new"))
				wantErr(t, err, ErrRewound)
				wantErr(t, snapshotErr(t.Context(), l), ErrRewound)
				// Also when the local branch was lost and cannot tell.
				gittest.Run(t, l.clone.Dir(), "update-ref", "-d", localRef)
				wantErr(t, snapshotErr(t.Context(), l), ErrRewound)

				if err := l.Accept(t.Context()); err != nil {
					t.Fatal(err)
				}
				add(t, l, "new")
				if got := onRemote(t, remote); got != tt.after {
					t.Errorf("after accept and a write the remote holds %q, want %q", got, tt.after)
				}
			})
		}
	}
}

func TestARewoundLocalLedgerIsRefusedUntilAccepted(t *testing.T) {
	t.Parallel()
	l := checkout(t, "")
	first := add(t, l, "1").Tip
	add(t, l, "2")
	gittest.Run(t, l.clone.Dir(), "update-ref", localRef, first)
	wantErr(t, snapshotErr(t.Context(), l), ErrRewound)
	if err := l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, l, gateFile); got != "1" {
		t.Errorf("got %q", got)
	}
}
