package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// state is where the branch stands: object ids, "" for a ref that is not there.
type state struct {
	local, remote, seen string
	tip                 string // what may be trusted
}

// sync applies the fetch-before-use rule (pr-loop §1.4): it fetches, refuses
// what can't be trusted, and moves the local branch on when the remote is ahead.
func (l *Ledger) sync(ctx context.Context) (state, error) {
	if l.clone.Remote() != "" {
		if err := l.fetch(ctx); err != nil {
			return state{}, err
		}
	}
	return l.moveOn(ctx)
}

// moveOn takes what was fetched for the ledger, where it can be trusted.
func (l *Ledger) moveOn(ctx context.Context) (state, error) {
	l.refs.Lock()
	defer l.refs.Unlock()
	for attempt := 0; ; attempt++ {
		s, err := l.follow(ctx)
		if !errors.Is(err, git.ErrRefMoved) || attempt == maxAttempts {
			return s, err
		}
		// Another process is moving the same refs; look again.
	}
}

// follow judges what was fetched and moves the local refs on.
func (l *Ledger) follow(ctx context.Context) (state, error) {
	if l.clone.Remote() == "" {
		return l.followLocal(ctx)
	}
	s, err := l.read(ctx)
	if err != nil {
		return state{}, err
	}
	if err := l.checkSeen(ctx, s.seen, s.remote); err != nil {
		return state{}, err
	}
	if s.tip, err = l.newer(ctx, s.local, s.remote); err != nil {
		return state{}, err
	}
	moves := []git.Move{{Ref: localRef, Old: s.local, New: s.tip}, {Ref: seenRef, Old: s.seen, New: s.remote}}
	if err := l.clone.MoveRefs(ctx, moves...); err != nil {
		return state{}, fmt.Errorf("moving the ledger on to its remote: %w", err)
	}
	s.local, s.seen = s.tip, s.remote
	return s, nil
}

// Refspec brings the remote branch; a branch that is gone there is gone here too.
// The pattern makes "no such branch" an answer instead of an error.
func (l *Ledger) Refspec() string {
	return "+refs/heads/" + Branch + "*:refs/remotes/" + l.clone.Remote() + "/" + Branch + "*"
}

func (l *Ledger) fetch(ctx context.Context) error {
	if err := l.clone.Fetch(ctx, l.Refspec()); err != nil {
		return fmt.Errorf("the ledger branch %s could not be fetched: %w", Branch, err)
	}
	return nil
}

func (l *Ledger) followLocal(ctx context.Context) (state, error) {
	local, localErr := l.clone.Ref(ctx, localRef)
	seen, seenErr := l.clone.Ref(ctx, seenLocalRef)
	if err := errors.Join(localErr, seenErr); err != nil {
		return state{}, err
	}
	if err := l.checkSeen(ctx, seen, local); err != nil {
		return state{}, err
	}
	if err := l.clone.MoveRefs(ctx, git.Move{Ref: seenLocalRef, Old: seen, New: local}); err != nil {
		return state{}, fmt.Errorf("noting the ledger's tip: %w", err)
	}
	return state{local: local, seen: local, tip: local}, nil
}

func (l *Ledger) read(ctx context.Context) (s state, err error) {
	local, localErr := l.clone.Ref(ctx, localRef)
	remote, remoteErr := l.clone.Ref(ctx, l.remoteRef())
	seen, seenErr := l.clone.Ref(ctx, seenRef)
	return state{local: local, remote: remote, seen: seen}, errors.Join(localErr, remoteErr, seenErr)
}

// checkSeen refuses a tip that is no descendant of the last one seen.
func (l *Ledger) checkSeen(ctx context.Context, seen, tip string) error {
	if seen == "" || seen == tip {
		return nil
	}
	if tip == "" {
		return fmt.Errorf("%w: %s vanished, it was at %s; if that is right, run `chant ledger accept`", ErrRewound, Branch, seen)
	}
	descends, err := l.clone.IsAncestor(ctx, seen, tip)
	if err != nil {
		return err
	}
	if !descends {
		return fmt.Errorf("%w: %s is at %s, which does not descend from %s; if that is right, run `chant ledger accept`",
			ErrRewound, Branch, tip, seen)
	}
	return nil
}

// newer picks the tip of two histories where one holds the other.
func (l *Ledger) newer(ctx context.Context, local, remote string) (string, error) {
	switch {
	case local == "" || local == remote:
		return remote, nil
	case remote == "":
		return local, nil
	}
	behind, err := l.clone.IsAncestor(ctx, local, remote)
	if err != nil || behind {
		return remote, err
	}
	ahead, err := l.clone.IsAncestor(ctx, remote, local)
	if err != nil || ahead {
		return local, err
	}
	return "", fmt.Errorf("%w: %s is at %s here and at %s on %s; push or drop the local facts, or run `chant ledger accept` to take the remote's",
		ErrDiverged, Branch, local, remote, l.clone.Remote())
}

// Accept takes the ledger as the remote has it now, also when it vanished, went
// back or diverged (`chant ledger accept`). What the local branch held is kept
// under refs/chant/ledger-before-accept. Without a remote it takes the local
// branch.
func (l *Ledger) Accept(ctx context.Context) error {
	if l.clone.Remote() == "" {
		return l.acceptLocal(ctx)
	}
	if err := l.fetch(ctx); err != nil {
		return err
	}
	s, err := l.read(ctx)
	if err != nil {
		return err
	}
	moves := []git.Move{{Ref: localRef, Old: s.local, New: s.remote}, {Ref: seenRef, Old: s.seen, New: s.remote}}
	if s.local != "" && s.local != s.remote {
		aside, err := l.clone.Ref(ctx, setAsideRef)
		if err != nil {
			return err
		}
		moves = append(moves, git.Move{Ref: setAsideRef, Old: aside, New: s.local})
	}
	if err := l.clone.MoveRefs(ctx, moves...); err != nil {
		return fmt.Errorf("accepting the remote's ledger: %w", err)
	}
	return nil
}

func (l *Ledger) acceptLocal(ctx context.Context) error {
	local, localErr := l.clone.Ref(ctx, localRef)
	seen, seenErr := l.clone.Ref(ctx, seenLocalRef)
	if err := errors.Join(localErr, seenErr); err != nil {
		return err
	}
	if err := l.clone.MoveRefs(ctx, git.Move{Ref: seenLocalRef, Old: seen, New: local}); err != nil {
		return fmt.Errorf("accepting the ledger: %w", err)
	}
	return nil
}
