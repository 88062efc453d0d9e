package project

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The reference grammar (components §5). A phase name is words; a component's
// published artifact is tried first, so "@publish.uri" is a phase's field and
// "@app.publish.uri" an artifact.
var (
	envReference     = regexp.MustCompile(`^\$env\.([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)$`)
	publishReference = regexp.MustCompile(`^@([a-z0-9]+(?:-[a-z0-9]+)*)\.publish\.(uri|digest|key)$`)
	phaseReference   = regexp.MustCompile(`^@([A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*)\.([A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)$`)
	phaseNamePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*(?: [A-Za-z0-9_-]+)*$`)
	outputPattern    = regexp.MustCompile(`^[A-Za-z0-9_:-]+(?:\.[A-Za-z0-9_:-]+)*$`)
)

// String is the reference as it is written, outputs as "<component>.<output>".
func (r Read) String() string {
	switch r.Source {
	case FromPublish:
		return "@" + r.Component + ".publish." + r.Output
	case FromPhase:
		return "@" + r.Component + "." + r.Output
	case FromEnv:
		return "$env." + r.Output
	default:
		return r.Component + "." + r.Output
	}
}

// textReference reads a string as a reference. ok is false for a literal; next
// is not empty for a string that starts like a reference and is none.
func textReference(s string) (r Read, ok bool, next string) {
	switch {
	case strings.HasPrefix(s, "$env."):
		if m := envReference.FindStringSubmatch(s); m != nil {
			return Read{Source: FromEnv, Output: m[1]}, true, ""
		}
		return Read{}, false, "write $env.<name>"
	case strings.HasPrefix(s, "@"):
		if m := publishReference.FindStringSubmatch(s); m != nil {
			return Read{Source: FromPublish, Component: m[1], Output: m[2]}, true, ""
		}
		if m := phaseReference.FindStringSubmatch(s); m != nil {
			return Read{Source: FromPhase, Component: m[1], Output: m[2]}, true, ""
		}
		return Read{}, false, "write @<Phase>.<field>, @<component>.publish.uri (or digest, key), or a text that does not start with @"
	}
	return Read{}, false, ""
}

// outputReference reads {"stackOutput": {"stack", "name"}}, which the caller
// has checked; ok is false for any other object.
func outputReference(n *Node) (Read, bool) {
	inner := n.Get("stackOutput")
	if inner == nil {
		return Read{}, false
	}
	stack, name := inner.Get("stack"), inner.Get("name")
	if stack == nil || name == nil {
		return Read{}, false
	}
	return Read{Source: FromOutput, Component: stack.Text, Output: name.Text}, true
}

// references finds and checks every reference of a component.
func (r *reader) references(c *Component) {
	f := finder{reader: r, component: c, phases: c.phaseNames()}
	f.inPhases(c.Deploy, "deploy", true)
	f.inPhases(c.Verify, "verify", false)
	f.inPhases(c.Rollback, "rollback", false)
}

type finder struct {
	*reader
	component *Component
	phases    []string // sorted
	deployed  int      // steps of deploy seen so far
}

func (f *finder) inPhases(phases []DeployPhase, field string, deploy bool) {
	for i, p := range phases {
		f.inPhase(p, fmt.Sprintf("%s[%d]", field, i), deploy)
	}
}

func (f *finder) inPhase(p DeployPhase, field string, deploy bool) {
	f.inSteps(p.Steps, field+".steps", deploy)
	f.inSteps(p.OnFailure, field+".onFailure", false)
}

func (f *finder) inSteps(steps []Step, field string, deploy bool) {
	for i, s := range steps {
		at := fmt.Sprintf("%s[%d]", field, i)
		if s.Phase != nil {
			f.inPhase(*s.Phase, at, deploy)
			continue
		}
		index := -1
		if deploy {
			index = f.deployed
			f.deployed++
		}
		if s.Gate != nil {
			continue
		}
		for _, in := range s.Input.Fields {
			if in.Name != "kind" {
				f.inValue(in.Value, []string{in.Name}, at, index)
			}
		}
	}
}

// inValue walks one value of a step's input.
func (f *finder) inValue(n *Node, path []string, at string, step int) {
	// Only a problem needs the field's name: joining keys for every value of a
	// hostile file would cost far more than reading it.
	field := func() string { return at + "." + strings.Join(path, ".") }
	switch n.Kind {
	case String:
		read, ok, next := textReference(n.Text)
		if next != "" {
			f.fail(n.Line, field(), next, "%q is no reference", n.Text)
		}
		if ok {
			f.found(read, n, path, field(), step)
		}
	case Number:
		if _, err := n.ToValue(); err != nil {
			f.fail(n.Line, field(), "", "%q is no JSON number", n.Text)
		}
	case Array:
		for i, item := range n.Items {
			f.inValue(item, append(slices.Clip(path), strconv.Itoa(i)), at, step)
		}
	case Object:
		if n.Get("stackOutput") != nil {
			if f.wellFormed(n, field()) {
				read, _ := outputReference(n)
				f.found(read, n, path, field(), step)
			}
			return
		}
		for _, in := range n.Fields {
			f.inValue(in.Value, append(slices.Clip(path), in.Name), at, step)
		}
	}
}

// wellFormed checks the closed object of a stackOutput reference.
func (f *finder) wellFormed(n *Node, field string) bool {
	before := len(f.problems)
	f.object(n, field, false, "stackOutput")
	if o, ok := f.object(n.Get("stackOutput"), field+".stackOutput", false, "stack", "name"); ok {
		o.requiredName("stack", componentPattern, "the name of a component")
		o.requiredName("name", outputPattern, "the name of an output, dots for parts of it")
	}
	return len(f.problems) == before
}

func (f *finder) hasPhase(name string) bool {
	_, ok := slices.BinarySearch(f.phases, name)
	return ok
}

func (f *finder) found(read Read, n *Node, path []string, field string, step int) {
	switch {
	case read.Source == FromPhase && !f.hasPhase(read.Component):
		next := "name a phase of this component"
		if s := f.problems.suggest(read.Component, f.phases); s != "" {
			next = fmt.Sprintf("did you mean %q?", "@"+s+"."+read.Output)
		}
		f.fail(n.Line, field, next, "there is no phase %q", read.Component)
	case read.Source == FromOutput && read.Component == f.component.Name:
		f.fail(n.Line, field, "read a phase of this component as @<Phase>.<field>", "a component can't read its own output")
	}
	read.Path, read.Step, read.Line = path, step, n.Line
	f.component.refs = append(f.component.refs, read)
}
