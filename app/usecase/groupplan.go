package usecase

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// planGroup plans one group, or says why members of it fall back. What goes wrong with
// it is no failure of theirs: they are planned one by one then.
func (p *planner) planGroup(ctx context.Context, g compose.Group) *plannedGroup {
	one := &plannedGroup{refused: map[string]compose.Refusal{}, plan: &GroupPlan{
		ID: g.ID, Wave: g.Wave, Capability: g.Capability, Reads: map[string][]engine.GroupRead{}, After: map[string][]string{},
		RunDir: filepath.Join(p.in.RunDir, "groups", safeName(g.ID)+"-"+p.NewID()),
	}}
	targets := make([]engine.Target, len(g.Members))
	for i, name := range g.Members {
		c := p.components[name]
		m := &member{component: c, step: c.Steps()[0], name: memberName(c, c.Steps()[0]), planned: &PlannedMember{Component: name, Group: g.ID}}
		if slices.Contains(one.plan.Members, m.name) {
			return dissolved(g, fmt.Sprintf("two of %s apply root %s", strings.Join(g.Members, ", "), m.name))
		}
		one.members, one.plan.Members = append(one.members, m), append(one.plan.Members, m.name)
		if p.in.Open.of(m.name) != nil {
			one.refused[name] = compose.Refusal{Kind: report.FallbackPlan, Reason: "an earlier apply left it without its state"}
			continue
		}
		vars, err := p.resolveInGroup(m, g, one.plan)
		if err == nil {
			targets[i], err = p.in.bareTarget(m.step, vars, p.credentials)
			targets[i].Secrets = sensitiveReads(m, p.outside(g))
		}
		one.secrets = append(one.secrets, targets[i].Secrets)
		if err != nil {
			one.refused[name] = compose.Refusal{Kind: report.FallbackReads, Reason: p.Words(ctx, err)}
		}
	}
	if len(one.refused) > 0 {
		return &plannedGroup{refused: one.refused}
	}
	planned, err := p.callPlanGroup(ctx, one.plan, targets)
	if err != nil {
		return dissolved(g, p.Words(ctx, err))
	}
	for _, f := range planned.Fallbacks {
		component := g.Members[slices.Index(one.plan.Members, f.Member)]
		one.refused[component] = compose.Refusal{Kind: f.Kind, Reason: f.Reason}
	}
	if len(one.refused) > 0 {
		return &plannedGroup{refused: one.refused}
	}
	one.take(planned, p, g)
	return one
}

// callPlanGroup has the driver plan a group in files of its own.
func (p *planner) callPlanGroup(ctx context.Context, plan *GroupPlan, targets []engine.Target) (engine.PlannedGroup, error) {
	grouper, can := p.driver.(engine.Grouper)
	if !can {
		return engine.PlannedGroup{}, fmt.Errorf("planning %s: the driver has no groups", plan)
	}
	tree := plan.tree()
	target, err := p.in.groupTarget(plan, targets)
	var planned engine.PlannedGroup
	if err == nil {
		planned, err = grouper.PlanGroup(ctx, target, func(string) {})
	}
	if err != nil || !p.in.KeepTrees || len(planned.Fallbacks) > 0 {
		p.in.trees.drop(tree)
	}
	return planned, err
}

// take gives each member of a group its part of the plan.
func (one *plannedGroup) take(planned engine.PlannedGroup, p *planner, g compose.Group) {
	planned.Target = engine.GroupTarget{} // its credentials and values are not kept with the plan
	one.plan.Planned = planned
	for i, m := range one.members {
		own := planned.Members[i]
		m.part = own.Part
		for _, r := range p.reads(m) {
			if slices.Contains(g.Members, r.From) {
				m.planned.Within = append(m.planned.Within, run.InputRead{From: r.From, Output: r.Output})
			} else {
				m.planned.Reads = append(m.planned.Reads, r)
			}
		}
		m.planned.Planned = engine.Planned{
			Part: own.Part, NoChanges: own.NoChanges, Code: own.Code, Moves: own.Moves, Engine: planned.Engine, File: planned.File, Hash: planned.Hash,
			State: own.Place,
		}
	}
}

// resolveInGroup resolves a member's step as far as its values come from outside the
// group, and notes what it reads within.
func (p *planner) resolveInGroup(m *member, g compose.Group, plan *GroupPlan) (map[string]digest.Value, error) {
	outside := p.outside(g)
	for _, read := range m.component.Reads() {
		if err := p.outputErr[read.Component]; err != nil && !slices.Contains(g.Members, read.Component) {
			return nil, err
		}
	}
	values, missing, err := project.Resolve(m.step, project.Inputs{Outputs: plainValues(outside), Env: p.in.Env.Name, Vars: p.in.Env.Vars})
	if err != nil {
		return nil, err
	}
	within := map[string]bool{}
	for _, read := range missing {
		if read.Source != project.FromOutput || !slices.Contains(g.Members, read.Component) || len(read.Path) < 2 || read.Path[0] != "vars" {
			return nil, Refusef("%s:%d: %s is no value that a group can pass to a variable", m.step.File, read.Line, read)
		}
		from := p.components[read.Component]
		plan.Reads[m.name] = append(plan.Reads[m.name], engine.GroupRead{Member: memberName(from, from.Steps()[0]), Output: read.Output, Path: read.Path[1:]})
		within[read.Component] = true
	}
	for _, dep := range m.component.Dependencies() {
		if slices.Contains(g.Members, dep) && !within[dep] {
			from := p.components[dep]
			plan.After[m.name] = append(plan.After[m.name], memberName(from, from.Steps()[0]))
		}
	}
	return values, nil
}

// outside are the outputs that stand of components outside a group.
func (p *planner) outside(g compose.Group) map[string]map[string]engine.Output {
	outputs := maps.Clone(p.outputs)
	for _, name := range g.Members {
		delete(outputs, name)
	}
	return outputs
}

// groupTarget is what the driver plans or applies, all members in one worktree.
func (in PlanInput) groupTarget(g *GroupPlan, targets []engine.Target) (engine.GroupTarget, error) {
	t := engine.GroupTarget{Group: g.ID, RunDir: g.RunDir}
	if err := makePassage(filepath.Dir(g.RunDir)); err != nil {
		return t, fmt.Errorf("making the directory of a group: %w", err)
	}
	if err := in.trees.layTogether(g.tree(), targets, in.Project.Dir); err != nil {
		return t, err
	}
	for _, target := range targets {
		target.RunDir = filepath.Join(g.RunDir, "members", safeName(target.Member))
		t.Members = append(t.Members, engine.GroupMember{Target: target, Reads: g.Reads[target.Member], After: g.After[target.Member]})
	}
	return t, nil
}

// tree names the worktree of a group among those of members.
func (g *GroupPlan) tree() string { return "group " + g.ID }
