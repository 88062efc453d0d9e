package lease

import (
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/project"
)

const key = "ci-apply/prod"

// fakeClock is a clock whose wall and monotonic readings move apart at will.
type fakeClock struct {
	mu   sync.Mutex
	wall time.Time
	mono time.Duration
}

func newClock() *fakeClock {
	return &fakeClock{wall: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)}
}

func (c *fakeClock) clock() Clock {
	return Clock{
		Wall: func() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.wall },
		Mono: func() time.Duration { c.mu.Lock(); defer c.mu.Unlock(); return c.mono },
	}
}

func (c *fakeClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall, c.mono = c.wall.Add(d), c.mono+d
}

func (c *fakeClock) step(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wall = c.wall.Add(d)
}

func open(tb testing.TB, remote, holder string, c *fakeClock) *Leases {
	tb.Helper()
	clone, err := git.Open(tb.Context(), filepath.Join(tb.TempDir(), "clone.git"), remote, git.Auth{})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(clone.Close)
	return Open(clone, holder, c.clock())
}

func acquire(tb testing.TB, l *Leases) *Lease {
	tb.Helper()
	x, err := l.Acquire(tb.Context(), key, "apply-prod", DefaultTTL)
	if err != nil {
		tb.Fatal(err)
	}
	return x
}

func wantHeld(tb testing.TB, err error, holder string) {
	tb.Helper()
	var held *Held
	if !errors.As(err, &held) || held.Holder != holder {
		tb.Errorf("got %v, want held by %s", err, holder)
	}
}

// holds is nil while the lease is held and read to be so.
func holds(tb testing.TB, x *Lease) error {
	tb.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	_, err := x.own(tb.Context())
	return err
}

func wantErr(tb testing.TB, err, want error) {
	tb.Helper()
	if !errors.Is(err, want) {
		tb.Errorf("got %v, want %v", err, want)
	}
}

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	a, b := open(t, remote, "a:1:00000000", newClock()), open(t, remote, "b:2:00000000", newClock())
	x := acquire(t, a)
	_, err := b.Acquire(t.Context(), key, "apply-prod", DefaultTTL)
	wantHeld(t, err, "a:1:00000000")
	_, err = a.Acquire(t.Context(), key, "apply-prod", DefaultTTL)
	wantHeld(t, err, "a:1:00000000")
	if _, err := b.Acquire(t.Context(), "ci-apply/staging", "apply-staging", DefaultTTL); err != nil {
		t.Errorf("another environment's lease: %v", err)
	}
	if err := holds(t, x); err != nil {
		t.Error(err)
	}
	if err := x.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantErr(t, holds(t, x), ErrLost)
	y := acquire(t, b)
	if y.record.Token == x.record.Token {
		t.Error("the token did not change with the holder")
	}
}

// Names of envs and members come from one repository each, and may be the same
// (soundness I11).
func TestAMemberNamedLikeAnEnvSharesNoLease(t *testing.T) {
	t.Parallel()
	l := open(t, gittest.Bare(t), "a:1:00000000", newClock())
	for _, at := range []struct{ env, member string }{
		{"prod", ""}, {"prod", "prod"}, {"staging", "prod"}, {"prod", "staging"}, {"staging", ""}, {"staging", "staging"},
	} {
		if _, err := l.Acquire(t.Context(), project.LeaseKey(at.env, at.member), "apply", DefaultTTL); err != nil {
			t.Errorf("env %s of member %q, while the others are held: %v", at.env, at.member, err)
		}
	}
}

func TestTheRecordIsCompactJSONInItsOrder(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	c := newClock()
	l := open(t, remote, "host1:4821:9f2c1a3b", c)
	x := acquire(t, l)
	got := gittest.Run(t, remote, "cat-file", "blob", "refs/chant/lease/"+key)
	want := `{"op":"apply-prod","holder":"host1:4821:9f2c1a3b","token":"` + x.record.Token +
		`","acquiredAt":"2026-11-30T10:00:00.000Z","expiresAt":"2026-11-30T10:05:00.000Z"}`
	if got != want {
		t.Errorf("record\n%s, want\n%s", got, want)
	}
	c.pass(time.Minute)
	if err := x.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, err := l.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	if r.Token != x.record.Token || r.AcquiredAt != "2026-11-30T10:00:00.000Z" || r.ExpiresAt != "2026-11-30T10:06:00.000Z" {
		t.Errorf("after a renewal the record is %+v", r)
	}
}

func TestExpiryIsJudgedByTheObserversOwnMonotonicClock(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	theirs, ours := newClock(), newClock()
	a, b := open(t, remote, "a", theirs), open(t, remote, "b", ours)
	x := acquire(t, a)

	ours.step(time.Hour) // a wall clock that is wrong proves nothing
	_, err := b.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "a")
	ours.pass(DefaultTTL - time.Second)
	_, err = b.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "a")

	theirs.pass(DefaultTTL - time.Second)
	if err := x.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	ours.pass(time.Second) // it was renewed in time, so the waiting starts again
	_, err = b.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "a")
	ours.pass(DefaultTTL)
	y := acquire(t, b)
	wantErr(t, holds(t, x), ErrLost)
	wantErr(t, x.Renew(t.Context()), ErrLost)
	if err := x.Release(t.Context()); !errors.Is(err, ErrLost) {
		t.Errorf("releasing a lost lease: %v", err)
	}
	if err := holds(t, y); err != nil {
		t.Errorf("the new holder after the old one released: %v", err)
	}
}

func TestALongLivedLeaseIsNotRespectedLongerThanItsLastRenewalSays(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	theirs, ours := newClock(), newClock()
	a, b := open(t, remote, "a", theirs), open(t, remote, "b", ours)
	x := acquire(t, a)
	for range 10 {
		theirs.pass(4 * time.Minute)
		if err := x.Renew(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.Acquire(t.Context(), key, "op", DefaultTTL)
	var held *Held
	if !errors.As(err, &held) || held.Dead != DefaultTTL {
		t.Fatalf("got %v, want held and dead in %s", err, DefaultTTL)
	}
	ours.pass(DefaultTTL)
	acquire(t, b)
}

func TestAHolderThatDidNotRenewInTimeHasLost(t *testing.T) {
	t.Parallel()
	c := newClock()
	x := acquire(t, open(t, gittest.Bare(t), "a", c))
	c.pass(DefaultTTL)
	wantErr(t, holds(t, x), ErrLost)
	wantErr(t, x.Renew(t.Context()), ErrLost)
}

func TestUnlockTakesOnlyADeadHolder(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	ours := newClock()
	a, b := open(t, remote, "a", newClock()), open(t, remote, "b", ours)
	acquire(t, a)
	wantHeld(t, b.Unlock(t.Context(), key), "a")
	ours.pass(DefaultTTL)
	if err := b.Unlock(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if r, err := b.Read(t.Context(), key); r != nil || err != nil {
		t.Errorf("after unlock there is %+v, %v", r, err)
	}
	if err := b.Unlock(t.Context(), key); err != nil {
		t.Errorf("unlocking what is not locked: %v", err)
	}
	acquire(t, b)
}

func TestAnUnreadableRecordIsRespectedUntilItIsDead(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	blob := gittest.Run(t, remote, "rev-parse", gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"x": []byte("{")}})+":x")
	gittest.Run(t, remote, "update-ref", refOf(key), blob)
	c := newClock()
	l := open(t, remote, "a", c)
	if _, err := l.Read(t.Context(), key); err == nil {
		t.Error("it was read")
	}
	_, err := l.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "")
	c.pass(MaxTTL)
	acquire(t, l)
}

func TestTooLongALeaseIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := open(t, gittest.Bare(t), "a", newClock()).Acquire(t.Context(), key, "op", MaxTTL+1); err == nil {
		t.Error("it was taken, though observers would take it for dead before it ends")
	}
}

func TestNewHolderNamesHostProcessAndChance(t *testing.T) {
	t.Parallel()
	a, errA := NewHolder()
	b, errB := NewHolder()
	if errA != nil || errB != nil || a == b || len(strings.Split(a, ":")) != 3 || len(a[strings.LastIndex(a, ":")+1:]) != 8 {
		t.Errorf("%q, %q, %v, %v", a, b, errA, errB)
	}
}

func TestALeaseThatWasFoundLostIsNotLiveAgain(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	c, ours := newClock(), newClock()
	x := acquire(t, open(t, remote, "a", c))
	if err := x.Live(); err != nil {
		t.Error(err)
	}
	b := open(t, remote, "b", ours)
	_, err := b.Acquire(t.Context(), key, "op", DefaultTTL)
	wantHeld(t, err, "a")
	ours.pass(DefaultTTL)
	acquire(t, b)
	wantErr(t, x.Renew(t.Context()), ErrLost)
	wantErr(t, x.Live(), ErrLost)

	late := acquire(t, open(t, gittest.Bare(t), "a", c))
	c.pass(DefaultTTL)
	wantErr(t, late.Live(), ErrLost)
}
