package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivertype"

	"github.com/chant-bot/chant/app/logs"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/sql/store"
)

// driver only says what kind of transaction a job is completed in: the driver that
// completes it is that of the client which works it.
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
	w.Inbox.Yield(ctx, mostYield)
	subject := store.Subject{RepoKey: a.RepoKey, Kind: store.SubjectKind(a.Subject), Name: a.Name}
	unlock, err := w.lock(ctx, "settle", a.RepoKey, a.Subject, a.Name)
	if err != nil {
		return err
	}
	defer unlock()
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
	if age := time.Since(job.CreatedAt); age < lockWait && otherBranch(site, state) {
		return river.JobSnooze(lockWait - age)
	}
	open, err := w.settle(ctx, site, state)
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

// otherBranch tells whether a subject is a branch that was not found to be one of
// ours. It is mostly the head of a pull request, whose settle people wait for and
// brings the same commits, so it is looked at a moment later.
func otherBranch(site *usecase.Site, state store.SubjectState) bool {
	return state.Kind == store.SubjectBranch && state.Name != site.DefaultBranch && (state.Settled == 0 || !state.Open)
}

func (w *settleWorker) settle(ctx context.Context, site *usecase.Site, s store.SubjectState) (open bool, err error) {
	switch s.Kind {
	case store.SubjectBranch:
		return w.Settler.SettleBranch(ctx, site, s.Name)
	case store.SubjectQueue:
		return false, w.Settler.SettleQueue(ctx, site, s.Name)
	case store.SubjectPull:
	}
	number, err := numberOf(s.Name)
	if err != nil {
		return false, err
	}
	return w.Settler.SettlePull(ctx, site, number, s.Generation)
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
	dir := filepath.Join(w.RunsDir, "plan-"+w.Stage.NewID())
	defer os.RemoveAll(dir)
	start := time.Now()
	wish := settle.PlanWish{Number: a.Number, Head: a.Head, BaseBranch: a.BaseBranch, Again: a.Again}
	done, err := usecase.Survive(func() (*settle.PlannedChange, error) { return w.Settler.PlanChange(ctx, site, wish, dir) })
	if err != nil {
		return w.brokenAt(ctx, site, job.JobRow, a.Head, a.BaseBranch, "plan", err)
	}
	if done == nil {
		return nil
	}
	defer done.Wait()
	logs.Add(ctx, slog.Int("plans", len(done.Plans)))
	took := time.Since(start)
	stored := w.Settler.HandOver(site.Repo, a.Number, done)
	err = w.Facts.SavePlans(ctx, site.Repo, a.Number, a.Head, a.BaseBranch, done.BaseTip, done.Plans, done.Trust, func(tx *sql.Tx) error {
		if err := w.raiseTx(ctx, tx, subjectOf(a.RepoKey, settle.PullOf(a.Number))); err != nil {
			return err
		}
		_, err := river.JobCompleteTx[driver](ctx, tx, job)
		return err
	})
	stored(err)
	if err != nil { // it is made again
		return err
	}
	for _, p := range done.Plans {
		w.Metrics.Planned(string(p.Report.Status), took)
	}
	return nil
}

// patience is how often a job fails before people are told.
const patience = 3

// broken tries the job again, and after a few tries says so to people, with what finds
// it in the log.
func (j *Jobs) broken(job *rivertype.JobRow, err error, tell func(reference string) error) error {
	if _, early := waits(err); early || job.Attempt < patience {
		return j.later(err)
	}
	return errors.Join(err, tell(fmt.Sprintf("job-%d", job.ID)))
}

// brokenAt is broken of a stage, which says so on a commit, where one is known.
func (j *Jobs) brokenAt(ctx context.Context, site *usecase.Site, job *rivertype.JobRow, sha, branch, stage string, err error) error {
	return j.broken(job, err, func(reference string) error {
		if sha == "" {
			return nil
		}
		return j.Settler.Broken(ctx, site, sha, branch, stage, reference)
	})
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
	unlock, err := w.lock(ctx, "record", a.RepoKey, a.Branch)
	if err != nil {
		return err
	}
	defer unlock()
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	in := usecase.RecordInput{
		Site: site, Branch: a.Branch, Tip: a.Tip, Plans: w.Facts, LastTry: w.Stage.Now().Sub(job.CreatedAt) >= doubtTime,
	}
	records, err := usecase.Survive(func() ([]record.Merge, error) { return w.Stage.Record(ctx, in) })
	if unplanned, ok := errors.AsType[*usecase.Unplanned](err); ok {
		return w.doubted(ctx, site, job, records, unplanned)
	}
	if err != nil {
		return w.brokenAt(ctx, site, job.JobRow, a.Tip, a.Branch, settle.StageRecord, err)
	}
	return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error { return w.recorded(ctx, tx, a, records) })
}

// recorded settles what records are about.
func (w *recordWorker) recorded(ctx context.Context, tx *sql.Tx, a RecordArgs, records []record.Merge) error {
	subjects := []store.Subject{subjectOf(a.RepoKey, settle.BranchOf(a.Branch))}
	for _, m := range records {
		if m.PR != nil {
			subjects = append(subjects, subjectOf(a.RepoKey, settle.PullOf(*m.PR)))
		}
	}
	return w.raiseTx(ctx, tx, subjects...)
}

// How long it is tried to plan a merge that the planner fails on, where nothing
// tells whose fault it is: longer than most outages of what planners need. What
// fails for a moment is not worth a word.
const (
	doubtTime  = time.Hour
	doubtQuiet = 10 * time.Second
)

// doubtWait is how long after the first try the next one comes: as long again as
// it was tried, and never rarer than would keep people waiting once it is over.
func doubtWait(tried time.Duration) time.Duration {
	return min(max(time.Second, tried), 5*time.Minute)
}

// doubted keeps what was recorded, says what was not, and tries that again.
func (w *recordWorker) doubted(ctx context.Context, site *usecase.Site, job *river.Job[RecordArgs], records []record.Merge, u *usecase.Unplanned) error {
	tried := w.Stage.Now().Sub(job.CreatedAt)
	w.Log.WarnContext(ctx, "a merge is not recorded yet", "commit", u.Commit, "why", u.Message, "tried", tried)
	if len(records) > 0 {
		if err := w.DB.InTx(ctx, func(tx *sql.Tx) error { return w.recorded(ctx, tx, job.Args, records) }); err != nil {
			return err
		}
	}
	if tried >= doubtQuiet {
		if err := w.Settler.Unplanned(ctx, site, job.Args.Branch, u, job.CreatedAt.Add(doubtTime)); err != nil {
			return w.later(err)
		}
	}
	return river.JobSnooze(doubtWait(tried))
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
	unlock, err := w.lock(ctx, "tick", a.RepoKey, a.Branch)
	if err != nil {
		return err
	}
	defer unlock()
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
	return w.Raise(ctx, site.Repo, settle.BranchOf(a.Branch))
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
	result, err := usecase.Survive(func() (settle.Outcome, error) { return w.Commander.Handle(ctx, site, a.Ref, a.Delivery) })
	if err != nil {
		return w.broken(job.JobRow, err, func(reference string) error { return w.Commander.Broken(ctx, site, a.Ref, reference) })
	}
	return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
		_, err := w.Comments.Decide(ctx, tx, a.RepoKey, a.Ref, outcomeOf(result), string(result), w.Stage.Now())
		return err
	})
}

func outcomeOf(o settle.Outcome) store.CommentOutcome {
	if o == settle.Refused {
		return store.CommentRefused
	}
	return store.CommentDone
}
