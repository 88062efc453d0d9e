package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// ApplyOptions are those of `chant components pr-apply` (pr-loop §5.1, §6.4).
type ApplyOptions struct {
	CommonOptions
	FollowOptions
	ResumeOptions

	Green         bool   `help:"Apply the green commit checked out, under the approvals of the merges it carries. pr-apply cannot do without it yet; ci run apply implies it."`
	Base          string `env:"BASE_SHA" placeholder:"REF" help:"Commit the change is measured from when nothing was applied yet. Default: the green commit before, else the parent."`
	Head          string `env:"GREEN_SHA" placeholder:"REF" help:"Commit to apply. Default: the one checked out; of ci run apply the newest green one."`
	WaveGate      string `placeholder:"GATE" help:"Plan each wave after the first again when it is reached, and have one that is not covered then wait at GATE-wave-2 and so on, as the env's waveGate has."`
	Wave          int    `placeholder:"N" help:"Apply this wave only, from 1, after the runs of the waves before it. Needs --resume, which hands on what was approved."`
	RequireReview bool   `help:"Count no approval of somebody who wrote a pull request that the commit carries. Needs --forge."`
}

// ApplyGreen applies a green commit and writes pr-apply.json, change-set.json
// and pr-note.md.
func ApplyGreen(ctx context.Context, h *Host, o ApplyOptions) error {
	if !o.Green {
		return NotBuilt("pr-apply of a pull request's own merge commit", "apply green commits: add --green")
	}
	return h.apply(ctx, o, false, nil)
}

func (o ApplyOptions) check() error {
	switch {
	case o.RequireReview && o.Forge == "":
		return Misuse("--require-review reads reviews: add --forge")
	case o.Wave < 0:
		return Misuse("--wave %d: waves are numbered from 1", o.Wave)
	case o.Wave > 0 && o.Resume == "":
		return Misuse("--wave goes on with what the record of the waves before it holds: add --resume")
	}
	return nil
}

// apply applies one commit: the one named, HEAD, or the newest green one. found is told
// which, nil for nobody.
func (h *Host) apply(ctx context.Context, o ApplyOptions, newest bool, found func(commit string) error) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	at := "HEAD"
	if o.Head != "" {
		at = o.Head
	}
	commit, err := c.resolve(ctx, at)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	where, err := h.target(ctx, c, o.CommonOptions, commit)
	if err != nil {
		return err
	}
	in := usecase.ApplyInput{
		Site: c.site, Branch: where.branch, Env: where.env, Member: where.member, Commit: commit,
		Gate: o.Gate, WaveGate: o.WaveGate, Wave: o.Wave, RequireReview: o.RequireReview, Progress: h.progress, Found: found,
	}
	switch {
	case newest && o.Head == "":
		in.Commit = ""
	case found != nil: // it is known before anything can fail
		if err := found(commit); err != nil {
			return err
		}
		in.Found = nil
	}
	if in.Base, err = c.commitBefore(ctx, o.Base); err != nil {
		return err
	}
	stage, runs, err := h.stage(ctx, c, o.Run, where.env)
	if err != nil {
		return err
	}
	f, err := h.followApply(ctx, c, &in, o.FollowOptions, o.ResumeOptions, applyRecord)
	if err != nil {
		return err
	}
	a, err := h.applyUntilSettled(ctx, c, stage, in)
	f.close()
	if o.Wave > 0 {
		err = refusedIsFailed(err) // a wave that its record does not let go on (decision 17)
	}
	if a == nil {
		return err
	}
	f.end(a.Report)
	return h.finishApply(ctx, c, o, where, a, err, runs.notIsolated())
}

// commitBefore resolves --base, "" for none: a push that made the branch says 40
// zeros.
func (c *checkout) commitBefore(ctx context.Context, base string) (string, error) {
	if !someCommit(base) {
		return "", nil
	}
	sha, err := c.resolve(ctx, base)
	if err != nil {
		return "", fmt.Errorf("--base: %w", err)
	}
	return sha, nil
}

// someCommit tells a revision from none: forges write a missing commit as zeros.
func someCommit(rev string) bool {
	for _, c := range rev {
		if c != '0' {
			return true
		}
	}
	return false
}

// applyUntilSettled applies, and applies once more at once where the stage says
// that a fresh plan is due: a member was held until what it reads was applied.
// The stage bounds how often.
func (h *Host) applyUntilSettled(ctx context.Context, c *checkout, stage *usecase.Stage, in usecase.ApplyInput) (*usecase.Apply, error) {
	var before []string // components applied by earlier passes
	for {
		dir, remove, err := c.runDir()
		if err != nil {
			return nil, err
		}
		in.Dir = dir
		var a *usecase.Apply
		err = h.whenFree(ctx, func() (err error) { a, err = stage.Apply(ctx, in); return err })
		remove()
		if a != nil {
			before = resumed(&a.Report, before)
		}
		if err != nil || !a.Fresh {
			return a, err
		}
		in.Earlier, in.Resume = a, nil
		if in.Wave > 1 { // which goes on with nothing else
			r := a.ResumeRecord()
			in.Resume = &r
		}
		h.progress("planning again: " + freshReason(a))
		before = appliedBy(a, before)
		in.Commit = a.Report.Head
	}
}

// resumed has the report name what was applied before this plan was made: by an
// earlier run, or by this one.
func resumed(r *report.Report, before []string) []string {
	if r.Resumed != nil {
		for _, component := range r.Resumed.Applied {
			if !slices.Contains(before, component) {
				before = append(before, component)
			}
		}
	}
	if len(before) > 0 {
		r.Resumed = &report.Resumed{Applied: before}
	}
	return before
}

// appliedBy adds the components of which an apply applied a member.
func appliedBy(a *usecase.Apply, before []string) []string {
	passes := a.Passes()
	for _, member := range a.State.Order {
		m := passes.Member(member)
		if m.Status == run.Applied && !slices.Contains(before, m.Component) {
			before = append(before, m.Component)
		}
	}
	return before
}

func freshReason(a *usecase.Apply) string {
	passes := a.Passes()
	for _, member := range a.State.Order {
		if passes.Member(member).Status == run.Unknown {
			return "how the apply of " + member + " ended was not observed"
		}
	}
	return passes.Halted()
}

// interrupted says in the report how far an apply came that ended in an error.
func interrupted(r *report.Report, p run.Passes, failure error) {
	r.Take(p)
	r.Status, r.Message = report.Failed, failure.Error()
}

func (h *Host) finishApply(ctx context.Context, c *checkout, o ApplyOptions, where target, a *usecase.Apply, failure error, notIsolated bool) error {
	if a.PastLastWave() { // what the others came to is said already
		h.sayf("%s", a.Report.Message)
		return failure
	}
	if failure != nil {
		interrupted(&a.Report, a.Passes(), failure)
	}
	for _, w := range a.Warnings {
		h.warnf("%s", w)
	}
	out := outcome{report: a.Report, document: a.Report.ChangeSet.JSON(), forge: c.job.repo.Instance.Kind, note: note.Input{
		Report: a.Report, Marker: project.NoteMarker(where.env, where.member), At: h.Now(), RunURL: c.job.url,
		BaseBranch: where.branch, ApplyOnMerge: true, NotIsolated: notIsolated, Ask: ask(a.Policy), Asked: a.Asked(), Forge: c.job.repo.Instance,
		Then: "Once approved, run its job again, or `chant ci run apply` at this commit.",
	}}
	if s := a.Report.Status; s == report.Failed || s == report.PlanFailed {
		h.progress(toGoOn(waitingPasses(a.Report, a.Policy.Refuse)))
		out.note.Report.Message = strings.TrimSpace(a.Report.Message + "\n\nIt is not tried again by itself: run its job again, or `chant ci run apply` at this commit.")
	}
	if a.Set != nil {
		out.shown = a.Set.Shown()
	}
	if err := h.write(o.Output, out); err != nil {
		return errors.Join(failure, err)
	}
	if err := h.keepPass(o.Output, a); err != nil {
		return errors.Join(failure, err)
	}
	var pulls []int
	if a.Report.Green != nil {
		for _, m := range a.Report.Green.Merges {
			if m.PR != nil {
				pulls = append(pulls, *m.PR)
			}
		}
	}
	h.post(ctx, c, where, pulls, out)
	err := h.conclude(o.CommonOptions, out)
	switch {
	case failure != nil:
		return failure
	case a.WaveEnded():
		return nil
	}
	return err
}
