package usecase

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// PromoteInput is an environment to which what was merged is deployed by hand, where
// merges only record (components §1.3).
type PromoteInput struct {
	Site                *Site
	Branch, Env, Member string
	// Commit is the green commit to deploy; "" is the newest one. It has to be Head,
	// the commit checked out.
	Commit, Head string
	// Base is where the change is measured from when nothing was applied yet.
	Base     string
	DryRun   bool // only plan
	Dir      string
	Progress func(line string)
}

// apply is the same as the input of an apply, which finds the commit by the same rules.
func (in PromoteInput) apply() ApplyInput {
	return ApplyInput{
		Site: in.Site, Branch: in.Branch, Env: in.Env, Member: in.Member, Commit: in.Commit, Base: in.Base,
		Dir: in.Dir, Progress: in.Progress,
	}
}

// Promotion is a release as it was planned and how it ended.
type Promotion struct {
	Commit, Base string
	Merges       []report.Merge // newest first, those without a record too
	// AppliesOnMerge: merges deploy to the env by themselves too.
	AppliesOnMerge bool
	// Run is nil where there was nothing to look at: the commit is the one released.
	Run *fanout.Run
	// Plan is what was planned, nil where nothing was selected.
	Plan *WavePlan
	Rollout
}

// promotion is one Promote under way.
type promotion struct {
	*rollout

	input   PromoteInput
	t       target
	ex      *execution
	members []*member
	out     *Promotion
}

// Promote plans everything that was merged since the last release, as one document,
// and deploys it wave by wave: a component with gates of its own when these are open
// for the document, any other at once, and one that was planned with an input which is
// not known, or is another by then, not at all. Nothing is rolled back (decision 16).
func (st *Stage) Promote(ctx context.Context, in PromoteInput) (Promotion, error) {
	var out Promotion
	_, err := st.leased(ctx, in.Site, in.Env, in.Member, func(held *lease.Lease) (*Apply, error) {
		p, err := st.openPromotion(ctx, in, held, &out)
		if err != nil || p == nil {
			return nil, err
		}
		if err := p.plan(ctx); err != nil || in.DryRun {
			return nil, err
		}
		return nil, p.carryOut(ctx)
	})
	return out, err
}

// openPromotion finds the commit and what it deploys; nil is nothing.
func (st *Stage) openPromotion(ctx context.Context, in PromoteInput, held *lease.Lease, out *Promotion) (*promotion, error) {
	t, err := st.greenTarget(ctx, in.apply())
	if err != nil {
		return nil, err
	}
	out.Commit, out.Base, out.AppliesOnMerge = t.commit, t.base, t.policy.Env.ApplyOnMerge
	switch {
	case t.refusal != "":
		return nil, refusef("%s; a release is made of a green commit", t.refusal)
	case t.commit != in.Head:
		return nil, refusef("%s is to be released and %s is checked out; check out %s", short(t.commit), short(in.Head), t.commit)
	case t.done:
		out.Status = fanout.OK
		return nil, nil
	}
	if out.Merges, err = st.mergeRows(ctx, in.Site, t); err != nil {
		return nil, err
	}
	binds, err := in.Site.bindsRelease(ctx, in.Branch, t.base)
	if err != nil {
		return nil, err
	}
	checkout, err := in.Site.Checkout(ctx, t.commit, filepath.Join(in.Dir, "tree"))
	if err != nil {
		return nil, err
	}
	policy := t.policy
	policy.OnlyEnv = false // every env has these ops and gates
	d, err := st.deploymentOf(DeployInput{
		Site: in.Site, Commit: t.commit, Member: in.Member, Env: in.Env, Binds: binds, Dir: in.Dir, Progress: in.Progress,
	}, policy, checkout)
	if err != nil {
		return nil, err
	}
	if err := d.begin(ctx, held); err != nil {
		return nil, err
	}
	if !in.DryRun {
		if err := st.keepBase(ctx, in.apply(), t); err != nil {
			return nil, err
		}
	}
	p := &promotion{rollout: &rollout{Deployment: d}, input: in, t: t, out: out}
	d.gateOf = p.askRelease
	return p, p.derive(ctx)
}

// derive selects what the commits since the base reach.
func (p *promotion) derive(ctx context.Context) error {
	selection, err := p.SelectChanged(ctx, p.t.base)
	if err != nil {
		return err
	}
	names := selection.Order()
	if err := p.Runnable(names); err != nil {
		return err
	}
	sources, err := p.Sources(ctx, names)
	if err != nil {
		return err
	}
	plan, err := fanout.Derive(p.Components(), selection, sources)
	if err != nil {
		return err
	}
	p.out.Run, _ = fanout.NewRun(plan, nil)
	p.in = RolloutInput{Run: p.out.Run, Sources: sources}
	p.sayRelease()
	return p.openExecution(selection)
}

// sayRelease says what the release is made of.
func (p *promotion) sayRelease() {
	p.say("release of %s to %s, since %s", p.t.commit, p.input.Env, p.t.base)
	for _, m := range p.out.Merges {
		switch {
		case m.PR == nil:
			p.say("  %s, merged by no pull request", short(m.Commit))
		case len(m.ApprovedBy) > 0:
			p.say("  %s, #%d, approved by %s", short(m.Commit), *m.PR, strings.Join(m.ApprovedBy, ", "))
		default:
			p.say("  %s, #%d", short(m.Commit), *m.PR)
		}
	}
	for i, wave := range p.out.Run.Plan.Waves {
		p.say("  wave %d: %s", i+1, strings.Join(wave, ", "))
	}
}

// openExecution has the fence, the attempt and the record of this release be those of
// every apply of the environment.
func (p *promotion) openExecution(selection graph.Selection) error {
	r, err := report.New(report.Apply, nil, nil)
	if err != nil {
		return err
	}
	a := &Apply{
		Branch: p.input.Branch, Policy: p.t.policy, Member: p.input.Member, Prefix: p.t.prefix,
		Token: p.NewID(), Follows: p.t.follows, Dir: p.input.Dir, Pass: Pass{Set: &PlanSet{Selection: selection}}, Report: r,
	}
	a.address(p.t)
	a.State.Commit, a.State.Base, a.State.Env = p.t.commit, p.t.base, p.input.Env
	p.ex = newExecution(p.Stage, p.input.apply(), a, p.checkout, p.lease)
	p.ex.line = p.t.line
	return nil
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
	case forPeople(err) != nil:
		return binds, nil //nolint:nilerr // as said above
	}
	return nil, err
}

// mergeRows are the commits that the release carries, with how each was merged.
func (st *Stage) mergeRows(ctx context.Context, site *Site, t target) ([]report.Merge, error) {
	snap, err := site.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var rows []report.Merge
	for _, c := range between(t.line, t.commit, t.base) {
		data, found, err := snap.Read(record.MergePath(t.prefix, t.policy.Env.Name, c.SHA))
		if err != nil {
			return nil, err
		}
		row := report.Merge{Commit: c.SHA}
		if found {
			m, err := record.ParseMerge(data)
			if err != nil {
				return nil, err
			}
			row.PR, row.Approved, row.ApprovedBy = m.PR, m.Approved, m.Approval.ApprovedBy
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// askRelease asks a component's own gate about the document of the whole release,
// which covers its plans. An approval of the document of an earlier try counts for the
// component whose plans it covers: what that try applied is not in this document.
func (p *promotion) askRelease(ctx context.Context, c *project.Component, s project.Step, source digest.Digest) (GateAnswer, error) {
	members := p.rootMembers(c)
	if len(members) == 0 {
		return p.askComposition(ctx, c, s, source)
	}
	if p.nothingIn(members) {
		return GateAnswer{Approved: true, Reason: "there is nothing to apply behind this gate"}, nil
	}
	plan := p.out.Plan
	q := componentQuestion(c, s, plan.Document.Digest)
	q.side, q.nothing = &cover.Side{Doc: plan.Document, Sources: plan.sources, Code: plan.code}, plan.nothing
	if answer, err := p.askEarlier(ctx, q, members); err != nil || answer.Approved {
		return answer, err
	}
	return p.ask(ctx, q)
}

func (p *promotion) nothingIn(members []*member) bool {
	for _, m := range members {
		if !p.out.Plan.nothing[m.name] {
			return false
		}
	}
	return true
}

// askEarlier looks for an approval of another document that covers the members.
func (p *promotion) askEarlier(ctx context.Context, q question, members []*member) (GateAnswer, error) {
	answer := GateAnswer{Op: q.op, Gate: q.gate, Env: p.input.Env, Member: p.input.Member, Digest: q.digest}
	snap, err := p.input.Site.Ledger.Snapshot(ctx)
	if err != nil {
		return answer, err
	}
	policy, prefix := p.gatePolicy(q), prefixOf(p.input.Member)
	who := p.input.Site.approvers(policy.Env, nil)
	decision, _, err := decide(ctx, snap, prefix, p.query(policy, q.op, q.digest), who)
	if err != nil || decision.Satisfied || decision.Mismatch == nil {
		return answer, err
	}
	// Whether that approval counts is asked as any other is.
	earlier := decision.Mismatch.PlanDigest
	if decision, _, err = decide(ctx, snap, prefix, p.query(policy, q.op, earlier), who); err != nil || !decision.Satisfied {
		return answer, err
	}
	side, found, err := approvedSide(snap, prefix, earlier, decision.Record.Sources)
	if err != nil || !found {
		return answer, err
	}
	for _, m := range members {
		if ok, _ := cover.PlanCoveredBy(side, *q.side, m.name); !ok && !q.nothing[m.name] {
			return answer, nil
		}
	}
	answer.Approved, answer.ApprovedBy = true, decision.ApprovedBy
	answer.Reason = fmt.Sprintf("covered by the approval of %s", earlier)
	return answer, nil
}
