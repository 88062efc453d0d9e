package usecase

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	driver "github.com/chant-bot/chant/engine/drivers/terraform"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/run"
)

// PlanInput is one project of one checkout, to be planned into one env.
type PlanInput struct {
	Site     *Site
	Checkout *Checkout
	Project  project.Project
	Env      project.Env
	// Base and Head bound the change: what differs between them selects the
	// components (pr-loop §5.2).
	Base, Head string
	// Tried are commits between the two whose apply did not finish. What they changed may
	// stand, so that what differs from one of them is part of the change, too.
	Tried []string
	// Only are the members to plan, of those the change selects; nil is all.
	Only []string
	// WaveByWave: each wave is planned after the one before it applied, so nothing is
	// planned together (pr-loop §8.2).
	WaveByWave bool
	// Applied are components that an earlier apply of the commit applied: a group is of
	// the others, and reads what stands of these.
	Applied []string
	// Gated: the gates of components are asked by who applies. A step that is one is no
	// member then, but of a component that has nothing else.
	Gated bool
	// Paths keep a pull request that touches none of them from being planned;
	// empty means every path (x-bot.plan.paths).
	Paths    []string
	RunDir   string
	Progress func(line string) // nil for none
	// Ending is called when the last plan is made and has only to be read; it does not
	// block. nil for nobody.
	Ending func()

	// Open are members that are not planned, and whose outputs are not read.
	Open openGroups

	trees  *trees
	keeper engine.Keeper
	apart  []project.Root // declared roots whose states must stay as they are
	// KeepTrees leaves the members' worktrees for an apply to take over what the
	// plans wrote; they go with RunDir.
	KeepTrees bool
}

// PlanMembers plans every selected component against the outputs standing now.
// Nothing here fails a plan as a whole but a broken graph or a clone that can't
// be read: what goes wrong with one member is that member's failure, said in
// the document (pr-loop §5.4).
func (st *Stage) PlanMembers(ctx context.Context, in PlanInput) (*PlanSet, error) {
	selection, err := st.selectComponents(ctx, in)
	if err != nil {
		return nil, err
	}
	credentials, err := st.Credentials.For(ctx, in.Site.Repo, in.Env.Name, ForPlan)
	if err != nil {
		return nil, fmt.Errorf("plan credentials of env %s: %w", in.Env.Name, err)
	}
	driver, err := st.driverOf(ctx, in.Site.Repo, in.Env.Name, in.Project, ForPlan)
	if err != nil {
		return nil, err
	}
	if in.trees, err = st.newTrees(in.Checkout, driver, in.RunDir, "planning"); err != nil {
		return nil, err
	}
	in.keeper = st.keeper(in)
	p := &planner{Stage: st, in: in, driver: driver, credentials: credentials, components: map[string]*project.Component{}, alone: map[stepID]*member{}}
	for _, c := range in.Project.Components {
		p.components[c.Name] = c
	}
	selection.Waves = keep(selection.Waves, p.planned)
	order := selection.Order()
	p.readUpstreams(ctx, order)
	fanOut, err := graph.FanOutDigest(in.Project.Components, selection, nil)
	if err != nil {
		return nil, err
	}
	groups, members, err := p.planSelection(ctx, selection)
	if err != nil {
		return nil, err
	}
	if len(groups.plans) > 0 {
		selection.Waves = groups.Waves
	}
	set, err := p.compose(ctx, selection, members)
	if err != nil {
		return nil, err
	}
	set.FanOut, set.Groups, set.Fallbacks = fanOut, groups.plans, groups.Fallbacks
	if in.KeepTrees {
		set.Trees = in.trees.dir
	}
	return set, nil
}

// selectComponents derives what the change reaches.
func (st *Stage) selectComponents(ctx context.Context, in PlanInput) (graph.Selection, error) {
	var files []string
	stood := append([]string{in.Base}, in.Tried...)
	for _, from := range stood {
		differ, err := in.Site.Clone.ChangedFiles(ctx, from, in.Head)
		if err != nil {
			return graph.Selection{}, err
		}
		files = append(files, differ...)
	}
	slices.Sort(files)
	if files = slices.Compact(files); !touchesAny(in.Paths, files) {
		files = nil
	}
	for _, from := range stood {
		if err := in.deletedRoots(ctx, from, files); err != nil {
			return graph.Selection{}, err
		}
	}
	inProject, err := relativeTo(in.Project.Dir, files)
	if err != nil {
		return graph.Selection{}, err
	}
	roots, err := driver.Changed(in.Project.Dir, in.Project.Roots, os.DirFS(in.Checkout.Dir), inProject)
	if err != nil {
		return graph.Selection{}, err
	}
	return graph.SelectChanges(in.Project.Components, graph.Changes{
		Roots: roots, Components: in.Project.TouchedBy(files),
	})
}

// relativeTo names files of the checkout as a project's directory sees them.
func relativeTo(dir string, files []string) ([]string, error) {
	out := make([]string, 0, len(files))
	for _, f := range files {
		rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(f))
		if err != nil {
			return nil, fmt.Errorf("naming %s from %s: %w", f, dir, err)
		}
		out = append(out, filepath.ToSlash(rel))
	}
	return out, nil
}

// touchesAny tells whether a changed file is one a pull request is planned for.
func touchesAny(globs, files []string) bool {
	if len(globs) == 0 {
		return true
	}
	for _, f := range files {
		for _, g := range globs {
			if project.MatchGlob(g, f) {
				return true
			}
		}
	}
	return false
}

// planner is the state of one PlanMembers call.
type planner struct {
	*Stage
	in          PlanInput
	driver      Driver
	credentials []string
	components  map[string]*project.Component

	outputs   map[string]outputs // by component
	outputErr map[string]error

	alone  map[stepID]*member // of no group, that were planned
	ending sync.Once
}

// stepID is one step of a component.
type stepID struct {
	component string
	index     int
}

// member is one step on its way to a change-set member.
type member struct {
	name      string
	component *project.Component
	step      project.Step
	index     int
	planned   *PlannedMember
	part      changeset.Part
	made      func() // called once its plan is made, or it has none; any number of times
}

// outputReads are the outputs that the step reads.
func (m *member) outputReads() []project.Read {
	return slices.DeleteFunc(m.component.Reads(), func(r project.Read) bool { return r.Step != m.index })
}

// planAll plans every step of the selection that is in no group and was not planned
// yet, as many at one time as the driver works on: the files of the others are not
// made yet, or gone.
func (p *planner) planAll(ctx context.Context, order []string, grouped map[string]*member) []*member {
	var all, due, together []*member
	for _, name := range order {
		c := p.components[name]
		for i, step := range c.Steps() {
			name := memberName(c, step)
			switch m := grouped[name]; {
			case m != nil:
				together = append(together, m)
			case !p.in.plans(name) || p.in.isAsked(c, i):
			default:
				of := stepID{c.Name, i}
				if p.alone[of] == nil {
					p.alone[of] = &member{component: c, step: step, index: i, name: name}
					due = append(due, p.alone[of])
				}
				all = append(all, p.alone[of])
			}
		}
	}
	p.countDown(due)
	each(p.driver.Parallel(), due, func(m *member) {
		defer m.made()
		m.planned = &PlannedMember{Component: m.component.Name, Step: m.index}
		p.progress("planning %s", m.name)
		err := p.planStep(ctx, m)
		if !p.in.KeepTrees {
			p.in.trees.drop(m.name)
		}
		if err != nil {
			p.fail(ctx, m, err)
			return
		}
		p.progress("planned %s", m.name)
	})
	return append(all, together...)
}

// countDown has the last of the members whose plan is made tell whoever waits for
// that, the first time: what is planned once more then is seldom much.
func (p *planner) countDown(members []*member) {
	var left atomic.Int64
	left.Store(int64(len(members)))
	for _, m := range members {
		m.made = sync.OnceFunc(func() {
			if left.Add(-1) == 0 && p.in.Ending != nil {
				p.ending.Do(p.in.Ending)
			}
		})
	}
}

// fail says in the document that a member could not be planned, and why.
func (p *planner) fail(ctx context.Context, m *member, err error) {
	m.planned.Error, m.planned.cause = p.Words(ctx, err), err
	m.part = failedPart(m.name, m.planned.Error)
	p.progress("planning %s failed", m.name)
}

func (p *planner) planStep(ctx context.Context, m *member) error {
	switch {
	case m.step.Gate != nil && p.in.Gated:
		return p.planGates(m)
	case m.step.RootOf() == "":
		return refuseStep(m.step)
	}
	if err := p.in.Open.of(m.name); err != nil {
		return err
	}
	for _, read := range m.outputReads() {
		if err := p.outputErr[read.Component]; err != nil {
			return err
		}
	}
	if err := p.refuseUndeclared(m); err != nil {
		return err
	}
	values, unresolved, err := project.Resolve(m.step, project.Inputs{
		Outputs: plainValues(p.outputs), Env: p.in.Env.Name, Vars: p.in.Env.Vars,
	})
	if err != nil {
		return err
	}
	for _, read := range unresolved {
		if read.Source == project.FromEnv {
			return Refusef("%s:%d: $env.%s has no value; declare it in x-bot.envs[].vars of env %s", m.step.File, read.Line, read.Output, p.in.Env.Name)
		}
	}
	if len(unresolved) > 0 {
		m.planned.Unknown = unresolved
		if m.part, err = p.hole(m, unresolved); err == nil {
			err = p.placeHole(ctx, m)
		}
		return err
	}
	m.planned.Reads = p.reads(m)
	target, err := p.in.target(m.step, values, p.credentials)
	if err != nil {
		return err
	}
	target.Secrets, target.Made = sensitiveReads(m, p.outputs), m.made
	planned, err := p.driver.Plan(ctx, target, func(string) {})
	if err != nil {
		return err
	}
	planned.Target = engine.Target{} // its credentials and values are not kept with the plan
	m.planned.Planned, m.part = planned, planned.Part
	return nil
}

// reads lists what the step was resolved with, for the apply to compare.
func (p *planner) reads(m *member) []run.InputRead {
	var out []run.InputRead
	for _, read := range m.outputReads() {
		value, sensitive := lookup(p.outputs[read.Component], read.Output)
		out = append(out, run.PlannedRead(read.Component, read.Output, value, sensitive))
	}
	return out
}

func (p *planner) progress(format string, args ...any) {
	if p.in.Progress != nil {
		p.in.Progress(fmt.Sprintf(format, args...))
	}
}

func (p *planner) compose(ctx context.Context, selection graph.Selection, members []*member) (*PlanSet, error) {
	set := &PlanSet{Selection: selection, Sources: map[string]string{}, Members: map[string]*PlannedMember{}, DependsOn: map[string][]string{}}
	parts := make([]changeset.Part, 0, len(members))
	for _, m := range members {
		if _, twice := set.Members[m.name]; twice {
			return nil, Refusef("two steps plan member %q; give each step a root of its own", m.name)
		}
		set.Members[m.name] = m.planned
		parts = append(parts, m.part)
		set.Units = append(set.Units, run.Unit{Member: m.name, Component: m.component.Name, Phase: m.component.PhaseOf(m.index), Step: m.step.Kind, Group: m.planned.Group})
		set.DependsOn[m.component.Name] = m.component.Dependencies()
	}
	doc, err := changeset.Compose(parts, p.Version)
	if err != nil {
		return nil, err
	}
	set.Document = doc
	if set.Sources, err = p.sources(ctx, members); err != nil {
		return nil, err
	}
	return set, nil
}

// plans tells whether a member of the selection is to be planned.
func (in PlanInput) plans(member string) bool {
	return in.Only == nil || slices.Contains(in.Only, member)
}

// planned tells whether a component has a step that is to be planned.
func (p *planner) planned(component string) bool {
	c := p.components[component]
	return slices.ContainsFunc(c.Steps(), func(s project.Step) bool { return p.in.plans(memberName(c, s)) })
}
