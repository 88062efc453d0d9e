package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// land makes a commit the ledger's tip: on the remote first, then here (pr-loop
// §1.5). errAgain says that nothing changed because the tip had moved.
func (l *Ledger) land(ctx context.Context, at state, commit string) (Written, error) {
	if l.clone.Remote() == "" {
		return l.landLocal(ctx, at, commit)
	}
	l.fault("push")
	err := l.push(ctx, at, commit)
	l.fault("pushed")
	switch {
	case err == nil:
		return l.landed(ctx, at, commit), nil
	case errors.Is(err, errAgain):
		return Written{}, err
	case l.clone.Owned():
		return Written{}, err
	}
	return l.keep(ctx, at, commit, err)
}

// push sends a commit by its id. It gives nil only when the remote holds it.
func (l *Ledger) push(ctx context.Context, at state, commit string) error {
	err := l.clone.PushRef(ctx, commit, localRef, at.remote)
	var rejected *git.Rejected
	stale := errors.As(err, &rejected) && rejected.Stale
	if !stale && !errors.Is(err, git.ErrUnreachable) {
		return err
	}
	// The push may have landed: its answer was lost, or the transport sent it
	// twice and the second was refused because of the first.
	took, lookErr := l.remoteHolds(ctx, commit)
	switch {
	case lookErr != nil:
		return fmt.Errorf("it is not known whether the remote took it: %w", errors.Join(err, lookErr))
	case took:
		return nil
	case stale:
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

func (l *Ledger) remoteHolds(ctx context.Context, commit string) (bool, error) {
	if err := l.fetch(ctx); err != nil {
		return false, err
	}
	remote, err := l.clone.Ref(ctx, l.remoteRef())
	if err != nil || remote == "" {
		return false, err
	}
	return l.clone.IsAncestor(ctx, commit, remote)
}

// landed moves the local refs after the remote took the commit. They are a copy
// by now: when another process moved them meanwhile, the next read finds them
// in order.
func (l *Ledger) landed(ctx context.Context, at state, commit string) Written {
	err := l.move(ctx,
		git.Move{Ref: localRef, Old: at.local, New: commit},
		git.Move{Ref: seenRef, Old: at.seen, New: commit})
	l.fault("moved")
	w := Written{Tip: commit, Pushed: true}
	if err != nil && !errors.Is(err, git.ErrRefMoved) {
		w.Warning = fmt.Sprintf("the record is on %s, but the local copy could not be moved on: %v", l.clone.Remote(), err)
	}
	return w
}

// keep makes a commit that the remote did not take a local fact.
func (l *Ledger) keep(ctx context.Context, at state, commit string, cause error) (Written, error) {
	err := l.move(ctx, git.Move{Ref: localRef, Old: at.local, New: commit})
	if errors.Is(err, git.ErrRefMoved) {
		return Written{}, fmt.Errorf("%w: %w", errAgain, err)
	}
	if err != nil {
		return Written{}, err
	}
	return Written{Tip: commit, Warning: fmt.Sprintf("recorded here only, not on %s: %v", l.clone.Remote(), cause)}, nil
}

func (l *Ledger) landLocal(ctx context.Context, at state, commit string) (Written, error) {
	err := l.move(ctx,
		git.Move{Ref: localRef, Old: at.local, New: commit},
		git.Move{Ref: seenLocalRef, Old: at.seen, New: commit})
	l.fault("moved")
	if errors.Is(err, git.ErrRefMoved) {
		return Written{}, fmt.Errorf("%w: %w", errAgain, err)
	}
	return Written{Tip: commit}, err
}

// move takes its turn among the readers of this process that follow the remote.
func (l *Ledger) move(ctx context.Context, moves ...git.Move) error {
	l.refs.Lock()
	defer l.refs.Unlock()
	return l.clone.MoveRefs(ctx, moves...)
}
