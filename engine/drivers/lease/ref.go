package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// standing is what a key's refs hold: object ids, "" for none.
type standing struct {
	local string // compare-and-swap always starts from here
	oid   string // what counts: the remote's, or the local one without a remote
	// record is what oid holds; bad says why it could not be read.
	record Record
	bad    error
}

func refOf(key string) string  { return "refs/chant/lease/" + key }
func sideOf(key string) string { return "refs/chant/lease-remote/" + key }

// look reads the record that counts. The remote's goes into a side ref, never
// onto the local one.
func (l *Leases) look(ctx context.Context, key string) (standing, error) {
	if err := checkKey(key); err != nil {
		return standing{}, err
	}
	counts := refOf(key)
	if l.clone.Remote() != "" {
		counts = sideOf(key)
		// A pattern, so that a lease that is not there is no error and the side
		// ref of one that is gone goes too.
		if err := l.clone.Fetch(ctx, "+"+refOf(key)+"*:"+sideOf(key)+"*"); err != nil {
			return standing{}, fmt.Errorf("reading lease %s: %w", key, err)
		}
	}
	local, err := l.clone.Ref(ctx, refOf(key))
	if err != nil {
		return standing{}, fmt.Errorf("reading lease %s: %w", key, err)
	}
	oid, err := l.clone.Ref(ctx, counts)
	if err != nil {
		return standing{}, fmt.Errorf("reading lease %s: %w", key, err)
	}
	at := standing{local: local, oid: oid}
	if oid == "" {
		return at, nil
	}
	data, err := l.clone.ReadBlob(ctx, oid)
	if err != nil {
		return standing{}, fmt.Errorf("reading lease %s: %w", key, err)
	}
	at.record, at.bad = parseRecord(data)
	return at, nil
}

// put makes oid ("" for none) the key's lease: the local ref first, then the
// remote, which has the last word. The error is ErrRace, ErrPushRejected, or
// wraps git.ErrUnreachable when it is not known what the remote holds.
func (l *Leases) put(ctx context.Context, key string, at standing, oid string) error {
	if err := l.move(ctx, git.Move{Ref: refOf(key), Old: at.local, New: oid}); err != nil {
		if errors.Is(err, git.ErrRefMoved) {
			return fmt.Errorf("%w: %w", ErrRace, err)
		}
		return err
	}
	if l.clone.Remote() == "" {
		return nil
	}
	err := l.clone.PushRef(ctx, oid, refOf(key), at.oid)
	var rejected *git.Rejected
	stale := errors.As(err, &rejected) && rejected.Stale
	// A push may have landed without an answer, or be refused because the
	// transport sent it twice.
	if err == nil || (stale || errors.Is(err, git.ErrUnreachable)) && l.landed(ctx, key, oid) {
		// The next look overwrites the side ref anyway.
		_ = l.move(ctx, git.Move{Ref: sideOf(key), Old: at.oid, New: oid})
		return nil
	}
	// What the remote did not take is no lease here either.
	undo := l.move(ctx, git.Move{Ref: refOf(key), Old: oid, New: at.local})
	switch {
	case stale:
		return errors.Join(fmt.Errorf("%w: %w", ErrRace, err), undo)
	case rejected != nil:
		return errors.Join(fmt.Errorf("%w: %w", ErrPushRejected, err), undo)
	}
	return errors.Join(err, undo)
}

// landed finds out whether a push that had no answer was taken.
func (l *Leases) landed(ctx context.Context, key, oid string) bool {
	at, err := l.look(ctx, key)
	return err == nil && at.oid == oid
}

// lockPatience is how long another git process's lock is waited out.
const lockPatience = 2 * time.Second

// racePatience is how long whoever lost a race looks for the lease of the other one.
const racePatience = 10 * time.Second

// move moves one ref and waits for a lock file that somebody else may be about
// to remove.
func (l *Leases) move(ctx context.Context, m git.Move) error {
	for deadline := time.Now().Add(lockPatience); ; {
		err := l.clone.MoveRefs(ctx, m)
		if !errors.Is(err, git.ErrStaleLock) || time.Now().After(deadline) {
			return err
		}
		if ended := pause(ctx); ended != nil {
			return errors.Join(err, ended)
		}
	}
}

// pause waits a moment, another one each time, or for the context to end, which is
// the error.
func pause(ctx context.Context) error {
	timer := time.NewTimer(20*time.Millisecond + rand.N(60*time.Millisecond)) //nolint:gosec // spreads writers, guards nothing
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
