package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
)

func TestAPartitionedHolderCannotRenewOrPassACheck(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	web := gittest.Serve(t, remote)
	ours := newClock()
	a, b := open(t, web.URL, "a", newClock()), open(t, remote, "b", ours)
	x := acquire(t, a)
	web.SetDown(true)
	wantErr(t, holds(t, x), git.ErrUnreachable)
	wantErr(t, x.Renew(t.Context()), git.ErrUnreachable)
	_, err := b.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "a")
	ours.pass(DefaultTTL)
	acquire(t, b)
	web.SetDown(false)
	// The local copy still names a; the remote has the last word.
	wantErr(t, holds(t, x), ErrLost)
	_, err = a.Acquire(t.Context(), "other", "op", DefaultTTL)
	if err != nil {
		t.Errorf("after the partition: %v", err)
	}
}

func TestALeaseThatTheRemoteDoesNotHoldIsNotTaken(t *testing.T) {
	t.Parallel()
	t.Run("the remote forbids it", func(t *testing.T) {
		t.Parallel()
		remote := gittest.Bare(t)
		l := open(t, remote, "a", newClock())
		gittest.Hook(t, remote, "pre-receive", "exit 1")
		_, err := l.Acquire(t.Context(), key, "op", DefaultTTL)
		wantErr(t, err, ErrPushRejected)
		nothingLocal(t, l)
	})
	t.Run("the remote does not answer", func(t *testing.T) {
		t.Parallel()
		web := gittest.Serve(t, gittest.Bare(t))
		l := open(t, web.URL, "a", newClock())
		web.SetDown(true)
		_, err := l.Acquire(t.Context(), key, "op", DefaultTTL)
		wantErr(t, err, git.ErrUnreachable)
		nothingLocal(t, l)
	})
}

func nothingLocal(t *testing.T, l *Leases) {
	t.Helper()
	if oid, err := l.clone.Ref(t.Context(), refOf(key)); oid != "" || err != nil {
		t.Errorf("the local ref is %s, %v", oid, err)
	}
	if !l.reserve(key) {
		t.Error("the key is still taken in this process")
	}
}

func TestAnAnswerThatWasLostIsFound(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	web := gittest.Serve(t, remote)
	l := open(t, web.URL, "a", newClock())
	web.MuteNextPush()
	x := acquire(t, l)
	if err := holds(t, x); err != nil {
		t.Error(err)
	}
}

func TestWithoutARemoteTheLocalRefCounts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gittest.Run(t, dir, "init", "--quiet")
	clone, err := git.Existing(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clone.Close)
	a, b := Open(clone, "a", newClock().clock()), Open(clone, "b", newClock().clock())
	x := acquire(t, a)
	_, err = b.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "a")
	if err := errors.Join(x.Renew(t.Context()), x.Release(t.Context())); err != nil {
		t.Fatal(err)
	}
	acquire(t, b)
}

// Of any number of holders that reach for one key at once, one has it, and the
// others are told that it does.
func TestARaceHasOneWinner(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	const holders = 6
	var mu sync.Mutex
	var won []string
	var all sync.WaitGroup
	for i := range holders {
		l := open(t, remote, fmt.Sprintf("h%d", i), newClock())
		all.Go(func() {
			x, err := l.Acquire(t.Context(), key, "op", DefaultTTL)
			var held *Held
			switch {
			case err == nil:
				mu.Lock()
				won = append(won, x.record.Token)
				mu.Unlock()
			case !errors.As(err, &held):
				t.Errorf("holder %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d winners", len(won))
	}
	var r Record
	if err := json.Unmarshal([]byte(gittest.Run(t, remote, "cat-file", "blob", refOf(key))), &r); err != nil || r.Token != won[0] {
		t.Errorf("the remote holds %+v (%v), the winner has token %s", r, err, won[0])
	}
}

func TestAStaleLockIsWaitedOutThenNamed(t *testing.T) {
	t.Parallel()
	l := open(t, gittest.Bare(t), "a", newClock())
	gittest.Touch(t, l.clone.Dir()+"/"+refOf(key)+".lock")
	_, err := l.Acquire(t.Context(), key, "op", DefaultTTL)
	wantErr(t, err, git.ErrStaleLock)
}
