package usecase

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// GroupPlan is one plan of several members of a PlanSet (pr-loop §8.2).
type GroupPlan struct {
	ID         string `json:"id"`
	Wave       int    `json:"wave"`
	Capability string `json:"capability"`
	// Members are change-set members, each after those it reads.
	Members []string `json:"members"`
	// Planned has no target: its values and credentials are not kept with the plan.
	Planned engine.PlannedGroup `json:"planned"`
	// Reads and After are those within the group, by member.
	Reads map[string][]engine.GroupRead `json:"reads"`
	After map[string][]string           `json:"after"`
	// RunDir is where the plan was saved and is applied from.
	RunDir string `json:"runDir"`
	// Ended is how each member of it ended, by member, once it was applied.
	Ended map[string]report.OutcomeStatus `json:"ended,omitempty"`
}

// groupPlans are the groups of one PlanMembers call.
type groupPlans struct {
	compose.Composition

	plans   []*GroupPlan
	members map[string]*member // by change-set member
}

// planGroups decides what is planned together and plans that, but for the groups that
// are planned.
func (p *planner) planGroups(ctx context.Context, in compose.Input, planned map[string]*plannedGroup) (*groupPlans, error) {
	c, plans, err := p.planDue(ctx, in, planned, func(c compose.Composition) []compose.Group { return c.Groups })
	if err != nil {
		return nil, err
	}
	all := &groupPlans{Composition: c, members: map[string]*member{}}
	for _, one := range plans {
		all.plans = append(all.plans, one.plan)
		for _, m := range one.members {
			all.members[m.name] = m
		}
	}
	return all, nil
}

// planDue composes, and plans the groups that are due and not among those planned, by
// their members. Whoever can't be planned in its group falls back, into in.Refused, and
// what is left is composed again: the run goes on, with fewer groups or none.
func (p *planner) planDue(ctx context.Context, in compose.Input, planned map[string]*plannedGroup, due func(compose.Composition) []compose.Group) (compose.Composition, []*plannedGroup, error) {
	for {
		c, err := compose.Of(in)
		if err != nil {
			return c, nil, err
		}
		groups := due(c)
		p.dropOthers(groups, planned)
		if err := p.planNew(ctx, groups, planned); err != nil {
			return c, nil, err
		}
		var plans []*plannedGroup
		fellBack := false
		for _, g := range groups {
			one := planned[groupKey(g)]
			fellBack = fellBack || len(one.refused) > 0
			maps.Copy(in.Refused, one.refused)
			if one.plan != nil {
				one.plan.Wave = g.Wave
				plans = append(plans, one)
			}
		}
		if !fellBack {
			return c, plans, nil
		}
	}
}

// composeInput is what groups follow from.
func (p *planner) composeInput(selection graph.Selection) compose.Input {
	_, can := p.driver.(engine.Grouper)
	in := compose.Input{
		Components: p.in.Project.Components, Selection: selection, WaveGates: p.in.WaveByWave,
		Kinds:   map[string]compose.Ability{project.TerraformApply: {Groups: can, Off: p.in.composeOff()}},
		Unknown: p.unknown(selection.Order()), Live: p.live(), Refused: map[string]compose.Refusal{},
	}
	for _, name := range p.in.Applied {
		in.Refused[name] = compose.Refusal{Kind: report.FallbackAlone, Reason: "an earlier apply of this commit applied it"}
	}
	return in
}

// composeOff names what keeps anything from being planned together, "" for nothing.
func (in PlanInput) composeOff() string {
	if c := in.Project.Config; c != nil && c.Terraform != nil && c.Terraform.Compose == "off" {
		return "terraform.compose: off"
	}
	return ""
}

// live are the components of which a root may be live (components §4): those of a project
// that choudoufu applies, since which of its roots are is not told by all of their files.
func (p *planner) live() map[string]bool {
	live := map[string]bool{}
	if c := p.in.Project.Config; c == nil || c.Terraform == nil || c.Terraform.Binary != "choudoufu" {
		return live
	}
	for _, c := range p.in.Project.Components {
		live[c.Name] = true
	}
	return live
}

// unknown are the outputs that the selection reads and that have no value.
func (p *planner) unknown(order []string) map[report.UnknownInput]bool {
	out := map[report.UnknownInput]bool{}
	for _, name := range order {
		for _, read := range p.components[name].Reads() {
			if value, _ := lookup(p.outputs[read.Component], read.Output); value.IsAbsent() {
				out[report.UnknownInput{From: read.Component, Output: read.Output}] = true
			}
		}
	}
	return out
}

// plannedGroup is a group as it was planned, or why members of it fall back.
type plannedGroup struct {
	plan    *GroupPlan
	members []*member
	secrets [][]digest.Value           // by member, sensitive values from outside the group
	refused map[string]compose.Refusal // by component
}

func groupKey(g compose.Group) string { return strings.Join(g.Members, " ") }

// planNew plans the groups that were not planned yet, as many at one time as the
// driver works on. Its error is that planning was called off.
func (p *planner) planNew(ctx context.Context, groups []compose.Group, planned map[string]*plannedGroup) error {
	due := slices.DeleteFunc(slices.Clone(groups), func(g compose.Group) bool { return planned[groupKey(g)] != nil })
	var mu sync.Mutex
	each(p.driver.Parallel(), due, func(g compose.Group) {
		p.progress("planning %s as one group", strings.Join(g.Members, ", "))
		one := p.planGroup(ctx, g)
		if len(one.refused) > 0 {
			p.progress("%s can't be planned as one group", strings.Join(g.Members, ", "))
		}
		mu.Lock()
		defer mu.Unlock()
		planned[groupKey(g)] = one
	})
	return ctx.Err()
}

// dropOthers forgets the plans of groups that are none any more, with their files: a
// smaller one may have the same name.
func (p *planner) dropOthers(groups []compose.Group, planned map[string]*plannedGroup) {
	for key, one := range planned {
		if one.plan != nil && !slices.ContainsFunc(groups, func(g compose.Group) bool { return groupKey(g) == key }) {
			p.in.trees.drop(one.plan.tree())
			delete(planned, key)
		}
	}
}

// dissolved is a group no member of which can be planned in it.
func dissolved(g compose.Group, why string) *plannedGroup {
	out := &plannedGroup{refused: map[string]compose.Refusal{}}
	for _, name := range g.Members {
		out.refused[name] = compose.Refusal{Kind: report.FallbackPlan, Reason: why}
	}
	return out
}

// reportGroups gives a report the groups of a set, and why others are in none.
func (p *PlanSet) reportGroups(r *report.Report) {
	for _, g := range p.Groups {
		r.Groups = append(r.Groups, g.row())
	}
	r.Fallbacks = p.Fallbacks
}

// row is the group as a report says it, before it is applied.
func (g *GroupPlan) row() report.Group {
	return report.Group{Group: g.ID, Wave: g.Wave, Capability: g.Capability, Members: g.Members, Digest: g.Planned.Digest}
}

// reportGroups says in the report how the members of each group ended, those of later
// passes too: what a group did not reach may have been planned in a smaller one.
func (a *Apply) reportGroups() {
	a.Report.Groups = nil
	for _, p := range append([]*Pass{&a.Pass}, a.Later...) {
		if p.Set == nil {
			continue
		}
		for _, g := range p.Set.Groups {
			row := g.row()
			for _, name := range g.Members {
				m := p.State.Members[name]
				switch ended := g.Ended[name]; {
				case ended != "":
					row.Outcome = append(row.Outcome, report.Outcome{Member: name, Status: ended})
				case m != nil && m.Status.Final() || p.State.Halted != "":
					row.Outcome = append(row.Outcome, report.Outcome{Member: name, Status: report.OutcomeNotStarted})
				}
			}
			a.Report.Groups = append(a.Report.Groups, row)
		}
	}
}

// noteEnds keeps how members of a group ended.
func (g *GroupPlan) noteEnds(ends map[string]report.OutcomeStatus) {
	if g.Ended == nil {
		g.Ended = map[string]report.OutcomeStatus{}
	}
	maps.Copy(g.Ended, ends)
}

func (g *GroupPlan) String() string {
	return fmt.Sprintf("the group of %s", strings.Join(g.Members, ", "))
}
