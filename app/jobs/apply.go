package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/logs"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/terraform"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/store"
)

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
	unlock, err := w.lock(ctx, "apply", a.RepoKey, project.LeaseKey(a.Env, a.Member))
	if err != nil {
		return err
	}
	defer unlock()
	site, err := w.Sites.Open(ctx, a.RepoKey)
	if err != nil {
		return w.later(err)
	}
	start := time.Now()
	done, journal, err := w.apply(ctx, site, a)
	var held *lease.Held
	var refusal *usecase.Refusal
	switch {
	case errors.As(err, &held):
		w.Log.InfoContext(ctx, "another apply holds the lease", "holder", held.Holder)
		return river.JobSnooze(10 * time.Second)
	case errors.As(err, &refusal):
		w.Log.InfoContext(ctx, "nothing to apply", "why", refusal.Message)
		// Whoever found one due while this one ran has queued none.
		return finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
			return w.raiseTx(ctx, tx, subjectOf(a.RepoKey, settle.BranchOf(a.Branch)))
		})
	case err != nil:
		return w.brokenAt(ctx, site, job.JobRow, a.Commit, a.Branch, "apply", err)
	}
	err = finish(ctx, w.Jobs, job, func(tx *sql.Tx) error {
		if err := journal.SaveTx(ctx, tx, done); err != nil {
			return err
		}
		if err := w.audit(ctx, tx, site, journal, done); err != nil {
			return err
		}
		subjects := []store.Subject{subjectOf(a.RepoKey, settle.BranchOf(a.Branch))}
		if g := done.Report.Green; g != nil {
			for _, m := range g.Merges {
				if m.PR != nil {
					subjects = append(subjects, subjectOf(a.RepoKey, settle.PullOf(*m.PR)))
				}
			}
		}
		return w.raiseTx(ctx, tx, subjects...)
	})
	if err != nil || done.Report.Status == report.Planned { // it is carried on, and ends then
		return err
	}
	w.Metrics.Applied(string(done.Report.Status), time.Since(start))
	dropRun(done.Dir)
	return nil
}

// server is who decides where no person does.
const server = "server"

// audit leaves the row of an apply that is over, or was not let happen. What it
// rests on stands in the rule: the gate's approval, or those of the merges.
func (w *applyWorker) audit(ctx context.Context, tx *sql.Tx, site *usecase.Site, j *facts.Journal, a *usecase.Apply) error {
	rep := a.Report
	if rep.Status == report.Planned {
		return nil
	}
	row := settle.AuditRow{
		Actor: server, Action: "apply", Digest: rep.Digest, Rule: a.State.Via, Result: string(rep.Status),
		Detail: fmt.Sprintf("%s to %s, run %d", rep.Head, rep.Env, j.ID()),
	}
	if rep.Refusal != "" {
		row.Rule = string(rep.Refusal)
	}
	return w.Facts.AuditTx(ctx, tx, site.Repo, row)
}

func (w *applyWorker) apply(ctx context.Context, site *usecase.Site, a ApplyArgs) (*usecase.Apply, *facts.Journal, error) {
	in := usecase.ApplyInput{Site: site, Branch: a.Branch, Env: a.Env, Member: a.Member}
	kept, found, err := w.Facts.NewestRun(ctx, site.Repo, a.Env, a.Member)
	if err != nil {
		return nil, nil, err
	}
	if found && kept.Status == settle.RunRunning {
		return w.resume(ctx, in, kept)
	}
	if err := w.Settler.Ready(ctx, in, a.asked()); err != nil {
		return nil, nil, err
	}
	j := w.Facts.NewJournal(site.Repo, a.Env, a.Member)
	logs.Add(ctx, slog.Any(logs.Run, j))
	in.Journal, in.Dir = j, filepath.Join(w.RunsDir, "apply-"+w.Stage.NewID())
	if found {
		in.Earlier = kept.Apply
	}
	done, err := usecase.Survive(func() (*usecase.Apply, error) { return w.Stage.Apply(ctx, in) })
	if err != nil && !j.Kept() {
		dropRun(in.Dir) // else it is carried on, with the plans in there
	}
	return done, j, err
}

// resumes is how often carrying an apply on may fail before it is given up and a
// fresh one decides. Tries come a minute apart at most; a remote or a forge that
// asks to wait does not count.
const resumes = 20

func (w *applyWorker) resume(ctx context.Context, in usecase.ApplyInput, kept settle.KeptRun) (*usecase.Apply, *facts.Journal, error) {
	a, j := kept.Apply, w.Facts.Reopen(in.Site.Repo, kept)
	logs.Add(ctx, slog.Any(logs.Run, j))
	in.Journal, in.Dir = j, a.Dir
	done, err := usecase.Survive(func() (*usecase.Apply, error) { return w.Stage.Resume(ctx, in, a) })
	var held *lease.Held
	var refusal *usecase.Refusal
	// A later try has a chance where nothing of this one was wrong.
	_, early := waits(err)
	if err == nil || ctx.Err() != nil || early || errors.As(err, &held) {
		return done, j, err
	}
	if a.Tries++; a.Tries < resumes && !errors.As(err, &refusal) {
		return nil, nil, errors.Join(err, j.Save(ctx, a))
	}
	w.Log.ErrorContext(ctx, "an apply can't be carried on", "commit", a.Report.Head, "error", err)
	a.Abandon(w.Stage.Words(ctx, err))
	return a, j, nil
}

// supervised matches the directories of supervised applies in a run's.
const supervised = "members/*/apply"

// dropRun removes the directory of a run, unless something that it started still
// lives: an orphan needs its files, and its locks keep others away from them. Nor does
// it where the state of a group is still to be given to its members (soundness I12).
func dropRun(dir string) {
	if dir == "" {
		return
	}
	started, _ := fs.Glob(os.DirFS(dir), supervised) // the pattern is well formed
	for _, s := range started {
		if st, err := exec.Recover(filepath.Join(dir, s)); err == nil && st.State == exec.Running {
			return
		}
	}
	if terraform.UnsettledIn(filepath.Join(dir, "groups")) {
		return
	}
	// What is left is removed at the next start.
	_ = git.RemoveWorktree(dir)
}

// dropLeftovers removes what a killed server left of plans, records and applies
// that nobody carries on.
func (j *Jobs) dropLeftovers(ctx context.Context) error {
	dirs, err := j.Facts.RunDirs(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, dir := range dirs {
		wanted[filepath.Base(dir)] = true // however the state directory was spelled
	}
	entries, err := os.ReadDir(j.RunsDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := e.Name() == "record" || strings.HasPrefix(e.Name(), "plan-") || strings.HasPrefix(e.Name(), "apply-")
		if ours && !wanted[e.Name()] {
			dropRun(filepath.Join(j.RunsDir, e.Name()))
		}
	}
	return nil
}
