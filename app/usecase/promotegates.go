package usecase

import (
	"context"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// Release is what an apply is more where it is a promote: its components have gates of
// their own, which bind the document of everything (components §1.3).
type Release struct {
	// AppliesOnMerge: merges deploy to the env by themselves too.
	AppliesOnMerge bool `json:"appliesOnMerge"`
	// Sources name what each component is made from.
	Sources map[string]digest.Digest `json:"sources"`
	// Waiting are the gates that are shut, by component, and Open those that let
	// something of it deploy.
	Waiting map[string]GateAnswer `json:"waiting"`
	Open    []resume.Gate         `json:"open"`
	// Plans are the plans that a shut gate binds, by component.
	Plans map[string]*PlanSet `json:"-"`
	// AtGate are the members that wait at one of them.
	AtGate map[string]bool `json:"atGate"`
	// Rounds are the members that a promote of this commit before held back, with the
	// number of the round that was asked for each, 0 for none yet.
	Rounds map[string]int `json:"rounds"`

	deployment *Deployment // who answers its gates
}

// Plan is what is deployed, as every deployment has it.
func (r *Release) Plan(a *Apply) (fanout.Plan, error) {
	return fanout.Derive(r.deployment.Components(), a.Set.Selection, r.Sources)
}

// gateStep is a gate of a component, at its place among the steps.
type gateStep struct {
	component *project.Component
	step      project.Step
	index     int
}

func gatesOf(c *project.Component) []gateStep {
	var out []gateStep
	for i, s := range c.Steps() {
		if s.Gate != nil {
			out = append(out, gateStep{c, s, i})
		}
	}
	return out
}

// last tells that no step of the component comes after the gate.
func (g gateStep) last() bool {
	return !slices.ContainsFunc(g.component.Steps()[g.index:], func(s project.Step) bool { return s.Gate == nil })
}

// gatesBefore are the gates that have to be open before a member starts: those before it
// in its component, and those that end a component it follows.
func (r *Release) gatesBefore(m *PlannedMember) []gateStep {
	components := r.deployment.components
	c := components[m.Component]
	out := slices.DeleteFunc(gatesOf(c), func(g gateStep) bool { return g.index > m.Step })
	for _, dep := range c.Dependencies() {
		if r.Sources[dep].IsZero() {
			continue // it is not deployed here
		}
		for _, g := range gatesOf(components[dep]) {
			if g.last() {
				out = append(out, g)
			}
		}
	}
	return out
}

// holdAtGates holds back those of the members about to start that wait at a gate of a
// component. Gates are asked every time, so that an approval taken back stops what has
// not started (soundness I2).
func (ex *execution) holdAtGates(ctx context.Context, next []string) (held bool, err error) {
	if ex.apply.Release == nil {
		return false, nil
	}
	for _, name := range next {
		m := ex.pass.Set.Members[name]
		if !slices.Contains(ex.pass.State.Next(), name) {
			continue // held with its group
		}
		if moved, err := ex.movedInputs(ctx, m); err != nil {
			return false, err
		} else if len(moved) > 0 {
			continue // it waits for a plan with the values it reads now
		}
		for _, g := range ex.apply.Release.gatesBefore(m) {
			open, err := ex.askOwn(ctx, g)
			if err != nil {
				return false, err
			}
			if open {
				continue
			}
			ex.say("%s waits at %s %s", name, g.component.Name, g.step.Gate.Name)
			held, ex.apply.Release.AtGate[name] = true, true
			if err := ex.change(ctx, func(s *run.State) error { return s.Hold(name, nil) }); err != nil {
				return false, err
			}
			break
		}
	}
	return held, nil
}

// askOwn asks a component's own gate. The gate of a round stands for the one it is a
// round of.
func (ex *execution) askOwn(ctx context.Context, g gateStep) (open bool, err error) {
	r, name := ex.apply.Release, g.component.Name
	if at := ex.pass.Asked; at != nil && at.Op == name && at.Base == g.step.Gate.Name {
		return true, nil
	}
	set := ex.pass.Set
	if !set.has(name) {
		set = ex.apply.Set
	}
	answer, err := r.ask(ctx, g, set)
	switch {
	case err != nil:
		return false, err
	case !answer.Approved:
		r.Waiting[name], r.Plans[name] = answer, set
		return false, nil
	}
	delete(r.Waiting, name)
	approval := &ex.apply.Report.Approval
	approval.ApprovedBy = slices.Compact(slices.Sorted(slices.Values(slices.Concat(approval.ApprovedBy, answer.ApprovedBy))))
	if len(r.deployment.rootMembers(g.component)) == 0 {
		return true, nil // it binds no plan
	}
	opened := resume.Gate{Op: answer.Op, Gate: answer.Gate, Digest: answer.covering(), ApprovedBy: answer.ApprovedBy}
	if len(answer.ApprovedBy) > 0 && !slices.ContainsFunc(r.Open, func(o resume.Gate) bool { return o.Op == opened.Op && o.Gate == opened.Gate }) {
		r.Open = append(r.Open, opened)
	}
	return true, nil
}

// has tells that a member of the component is in the set.
func (p *PlanSet) has(component string) bool {
	return slices.ContainsFunc(p.Units, func(u run.Unit) bool { return u.Component == component })
}

// ask asks a component's own gate about the document of a set, which covers its plans.
// An approval of the document of an earlier try counts for the component whose plans it
// covers: what that try applied is not in this document. Where the component has no plan
// the gate binds its composition.
func (r *Release) ask(ctx context.Context, g gateStep, set *PlanSet) (GateAnswer, error) {
	d, c, nothing := r.deployment, g.component, set.Nothing()
	if len(d.rootMembers(c)) == 0 {
		return d.askComposition(ctx, c, g.step, r.Sources[c.Name])
	}
	side := set.Side()
	q := componentQuestion(c, g.step, set.Document.Digest)
	q.side, q.nothing = &side, nothing
	var left []string // what the gate guards; of one that ends its component all that was done
	for _, u := range set.Units {
		if u.Component == c.Name && (g.last() || !nothing[u.Member] && set.Members[u.Member].Step > g.index) {
			left = append(left, u.Member)
		}
	}
	if len(left) == 0 {
		return GateAnswer{Approved: true, Reason: "there is nothing to apply behind this gate"}, nil
	}
	if answer, err := d.askEarlier(ctx, q, left); err != nil || answer.Approved {
		return answer, err
	}
	return d.ask(ctx, q)
}

// askEarlier looks for an approval of another document that covers the members.
func (d *Deployment) askEarlier(ctx context.Context, q question, members []string) (GateAnswer, error) {
	answer := GateAnswer{Op: q.op, Gate: q.gate, Env: d.in.Env, Member: d.in.Member, Digest: q.digest}
	snap, err := d.in.Site.Ledger.Snapshot(ctx)
	if err != nil {
		return answer, err
	}
	policy, prefix := d.gatePolicy(q.gate), project.LedgerPrefix(d.in.Member)
	who := d.in.Site.Approvers(policy.Env, nil)
	decision, _, err := Decide(ctx, snap, prefix, d.Query(policy, q.op, q.digest), who)
	if err != nil || decision.Satisfied || decision.Mismatch == nil {
		return answer, err
	}
	// Whether that approval counts is asked as any other is.
	earlier := decision.Mismatch.PlanDigest
	if decision, _, err = Decide(ctx, snap, prefix, d.Query(policy, q.op, earlier), who); err != nil || !decision.Satisfied {
		return answer, err
	}
	side, err := approvedSide(snap, prefix, earlier, decision.Record.Sources)
	if err != nil || side.Doc == nil {
		return answer, err
	}
	for _, m := range members {
		if ok, _ := cover.PlanCoveredBy(side, *q.side, m); !ok {
			return answer, nil
		}
	}
	answer.Approved, answer.ApprovedBy, answer.earlier = true, decision.ApprovedBy, earlier
	answer.Reason = fmt.Sprintf("covered by the approval of %s", earlier)
	return answer, nil
}

// covering is the digest whose approval opened the gate.
func (a GateAnswer) covering() digest.Digest {
	if a.earlier.IsZero() {
		return a.Digest
	}
	return a.earlier
}

// question is what a gate of the release's own, or of a round, is asked.
func (r *Release) question(st *Stage, site *Site, a *Apply, g Opened) (gate.Query, *Approvers) {
	p := r.deployment.gatePolicy(g.Gate)
	return st.Query(p, a.opOf(g), g.Digest), site.Approvers(p.Env, nil)
}

// gatesStand are the documents of the gates in a record that still stand, by op.
func (st *Stage) gatesStand(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, gates []resume.Gate) (map[string]cover.Side, error) {
	out := map[string]cover.Side{}
	for _, g := range gates {
		_, side, err := st.approvedAt(ctx, site, snap, a, Opened{Op: g.Op, Gate: g.Gate, Digest: g.Digest}, a.Set)
		if err != nil {
			return nil, err
		}
		if side.Doc != nil {
			out[g.Op] = side
		}
	}
	return out, nil
}

// endsAtGate tells that a gate ends a component of a release: it is asked though nothing
// is left to apply, as an earlier try may have applied it.
func (a *Apply) endsAtGate() bool {
	if a.Release == nil {
		return false
	}
	return slices.ContainsFunc(a.Set.Selection.Order(), func(name string) bool {
		return slices.ContainsFunc(gatesOf(a.Release.deployment.components[name]), gateStep.last)
	})
}

// deployed tells that every member of a component ended well.
func (a *Apply) deployed(component string) bool {
	return !slices.ContainsFunc(a.Passes().Members(), func(m *run.MemberState) bool {
		return m.Component == component && m.Status != run.Applied && m.Status != run.NoChanges
	})
}

// lastGates asks the gates that end the components that are deployed: a release is over
// when they are open.
func (ex *execution) lastGates(ctx context.Context) (open bool, err error) {
	open = true
	if ex.apply.Release == nil {
		return open, nil
	}
	for _, name := range ex.apply.Set.Selection.Order() {
		for _, g := range gatesOf(ex.components[name]) {
			if !g.last() || !ex.apply.deployed(name) {
				continue
			}
			ok, err := ex.askOwn(ctx, g)
			if err != nil {
				return false, err
			}
			open = open && ok
		}
	}
	return open, nil
}
