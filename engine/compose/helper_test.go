package compose

import (
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

const (
	apply  = "terraform-apply"
	kube   = "kubectl-apply" // neither groups nor previews
	stack  = "cfn-deploy"    // previews
	gcp    = "gcp-apply"     // groups, in these tests
	toGate = "gate"
)

type fataler interface {
	Helper()
	Fatal(args ...any)
}

func text(s string) *project.Node { return &project.Node{Kind: project.String, Text: s} }

func list(items ...*project.Node) *project.Node {
	return &project.Node{Kind: project.Array, Items: items}
}

// object takes names and values in turn.
func object(fields ...any) *project.Node {
	n := &project.Node{Kind: project.Object}
	for i := 0; i < len(fields); i += 2 {
		n.Fields = append(n.Fields, project.Field{Name: fields[i].(string), Value: fields[i+1].(*project.Node)})
	}
	return n
}

// component parses a component written as "name kind[,kind] edge...". An edge "net"
// reads the output id of net, "net.cidr" its cidr, and ">net" follows it only.
func component(t fataler, written string) *project.Component {
	t.Helper()
	words := strings.Fields(written)
	var after, steps []*project.Node
	reads := object()
	for _, edge := range words[2:] {
		if name, only := strings.CutPrefix(edge, ">"); only {
			after = append(after, text(name))
			continue
		}
		from, output, given := strings.Cut(edge, ".")
		if !given {
			output = "id"
		}
		reads.Fields = append(reads.Fields, project.Field{
			Name: "v" + strings.ReplaceAll(edge, ".", "_"), Value: object("stackOutput", object("stack", text(from), "name", text(output))),
		})
	}
	for i, kind := range strings.Split(words[1], ",") {
		step := object("kind", text(kind))
		switch kind {
		case toGate:
			step = object("kind", text(kind), "gate", text("go"))
		case apply:
			step.Fields = append(step.Fields, project.Field{Name: "root", Value: text(words[0])})
		}
		if i == 0 && kind != toGate {
			step.Fields = append(step.Fields, project.Field{Name: "vars", Value: reads})
		}
		steps = append(steps, step)
	}
	c, err := project.ParseComponent(object("name", text(words[0]), "dependsOn", list(after...),
		"deploy", list(object("phase", text("Apply"), "steps", list(steps...)))))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func estate(t fataler, written ...string) []*project.Component {
	t.Helper()
	var components []*project.Component
	for _, w := range written {
		components = append(components, component(t, w))
	}
	return components
}

// everything is the input in which all components are selected.
func everything(t fataler, components []*project.Component) Input {
	t.Helper()
	var names []string
	for _, c := range components {
		names = append(names, c.Name)
	}
	selection, err := graph.SelectChanges(components, graph.Changes{Components: names})
	if err != nil {
		t.Fatal(err)
	}
	return Input{Components: components, Selection: selection, Kinds: map[string]Ability{apply: {Groups: true}, gcp: {Groups: true}, stack: {Previews: true}}}
}

func composed(t fataler, in Input) Composition {
	t.Helper()
	c, err := Of(in)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// unknown are outputs written "net.id".
func unknown(outputs ...string) map[report.UnknownInput]bool {
	set := map[report.UnknownInput]bool{}
	for _, o := range outputs {
		from, output, _ := strings.Cut(o, ".")
		set[report.UnknownInput{From: from, Output: output}] = true
	}
	return set
}

// groups are the members of each group, "a b c", sorted.
func groups(c Composition) []string {
	out := []string{}
	for _, g := range c.Groups {
		out = append(out, strings.Join(g.Members, " "))
	}
	slices.Sort(out)
	return out
}

// kinds are the fallbacks, "app alone", sorted.
func kinds(c Composition) []string {
	out := []string{}
	for _, f := range c.Fallbacks {
		out = append(out, f.Component+" "+string(f.Kind))
	}
	slices.Sort(out)
	return out
}
