package usecase

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
)

// memberName is the change-set member a step plans: a root by its name, any
// other step by its component's (pr-loop §5.4).
func memberName(c *project.Component, step project.Step) string {
	if root := step.RootOf(); root != "" {
		return root
	}
	return c.Name
}

// isAsked tells that a step is a gate and no member: whoever applies asks it. A component
// of gates alone is one member.
func (in PlanInput) isAsked(c *project.Component, index int) bool {
	steps := c.Steps()
	more := slices.ContainsFunc(steps, func(s project.Step) bool { return s.Gate == nil })
	return in.Gated && steps[index].Gate != nil && (more || index > 0)
}

// planGates makes a member of a component that has gates and nothing to plan (pr-loop
// §5.4).
func (p *planner) planGates(m *member) error {
	d, err := m.component.DeployDigest(p.in.Env.Name, p.in.Env.Vars, "")
	m.planned.Planned.NoChanges = true
	m.part = changeset.Part{Member: changeset.Member{
		Member: m.name, Lexicon: "chant", Planner: "chant", Status: changeset.Planned, PlanDigest: &d,
	}}
	return err
}

// target is what the driver plans or applies for one step.
func (in PlanInput) target(step project.Step, values map[string]digest.Value, credentials []string) (engine.Target, error) {
	target, err := in.bareTarget(step, values, credentials)
	if err != nil {
		return engine.Target{}, err
	}
	if err := in.trees.lay(&target, in.Project.Dir); err != nil {
		return engine.Target{}, err
	}
	return target, nil
}

// bareTarget is a target without files.
func (in PlanInput) bareTarget(step project.Step, values map[string]digest.Value, credentials []string) (engine.Target, error) {
	name := step.RootOf()
	root, ok := in.Project.Roots[name]
	if !ok {
		return engine.Target{}, Refusef("%s:%d: root %q is not declared; add it to terraform.roots or give the step a dir", step.File, step.Line, name)
	}
	return engine.Target{
		Member: name, Root: root,
		Vars:        stepVars(values),
		Credentials: credentials, Apart: in.apart, Keeper: in.keeper,
		RunDir: filepath.Join(in.RunDir, "members", safeName(name)),
	}, nil
}

// stepVars picks the vars object out of a resolved step.
func stepVars(values map[string]digest.Value) map[string]digest.Value {
	vars := map[string]digest.Value{}
	v := values["vars"]
	for _, key := range v.Keys() {
		vars[key] = v.Get(key)
	}
	return vars
}

// safeName is a name as a single path element, no two names alike.
func safeName(name string) string { return "m-" + url.PathEscape(name) }

// failedPart is a member that could not be planned.
func failedPart(name, message string) changeset.Part {
	return changeset.Part{Member: changeset.Member{
		Member: name, Lexicon: "chant", Planner: "chant", Status: changeset.Failed, Error: message,
	}}
}

// hole is a member whose inputs have no value yet (pr-loop §8.1): its digest is
// the component's own, one hole a read, and no approval ever covers it.
func (p *planner) hole(m *member, unknown []project.Read) (changeset.Part, error) {
	d, err := m.component.DeployDigest(p.in.Env.Name, p.in.Env.Vars, "")
	if err != nil {
		return changeset.Part{}, err
	}
	part := changeset.Part{Member: changeset.Member{
		Member: m.name, Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned, PlanDigest: &d,
	}}
	for _, read := range unknown {
		part.Member.Holes = append(part.Member.Holes, changeset.Hole{
			Address: read.Component + "." + read.Output, Type: changeset.InputHole,
			Reason: fmt.Sprintf("inputs from %s; re-checked on apply", read.Component),
		})
	}
	return part, nil
}

// lookup follows a dot path into one component's outputs.
func lookup(outputs map[string]engine.Output, path string) (digest.Value, bool) {
	keys := strings.Split(path, ".")
	out, ok := outputs[keys[0]]
	if !ok {
		return digest.Value{}, false
	}
	v := out.Value
	for _, k := range keys[1:] {
		v = v.Get(k)
	}
	return v, out.Sensitive
}

// sensitiveReads are the sensitive outputs among those that a step reads.
func sensitiveReads(m *member, outputs map[string]map[string]engine.Output) []digest.Value {
	var secrets []digest.Value
	for _, read := range m.outputReads() {
		if value, sensitive := lookup(outputs[read.Component], read.Output); sensitive {
			secrets = append(secrets, secretsIn(value, outputs)...)
		}
	}
	return secrets
}

func plainValues(outputs map[string]map[string]engine.Output) map[string]map[string]digest.Value {
	plain := make(map[string]map[string]digest.Value, len(outputs))
	for component, outs := range outputs {
		values := make(map[string]digest.Value, len(outs))
		for name, out := range outs {
			values[name] = out.Value
		}
		plain[component] = values
	}
	return plain
}
