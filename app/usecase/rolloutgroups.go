package usecase

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// rolloutWave is what runs next, side by side.
type rolloutWave struct {
	number int
	due    []string // components, those of the groups too
	groups []*plannedGroup
}

// planner is what plans groups within the rollout.
func (r *rollout) planner() *planner {
	in := r.planInput(r.planning, r.Deployment.in.Dir)
	in.WaveByWave, in.Progress = r.in.WaveGate != "", r.Deployment.in.Progress
	return &planner{Stage: r.Stage, in: in, driver: r.planning.driver, credentials: r.planning.credentials, components: r.components}
}

// composition is what groups follow from now. A component that ended, or waits for one
// that did, is in none any more, so that what is left joins a smaller one. That a read has
// no value is found out when its wave is reached: until then the rollout may make it.
func (r *rollout) composition(p *planner) compose.Input {
	in := p.composeInput(graph.Selection{Changed: r.in.Run.Plan.Changed, Waves: r.in.Run.Plan.Waves})
	in.Canary, in.Refused, in.Unknown = r.in.Canary, r.refused, nil
	order := r.in.Run.Plan.Order()
	due := r.in.Run.Due(order)
	for _, name := range order {
		if _, known := in.Refused[name]; !known && !slices.Contains(due, name) {
			in.Refused[name] = compose.Refusal{Kind: report.FallbackAlone, Reason: "it ran before, or what it follows failed"}
		}
	}
	return in
}

// compose says what runs in which wave before any of it is planned.
func (r *rollout) compose() error {
	c, err := compose.Of(r.composition(r.planner()))
	r.take(c)
	return err
}

// take keeps a composition, and of each component that is still to run the first reason
// why it is in no group.
func (r *rollout) take(c compose.Composition) {
	r.composed = c.Waves
	for _, f := range c.Fallbacks {
		known := slices.ContainsFunc(r.result.Fallbacks, func(before report.Fallback) bool { return before.Component == f.Component })
		if !known && len(r.in.Run.Due([]string{f.Component})) > 0 {
			r.result.Fallbacks = append(r.result.Fallbacks, f)
		}
	}
}

// nextDue is the first wave with something to run, 0 for none.
func (r *rollout) nextDue(waves [][]string) (number int, due []string) {
	for i, wave := range waves {
		if r.in.Wave != 0 && r.in.Wave != i+1 {
			continue
		}
		if due := r.in.Run.Due(wave); len(due) > 0 {
			return i + 1, due
		}
	}
	return 0, nil
}

// planNext plans the groups of the next wave, against the outputs that stand.
func (r *rollout) planNext(ctx context.Context) (rolloutWave, error) {
	var w rolloutWave
	p := r.planner()
	c, groups, err := p.planDue(ctx, r.composition(p), map[string]*plannedGroup{}, func(c compose.Composition) []compose.Group {
		w.number, w.due = r.nextDue(c.Waves)
		r.readUpstreams(ctx, w.due)
		p.outputs, p.outputErr = r.upstreams.shownAs(readBy(r.components, w.due...)...), r.upstreams.errs()
		return slices.DeleteFunc(slices.Clone(c.Groups), func(g compose.Group) bool { return g.Wave != w.number })
	})
	w.groups = groups
	r.take(c)
	return w, err
}

// alone are the components of a wave that are in no group.
func (w rolloutWave) alone() []string {
	return slices.DeleteFunc(slices.Clone(w.due), func(name string) bool {
		return slices.ContainsFunc(w.groups, func(g *plannedGroup) bool { return g.of(name) != nil })
	})
}

// of is the member of a component, nil for none.
func (one *plannedGroup) of(component string) *member {
	for _, m := range one.members {
		if m.component.Name == component {
			return m
		}
	}
	return nil
}

// runGroup applies a group that was planned just now and keeps how its members ended.
func (r *rollout) runGroup(ctx context.Context, one *plannedGroup) {
	g, start := one.plan, r.Now()
	for _, m := range one.members {
		r.tell(run.Event{Type: "component-start", Wave: g.Wave, Component: m.component.Name})
	}
	outcome, err := r.applyGroup(ctx, one)
	if err != nil {
		outcome = failedGroup(g, r.Words(ctx, err))
	}
	r.settleGroup(ctx, one, r.inWords(ctx, g, outcome), r.since(start))
}

func (r *rollout) applyGroup(ctx context.Context, one *plannedGroup) (engine.GroupOutcome, error) {
	g, d := one.plan, r.Deployment
	defer d.planning.trees.drop(g.tree())
	for _, m := range one.members {
		if err := d.takeState(m); err != nil {
			return engine.GroupOutcome{}, err
		}
	}
	if !slices.ContainsFunc(one.members, func(m *member) bool { return !d.nothingToApply(m) }) {
		d.say("%s: no changes", g)
		return unchanged(g), nil
	}
	grouper, can := d.doing.driver.(engine.Grouper)
	if !can {
		return engine.GroupOutcome{}, fmt.Errorf("applying %s: the driver that applies has no groups", g)
	}
	plan, err := d.planInput(d.doing, d.in.Dir).savedGroup(g, one.steps(), d.doing.credentials)
	if err != nil {
		return engine.GroupOutcome{}, err
	}
	memo := groupMemo{Member: d.in.Member, Commit: d.in.Commit, Plan: g}
	if d.own != nil {
		memo.Head, memo.Base = d.own.in.Head, d.own.in.BaseTip
		for _, m := range one.members {
			if err := d.own.before(ctx, d, m); err != nil {
				return engine.GroupOutcome{}, err
			}
		}
	}
	if plan.Target.Memo, err = json.Marshal(memo); err != nil {
		return engine.GroupOutcome{}, fmt.Errorf("what ends %s: %w", g, err)
	}
	for i := range one.members {
		plan.Target.Members[i].Target.Secrets = one.secrets[i]
	}
	plan.Target.Ready = d.lease.Live
	d.groupsOf(d.in.Site, d.in.Member, d.in.Env).mark(ctx, g, d.in.Commit, "", &plan.Target)
	d.say("applying %s", g)
	outcome, err := grouper.ApplyGroup(context.WithoutCancel(ctx), plan, func(line string) { d.say("%s: %s", g.ID, line) })
	if !outcome.Unknown {
		d.doing.trees.drop(g.tree()) // else its process may still be there
	}
	return outcome, err
}

// steps are those of the members.
func (one *plannedGroup) steps() []project.Step {
	steps := make([]project.Step, len(one.members))
	for i, m := range one.members {
		steps[i] = m.step
	}
	return steps
}

// settleGroup keeps how each member ended. One that was not reached stays due, unless
// what it follows failed, and is planned again with what is left.
func (r *rollout) settleGroup(ctx context.Context, one *plannedGroup, o engine.GroupOutcome, took int64) {
	g, statuses := one.plan, map[string]report.OutcomeStatus{}
	var rest []int
	for i, m := range one.members {
		name, end := m.component.Name, groupEnd(o, o.Members[i])
		statuses[m.name] = o.Members[i].Status
		r.say("%s: %s", m.name, strings.TrimSuffix(string(o.Members[i].Status)+": "+o.Members[i].Error, ": "))
		switch {
		case end.Unknown && end.Error == "":
			r.settle(m.result(took, "how the apply of its group ended was not seen; look at what it left before running this again"))
		case end.Error != "":
			r.settle(m.result(took, end.Error))
		case end.Moved:
			r.settle(m.result(took, "its target moved after it was planned"))
		case !end.NotReached:
			r.keepGroupOutputs(ctx, name, o.Members[i].Outputs)
			rest = append(rest, i)
		}
	}
	for _, i := range rest {
		m, applied := one.members[i], o.Members[i].Status == report.OutcomeApplied
		switch by := r.blockedBy(m.component.Name); {
		case by == "":
			r.settle(m.result(took, ""))
		case applied:
			r.settle(m.result(took, fmt.Sprintf("it was applied, and %s, which it follows, failed; it is planned again with what stands then", by)))
		}
	}
	g.noteEnds(statuses)
	row := g.row()
	for _, name := range g.Members {
		row.Outcome = append(row.Outcome, report.Outcome{Member: name, Status: g.Ended[name]})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.result.Groups = append(r.result.Groups, row)
}

func (r *rollout) blockedBy(component string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.in.Run.BlockedBy(component)
}

// keepGroupOutputs keeps what a member of a group gives to others; what the apply did not
// say is read.
func (r *rollout) keepGroupOutputs(ctx context.Context, component string, outputs map[string]engine.Output) {
	if outputs == nil {
		r.upstreams.read(ctx, component)
		return
	}
	r.upstreams.keep(component, read{values: outputs})
}

// result is how a component ended that is one step of a group; why it failed, "" where it
// did not.
func (m *member) result(took int64, failed string) ComponentResult {
	step := StepRecord{
		Component: m.component.Name, Phase: m.component.PhaseOf(m.index), Kind: m.step.Kind, Status: StepOK, DurationMs: took,
	}
	end := fanout.OK
	if failed != "" {
		end, step.Status, step.Error = fanout.Fail, StepFailed, failed
	}
	return ComponentResult{Component: m.component.Name, OK: end == fanout.OK, Status: end, Records: []StepRecord{step}}
}
