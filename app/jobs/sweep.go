package jobs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

// sweepWorker catches what a lost delivery would have said.
type sweepWorker struct {
	river.WorkerDefaults[SweepArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*sweepWorker) Timeout(*river.Job[SweepArgs]) time.Duration { return settleTimeout }

// Work looks at what is open here already and starts the sweep of every
// repository served, each a job of its own: one that cannot be read holds up
// none of the others.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[SweepArgs]) error {
	return errors.Join(w.repositories(ctx), w.subjects(ctx), w.Sites.Maintain(ctx), w.forget(ctx))
}

// How long is kept what nobody decides by any more. Plans and runs are pages that
// notes and statuses link to; what was approved and applied stands on the ledger
// for good. Refusals stand nowhere but in the audit trail, and its rows are small.
const (
	runRetention   = 90 * 24 * time.Hour
	auditRetention = 2 * 365 * 24 * time.Hour
)

// forget lets go of what is old, each kind in a transaction of its own.
func (w *sweepWorker) forget(ctx context.Context) error {
	now := w.Stage.Now()
	errs := []error{
		w.DB.InTx(ctx, func(tx *sql.Tx) error {
			return store.Retention{}.Runs(ctx, tx, string(settle.RunEnded), now.Add(-runRetention))
		}),
		w.DB.InTx(ctx, func(tx *sql.Tx) error {
			return store.Retention{}.Audit(ctx, tx, now.Add(-auditRetention))
		}),
		w.DB.InTx(ctx, func(tx *sql.Tx) error {
			return store.Retention{}.Reports(ctx, tx, now.Add(-runRetention))
		}),
	}
	if w.Retention > 0 {
		errs = append(errs, w.forgetDeliveries(ctx, now.Add(-w.Retention)))
	}
	return errors.Join(errs...)
}

// forgottenDeliveries go in one transaction: others wait to be stored meanwhile.
const forgottenDeliveries = 200

func (w *sweepWorker) forgetDeliveries(ctx context.Context, before time.Time) error {
	for {
		gone := 0
		err := w.DB.InTx(ctx, func(tx *sql.Tx) (err error) {
			gone, err = w.Deliveries.DeleteBefore(ctx, tx, before, forgottenDeliveries)
			return err
		})
		if err != nil || gone < forgottenDeliveries {
			return err
		}
	}
}

// repositories starts the sweep of each, and what the queue gave up of the
// deliveries that wait for one, or that nothing was done about.
func (w *sweepWorker) repositories(ctx context.Context) error {
	return w.DB.InTx(ctx, func(tx *sql.Tx) error {
		waited, err := w.Deliveries.WaitedFor(ctx, tx)
		if err != nil {
			return err
		}
		var args []river.JobArgs
		for _, repo := range waited {
			args = append(args, WaitingArgs{Instance: repo.Instance, RepoID: repo.ID})
		}
		for _, name := range w.Sites.Listed() {
			args = append(args, SweepRepoArgs{Name: name})
		}
		for _, a := range args {
			if _, err := w.client.InsertTx(ctx, tx, a, nil); err != nil {
				return err
			}
		}
		pending, err := w.Deliveries.Pending(ctx, 1)
		if err != nil || len(pending) == 0 {
			return err
		}
		_, err = w.Wake()(ctx, tx)
		return err
	})
}

// subjects settles what is open and what was raised and never settled. It
// queues the settle itself: one that the queue gave up must not keep its subject
// from ever being looked at again.
func (w *sweepWorker) subjects(ctx context.Context) error {
	open, err := w.Subjects.ToSettle(ctx)
	if err != nil {
		return err
	}
	for _, s := range open {
		err := w.DB.InTx(ctx, func(tx *sql.Tx) error {
			generation, _, err := w.Subjects.Raise(ctx, tx, s.Subject, w.Stage.Now())
			if err != nil {
				return err
			}
			return w.settleTx(ctx, tx, s.Subject, generation)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepRepoWorker sweeps one repository.
type sweepRepoWorker struct {
	river.WorkerDefaults[SweepRepoArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*sweepRepoWorker) Timeout(*river.Job[SweepRepoArgs]) time.Duration { return settleTimeout }

// Work raises every open pull request, what a merge queue tries, the default branch
// and every comment nobody has read.
func (w *sweepRepoWorker) Work(ctx context.Context, job *river.Job[SweepRepoArgs]) error {
	repo, err := w.Sites.Discover(ctx, job.Args.Name)
	if errors.Is(err, forges.ErrNotFound) {
		return nil // listed, and not installed yet
	}
	if err == nil {
		err = w.sweep(ctx, repo)
		w.Sites.Swept(job.Args.Name, err)
	}
	return w.later(err)
}

func (w *sweepRepoWorker) sweep(ctx context.Context, repo store.Repo) error {
	site, err := w.Sites.Open(ctx, repo.Key())
	if err != nil {
		return err
	}
	if err := w.Raise(ctx, site.Repo, settle.BranchOf(repo.DefaultBranch)); err != nil {
		return err
	}
	since, err := w.Facts.ServedSince(ctx, site.Repo)
	if err != nil {
		return err
	}
	changes, err := site.Forge.OpenChanges(ctx, site.Repo)
	if err != nil {
		return err
	}
	numbers := map[int]bool{}
	for _, c := range changes {
		numbers[c.Number] = true
		if err := w.Raise(ctx, site.Repo, settle.PullOf(c.Number)); err != nil {
			return err
		}
	}
	if err := w.queued(ctx, site, changes); err != nil {
		return err
	}
	if err := w.waiting(ctx, site.Repo, numbers); err != nil {
		return err
	}
	for number := range numbers {
		comments, err := site.Forge.RecentComments(ctx, site.Repo, number)
		if err != nil {
			return err
		}
		if err := w.unread(ctx, site, comments, since, ""); err != nil {
			return err
		}
	}
	return w.commits(ctx, site, since)
}

// unreadWorker does for one pull request what the sweep does for all.
type unreadWorker struct {
	river.WorkerDefaults[UnreadArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*unreadWorker) Timeout(*river.Job[UnreadArgs]) time.Duration { return settleTimeout }

// Work queues every comment on the pull request that has no outcome.
func (w *unreadWorker) Work(ctx context.Context, job *river.Job[UnreadArgs]) error {
	site, err := w.Sites.Open(ctx, job.Args.RepoKey)
	if err != nil {
		return w.later(err)
	}
	since, err := w.Facts.ServedSince(ctx, site.Repo)
	if err != nil {
		return err
	}
	comments, err := site.Forge.RecentComments(ctx, site.Repo, job.Args.Number)
	if err == nil {
		err = w.unread(ctx, site, comments, since, job.Args.Delivery)
	}
	if errors.Is(err, forges.ErrNotFound) {
		return nil
	}
	return w.later(err)
}

// QueueUnread implements usecase.CommandQueue.
func (g *gathering) QueueUnread(_ context.Context, repo engine.Repo, number int) error {
	g.insert(UnreadArgs{RepoKey: repo.Key(), Number: number, Delivery: g.guid})
	return nil
}

// commits reads what was written on the commits that were applied last or wait
// for it: a gate is approved there too.
func (w *sweepRepoWorker) commits(ctx context.Context, site *usecase.Site, since time.Time) error {
	commits, err := w.Facts.NewestCommits(ctx, site.Repo)
	if err != nil {
		return err
	}
	for _, sha := range commits {
		comments, err := site.Forge.CommitComments(ctx, site.Repo, sha)
		if err != nil {
			return err
		}
		if err := w.unread(ctx, site, comments, since, ""); err != nil {
			return err
		}
	}
	return nil
}

// waiting adds merged pull requests that are not done yet: their green gates
// are approved in comments on them.
func (w *sweepRepoWorker) waiting(ctx context.Context, repo engine.Repo, numbers map[int]bool) error {
	open, err := w.Subjects.ToSettle(ctx)
	if err != nil {
		return err
	}
	for _, s := range open {
		if s.RepoKey != repo.Key() || s.Kind != store.SubjectPull {
			continue
		}
		number, err := numberOf(s.Name)
		if err != nil {
			return err
		}
		numbers[number] = true
	}
	return nil
}

// unread queues what was written since the repository is served here and has no
// outcome. delivery is what hinted at it, "" for a sweep.
func (j *Jobs) unread(ctx context.Context, site *usecase.Site, comments []forges.Comment, since time.Time, delivery string) error {
	for _, c := range comments {
		if c.CreatedAt.Before(since) {
			continue
		}
		outcome, _, err := j.Comments.Outcome(ctx, site.Repo.Key(), c.Ref)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil && outcome != store.CommentReceived {
			continue
		}
		if err := j.QueueCommand(ctx, site.Repo, c.Ref, delivery); err != nil {
			return err
		}
	}
	return nil
}
