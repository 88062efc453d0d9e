package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

// driver is the queue's database driver, named where a job is completed inside
// a transaction.
type driver = *riversqlite.Driver

// settleWorker settles subjects under their generation.
type settleWorker struct {
	river.WorkerDefaults[SettleArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*settleWorker) Timeout(*river.Job[SettleArgs]) time.Duration { return settleTimeout }

// Work settles the subject as it stands now, once for every fact that came
// before it started, and again when facts came meanwhile.
func (w *settleWorker) Work(ctx context.Context, job *river.Job[SettleArgs]) error {
	a := job.Args
	subject := store.Subject{RepoKey: a.RepoKey, Kind: store.SubjectKind(a.Subject), Name: a.Name}
	defer w.locks.lock("settle " + a.RepoKey + " " + a.Subject + " " + a.Name)()
	state, err := w.Subjects.Get(ctx, subject)
	if errors.Is(err, store.ErrNotFound) || err == nil && state.Settled >= a.Generation {
		return nil
	}
	if err != nil {
		return err
	}
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	open, err := w.settle(ctx, site, subject)
	if err != nil {
		return w.later(err)
	}
	return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
		if err := w.Subjects.SetOpen(ctx, tx, subject, open); err != nil {
			return err
		}
		again, err := w.Subjects.EndSettle(ctx, tx, subject, state.Generation)
		if err != nil || !again {
			return err
		}
		return w.settleTx(ctx, tx, subject, state.Generation+1)
	})
}

func (w *settleWorker) settle(ctx context.Context, site *usecase.Site, s store.Subject) (open bool, err error) {
	if s.Kind == store.SubjectBranch {
		return w.Settler.SettleBranch(ctx, site, s.Name)
	}
	number, err := numberOf(s.Name)
	if err != nil {
		return false, err
	}
	return w.Settler.SettlePull(ctx, site, number)
}

// planWorker plans pull requests.
type planWorker struct {
	river.WorkerDefaults[PlanArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*planWorker) Timeout(*river.Job[PlanArgs]) time.Duration { return planTimeout }

// Work plans the head if it still is the head, stores the plans and settles the
// pull request.
func (w *planWorker) Work(ctx context.Context, job *river.Job[PlanArgs]) error {
	a := job.Args
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	change, err := site.Forge.Change(ctx, site.Repo, a.Number)
	if err != nil && !errors.Is(err, forges.ErrNotFound) {
		return w.later(err)
	}
	if err != nil || change.State != engine.Open || change.Head != a.Head || change.BaseBranch != a.BaseBranch {
		return nil // a newer head has a job of its own
	}
	if kept, err := w.Facts.Planned(ctx, site.Repo, a.Number, a.Head, a.BaseBranch); err != nil || len(kept) > 0 && !a.Again {
		return err
	}
	dir := filepath.Join(w.RunsDir, "plan-"+w.Stage.NewID())
	defer os.RemoveAll(dir)
	plans, trust, baseTip, err := w.Stage.PlanChange(ctx, site, change, dir)
	if err != nil {
		return w.broken(ctx, site, job.JobRow, a.Head, a.BaseBranch, "plan", err)
	}
	return w.Facts.SavePlans(ctx, site.Repo, a.Number, a.Head, a.BaseBranch, baseTip, plans, trust, func(tx *sql.Tx) error {
		if err := w.raiseTx(ctx, tx, subjectOf(a.RepoKey, usecase.PullOf(a.Number))); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[driver](ctx, tx, job)
		return err
	})
}

// patience is how often a job fails before people are told.
const patience = 3

// broken tries the job again, and after a few tries says so on the commit.
func (j *Jobs) broken(ctx context.Context, site *usecase.Site, job *rivertype.JobRow, sha, branch, stage string, err error) error {
	if later := j.later(err); later != err || job.Attempt < patience || sha == "" {
		return later
	}
	if told := j.Settler.Broken(ctx, site, sha, branch, stage, fmt.Sprintf("job-%d", job.ID)); told != nil {
		return errors.Join(err, told)
	}
	return err
}

// recordWorker records merges.
type recordWorker struct {
	river.WorkerDefaults[RecordArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*recordWorker) Timeout(*river.Job[RecordArgs]) time.Duration { return planTimeout }

// Work records what the branch's tip carries and settles the branch and the
// pull requests that were merged.
func (w *recordWorker) Work(ctx context.Context, job *river.Job[RecordArgs]) error {
	a := job.Args
	defer w.locks.lock("record " + a.RepoKey + " " + a.Branch)()
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	records, err := w.Stage.Record(ctx, usecase.RecordInput{Site: site, Branch: a.Branch, Tip: a.Tip, Plans: w.Facts})
	if err != nil {
		return w.later(err)
	}
	return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
		for _, m := range records {
			if m.PR != nil {
				if err := w.raiseTx(ctx, tx, subjectOf(a.RepoKey, usecase.PullOf(*m.PR))); err != nil {
					return err
				}
			}
		}
		return w.raiseTx(ctx, tx, subjectOf(a.RepoKey, usecase.BranchOf(a.Branch)))
	})
}

// tickWorker tags green commits.
type tickWorker struct {
	river.WorkerDefaults[TickArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*tickWorker) Timeout(*river.Job[TickArgs]) time.Duration { return settleTimeout }

// Work makes the tags due and settles the branch when there was one.
func (w *tickWorker) Work(ctx context.Context, job *river.Job[TickArgs]) error {
	a := job.Args
	defer w.locks.lock("tick " + a.RepoKey + " " + a.Branch)()
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	made, err := w.Stage.TickBranch(ctx, site, a.Branch)
	if err != nil {
		return w.later(err)
	}
	if len(made) == 0 {
		return nil
	}
	return w.Raise(ctx, site.Repo, usecase.BranchOf(a.Branch))
}

// applyWorker applies green commits.
type applyWorker struct {
	river.WorkerDefaults[ApplyArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*applyWorker) Timeout(*river.Job[ApplyArgs]) time.Duration { return applyTimeout }

// Work carries an interrupted apply on, or makes a new one, and settles what it
// carried.
func (w *applyWorker) Work(ctx context.Context, job *river.Job[ApplyArgs]) error {
	a := job.Args
	defer w.locks.lock("apply " + a.RepoKey + " " + project.LeaseKey(a.Env, a.Member))()
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	done, journal, err := w.apply(ctx, site, a)
	var held *lease.Held
	var refusal *usecase.Refusal
	switch {
	case errors.As(err, &held):
		w.Log.Info("another apply holds the lease", "env", a.Env, "holder", held.Holder)
		return river.JobSnooze(10 * time.Second)
	case errors.As(err, &refusal):
		w.Log.Info("nothing to apply", "env", a.Env, "why", refusal.Message)
		return nil
	case err != nil:
		return w.broken(ctx, site, job.JobRow, a.Commit, a.Branch, "apply", err)
	}
	defer w.discard(done)
	return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
		if err := journal.SaveTx(ctx, tx, done); err != nil {
			return err
		}
		if g := done.Report.Green; g != nil {
			for _, m := range g.Merges {
				if m.PR == nil {
					continue
				}
				if err := w.raiseTx(ctx, tx, subjectOf(a.RepoKey, usecase.PullOf(*m.PR))); err != nil {
					return err
				}
			}
		}
		return w.raiseTx(ctx, tx, subjectOf(a.RepoKey, usecase.BranchOf(a.Branch)))
	})
}

// journal is what an apply is kept in.
type journal interface {
	usecase.Journal
	SaveTx(ctx context.Context, tx *sql.Tx, a *usecase.Apply) error
}

func (w *applyWorker) apply(ctx context.Context, site *usecase.Site, a ApplyArgs) (*usecase.Apply, journal, error) {
	in := usecase.ApplyInput{Site: site, Branch: a.Branch, Env: a.Env, Member: a.Member}
	kept, found, err := w.Facts.NewestRun(ctx, site.Repo, a.Env, a.Member)
	if err != nil {
		return nil, nil, err
	}
	if found && kept.Status == usecase.RunRunning {
		j := w.Facts.Reopen(site.Repo, kept)
		in.Journal, in.Dir = j, kept.Apply.Dir
		done, err := w.Stage.Resume(ctx, in, kept.Apply)
		return done, j, err
	}
	j := w.Facts.NewJournal(site.Repo, a.Env, a.Member)
	in.Journal, in.Dir = j, filepath.Join(w.RunsDir, "apply-"+w.Stage.NewID())
	done, err := w.Stage.Apply(ctx, in)
	if err != nil {
		os.RemoveAll(in.Dir)
	}
	return done, j, err
}

// discard drops the files of an apply that is over.
func (w *applyWorker) discard(a *usecase.Apply) {
	if a.Report.Status != report.Planned {
		os.RemoveAll(a.Dir)
	}
}

// commandWorker reads comments.
type commandWorker struct {
	river.WorkerDefaults[CommandArgs]
	*Jobs
}

// Timeout implements river.Worker.
func (*commandWorker) Timeout(*river.Job[CommandArgs]) time.Duration { return settleTimeout }

// Work gives the comment its one outcome.
func (w *commandWorker) Work(ctx context.Context, job *river.Job[CommandArgs]) error {
	a := job.Args
	outcome, _, err := w.Comments.Outcome(ctx, a.RepoKey, a.Ref)
	if err != nil || outcome != store.CommentReceived {
		return err
	}
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	result, err := w.Commander.Handle(ctx, site, a.Ref, a.Delivery)
	if err != nil {
		return w.later(err)
	}
	return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
		_, err := w.Comments.Decide(ctx, tx, a.RepoKey, a.Ref, outcomeOf(result), string(result), w.Stage.Now())
		return err
	})
}

func outcomeOf(o usecase.Outcome) store.CommentOutcome {
	if o == usecase.Refused {
		return store.CommentRefused
	}
	return store.CommentDone
}
