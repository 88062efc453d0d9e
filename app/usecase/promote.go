package usecase

import (
	"context"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// PromoteOp is the op of the gates of a whole release and of its waves.
const PromoteOp = "promote"

// PromoteInput is an environment to which what was merged is deployed by hand, where
// merges only record (components §1.3). Its Gate is asked for everything before any of it
// is deployed, and its WaveGate for each wave; "" for neither, and never both.
type PromoteInput struct {
	ApplyInput

	Head string // the commit checked out, which has to be the one to deploy
}

// Promote plans everything that was merged since the last release, as one document, and
// deploys it as an apply does, pass by pass: a component with gates of its own when
// these are open for the document, any other at once, and one that was planned with an
// input which is not known, or is another by then, in a round. Nothing is rolled back
// (decision 16).
func (st *Stage) Promote(ctx context.Context, in PromoteInput) (*Apply, error) {
	return st.leased(ctx, in.Site, in.Env, in.Member, func(held *lease.Lease) (*Apply, error) {
		a, checkout, err := st.decideRelease(ctx, in)
		if err != nil || a.over() || in.DryRun {
			return a, err
		}
		return a, st.carryOut(ctx, in.ApplyInput, a, checkout, held)
	})
}

// decideRelease finds the commit, plans it, and decides what may be decided before
// anything is deployed.
func (st *Stage) decideRelease(ctx context.Context, in PromoteInput) (*Apply, *Checkout, error) {
	t, err := st.GreenTarget(ctx, in.ApplyInput)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case t.Refusal != "":
		return nil, nil, Refusef("%s; a release is made of a green commit", t.Refusal)
	case t.Commit != in.Head:
		return nil, nil, Refusef("%s is to be released and %s is checked out; check out %s", project.Short(t.Commit), project.Short(in.Head), t.Commit)
	}
	a, err := st.newRelease(in, &t)
	if err != nil || t.Done {
		return a, nil, err
	}
	if err := in.waveRecord(); err != nil {
		return nil, nil, err
	}
	if !in.DryRun {
		if err := st.keepBase(ctx, in.ApplyInput, t); err != nil {
			return nil, nil, err
		}
	}
	checkout, err := st.planTarget(ctx, in.ApplyInput, t, a)
	if err != nil {
		return nil, nil, err
	}
	if a.Report.Status == report.PlanFailed {
		return nil, nil, Refusef("%s", a.whyUnplanned())
	}
	if err := st.openRelease(ctx, in, t, a, checkout); err != nil || in.DryRun {
		return a, checkout, err
	}
	return a, checkout, st.decideCover(ctx, in.ApplyInput, t, a)
}

// whyUnplanned says why a plan keeps the whole release back: nobody could approve all
// of it.
func (a *Apply) whyUnplanned() string {
	for _, m := range a.Report.Members {
		if m.Status == report.MemberPlanFailed {
			return "planning " + m.Member + " failed, so nothing is released: " + m.Error
		}
	}
	return "planning failed, so nothing is released: " + a.Report.Message
}

// newRelease is a release of which nothing is planned yet.
func (st *Stage) newRelease(in PromoteInput, t *Target) (*Apply, error) {
	a := &Apply{
		Branch: in.Branch, Member: in.Member, Prefix: t.Prefix, Op: PromoteOp, Token: st.NewID(), Follows: t.follows,
		Dir: in.Dir, Round: 1, OnlyWave: in.Wave, Release: &Release{AppliesOnMerge: t.Policy.Env.ApplyOnMerge, Rounds: t.held, Waiting: map[string]GateAnswer{}, AtGate: map[string]bool{}, Plans: map[string]*PlanSet{}},
	}
	env := &t.Policy.Env
	t.Policy.OnlyEnv = false // every env has these ops and gates
	switch {
	case in.Gate != "" && env.WaveGate != "":
		return nil, Refusef("env %s gates each wave (%s), so one gate for all of them is not asked; leave it out", env.Name, env.WaveGate)
	case env.WaveGate != "":
		env.Gate = project.WaveGate(env.WaveGate, 1)
	case in.Gate == "":
		env.Gate = "" // the components have gates
	}
	a.Policy = t.Policy
	var err error
	if a.Report, err = report.New(report.Apply, nil, nil); err != nil {
		return nil, err
	}
	a.address(*t)
	if t.Done {
		a.Report.Status, a.Report.Message = report.Nothing, t.Commit+" is what "+in.Env+" has already"
	}
	return a, nil
}

// openRelease reads what the gates of a release that is planned need, and says what it
// is made of.
func (st *Stage) openRelease(ctx context.Context, in PromoteInput, t Target, a *Apply, checkout *Checkout) error {
	binds, err := in.Site.bindsRelease(ctx, in.Branch, t.base)
	if err != nil {
		return err
	}
	d, err := st.deploymentOf(DeployInput{
		Site: in.Site, Commit: t.Commit, Member: in.Member, Env: in.Env, Binds: binds, Dir: in.Dir, Progress: in.Progress,
	}, t.Policy, checkout)
	if err != nil {
		return err
	}
	names := a.Set.Selection.Order()
	if err := d.Runnable(names); err != nil {
		return err
	}
	a.Release.deployment = d
	if a.Release.Sources, err = d.Sources(ctx, names); err != nil {
		return err
	}
	snap, err := in.Site.Snapshot(ctx)
	if err != nil {
		return err
	}
	if a.Report.Green.Merges, _, err = mergesOf(snap, t); err != nil {
		return err
	}
	a.heldBefore()
	a.sayRelease(d)
	return nil
}

// sayRelease says what the release is made of.
func (a *Apply) sayRelease(d *Deployment) {
	d.say("release of %s to %s, since %s", a.Report.Head, a.Report.Env, a.Report.Base)
	for _, m := range a.Report.Green.Merges {
		switch {
		case m.PR == nil:
			d.say("  %s, merged by no pull request", project.Short(m.Commit))
		case len(m.ApprovedBy) > 0:
			d.say("  %s, #%d, approved by %s", project.Short(m.Commit), *m.PR, strings.Join(m.ApprovedBy, ", "))
		default:
			d.say("  %s, #%d", project.Short(m.Commit), *m.PR)
		}
	}
	for i, wave := range a.Set.Selection.Waves {
		d.say("  wave %d: %s", i+1, strings.Join(wave, ", "))
	}
	if !a.Report.Digest.IsZero() {
		d.say("plan: %s", a.Report.Digest)
	}
}

// bindsRelease is the declaration that binds gates: of the branch's tip and of the
// commit released before, the stricter of the two (decision 2). One that did not read
// then bound nothing.
func (s *Site) bindsRelease(ctx context.Context, branch, base string) (*project.Declaration, error) {
	tip, _, err := s.lineOf(ctx, branch)
	if err != nil {
		return nil, err
	}
	binds, err := s.Declaration(ctx, tip)
	if err != nil {
		return nil, err
	}
	before, err := s.Declaration(ctx, base)
	switch {
	case err == nil:
		return project.Stricter(before, binds), nil
	case ForPeople(err) != nil:
		return binds, nil //nolint:nilerr // as said above
	}
	return nil, err
}
