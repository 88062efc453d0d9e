package usecase

import (
	"context"
	"maps"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
)

// planStep plans one terraform step against what stands now. phases are the outputs
// of the component's earlier phases, nil where its steps are planned before any runs.
func (d *Deployment) planStep(ctx context.Context, m *member, phases map[string]digest.Value) error {
	if err := d.open.of(m.name); err != nil {
		return err
	}
	values, err := d.resolve(m, phases)
	if err != nil {
		return err
	}
	in := d.planInput(d.planning, d.runDir())
	target, err := in.target(m.step, values, d.planning.credentials)
	if err != nil {
		return err
	}
	target.Secrets = sensitiveReads(m, d.upstreams.shownAs(readBy(d.components, m.component.Name)...))
	target.Destroy = d.own != nil && d.own.ends
	d.say("planning %s", m.name)
	planned, err := d.planning.driver.Plan(ctx, target, func(string) {})
	if err != nil {
		return err
	}
	m.planned.Planned, m.part = planned, planned.Part
	return d.takeState(m)
}

// resolve replaces every reference of a step by its value. One without a value fails
// the step: it is never planned as if it were not there (soundness I7).
func (d *Deployment) resolve(m *member, phases map[string]digest.Value) (map[string]digest.Value, error) {
	values, missing, err := d.values(m, phases)
	if err != nil || len(missing) == 0 {
		return values, err
	}
	var words []string
	for _, r := range missing {
		words = append(words, r.String())
	}
	hint := "deploy what it comes from before, or correct the name"
	if missing[0].Source == project.FromEnv {
		hint = "give env " + d.in.Env + " such a var, or correct the name; the environment of a pull request has its name alone"
	}
	return nil, Refusef("%s:%d: %s has no value for %s; "+hint, m.step.File, missing[0].Line, m.name, strings.Join(words, ", "))
}

// values resolves the references of a step as far as they have a value.
func (d *Deployment) values(m *member, phases map[string]digest.Value) (map[string]digest.Value, []project.Read, error) {
	for _, r := range m.outputReads() {
		if known, _ := d.upstreams.of(r.Component); known.err != nil {
			return nil, nil, known.err
		}
	}
	return project.Resolve(m.step, project.Inputs{
		Outputs: plainValues(d.upstreams.values()), Phases: phases, Env: d.in.Env, Vars: d.policy.Env.Vars,
	})
}

// applyStep applies exactly the saved plan of a step and returns the outputs its root
// has then.
func (r *componentRun) applyStep(ctx context.Context, m *member) (map[string]engine.Output, error) {
	d, plan := r.Deployment, m.planned.Planned
	defer d.planning.trees.drop(m.name)
	if d.nothingToApply(m) {
		d.say("%s: no changes", m.name)
		return d.planning.driver.Outputs(ctx, plan.Target)
	}
	if d.own != nil {
		if err := d.own.before(ctx, d, m); err != nil {
			return nil, err
		}
	}
	target, err := d.planInput(d.doing, "").target(m.step, nil, d.doing.credentials)
	if err != nil {
		return nil, err
	}
	target.RunDir, target.Ready, target.Secrets = plan.Target.RunDir, d.lease.Live, plan.Target.Secrets
	plan.Target = target
	d.say("applying %s", m.name)
	r.note(func() { r.started = true })
	outcome, err := d.doing.driver.Apply(context.WithoutCancel(ctx), plan, func(line string) { d.say("%s: %s", m.name, line) })
	if !outcome.Unknown {
		d.doing.trees.drop(m.name) // else its process may still be there
	}
	switch {
	case err != nil:
		return nil, err
	case outcome.Unknown:
		r.note(func() { r.unseen = true })
		return nil, Refusef("how the apply of %s ended was not seen; look at what it left before running this again", m.name)
	case outcome.Moved, outcome.Error != "":
		text := outcome.Error
		if outcome.Fault != nil {
			text += ": " + d.Words(ctx, outcome.Fault)
		}
		return nil, &Refusal{Message: text}
	}
	return outcome.Outputs, nil
}

// nothingToApply is decision 15 for one step.
func (d *Deployment) nothingToApply(m *member) bool {
	doc, err := changeset.Compose([]changeset.Part{m.part}, d.Version)
	return err == nil && cover.Nothing(doc, m.name, m.planned.Planned.NoChanges)
}

// phaseOutput is what a terraform step gives to later phases, "@Phase.outputs.name".
func phaseOutput(outputs map[string]engine.Output) digest.Value {
	return digest.ObjectOf(map[string]digest.Value{"outputs": digest.ObjectOf(plainValues(map[string]map[string]engine.Output{"": outputs})[""])})
}

// mergePhase adds a step's output to those of its phase: the later step wins, field by
// field (components §2.3).
func mergePhase(before, after digest.Value) digest.Value {
	merged := map[string]digest.Value{}
	for _, v := range []digest.Value{before, after} {
		for _, key := range v.Keys() {
			merged[key] = v.Get(key)
		}
	}
	return digest.ObjectOf(merged)
}

// mergeOutputs adds to a component's outputs those of one of its steps.
func (r *componentRun) mergeOutputs(phase string, outputs map[string]engine.Output) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.Copy(r.outputs, outputs)
	r.phases[phase] = mergePhase(r.phases[phase], phaseOutput(outputs))
}
