package settle

import (
	"context"
	"errors"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// reading is an open pull request as it was read on the forge, with its branch and
// the ledger fetched beside it.
type reading struct {
	at         time.Time // zero: not known
	generation int64     // of the pull request, before it was read
	change     engine.Change
}

// seen is what a plan job has for the settle that shows its plans: what the settle
// before read, where that was just now, else what the job reads itself while its last
// plan is being read.
type seen struct {
	reading

	done   chan struct{} // closed once it was read; nil before it is asked for
	err    error
	branch string // that was fetched, with the ledger
	bare   map[string]bool

	stored   chan struct{} // closed once it was tried to store the plans
	storeErr error
}

// see begins to read. Nothing of it is believed for longer than a moment, nor once
// another fact came (takeSeen).
func (s *Settler) see(ctx context.Context, site *usecase.Site, change engine.Change, places []usecase.StatusPlace, into *seen) {
	into.branch, into.bare = change.BaseBranch, map[string]bool{}
	into.done, into.stored = make(chan struct{}), make(chan struct{})
	fresh := &usecase.Site{Repo: site.Repo, Clone: site.Clone, Ledger: site.Ledger, Forge: site.Forge}
	go func() {
		defer close(into.done)
		into.err = together(
			func() error {
				if !into.at.IsZero() && s.Now().Sub(into.at) < handedFor/2 {
					return nil
				}
				return s.readAgain(ctx, fresh, change, into)
			},
			func() (err error) {
				for _, at := range places {
					marker := project.NoteMarker(at.Env.Name, at.Member)
					if into.bare[marker], err = s.Poster.bare(ctx, fresh, change.Number, marker); err != nil {
						return err
					}
				}
				return nil
			},
		)
	}()
}

// readAgain reads the pull request, its branch and the ledger, and before them how
// many facts about it came.
func (s *Settler) readAgain(ctx context.Context, site *usecase.Site, change engine.Change, into *seen) (err error) {
	into.at = s.Now()
	if into.generation, err = s.Facts.Generation(ctx, site.Repo, PullOf(change.Number)); err != nil {
		return err
	}
	return together(
		func() (err error) { into.change, err = site.Forge.Change(ctx, site.Repo, change.Number); return err },
		func() error {
			if !site.Look(ctx, change.BaseBranch) {
				return errors.New("the branch and the ledger could not be read")
			}
			return nil
		},
	)
}

// Wait ends what was begun to be read, before its context does.
func (p *PlannedChange) Wait() {
	if p.seen.done != nil {
		<-p.seen.done
	}
}

// HandOver leaves what was read beside the planning for the settle that shows the
// plans. Call it before they are stored together with that fact, and stored with what
// came of it: the settle may begin before that is known here.
func (s *Settler) HandOver(repo engine.Repo, number int, done *PlannedChange) (stored func(error)) {
	if done.seen.done == nil {
		return func(error) {}
	}
	s.seen.give(repo, number, done.seen, s.Now())
	return func(err error) {
		done.seen.storeErr = err
		close(done.seen.stored)
	}
}

// takeSeen is an open pull request as the job that planned it saw it, where nothing
// but that plan came since: what came later was not seen, and a settle that ends
// under its generation would be the last to look.
func (s *Settler) takeSeen(ctx context.Context, site *usecase.Site, number int, generation int64) (reading, bool) {
	given, found := s.seen.take(site.Repo, number, s.Now())
	if !found {
		return reading{}, false
	}
	for _, known := range []chan struct{}{given.done, given.stored} {
		select {
		case <-known:
		case <-ctx.Done():
			return reading{}, false
		}
	}
	if s.Now().Sub(given.at) > handedFor || given.err != nil || given.storeErr != nil || generation != given.generation+1 || given.change.State != engine.Open {
		return reading{}, false
	}
	snap, err := site.Ledger.Fetched(ctx)
	if err != nil {
		return reading{}, false
	}
	site.Bare = given.bare
	site.GoOn(given.branch, snap)
	return given.reading, true
}

// bare tells whether nobody has written a note: neither we, as far as we know, nor
// anybody else on the forge.
func (p *Poster) bare(ctx context.Context, site *usecase.Site, number int, marker string) (bool, error) {
	_, found, err := p.Posts.Post(ctx, site.Repo, noteTarget(number, marker))
	if err != nil || found {
		return false, err
	}
	_, err = site.Forge.FindNote(ctx, site.Repo, number, marker)
	if errors.Is(err, forges.ErrNotFound) {
		return true, nil
	}
	return false, err
}
