package usecase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// groupOf is the group a member was planned in, nil for none.
func (p *PlanSet) groupOf(member string) *GroupPlan {
	m := p.Members[member]
	if m == nil || m.Group == "" {
		return nil
	}
	i := slices.IndexFunc(p.Groups, func(g *GroupPlan) bool { return g.ID == m.Group })
	if i < 0 {
		return nil
	}
	return p.Groups[i]
}

// whole adds to members everything that can only be applied with one of them: the
// plan of a group is applied as it is or not at all (soundness I7).
func (p *PlanSet) whole(members []string) []string {
	out := slices.Clone(members)
	for _, name := range members {
		if g := p.groupOf(name); g != nil {
			out = withNew(out, g.Members)
		}
	}
	return out
}

// following are the members and everything that follows from one of them, or can only
// be applied with one of those.
func (p *PlanSet) following(passes run.Passes, members []string) []string {
	for {
		more := passes.Dependents(p.whole(members))
		if len(more) == len(members) {
			return more
		}
		members = more
	}
}

// oncePerGroup leaves of members that start together the first one.
func (ex *execution) oncePerGroup(next []string) []string {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(next), func(name string) bool {
		id := ex.pass.Set.Members[name].Group
		twice := id != "" && seen[id]
		seen[id] = true
		return twice
	})
}

// stepGroup brings a group from Next to the end of each of its members, as step does
// with one.
func (ex *execution) stepGroup(ctx context.Context, g *GroupPlan) error {
	for _, member := range g.Members {
		moved, err := ex.movedInputs(ctx, ex.pass.Set.Members[member])
		if err != nil {
			return err
		}
		if len(moved) > 0 {
			ex.say("%s is held, and with it %s: an input moved", member, g)
			return ex.change(ctx, func(s *run.State) error { return s.Hold(member, moved) })
		}
	}
	if err := ex.lease.Live(); err != nil {
		return err
	}
	if err := ex.change(ctx, func(s *run.State) error { return s.Start(g.Members[0]) }); err != nil {
		return err
	}
	nothing := ex.pass.Set.Nothing()
	if !slices.ContainsFunc(g.Members, func(m string) bool { return !nothing[m] }) {
		return ex.settleGroup(ctx, g, unchanged(g))
	}
	return ex.applyGroup(ctx, g)
}

func (ex *execution) applyGroup(ctx context.Context, g *GroupPlan) error {
	grouper, plan, err := ex.groupPlan(ctx, g)
	if err != nil {
		return err
	}
	for i, name := range g.Members {
		if plan.Target.Members[i].Target.Secrets, err = ex.secrets(ctx, ex.pass.Set.Members[name]); err != nil {
			return err
		}
	}
	ex.say("applying %s", g)
	var lost error
	plan.Target.Ready = func() error { lost = ex.lease.Live(); return lost }
	outcome, err := grouper.ApplyGroup(context.WithoutCancel(ctx), plan, func(line string) { ex.say("%s: %s", g.ID, line) })
	if lost != nil {
		return errors.Join(lost, ex.change(ctx, func(s *run.State) error { return s.NotStarted(g.Members[0]) }))
	}
	if !outcome.Unknown {
		ex.trees.drop(g.tree()) // else its process may still be there
	}
	if err != nil {
		outcome = failedGroup(g, ex.Words(ctx, err))
	}
	return ex.settleGroup(ctx, g, outcome)
}

// failedGroup is the outcome of an apply that could not even be tried.
func failedGroup(g *GroupPlan, why string) engine.GroupOutcome {
	out := engine.GroupOutcome{Error: why}
	for _, m := range g.Members {
		out.Members = append(out.Members, engine.MemberOutcome{Member: m, Status: report.OutcomeFailed, Error: why})
	}
	return out
}

// unchanged is the outcome of a group with nothing to apply.
func unchanged(g *GroupPlan) engine.GroupOutcome {
	var out engine.GroupOutcome
	for _, m := range g.Members {
		out.Members = append(out.Members, engine.MemberOutcome{Member: m, Status: report.OutcomeNoChanges})
	}
	return out
}

// groupPlan is the saved plan of a group with the apply credentials and this checkout.
func (ex *execution) groupPlan(ctx context.Context, g *GroupPlan) (engine.Grouper, engine.PlannedGroup, error) {
	grouper, can := ex.driver.(engine.Grouper)
	if !can {
		return nil, engine.PlannedGroup{}, fmt.Errorf("applying %s: the driver that applies has no groups", g)
	}
	steps := make([]project.Step, len(g.Members))
	for i, name := range g.Members {
		m := ex.pass.Set.Members[name]
		steps[i] = ex.components[m.Component].Steps()[m.Step]
	}
	plan, err := ex.planInput().savedGroup(g, steps, ex.credentials)
	if err == nil {
		ex.groupsOf(ex.in.Site, ex.in.Member, ex.apply.Policy.Env.Name).mark(ctx, g, ex.apply.State.Commit, ex.apply.Token, &plan.Target)
		plan.Target.Memo, err = json.Marshal(groupMemo{
			Repo: ex.in.Site.Repo.Key(), Env: ex.apply.Policy.Env.Name, Member: ex.in.Member, Commit: ex.apply.State.Commit, Plan: g,
		})
	}
	return grouper, plan, err
}

// savedGroup is the saved plan of a group, to be applied in this checkout; steps are
// those of its members.
func (in PlanInput) savedGroup(g *GroupPlan, steps []project.Step, credentials []string) (engine.PlannedGroup, error) {
	targets := make([]engine.Target, len(steps))
	for i, step := range steps {
		var err error
		if targets[i], err = in.bareTarget(step, nil, credentials); err != nil {
			return engine.PlannedGroup{}, err
		}
	}
	plan := g.Planned
	var err error
	plan.Target, err = in.groupTarget(g, targets)
	return plan, err
}

// settleGroup stores how each member ended. What its group did not reach is planned
// again; of what nobody saw end nothing is repeated (soundness I6).
func (ex *execution) settleGroup(ctx context.Context, g *GroupPlan, o engine.GroupOutcome) error {
	o = ex.inWords(ctx, g, o)
	statuses := map[string]report.OutcomeStatus{}
	for _, m := range o.Members {
		statuses[m.Member] = m.Status
		if m.Outputs != nil && (m.Status == report.OutcomeApplied || m.Status == report.OutcomeNoChanges) {
			ex.upstreams.keep(ex.pass.Set.Members[m.Member].Component, read{values: m.Outputs})
		}
		ex.say("%s: %s", m.Member, strings.TrimSuffix(string(m.Status)+": "+m.Error, ": "))
	}
	return ex.change(ctx, func(s *run.State) error {
		g.noteEnds(statuses)
		var errs errorList
		for _, m := range o.Members {
			errs.add(s.Settle(m.Member, groupEnd(o, m)))
		}
		return errs.first()
	})
}

// inWords is an outcome with the fault in words for people, and an end of each member.
func (st *Stage) inWords(ctx context.Context, g *GroupPlan, o engine.GroupOutcome) engine.GroupOutcome {
	if o.Fault != nil {
		o.Error += ": " + st.Words(ctx, o.Fault)
	}
	o.Members = everyMember(g, o)
	return o
}

// everyMember are the ends of all members, also of one that the outcome does not name.
func everyMember(g *GroupPlan, o engine.GroupOutcome) []engine.MemberOutcome {
	out := make([]engine.MemberOutcome, len(g.Members))
	for i, name := range g.Members {
		out[i] = engine.MemberOutcome{Member: name, Status: report.OutcomeFailed, Error: o.Error}
		for _, m := range o.Members {
			if m.Member == name {
				out[i] = m
			}
		}
	}
	return out
}

// groupEnd is how a member of a group ended. One that was not reached may be tried
// again only where another failed instead: else nothing tells that a second try ends
// in another way.
func groupEnd(o engine.GroupOutcome, m engine.MemberOutcome) run.Outcome {
	why := m.Error
	if why == "" {
		why = o.Error
	}
	failed := slices.ContainsFunc(o.Members, func(m engine.MemberOutcome) bool {
		return m.Status == report.OutcomeFailed || m.Status == report.OutcomePartial
	})
	switch {
	case m.Status == report.OutcomeNoChanges:
		return run.Outcome{NoChanges: true}
	case o.Unknown:
		return run.Outcome{Unknown: true, Error: why}
	case m.Status == report.OutcomeApplied:
		return run.Outcome{}
	case o.Moved:
		return run.Outcome{Moved: true, Error: why}
	case m.Status == report.OutcomeNotStarted && failed:
		return run.Outcome{NotReached: true}
	case why == "":
		why = "its group ended before it was begun"
	}
	return run.Outcome{Error: why}
}

// recoverGroup settles a group of which nobody of this process saw the end.
func (ex *execution) recoverGroup(ctx context.Context, g *GroupPlan) error {
	grouper, plan, err := ex.groupPlan(ctx, g)
	if err != nil {
		return err
	}
	outcome, found, err := grouper.RecoverGroup(ctx, plan)
	if err != nil {
		return fmt.Errorf("finding out how the apply of %s ended: %w", g, err)
	}
	if !found && ex.pass.planGone(g.Members[0]) {
		outcome = failedGroup(g, runFilesGone)
		outcome.Unknown = true
		return ex.settleGroup(ctx, g, outcome)
	}
	if !found {
		return ex.change(ctx, func(s *run.State) error { return s.NotStarted(g.Members[0]) })
	}
	return ex.settleGroup(ctx, g, outcome)
}
