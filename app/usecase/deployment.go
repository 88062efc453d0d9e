package usecase

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/run"
)

// DeployInput is one project at one commit, to be deployed because somebody who holds
// the credentials says so: no pull request and no green commit, but the gates they ask
// for and those the components have (components §2).
type DeployInput struct {
	Site   *Site
	Commit string // what is deployed: its files, never those of a working tree
	Member string // workspace member, "" for the root project
	Env    string
	// Binds is the declaration that binds gates: of the base branch, never of the
	// commit deployed (pr-loop decision 2).
	Binds    *project.Declaration
	Dir      string
	Progress func(line string)
	// Follow is told what happens, one event at a time; nil is nobody.
	Follow func(run.Event)
}

// Deployment deploys components of one project.
type Deployment struct {
	*Stage

	in         DeployInput
	policy     Policy
	checkout   *Checkout
	project    project.Project
	components map[string]*project.Component

	lease           *lease.Lease
	planning, doing deploySide
	open            openGroups
	states          statesTaken
	// gateOf answers a component's own gate; source is what the component is made from.
	gateOf func(ctx context.Context, c *project.Component, s project.Step, source digest.Digest) (GateAnswer, error)
	own    *ownEnv // the env is a pull request's own, nil for a declared one

	told sync.Mutex // held while an event is told

	upstreams *upstreams
}

// deploySide is what planning, or applying, needs: what they write is kept apart
// (soundness, walls).
type deploySide struct {
	driver      Driver
	credentials []string
	trees       *trees
}

// OpenDeployment reads what the commit declares. Nothing runs yet.
func (st *Stage) OpenDeployment(ctx context.Context, in DeployInput) (*Deployment, error) {
	policy, err := deployPolicy(in.Binds, in.Env)
	if err != nil {
		return nil, err
	}
	checkout, err := in.Site.Checkout(ctx, in.Commit, filepath.Join(in.Dir, "tree"))
	if err != nil {
		return nil, err
	}
	return st.deploymentOf(in, policy, checkout)
}

func (st *Stage) deploymentOf(in DeployInput, policy Policy, checkout *Checkout) (*Deployment, error) {
	proj, err := findProject(checkout.Workspace, in.Member)
	if err != nil {
		return nil, err
	}
	d := &Deployment{
		Stage: st, in: in, policy: policy, checkout: checkout, project: proj,
		components: map[string]*project.Component{},
	}
	for _, c := range proj.Components {
		d.components[c.Name] = c
	}
	d.gateOf = d.askComposition
	return d, graph.Validate(proj.Components)
}

// deployPolicy is what binds the gates of a deployment. It has no pull request, so
// where only reviewers may approve nobody can.
func deployPolicy(d *project.Declaration, env string) (Policy, error) {
	for _, e := range d.Envs(env) {
		if e.Name != env {
			continue
		}
		p := PolicyOf(d, e)
		p.OnlyEnv = false // every env has these ops and gates
		return p, nil
	}
	return Policy{}, Refusef("env %s is not declared on the branch whose declaration binds; merge its declaration first", env)
}

// Components are those of the project.
func (d *Deployment) Components() []*project.Component { return d.project.Components }

// AppliesOnMerge tells that merges deploy to the env too.
func (d *Deployment) AppliesOnMerge() bool { return d.policy.Env.ApplyOnMerge }

// SelectChanged selects what the commit changes since base, as a plan of a pull
// request does.
func (d *Deployment) SelectChanged(ctx context.Context, base string) (graph.Selection, error) {
	return d.selectComponents(ctx, PlanInput{
		Site: d.in.Site, Checkout: d.checkout, Project: d.project, Env: d.policy.Env, Base: base, Head: d.in.Commit, RunDir: d.in.Dir,
	})
}

// Runnable refuses, by name, components this version can't run whole. It is asked
// before anything runs.
func (d *Deployment) Runnable(names []string) error {
	for _, name := range names {
		c := d.components[name]
		if c == nil {
			return Refusef("component %q is not declared at %s; declared: %s", name, project.Short(d.in.Commit), strings.Join(d.names(), ", "))
		}
		for _, step := range c.Steps() {
			if step.Gate == nil && step.RootOf() == "" {
				return Refusef("%s:%d: component %s has a step of kind %q, which nothing here can run; known kinds: gate, terraform-apply", step.File, step.Line, name, step.Kind)
			}
		}
		if line := onFailureLine(c.Deploy); line > 0 {
			return Refusef("%s:%d: component %s has an onFailure, which is not run yet; remove it to deploy this component here", c.File, line, name)
		}
		undo := &project.Component{Deploy: c.Rollback}
		for _, step := range undo.Steps() {
			if step.RootOf() == "" {
				return Refusef("%s:%d: the rollback of component %s has a step of kind %q, which nothing here can run; known kind: terraform-apply", step.File, step.Line, name, step.Kind)
			}
		}
	}
	return nil
}

func onFailureLine(phases []project.DeployPhase) int {
	for _, p := range phases {
		if len(p.OnFailure) > 0 {
			return p.Line
		}
		for _, s := range p.Steps {
			if s.Phase == nil {
				continue
			}
			if line := onFailureLine([]project.DeployPhase{*s.Phase}); line > 0 {
				return line
			}
		}
	}
	return 0
}

func (d *Deployment) names() []string {
	names := make([]string, 0, len(d.components))
	for name := range d.components {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Sources names what each component is made from: its declaration, the files of its
// roots and the variables of the env. It moves when any of it does.
func (d *Deployment) Sources(ctx context.Context, names []string) (map[string]digest.Digest, error) {
	out := map[string]digest.Digest{}
	for _, name := range names {
		c := d.components[name]
		made, err := d.sources(ctx, d.rootMembers(c))
		if err != nil {
			return nil, err
		}
		composed, err := c.DeployDigest(d.in.Env, d.policy.Env.Vars, "")
		if err != nil {
			return nil, err
		}
		from := map[string]digest.Value{}
		for member, source := range made {
			from[member] = digest.StringOf(source)
		}
		if out[name], err = digest.Of("component-source", digest.ObjectOf(map[string]digest.Value{
			"composition": digest.StringOf(composed.String()), "members": digest.ObjectOf(from),
		})); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// sources are those of members, as a plan has them.
func (d *Deployment) sources(ctx context.Context, members []*member) (map[string]string, error) {
	p := &planner{Stage: d.Stage, in: d.planInput(deploySide{}, "")}
	return p.sources(ctx, members)
}

// rootMembers are the steps of a component that apply a root.
func (d *Deployment) rootMembers(c *project.Component) []*member {
	var members []*member
	for i, step := range c.Steps() {
		if step.RootOf() != "" {
			members = append(members, d.member(c, i, step))
		}
	}
	return members
}

func (d *Deployment) member(c *project.Component, index int, step project.Step) *member {
	return &member{
		component: c, step: step, index: index, name: memberName(c, step),
		planned: &PlannedMember{Component: c.Name, Step: index},
	}
}

// Deploy holds the environment's lease while do runs, and hands out what planning and
// applying need. No other apply of the environment runs meanwhile (pr-loop §9).
func (d *Deployment) Deploy(ctx context.Context, do func() error) error {
	_, err := d.leased(ctx, d.in.Site, d.in.Env, d.in.Member, func(held *lease.Lease) (*Apply, error) {
		if err := d.begin(ctx, held); err != nil {
			return nil, err
		}
		return nil, do()
	})
	return err
}

// begin has the deployment run under a lease that is held, once every root has the state
// that an apply before left it.
func (d *Deployment) begin(ctx context.Context, held *lease.Lease) error {
	d.lease = held
	for _, side := range []struct {
		kind CredentialKind
		to   *deploySide
	}{{ForPlan, &d.planning}, {ForApply, &d.doing}} {
		made, err := d.side(ctx, side.kind)
		if err != nil {
			return err
		}
		*side.to = made
	}
	d.doing.trees.written = d.planning.trees.dir
	ends, err := d.groupEnds(ctx, ApplyInput{Site: d.in.Site, Env: d.in.Env, Member: d.in.Member, Dir: d.in.Dir, Progress: d.in.Progress}, d.policy.Env, d.project)
	if err != nil {
		return err
	}
	if d.own != nil {
		ends.from = d.mergedAt
	}
	d.open, err = ends.end(ctx, "")
	d.upstreams = d.newUpstreams()
	return err
}

func (d *Deployment) side(ctx context.Context, kind CredentialKind) (deploySide, error) {
	var s deploySide
	var err error
	if s.credentials, err = d.Credentials.For(ctx, d.in.Site.Repo, d.in.Env, kind); err != nil {
		return s, fmt.Errorf("%s credentials of env %s: %w", kind, d.in.Env, err)
	}
	if s.driver, err = d.driverOf(ctx, d.in.Site.Repo, d.in.Env, d.project, kind); err != nil {
		return s, err
	}
	s.trees, err = d.newTrees(d.checkout, s.driver, d.in.Dir, "deploy-"+string(kind))
	return s, err
}

// planInput is a side as the planner of the loop sees it; runDir is of one step.
func (d *Deployment) planInput(s deploySide, runDir string) PlanInput {
	in := PlanInput{
		Site: d.in.Site, Checkout: d.checkout, Project: d.project, Env: d.policy.Env, RunDir: runDir, trees: s.trees, KeepTrees: true, Open: d.open,
	}
	in.keeper = d.keeper(in)
	if d.own != nil {
		in.apart = d.own.apart
	}
	return in
}

func (d *Deployment) runDir() string { return filepath.Join(d.in.Dir, "steps", d.NewID()) }

func (d *Deployment) say(format string, args ...any) {
	if d.in.Progress != nil {
		d.in.Progress(fmt.Sprintf(format, args...))
	}
}

// readUpstreams reads, once each, the outputs that components read and nobody read or
// made yet in this deployment, nor makes together with them.
func (d *Deployment) readUpstreams(ctx context.Context, names []string) {
	all := readBy(d.components, names...)
	d.upstreams.read(ctx, slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		_, known := d.upstreams.of(name)
		return known || slices.Contains(names, name)
	})...)
	d.upstreams.readSecrets(ctx, all...)
}

func (d *Deployment) newUpstreams() *upstreams {
	return newUpstreams(d.planning.driver, d.planInput(d.planning, ""), d.components, func(ctx context.Context, name string) (outputs, error) {
		return componentOutputs(ctx, d.planning.driver, d.planInput(d.planning, d.runDir()), d.components[name], d.planning.credentials)
	})
}

// plain are the outputs a component has now, without those that are secrets or hand one
// on.
func (d *Deployment) plain(name string) map[string]digest.Value {
	out := map[string]digest.Value{}
	for key, o := range d.upstreams.shownAs(name)[name] {
		if !o.Sensitive {
			out[key] = o.Value
		}
	}
	return out
}
