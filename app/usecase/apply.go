package usecase

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// ApplyInput is one environment whose green commit is to be applied.
type ApplyInput struct {
	Site   *Site
	Branch string
	Env    string
	Member string // workspace member, "" for the root project
	// Commit is the commit to apply; "" takes the newest counting green one.
	Commit string
	// Base is where the change is measured from when nothing was applied yet; ""
	// takes the previous green commit, else the parent.
	Base string
	// Gate overrides the env's gate and RequireReview adds the review rule, as
	// the command line may; neither can loosen the declaration.
	Gate          string
	RequireReview bool
	// WaveGate has each wave after the first wait at a gate of its own, as the env's
	// waveGate has. Wave is the only one to apply then, from 1; 0 for all.
	WaveGate string
	Wave     int
	// Earlier is the apply of this env before, where it is kept.
	Earlier *Apply
	// Resume is the record of an apply that stopped part way, where a file is what is
	// kept of it; nil for none.
	Resume   *resume.Record
	DryRun   bool   // only plan, and write nothing; of a promote
	Dir      string // of this apply, kept until it is over
	Journal  Journal
	Progress func(line string)
	// Found is told the commit to apply once it is found, before anything else is done
	// about it; nil for nobody.
	Found func(commit string) error
}

// Apply is one apply, JSON-serialisable: whoever loads it after a crash carries
// on where it stopped.
type Apply struct {
	Branch string `json:"branch"`
	Policy Policy `json:"policy"`
	Member string `json:"member,omitempty"`
	Prefix string `json:"prefix"`
	Op     string `json:"op"`
	Token  string `json:"token"` // of the attempt, drawn once
	// Follows is the token of the attempt that stood before it planned, dead by
	// then: it held the lease. Any other one is of a run that came later.
	Follows string `json:"follows,omitempty"`
	Dir     string `json:"dir"`
	// Pass is the main one: it plans every member. Later are those that followed.
	Pass
	Later  []*Pass        `json:"later,omitempty"`
	FanOut digest.Digest  `json:"fanOut"`          // component-fan-out of what it selected
	Tried  []string       `json:"tried,omitempty"` // as of its PlanInput
	Report report.Report  `json:"report"`
	Merges []record.Merge `json:"merges,omitempty"` // of the range, newest first
	// Before is what the apply before this one, of the same commit, came to.
	Before Before `json:"before"`
	// Release is set where this is a promote.
	Release *Release `json:"release,omitempty"`
	// OnlyWave is the gated wave that this apply is of, 0 for all of them.
	OnlyWave int `json:"onlyWave,omitempty"`
	// Stopped is how far the apply before it came, as long as it has not started.
	Stopped *resume.Record `json:"stopped,omitempty"`
	// Round is the last round that opened; the main pass is round 1.
	Round int `json:"round"`
	// Waits says what it waits for, where no round's row says it all.
	Waits string `json:"waits,omitempty"`
	// shut says why its gate is shut, where the report says it with a line that approves:
	// a promote gives another one.
	shut string
	// Fresh: the run ended, and a fresh apply of the same commit is due at once
	// (nothing more of it may start, or how a step ended is not known).
	Fresh bool `json:"fresh,omitempty"`
	// Open are the marks of groups that kept it from being planned.
	Open []string `json:"open,omitempty"`
	// Again counts the applies of this commit that led here one after another,
	// each asking for the next.
	Again int `json:"again,omitempty"`
	// Tries counts the failed tries to carry it on after a crash.
	Tries int `json:"tries,omitempty"`
	// Warnings are for whoever runs it: one sentence each.
	Warnings []string `json:"warnings,omitempty"`
}

// Journal keeps an apply across restarts. Save returns only when it is durable.
type Journal interface {
	Save(ctx context.Context, a *Apply) error
}

// leaseTTL is how long a dead holder blocks an environment (pr-loop §9).
const leaseTTL = 5 * time.Minute

// Apply plans the green commit, decides under whose approval it may apply, and
// applies it wave by wave (pr-loop §6.4). What it decided is in the returned
// apply's report; an error means that nothing could be decided and the job is
// to be tried again. One apply of an environment runs at a time.
func (st *Stage) Apply(ctx context.Context, in ApplyInput) (*Apply, error) {
	return st.leased(ctx, in.Site, in.Env, in.Member, func(held *lease.Lease) (*Apply, error) {
		a, checkout, err := st.decideApply(ctx, in)
		if err != nil || a.over() {
			return a, err
		}
		return a, st.carryOut(ctx, in, a, checkout, held)
	})
}

func (st *Stage) leased(ctx context.Context, site *Site, env, member string, do func(*lease.Lease) (*Apply, error)) (*Apply, error) {
	key := project.LeaseKey(env, member)
	held, err := site.Leases.Acquire(ctx, key, "apply-"+env, leaseTTL)
	if other, ok := errors.AsType[*lease.Held](err); ok {
		return nil, other
	}
	if err != nil {
		return nil, fmt.Errorf("taking the lease %s: %w", key, err)
	}
	defer func() { _ = held.Release(context.WithoutCancel(ctx)) }()
	// Steps outlive a cancelled job, and so must the lease.
	defer keepRenewed(context.WithoutCancel(ctx), held.Renew, leaseTTL/3)()
	return do(held)
}

// keepRenewed renews a lease at intervals until stop is called, so that planning
// and waves may take longer than the lease lasts (pr-loop §9). A renewal that
// fails is tried again soon. It ends nothing that runs: whoever is about to start
// a step asks the lease itself.
func keepRenewed(ctx context.Context, renew func(context.Context) error, every time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for wait := every; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			once, done := context.WithTimeout(ctx, every)
			err := renew(once)
			done()
			if errors.Is(err, lease.ErrLost) {
				return
			}
			if wait = every; err != nil {
				wait = every / 10
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// over reports that the decision itself ended the apply.
func (a *Apply) over() bool { return a.Report.Status != report.Planned }

// decideApply finds the commit, plans it and decides. Afterwards the report's
// status is Planned when there is something to carry out.
func (st *Stage) decideApply(ctx context.Context, in ApplyInput) (*Apply, *Checkout, error) {
	t, err := st.GreenTarget(ctx, in)
	if err == nil && in.Found != nil {
		err = in.Found(t.Commit)
	}
	if err != nil {
		return nil, nil, err
	}
	a := &Apply{Branch: in.Branch, Policy: t.Policy, Member: in.Member, Prefix: t.Prefix, Token: st.NewID(), Follows: t.follows, Dir: in.Dir, Stopped: in.stopped(), Round: 1, OnlyWave: in.Wave}
	a.Op = project.OpGreen(t.Commit, in.Member)
	if a.Report, err = report.New(report.Apply, nil, nil); err != nil {
		return nil, nil, err
	}
	a.address(t)
	a.follow(in.Earlier)
	if t.Refusal != "" {
		a.Report.Status, a.Report.Refusal, a.Report.Message = report.Refused, report.NotGreen, report.NotGreenMessage(project.Short(t.Commit), t.Refusal)
		return a, nil, nil
	}
	if t.Done {
		a.Report.Status, a.Report.Message = report.Nothing, "this commit is the one last applied"
		return a, nil, nil
	}
	if err := in.waveRecord(); err != nil {
		return nil, nil, err
	}
	if err := st.keepBase(ctx, in, t); err != nil {
		return nil, nil, err
	}
	checkout, err := st.planTarget(ctx, in, t, a)
	if err == nil && a.Report.Status == report.PlanFailed {
		err = st.carriesWhat(ctx, in, t, a)
	}
	if err != nil || a.Report.Status == report.PlanFailed {
		return a, nil, err
	}
	if err := st.decideCover(ctx, in, t, a); err != nil {
		return nil, nil, err
	}
	return a, checkout, nil
}

// carriesWhat names the merges of a commit that did not plan: their pull requests show
// how its apply ended.
func (st *Stage) carriesWhat(ctx context.Context, in ApplyInput, t Target, a *Apply) error {
	snap, err := in.Site.Ledger.Snapshot(ctx)
	if err != nil || a.Release != nil {
		return err
	}
	_, err = st.readMerges(ctx, in.Site, snap, t, a)
	return err
}

// address says which commit, env and gate the report is of.
func (a *Apply) address(t Target) {
	r := &a.Report
	r.Env, r.Member, r.Head, r.Base, r.Op, r.Gate = t.Policy.Env.Name, a.Member, t.Commit, t.base, a.Op, t.Policy.Env.Gate
	r.Green = &report.Green{Commit: t.Commit, Base: t.base}
}

// planTarget plans the green commit with plan credentials.
func (st *Stage) planTarget(ctx context.Context, in ApplyInput, t Target, a *Apply) (*Checkout, error) {
	checkout, err := in.Site.Checkout(ctx, t.Commit, filepath.Join(in.Dir, "tree"))
	if err == nil {
		var proj project.Project
		var open openGroups
		if proj, err = findProject(checkout.Workspace, in.Member); err == nil {
			open, err = st.endGroups(ctx, in, t.Policy.Env, proj, "")
		}
		if err == nil {
			a.Set, err = st.PlanMembers(ctx, PlanInput{
				Site: in.Site, Checkout: checkout, Project: proj, Env: t.Policy.Env,
				Base: t.base, Head: t.Commit, Tried: t.tried, RunDir: in.Dir, KeepTrees: true, Progress: in.Progress, Gated: a.Release != nil,
				WaveByWave: t.Policy.Env.WaveGate != "", Applied: a.appliedBefore(in.Resume), Open: open,
			})
		}
		if err == nil {
			a.FanOut, a.Tried = a.Set.FanOut, t.tried
		}
	}
	if err != nil {
		problem := ForPeople(err)
		if problem == nil {
			return nil, err
		}
		a.Report.Status, a.Report.Message = report.PlanFailed, problem.Error()
		return nil, nil
	}
	if a.Report, err = a.Set.report(report.Apply); err != nil {
		return nil, err
	}
	a.address(t)
	a.Report.Rounds = a.Before.Rounds
	a.followRecord(a.Stopped)
	a.Before.mark(a.Set)
	a.Open = a.Set.open()
	switch {
	case len(a.Open) > 0: // also of a wave
		a.Report.Status, a.Report.Message = report.PlanFailed, a.Set.whyOpen()
	case a.Report.Status != report.PlanFailed:
	case a.OnlyWave > 1: // fails the readers of what does not plan, and no more
		a.Report.Status = report.Planned
	default:
		a.Report.Message = report.PlanFailedMessage(a.Report.Members)
	}
	return checkout, nil
}

func findProject(w *project.Workspace, member string) (project.Project, error) {
	for _, p := range w.Projects {
		if p.Member == member {
			return p, nil
		}
	}
	return project.Project{}, Refusef("workspace member %q is not declared at this commit", member)
}

// decideCover decides under what the plan may apply: the merges' approvals, the
// green commit's own gate, or nothing at all when there is nothing to apply.
func (st *Stage) decideCover(ctx context.Context, in ApplyInput, t Target, a *Apply) error {
	snap, err := in.Site.Ledger.Snapshot(ctx)
	if err != nil {
		return err
	}
	var merges []cover.Merge
	if a.Release == nil { // else no merge's approval deploys anything
		if merges, err = st.readMerges(ctx, in.Site, snap, t, a); err != nil {
			return err
		}
	}
	if a.OnlyWave > 1 {
		return st.takeWave(ctx, in, a, snap)
	}
	taken, unused, err := st.takeUp(ctx, in, t, a, snap, merges)
	if taken || err != nil {
		return err
	}
	covered := cover.ByMerges(merges, a.Set.Side(), a.Set.Nothing())
	if a.byComponents() {
		covered = a.allowed(a.Set)
	}
	if !a.gated() {
		if err := a.heldByLedger(snap, covered); err != nil {
			return err
		}
		covered = uncoverMoved(covered, a.moved(nil))
	}
	a.Report.Green.Cover = coverRows(covered)
	if len(covered.Members) == 0 || allNothing(covered) && !a.endsAtGate() {
		return st.nothingToApply(ctx, in, t, a)
	}
	state, err := a.machine(a.Set, a.Report.Digest)
	if err != nil {
		return err
	}
	if uncovered := a.withoutHoles(covered).Uncovered(); len(uncovered) > 0 {
		inRound, err := st.keepForLater(ctx, in.Site, snap, a, &state, uncovered)
		switch {
		case err != nil:
			return err
		case !inRound:
			a.Warnings = append(a.Warnings, unused...)
			return st.decideGate(ctx, in, t, a, covered)
		}
		a.Report.Resumed = a.doneBefore()
		unused = nil // the round is what was left to ask for
	}
	a.Warnings = append(a.Warnings, unused...)
	a.State = state
	if a.byComponents() {
		a.allow(record.ViaRelease, nil)
		return nil
	}
	a.allow(record.ViaMerges, coveringOf(covered))
	return nil
}

func allNothing(r cover.Report) bool {
	for _, v := range r.Members {
		if v.Status != cover.NothingToDo {
			return false
		}
	}
	return true
}

// coverRows is the coverage as the report says it.
func coverRows(r cover.Report) []report.Cover {
	rows := make([]report.Cover, 0, len(r.Members))
	for _, v := range r.Members {
		row := report.Cover{Member: v.Member, Status: report.CoverStatus(v.Status), Reason: v.Reason}
		if v.By != nil {
			row.By = &report.CoverBy{PR: v.By.PR, Digest: v.By.Digest}
		}
		rows = append(rows, row)
	}
	return rows
}

func coveringOf(r cover.Report) map[string][]string {
	out := map[string][]string{}
	for _, v := range r.Members {
		if v.By != nil {
			out[v.By.Commit] = append(out[v.By.Commit], v.Member)
		}
	}
	return out
}

// allow notes under what the apply runs.
func (a *Apply) allow(via string, covering map[string][]string) {
	a.State.Via, a.Covering = via, covering
	if via != record.ViaMerges {
		return
	}
	a.Report.Approval = report.Approval{Status: report.Approved}
	for _, m := range a.Merges {
		if len(covering[m.Commit]) > 0 {
			a.Report.Approval.ApprovedBy = withNew(a.Report.Approval.ApprovedBy, m.Approval.ApprovedBy)
		}
	}
}

// machine is the state machine of a set.
func (a *Apply) machine(set *PlanSet, d digest.Digest) (run.State, error) {
	return run.New(run.Config{
		Commit: a.Report.Head, Base: a.Report.Base, Env: a.Report.Env, Member: a.Member, Digest: d,
		Waves: set.Selection.Waves, DependsOn: set.DependsOn, Units: set.Units,
	})
}
