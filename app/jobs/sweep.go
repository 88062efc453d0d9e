package jobs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/store"
)

// sweepWorker catches what a lost delivery would have said.
type sweepWorker struct {
	river.WorkerDefaults[SweepArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*sweepWorker) Timeout(*river.Job[SweepArgs]) time.Duration { return settleTimeout }

// Work raises every open pull request, every tracked branch and every comment
// nobody has read, in every repository served. One repository that cannot be
// read keeps none of the others from being looked at.
func (w *sweepWorker) Work(ctx context.Context, _ *river.Job[SweepArgs]) error {
	var errs []error
	repos, err := w.Sites.Discover(ctx)
	if err != nil {
		errs = append(errs, err)
	}
	for _, repo := range repos {
		if err := w.sweep(ctx, repo); err != nil {
			errs = append(errs, err)
		}
	}
	if err := w.subjects(ctx); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, w.Sites.Maintain(ctx))
	if w.Retention > 0 {
		errs = append(errs, w.DB.InTx(ctx, func(tx *sql.Tx) error {
			_, err := w.Deliveries.DeleteBefore(ctx, tx, w.Stage.Now().Add(-w.Retention))
			return err
		}))
	}
	return w.later(errors.Join(errs...))
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

func (w *sweepWorker) sweep(ctx context.Context, repo store.Repo) error {
	site, err := w.Sites.Open(ctx, repo.Key())
	if err != nil {
		return err
	}
	if err := w.Raise(ctx, site.Repo, usecase.BranchOf(repo.DefaultBranch)); err != nil {
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
		if err := w.Raise(ctx, site.Repo, usecase.PullOf(c.Number)); err != nil {
			return err
		}
	}
	if err := w.waiting(ctx, site.Repo, numbers); err != nil {
		return err
	}
	for number := range numbers {
		if err := w.comments(ctx, site, number, since); err != nil {
			return err
		}
	}
	return nil
}

// waiting adds merged pull requests that are not done yet: their green gates
// are approved in comments on them.
func (w *sweepWorker) waiting(ctx context.Context, repo engine.Repo, numbers map[int]bool) error {
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

// comments reads what was written since the repository is served here and has
// no outcome.
func (w *sweepWorker) comments(ctx context.Context, site *usecase.Site, number int, since time.Time) error {
	comments, err := site.Forge.RecentComments(ctx, site.Repo, number)
	if err != nil {
		return err
	}
	for _, c := range comments {
		if c.CreatedAt.Before(since) {
			continue
		}
		outcome, _, err := w.Comments.Outcome(ctx, site.Repo.Key(), c.Ref)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if err == nil && outcome != store.CommentReceived {
			continue
		}
		if err := w.QueueCommand(ctx, site.Repo, c.Ref); err != nil {
			return err
		}
	}
	return nil
}
