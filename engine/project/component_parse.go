package project

import (
	"fmt"
	"slices"
	"time"
)

const (
	contractVersion    = "1.0.0"
	defaultGateTimeout = 48 * time.Hour
)

// ParseComponent reads one *.component.json or .yaml (pr-loop §7.1, components
// §5). The error is Problems with every fault found.
func ParseComponent(n *Node) (*Component, error) {
	if n == nil {
		return nil, Problems{{Code: CodeComponentInvalid, Message: "the component is empty"}}
	}
	r := &reader{code: CodeComponentInvalid, file: n.File}
	o, ok := r.object(n, "", false, "$schema", "contractVersion", "name", "dependsOn", "build", "deploy", "verify", "rollback",
		"archetype", "liveNames", "composites", "environments", "enabled")
	if !ok {
		return nil, r.problems.Err()
	}
	c := &Component{File: n.File, Line: n.Line, Node: n}
	c.Name = o.requiredName("name", componentPattern, nameWords)
	c.Disabled = !o.boolean("enabled", true)
	o.required("dependsOn", "write [] when it depends on nothing")
	c.DependsOn = o.words("dependsOn", func(s string) string {
		switch {
		case s == c.Name && s != "":
			return "a component can't depend on itself"
		case !componentPattern.MatchString(s):
			return "use " + nameWords
		}
		return ""
	})
	r.metadata(o)
	o.required("deploy", "give at least one phase with its steps")
	o.nonEmpty("deploy", "give at least one phase with its steps")
	c.Deploy = r.deployPhases(o, "deploy")
	c.Verify = r.deployPhases(o, "verify")
	c.Rollback = r.deployPhases(o, "rollback")
	r.references(c)
	if err := r.problems.Err(); err != nil {
		return nil, err
	}
	return c, nil
}

// metadata checks the fields chant reads and we only pass by.
func (r *reader) metadata(o object) {
	o.text("$schema")
	if v := o.text("contractVersion"); v != "" && v != contractVersion {
		o.fail("contractVersion", fmt.Sprintf("write %q or upgrade chant", contractVersion), "version %q is not known", v)
	}
	if o.has("archetype") {
		o.oneOf("archetype", "service", "infra", "producer-library")
	}
	o.list("liveNames")
	o.list("composites")
	if build, ok := o.node.Get("build"), o.has("build"); ok {
		if b, ok := r.object(build, "build", false, "kind", "context", "into"); ok {
			b.required("kind", "name the kind of build")
			b.text("kind")
			b.text("context")
			b.required("into", `write "archive"`)
			b.oneOf("into", "archive")
		}
	}
	names := map[string]bool{}
	for i, item := range o.list("environments") {
		e, ok := r.object(item, fmt.Sprintf("environments[%d]", i), false, "name", "runtime", "url", "domain", "lifecycle")
		if !ok {
			continue
		}
		name := e.requiredName("name", envPattern, envWords)
		if names[name] {
			e.fail("name", "remove one of them", "environment %q is listed twice", name)
		}
		names[name] = true
		e.text("runtime")
		e.name("url", httpPattern, "an http:// or https:// address")
		e.text("domain")
		e.text("lifecycle")
	}
}

func (r *reader) deployPhases(o object, name string) []DeployPhase {
	var phases []DeployPhase
	for i, item := range o.list(name) {
		if p, ok := r.deployPhase(item, fmt.Sprintf("%s[%d]", o.field(name), i)); ok {
			phases = append(phases, p)
		}
	}
	return phases
}

func (r *reader) deployPhase(n *Node, field string) (DeployPhase, bool) {
	o, ok := r.object(n, field, false, "phase", "steps", "parallel", "onFailure")
	if !ok {
		return DeployPhase{}, false
	}
	p := DeployPhase{Line: n.Line, Parallel: o.boolean("parallel", false)}
	o.required("phase", "name the phase")
	p.Name = o.text("phase")
	if p.Name != "" && !phaseNamePattern.MatchString(p.Name) {
		o.fail("phase", "use words of letters, digits, dashes and underscores, starting with a letter", "%q is not allowed", p.Name)
	}
	o.required("steps", "give at least one step")
	o.nonEmpty("steps", "give at least one step")
	p.Steps = r.steps(o, "steps")
	p.OnFailure = r.steps(o, "onFailure")
	return p, true
}

func (r *reader) steps(o object, name string) []Step {
	var steps []Step
	for i, item := range o.list(name) {
		if s, ok := r.step(item, fmt.Sprintf("%s[%d]", o.field(name), i)); ok {
			steps = append(steps, s)
		}
	}
	return steps
}

// step reads a capability step, a gate or a nested phase, told apart by kind
// and phase.
func (r *reader) step(n *Node, field string) (Step, bool) {
	if !r.is(n, Object, field) {
		return Step{}, false
	}
	s := Step{Input: n, File: n.File, Line: n.Line}
	if n.Get("kind") == nil {
		if n.Get("phase") == nil {
			r.fail(n.Line, field, `give "kind" for a step or a gate, or "phase" and "steps" for a nested phase`, "is neither a step, a gate nor a phase")
			return Step{}, false
		}
		p, ok := r.deployPhase(n, field)
		s.Phase = &p
		return s, ok
	}
	o := object{r, n, field}
	s.Kind = o.text("kind")
	switch s.Kind {
	case "":
		return Step{}, false
	case "gate":
		s.Gate = r.gate(n, field)
		return s, s.Gate != nil
	case TerraformApply:
		return s, r.terraformStep(n, field)
	}
	return s, true
}

func (r *reader) gate(n *Node, field string) *GateStep {
	o, ok := r.object(n, field, false, "kind", "gate", "signalName", "timeout", "description")
	if !ok {
		return nil
	}
	g := &GateStep{Timeout: defaultGateTimeout, Description: o.text("description")}
	if o.has("gate") == o.has("signalName") {
		r.fail(n.Line, field, `write "gate": "<name>"`, "a gate has exactly one of gate and signalName")
		return nil
	}
	for _, name := range []string{"gate", "signalName"} {
		if o.has(name) {
			g.Name = o.name(name, gatePattern, gateWords)
		}
	}
	if t := o.text("timeout"); t != "" {
		if g.Timeout, ok = ParseDuration(t); !ok {
			o.fail("timeout", "write a sum of parts, such as 48h or 1h30m", "%q is no duration", t)
		}
	}
	return g
}

// terraformStep checks a terraform-apply step. It is closed: a misspelt "vars"
// would plan without them.
func (r *reader) terraformStep(n *Node, field string) bool {
	o, ok := r.object(n, field, false, "kind", "root", "vars", "dir", "cwd", "noRollback")
	if !ok {
		return false
	}
	o.required("root", "name the terraform root")
	if root := o.text("root"); root != "" {
		if next := badRootName(root); next != "" {
			o.fail("root", next, "%q is not allowed", root)
		}
	}
	if vars := n.Get("vars"); vars != nil && r.is(vars, Object, field+".vars") {
		for _, f := range vars.Fields {
			if !variablePattern.MatchString(f.Name) {
				r.fail(f.Line, field+".vars."+f.Name, "use the name of a terraform variable", "variable name %q is not allowed", f.Name)
			}
		}
	}
	for _, name := range []string{"dir", "cwd"} {
		if dir := o.text(name); dir != "" {
			if next := badDir(dir, true); next != "" {
				o.fail(name, next, "%q is not allowed", dir)
			}
		}
	}
	return true
}

// phaseNames are the phases a component has anywhere, nested ones included.
func (c *Component) phaseNames() []string {
	var names []string
	var walk func(phases []DeployPhase)
	inSteps := func(steps []Step) {
		for _, s := range steps {
			if s.Phase != nil {
				walk([]DeployPhase{*s.Phase})
			}
		}
	}
	walk = func(phases []DeployPhase) {
		for _, p := range phases {
			names = append(names, p.Name)
			inSteps(p.Steps)
			inSteps(p.OnFailure)
		}
	}
	for _, phases := range [][]DeployPhase{c.Deploy, c.Verify, c.Rollback} {
		walk(phases)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
