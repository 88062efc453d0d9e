package usecase

import (
	"context"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
)

// refuseStep names what this version cannot plan, so that it is never skipped
// in silence.
func refuseStep(step project.Step) error {
	if step.Gate != nil {
		return Refusef("%s:%d: gates inside a component are not enforced yet; remove the gate step or apply this component by hand", step.File, step.Line)
	}
	return Refusef("%s:%d: no planner for step kind %q; this version plans terraform-apply", step.File, step.Line, step.Kind)
}

// refuseUndeclared refuses a read of an output that no root of its component declares:
// what stands of one that was taken out goes with the next apply, and another never
// comes.
func (p *planner) refuseUndeclared(m *member) error {
	for _, read := range m.outputReads() {
		from := p.components[read.Component]
		if from == nil {
			continue
		}
		name, _, _ := strings.Cut(read.Output, ".")
		if declared, understood := p.declares(from, name); understood && !declared {
			return Refusef("%s:%d: %s reads the output %q of %s, which declares none of that name; declare it there or correct the name", m.step.File, read.Line, m.name, name, read.Component)
		}
	}
	return nil
}

// declares tells whether a root of a component declares an output, as far as all its
// steps are roots whose code is understood.
func (p *planner) declares(c *project.Component, output string) (declared, understood bool) {
	understood = true
	for _, step := range c.Steps() {
		root, ok := p.in.Project.Roots[step.RootOf()]
		switch {
		case step.Gate != nil:
		case !ok:
			understood = false
		default:
			names, err := p.driver.Declared(p.in.Checkout.Dir, p.in.Project.Dir, root)
			_, has := names[output]
			understood, declared = understood && err == nil, declared || has
		}
	}
	return declared, understood
}

// placeHole finds out where the state of a hole is, so that one that is another's too is
// refused now, and not first by the apply after its round: an init, where another member
// takes a plan. In a pass of what was held back it was done before.
func (p *planner) placeHole(ctx context.Context, m *member) error {
	if p.in.Only != nil {
		return nil
	}
	target, err := p.in.target(m.step, nil, p.credentials)
	if err != nil {
		return err
	}
	defer p.in.trees.drop(m.name) // nothing is applied from it
	m.planned.Planned.State, err = p.driver.Place(ctx, target)
	return err
}

// refuseSharedStates fails members that keep one state: each plans the end of what the
// other makes.
func (p *planner) refuseSharedStates(ctx context.Context, members []*member) {
	var taken statesTaken
	named := map[string]*member{}
	for _, m := range members {
		other := taken.take(m.name, m.planned.Planned.State)
		if other == "" {
			named[m.name] = m
			continue
		}
		for _, both := range []*member{named[other], m} {
			both.planned.Planned = engine.Planned{}
			p.fail(ctx, both, sharedState(other, m.name))
		}
	}
}
