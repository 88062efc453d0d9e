package usecase

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/pullenv"
)

// PullEnvEnd is how the end of an environment went. Lists are of components.
type PullEnvEnd struct {
	Env       string       `json:"env"`
	PR        int          `json:"pr"`
	Destroyed []string     `json:"destroyed"`
	Failed    []EndFailure `json:"failed"`
	Blocked   []string     `json:"blocked"` // what depends on them is still there
}

// EndFailure is a component that is still there, and why.
type EndFailure struct {
	Component string `json:"component"`
	Error     string `json:"error"`
}

// Left are the components that are still there, sorted.
func (e PullEnvEnd) Left() []string {
	left := slices.Clone(e.Blocked)
	for _, f := range e.Failed {
		left = append(left, f.Component)
	}
	slices.Sort(left)
	return left
}

// pullEnvEnd is one EndPullEnv under way.
type pullEnvEnd struct {
	*Stage

	in       PullEnvInput
	lease    *lease.Lease
	standing map[string][]endState     // by component
	made     map[[2]string]*Deployment // by head and base
	apart    []project.Root            // declared now
	result   PullEnvEnd
}

// endState is a state that may hold something, with the steps of its component as they
// applied it, or why the commits that made it can't be opened.
type endState struct {
	pullenv.Entry

	steps    []project.Step
	unopened string
}

// step is the place of the state's root among the steps of its component, -1 for none.
func (s endState) step() int {
	return slices.IndexFunc(s.steps, func(step project.Step) bool { return step.RootOf() == s.Root })
}

// EndPullEnv destroys everything the ledger says the environment has, each state from
// the files of the commits that made it last, and each component after all that
// depend on it. Head is not asked for, since the branch may be gone; what BaseTip
// declares now must stay as it is too.
func (st *Stage) EndPullEnv(ctx context.Context, in PullEnvInput) (PullEnvEnd, error) {
	name := pullenv.Name(in.Number)
	e := &pullEnvEnd{
		Stage: st, in: in, standing: map[string][]endState{}, made: map[[2]string]*Deployment{},
		result: PullEnvEnd{Env: name, PR: in.Number, Destroyed: []string{}, Failed: []EndFailure{}, Blocked: []string{}},
	}
	if err := st.ownCredentials(ctx, in.Site, name); err != nil {
		return e.result, err
	}
	_, err := st.leased(ctx, in.Site, name, in.Member, func(held *lease.Lease) (*Apply, error) {
		e.lease = held
		return nil, e.run(ctx)
	})
	return e.result, err
}

func (e *pullEnvEnd) run(ctx context.Context) error {
	declared, err := e.in.declaredAtBase(ctx)
	if err != nil {
		return err
	}
	e.apart = declaredRoots(declared)
	entries, skipped, err := readPullEnv(ctx, e.in)
	if err != nil {
		return err
	}
	order, dependsOn, err := e.order(ctx, pullenv.Standing(entries))
	if err != nil {
		return err
	}
	left := map[string]bool{}
	for _, name := range order {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before %s: %w", name, err)
		}
		if needed(left, dependsOn, name) {
			left[name] = true
			e.result.Blocked = append(e.result.Blocked, name)
			continue
		}
		if err := e.end(ctx, name); err != nil {
			left[name] = true
			e.result.Failed = append(e.result.Failed, EndFailure{Component: name, Error: err.Error()})
			continue
		}
		e.result.Destroyed = append(e.result.Destroyed, name)
	}
	if skipped > 0 {
		return Refusef("%d lines about env %s on the ledger are not understood and may name what is still there; run this with a newer version", skipped, e.result.Env)
	}
	return nil
}

// order opens what each state was made from and gives the components in the order of
// their end, with those that each follows. Where the commits of one are gone, the ledger
// says what that is: it stays, and keeps nothing else.
func (e *pullEnvEnd) order(ctx context.Context, standing []pullenv.Entry) (order []string, dependsOn map[string][]string, err error) {
	dependsOn = map[string][]string{}
	for _, entry := range standing {
		deps := entry.DependsOn
		state := endState{Entry: entry}
		c, err := e.componentOf(ctx, entry)
		switch {
		case ctx.Err() != nil:
			return nil, nil, fmt.Errorf("stopped before the end of anything: %w", ctx.Err())
		case err != nil:
			state.unopened = e.Words(ctx, err)
		default:
			state.steps, deps = c.Steps(), append(deps, c.Dependencies()...)
		}
		e.standing[entry.Component] = append(e.standing[entry.Component], state)
		dependsOn[entry.Component] = append(dependsOn[entry.Component], deps...)
	}
	for _, states := range e.standing { // a state that can't be opened is of a step that others tell of
		known := slices.IndexFunc(states, func(s endState) bool { return s.unopened == "" })
		for i := range states {
			if states[i].unopened != "" && known >= 0 {
				states[i].steps = states[known].steps
			}
		}
	}
	if order, err = pullenv.LastFirst(dependsOn); err != nil {
		return nil, nil, &Refusal{Message: err.Error()}
	}
	return order, dependsOn, nil
}

// needed tells that something which is left depends on a component.
func needed(left map[string]bool, dependsOn map[string][]string, name string) bool {
	for other := range left {
		if slices.Contains(dependsOn[other], name) {
			return true
		}
	}
	return false
}

// deployment is the pull request as it was when an entry was written.
func (e *pullEnvEnd) deployment(ctx context.Context, entry pullenv.Entry) (*Deployment, error) {
	key := [2]string{entry.Head, entry.Base}
	if d := e.made[key]; d != nil {
		return d, nil
	}
	in := e.in
	in.Head, in.BaseTip, in.Dir = entry.Head, entry.Base, filepath.Join(e.in.Dir, fmt.Sprintf("made-%d", len(e.made)))
	if err := os.MkdirAll(in.Dir, 0o711); err != nil { //nolint:gosec // a directory
		return nil, fmt.Errorf("making the directory of a commit: %w", err)
	}
	d, err := e.openPullEnv(ctx, in)
	switch {
	case errors.Is(err, git.ErrUnknownRevision):
		return nil, Refusef("%s is destroyed as %s merged into %s made it, and one of these commits is not here; fetch both", entry.Component, entry.Head, entry.Base)
	case err != nil:
		return nil, err
	}
	d.own.ends, d.own.apart = true, append(d.own.apart, e.apart...)
	if err := d.begin(ctx, e.lease); err != nil {
		return nil, err
	}
	e.made[key] = d
	return d, nil
}

func (e *pullEnvEnd) componentOf(ctx context.Context, entry pullenv.Entry) (*project.Component, error) {
	d, err := e.deployment(ctx, entry)
	if err != nil {
		return nil, err
	}
	c := d.components[entry.Component]
	if c == nil {
		return nil, Refusef("the ledger says that component %s was applied to %s from %s, which does not declare it", entry.Component, e.result.Env, project.Short(entry.Head))
	}
	return c, nil
}

// end destroys the states of one component, the last step's first. One that is left keeps
// those of the steps before it, and no other.
func (e *pullEnvEnd) end(ctx context.Context, name string) error {
	states := e.standing[name]
	slices.SortStableFunc(states, func(a, b endState) int { return b.step() - a.step() })
	var why []string
	kept := -1 // the last step of which a state is left
	for _, s := range states {
		switch {
		case s.unopened != "":
			kept, why = max(kept, s.step()), append(why, s.unopened)
			continue
		case s.step() < 0:
			why = append(why, fmt.Sprintf("the ledger says that component %s applied root %s, which none of its steps does", name, s.Root))
			continue
		case s.step() < kept:
			why = append(why, fmt.Sprintf("root %s stays, as a later step of %s does", s.Root, name))
			continue
		}
		err := e.endState(ctx, s.Entry)
		if err == nil {
			s.Ended = true
			err = e.writePullEnv(ctx, e.in, s.Entry)
		}
		if err != nil {
			kept, why = max(kept, s.step()), append(why, e.Words(ctx, err))
		}
	}
	if len(why) > 0 {
		return errors.New(strings.Join(slices.Compact(why), "; "))
	}
	return nil
}

// endState plans and applies the end of one state.
func (e *pullEnvEnd) endState(ctx context.Context, entry pullenv.Entry) error {
	d, err := e.deployment(ctx, entry)
	if err != nil {
		return err
	}
	c := d.components[entry.Component]
	d.readUpstreams(ctx, []string{c.Name})
	phases, err := d.phasesNow(ctx, c)
	if err != nil {
		return err
	}
	for _, m := range d.rootMembers(c) {
		if m.name != entry.Root {
			continue
		}
		if err := d.planStep(ctx, m, phases); err != nil {
			return err
		}
		switch state, err := stateOf(m); {
		case err != nil:
			return err
		case state != entry.State:
			return Refusef("the state of root %s is not where it was when %s was applied; run this with the settings of that time", m.name, project.Short(entry.Head))
		}
		d.say("destroying %s", m.name)
		r := &componentRun{Deployment: d, c: c}
		if _, err := r.applyStep(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// phasesNow are the outputs that each phase of a component has as it stands, where a
// step reads any.
func (d *Deployment) phasesNow(ctx context.Context, c *project.Component) (map[string]digest.Value, error) {
	phases := map[string]digest.Value{}
	if !slices.ContainsFunc(c.Reads(), func(r project.Read) bool { return r.Source == project.FromPhase }) {
		return phases, nil
	}
	for _, m := range d.rootMembers(c) {
		target, err := d.planInput(d.planning, d.runDir()).target(m.step, nil, d.planning.credentials)
		if err != nil {
			return nil, err
		}
		outputs, err := d.planning.driver.Outputs(ctx, target)
		if err != nil {
			return nil, err
		}
		phase := c.PhaseOf(m.index)
		phases[phase] = mergePhase(phases[phase], phaseOutput(outputs))
	}
	return phases, nil
}
