package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

const (
	// drained is how many deliveries are worked off in one transaction.
	drained = 100
	// mostYield is how long deliveries that rush in hold up those stored before.
	mostYield = time.Second
)

// eventWorker drains the inbox.
type eventWorker struct {
	river.WorkerDefaults[EventArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*eventWorker) Timeout(*river.Job[EventArgs]) time.Duration { return settleTimeout }

// Work takes every pending delivery, oldest first. One that cannot be handled
// now stays pending and the job is tried again.
func (w *eventWorker) Work(ctx context.Context, _ *river.Job[EventArgs]) error {
	for {
		w.Inbox.Yield(ctx, mostYield)
		pending, err := w.Deliveries.Pending(ctx, drained)
		if err != nil || len(pending) == 0 {
			return err
		}
		g := &gathering{jobs: w.Jobs, raised: map[store.Subject]bool{}, seen: map[engine.Repo]*sender{}}
		for _, d := range pending {
			if err = g.take(ctx, d); err != nil {
				err = fmt.Errorf("delivery %s: %w", d.GUID, err)
				break
			}
		}
		if err = errors.Join(err, g.store(ctx)); err != nil {
			return w.later(err)
		}
	}
}

// gathering is what some deliveries come to, stored together: a subject that
// many of them are about is raised once. It implements what usecase.Receiver
// writes to.
type gathering struct {
	jobs     *Jobs
	outcomes []store.DeliveryOutcome
	raised   map[store.Subject]bool
	writes   []func(ctx context.Context, tx *sql.Tx) error
	seen     map[engine.Repo]*sender
}

// sender is a repository that sent something; why not nil says what keeps its
// deliveries from being looked at.
type sender struct {
	site *usecase.Site
	self int64
	why  string
}

// take handles one delivery. Nothing is stored yet.
func (g *gathering) take(ctx context.Context, d store.Delivery) error {
	outcome, state, err := g.handle(ctx, d)
	if err != nil {
		return err
	}
	g.outcomes = append(g.outcomes, store.DeliveryOutcome{ID: d.ID, State: state, Outcome: outcome})
	return nil
}

func (g *gathering) handle(ctx context.Context, d store.Delivery) (string, store.DeliveryState, error) {
	event, err := g.jobs.Decode(d)
	if err != nil {
		return err.Error(), store.DeliveryFailed, nil
	}
	if ignored, ok := event.(engine.Ignored); ok {
		return ignored.Reason, store.DeliveryIgnored, nil
	}
	if changed, ok := event.(engine.InstallationChanged); ok {
		g.jobs.Sites.Forget(changed.Installation)
		g.insert(SweepArgs{})
		return "the installation is read again", store.DeliveryDone, nil
	}
	if d.Repo.ID == 0 {
		return "belongs to no repository", store.DeliveryIgnored, nil
	}
	from, err := g.from(ctx, d.Repo)
	switch {
	case err != nil:
		return "", "", err
	case from.why != "":
		return from.why, store.DeliveryIgnored, nil
	case d.Sender.ID == from.self:
		// What we did ourselves is known here already; a hint at it would only
		// make every settle cause another one.
		return "our own act", store.DeliveryIgnored, nil
	}
	receiver := usecase.Receiver{Subjects: g, Commands: g}
	outcome, err := receiver.Receive(ctx, from.site.Forge, event)
	return outcome, store.DeliveryDone, err
}

// from opens the repository a delivery names, once for all of them.
func (g *gathering) from(ctx context.Context, repo engine.Repo) (*sender, error) {
	if s := g.seen[repo]; s != nil {
		return s, nil
	}
	s := &sender{}
	err := g.jobs.Sites.Know(ctx, repo)
	if err == nil {
		s.site, err = g.jobs.Sites.Open(ctx, repo.Key())
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, forges.ErrNotFound) {
		s.why, err = "the repository is not installed or not visible", nil
	} else if err == nil {
		s.self, err = g.jobs.SelfID(ctx, s.site.Repo)
	}
	if err != nil {
		return nil, err
	}
	g.seen[repo] = s
	return s, nil
}

// Raise implements usecase.Raiser.
func (g *gathering) Raise(_ context.Context, repo engine.Repo, s usecase.Subject) error {
	g.raised[subjectOf(repo.Key(), s)] = true
	return nil
}

// RaiseBranches implements usecase.Raiser.
func (g *gathering) RaiseBranches(ctx context.Context, repo engine.Repo, defaultBranch string) error {
	branches, err := g.jobs.branches(ctx, repo, defaultBranch)
	for _, branch := range branches {
		g.raised[subjectOf(repo.Key(), usecase.BranchOf(branch))] = true
	}
	return err
}

// QueueCommand implements usecase.CommandQueue.
func (g *gathering) QueueCommand(_ context.Context, repo engine.Repo, ref engine.CommentRef) error {
	g.writes = append(g.writes, func(ctx context.Context, tx *sql.Tx) error { return g.jobs.commandTx(ctx, tx, repo, ref) })
	return nil
}

func (g *gathering) insert(args river.JobArgs) {
	g.writes = append(g.writes, func(ctx context.Context, tx *sql.Tx) error {
		_, err := g.jobs.client.InsertTx(ctx, tx, args, nil)
		return err
	})
}

// store commits everything at once. It need not wait for the disk: what it
// loses with the power is worked off again from the deliveries.
func (g *gathering) store(ctx context.Context) error {
	return g.jobs.DB.InLazyTx(ctx, func(tx *sql.Tx) error {
		for subject := range g.raised {
			if err := g.jobs.raiseTx(ctx, tx, subject); err != nil {
				return err
			}
		}
		for _, write := range g.writes {
			if err := write(ctx, tx); err != nil {
				return err
			}
		}
		return g.jobs.Deliveries.FinishAll(ctx, tx, g.outcomes, g.jobs.Stage.Now())
	})
}
