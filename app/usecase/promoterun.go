package usecase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// plan plans every component against what stands now, before any is deployed. A step
// that reads an output nothing has yet is a hole, and one that does not plan keeps the
// whole release back: nobody could approve all of it.
func (p *promotion) plan(ctx context.Context) error {
	order := p.in.Run.Plan.Order()
	if len(order) == 0 {
		return nil
	}
	p.readUpstreams(ctx, order)
	for _, name := range order {
		p.members = append(p.members, p.waveMembers(p.components[name])...)
	}
	planner := &planner{Stage: p.Stage, in: p.planInput(p.planning, ""), outputs: p.outputValues()}
	var mu sync.Mutex
	failed := map[string]string{}
	each(p.planning.driver.Parallel(), p.members, func(m *member) {
		if err := p.planMember(ctx, planner, m); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed[m.name] = p.Words(ctx, err)
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, m := range p.members {
		if why := failed[m.name]; why != "" {
			return refusef("planning %s failed, so nothing is released: %s", m.name, why)
		}
	}
	plan, err := p.composeWave(ctx, p.members)
	if err != nil {
		return err
	}
	p.out.Plan = plan
	p.say("plan: %s", plan.Document.Digest)
	return p.setReport()
}

// planMember plans one step, or says which of its inputs has no value yet.
func (p *promotion) planMember(ctx context.Context, planner *planner, m *member) error {
	if m.step.RootOf() == "" {
		return p.planInWave(ctx, m)
	}
	_, missing, err := p.values(m, nil)
	if err != nil {
		return err
	}
	onlyOutputs := !slices.ContainsFunc(missing, func(r project.Read) bool { return r.Source != project.FromOutput })
	if len(missing) > 0 && onlyOutputs {
		m.planned.Unknown = missing
		m.part, err = planner.hole(m, missing)
		return err
	}
	m.planned.Reads = planner.reads(m)
	return p.planStep(ctx, m, nil)
}

// setReport gives what was planned to the attempt and the record of the release.
func (p *promotion) setReport() error {
	a, plan := p.ex.apply, p.out.Plan
	a.Set.Document, a.Set.Sources, a.Set.Members = plan.Document, plan.sources, map[string]*PlannedMember{}
	for _, m := range p.members {
		a.Set.Members[m.name] = m.planned
	}
	var err error
	if a.Report, err = a.Set.report(report.Apply); err != nil {
		return err
	}
	a.address(p.t)
	a.State.Digest, a.State.Via = a.Report.Digest, record.ViaRelease
	return nil
}

// carryOut deploys wave by wave and records the release when all of it ended well.
func (p *promotion) carryOut(ctx context.Context) error {
	site, a := p.input.Site, p.ex.apply
	if p.out.Plan == nil || p.out.Plan.allNothing() {
		p.settleAll()
		return p.writeApplied(ctx, site, a, p.ex.line, record.ViaNothing)
	}
	if err := p.ex.claim(ctx); errors.Is(err, record.ErrTaken) {
		return &Refusal{Message: err.Error()}
	} else if err != nil {
		return err
	}
	err := p.waves(ctx)
	p.result.Status = p.in.Run.Status(false)
	order := p.in.Run.Plan.Order()
	slices.SortFunc(p.result.Results, func(a, b ComponentResult) int {
		return slices.Index(order, a.Component) - slices.Index(order, b.Component)
	})
	p.out.Rollout = p.result
	if err != nil || len(p.in.Run.Of(fanout.OK)) < len(order) {
		return err
	}
	for _, r := range p.result.Results {
		a.Report.Approval.ApprovedBy = append(a.Report.Approval.ApprovedBy, r.approvedBy...)
	}
	slices.Sort(a.Report.Approval.ApprovedBy)
	a.Report.Approval.ApprovedBy = slices.Compact(a.Report.Approval.ApprovedBy)
	if err := p.writeApplied(context.WithoutCancel(ctx), site, a, p.ex.line, record.ViaRelease); err != nil {
		return fmt.Errorf("everything was deployed and the release was not recorded: %w", err)
	}
	return nil
}

// settleAll ends a release in which there is nothing to apply.
func (p *promotion) settleAll() {
	for _, name := range p.in.Run.Plan.Order() {
		p.in.Run.Settle(name, fanout.OK, p.plain(name))
	}
	p.out.Status = fanout.OK
}

// waves deploys what may be deployed while everything it rests on stands: the lease,
// the green tag, and that nobody else took the environment over (decision 18).
func (p *promotion) waves(ctx context.Context) error {
	for k := range p.in.Run.Plan.Waves {
		due := p.in.Run.Due(k + 1)
		if len(due) == 0 {
			continue
		}
		if reason, err := p.ex.standing(ctx); err != nil {
			return err
		} else if reason != "" {
			return refusef("stopped before wave %d: %s", k+1, reason)
		}
		p.say("wave %d: %s", k+1, strings.Join(due, ", "))
		p.readAgain(ctx, due)
		var start []string
		for _, name := range due {
			if waits, err := p.waits(name); err != nil {
				return err
			} else if waits == "" {
				start = append(start, name)
			} else {
				p.hold(name, waits)
			}
		}
		if err := p.run(ctx, start, p.out.Plan.plans); err != nil {
			return err
		}
	}
	return nil
}

// readAgain reads what components read of others that this release does not deploy: it
// may have changed since the plan.
func (p *promotion) readAgain(ctx context.Context, names []string) {
	p.Deployment.mu.Lock()
	for name := range p.outputs {
		if !slices.Contains(p.in.Run.Of(fanout.OK), name) {
			delete(p.outputs, name)
		}
	}
	p.Deployment.mu.Unlock()
	p.readUpstreams(ctx, names)
}

// waits says what keeps a component from being applied as it was planned: an input that
// was not known, or that is another now (pr-loop §7.5, soundness I7).
func (p *promotion) waits(name string) (string, error) {
	outputs := p.outputValues()
	var why []string
	for _, m := range p.members {
		if m.component.Name != name {
			continue
		}
		for _, r := range m.planned.Unknown {
			why = append(why, fmt.Sprintf("%s reads %s.%s, which was not known when it was planned", m.name, r.Component, r.Output))
		}
		for _, r := range m.planned.Reads {
			if err := p.readError(r.From); err != nil {
				return "", err
			}
			value, sensitive := lookup(outputs[r.From], r.Output)
			if now, moved := r.Moved(value, sensitive); moved {
				why = append(why, fmt.Sprintf("%s reads %s.%s, which was %s when it was planned and is %s", m.name, r.From, r.Output, now.Planned, now.Now))
			}
		}
	}
	return strings.Join(why, "; "), nil
}

func (p *promotion) readError(component string) error {
	p.Deployment.mu.Lock()
	defer p.Deployment.mu.Unlock()
	return p.outputs[component].err
}

// hold ends a component that waits for a plan with the inputs it has now.
func (p *promotion) hold(name, why string) {
	p.say("%s waits: %s", name, why)
	p.settle(ComponentResult{Component: name, Status: fanout.Gated, Waits: why, Records: []StepRecord{
		{Component: name, Phase: "Plan", Kind: "plan", Status: StepSkipped, Note: why},
	}})
}
