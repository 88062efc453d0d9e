package terraform

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/drivers/drivertest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// Components of one run: app reads what net makes, note what app makes, and edge
// what net makes, after note.
var composedComponents = []string{
	`{"name":"net","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"net"}]}]}`,
	`{"name":"app","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"app","vars":{
		"names":["a"],"net":{"stackOutput":{"stack":"net","name":"cidr"}}}}]}]}`,
	`{"name":"note","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"drivertest-apply","vars":{
		"title":"apps","first":{"stackOutput":{"stack":"app","name":"apps.0"}}}}]}]}`,
	`{"name":"edge","dependsOn":["note"],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"edge","vars":{
		"cidr":{"stackOutput":{"stack":"net","name":"cidr"}}}}]}]}`,
}

const edgeRoot = backend + `
variable "cidr" { type = string }
resource "terraform_data" "edge" { input = "edge of ${var.cidr}" }
output "edge" { value = terraform_data.edge.output }
`

// composedRun is what stands while the components run.
type composedRun struct {
	*site

	components map[string]*project.Component
	outputs    map[string]map[string]digest.Value
}

func newComposedRun(s *site) (*composedRun, compose.Input) {
	s.t.Helper()
	r := &composedRun{site: s, components: map[string]*project.Component{}, outputs: map[string]map[string]digest.Value{}}
	in := compose.Input{
		Kinds:   map[string]compose.Ability{"terraform-apply": {Groups: true}, drivertest.Kind: {Previews: true}},
		Unknown: map[report.UnknownInput]bool{},
	}
	for _, text := range composedComponents {
		n, err := declare.Parse([]byte(text), "x.component.json")
		if err != nil {
			s.t.Fatal(err)
		}
		c, err := project.ParseComponent(n)
		if err != nil {
			s.t.Fatal(err)
		}
		r.components[c.Name] = c
		in.Components = append(in.Components, c)
		for _, read := range c.Reads() { // nothing was ever applied
			in.Unknown[report.UnknownInput{From: read.Component, Output: read.Output}] = true
		}
	}
	var err error
	if in.Selection, err = graph.SelectChanges(in.Components, graph.Changes{Roots: []string{"net"}}); err != nil {
		s.t.Fatal(err)
	}
	return r, in
}

// resolve is a component's variables as far as they have a value, and what has none.
func (r *composedRun) resolve(name string) (map[string]digest.Value, []project.Read) {
	r.t.Helper()
	resolved, missing, err := project.Resolve(r.components[name].Steps()[0], project.Inputs{Outputs: r.outputs})
	if err != nil {
		r.t.Fatal(err)
	}
	vars := map[string]digest.Value{}
	for i, key := range resolved["vars"].Keys() {
		vars[key] = resolved["vars"].At(i)
	}
	return vars, missing
}

// group is what the driver is asked for, from what was decided.
func (r *composedRun) group(g compose.Group) engine.GroupTarget {
	t := engine.GroupTarget{Group: g.ID, RunDir: shortDir(r.t)}
	for _, name := range g.Members {
		m := r.site.member(name, "")
		vars, missing := r.resolve(name)
		m.Target.Vars = vars
		for _, read := range missing {
			m.Reads = append(m.Reads, reads(read.Component, read.Output, read.Path[1:]...))
		}
		t.Members = append(t.Members, m)
	}
	return t
}

func (r *composedRun) keep(component string, outputs map[string]engine.Output) {
	r.outputs[component] = map[string]digest.Value{}
	for name, o := range outputs {
		r.outputs[component][name] = o.Value
	}
}

// The three ways of pr-loop §8.1 in one run, from declarations to what stands in the
// end.
func TestARunOfAGroupAPreviewAndAHole(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/edge/main.tf"] = edgeRoot
	r, in := newComposedRun(newSite(t, files))
	c, err := compose.Of(in)
	if err != nil {
		t.Fatal(err)
	}
	want := compose.Composition{
		Waves:     [][]string{{"app", "net"}, {"note"}, {"edge"}},
		Groups:    []compose.Group{{ID: "net", Wave: 1, Capability: "terraform-apply", Members: []string{"net", "app"}}},
		Fallbacks: []report.Fallback{{Component: "edge", Kind: report.FallbackCapability, Reason: "note (drivertest-apply) comes between it and what it would be planned with"}},
		Ways:      map[string][]compose.Way{"net": {compose.Grouped}, "app": {compose.Grouped}, "note": {compose.Preview}, "edge": {compose.Hole}},
	}
	if diff := cmp.Diff(want, c); diff != "" {
		t.Fatalf("composed (-want +got):\n%s", diff)
	}

	g := r.grouper()
	planned := r.planGroup(g, r.group(c.Groups[0]))
	notes := drivertest.Notes{}
	vars, missing := r.resolve("note")
	shape, err := notes.Preview(t.Context(), engine.Target{Member: "note", Vars: vars}, []engine.UnresolvedInput{
		{Path: missing[0].Path[1:], Reads: missing[0].String(), StandIn: "chant-unknown-5f3a09c1"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}

	out := r.applyGroup(g, planned)
	if out.Error != "" {
		t.Fatal(out.Error)
	}
	for _, m := range out.Members {
		r.keep(m.Member, m.Outputs)
	}
	vars, missing = r.resolve("note")
	then, err := notes.Plan(t.Context(), engine.Target{Member: "note", Vars: vars}, nil)
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
	if ok, why := shape.Covers(then.Part); !ok {
		t.Errorf("the preview does not spare its round: %s", why)
	}
	notes["note"] = maps.Clone(vars)
	if got := text(notes["note"]["first"]); got != `"a in 10.0.0.0/8"` {
		t.Errorf("the note says %s", got)
	}

	vars, missing = r.resolve("edge")
	edge := r.member("edge", "").Target
	edge.Vars = vars
	d := r.driver()
	p, err := d.Plan(context.Background(), edge, r.lines.add)
	if err != nil || len(missing) > 0 {
		t.Fatal(err, missing)
	}
	if got := text(r.apply(d, p).Outputs["edge"].Value); got != `"edge of 10.0.0.0/8"` {
		t.Errorf("edge has %s", got)
	}
}

// A member that the driver refuses is given back as a reason, and what is left is
// composed again (pr-loop §8.2).
func TestARefusedMemberLeavesASmallerGroup(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/edge/main.tf"] = edgeRoot + "\nresource \"terraform_data\" \"where\" { input = path.cwd }\n"
	r, in := newComposedRun(newSite(t, files))
	in.Components = slices.DeleteFunc(in.Components, func(c *project.Component) bool { return c.Name == "note" || c.Name == "edge" })
	n, err := declare.Parse([]byte(strings.Replace(composedComponents[3], `["note"]`, `[]`, 1)), "edge.component.json")
	if err != nil {
		t.Fatal(err)
	}
	edge, err := project.ParseComponent(n)
	if err != nil {
		t.Fatal(err)
	}
	r.components["edge"] = edge
	in.Components = append(in.Components, edge)
	if in.Selection, err = graph.SelectChanges(in.Components, graph.Changes{Roots: []string{"net"}}); err != nil {
		t.Fatal(err)
	}
	g := r.grouper()
	in.Refused = map[string]compose.Refusal{}
	var tried [][]string
	for {
		c, err := compose.Of(in)
		if err != nil || len(c.Groups) != 1 {
			t.Fatal(err, c.Groups)
		}
		tried = append(tried, c.Groups[0].Members)
		p, err := g.PlanGroup(context.Background(), r.group(c.Groups[0]), r.lines.add)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Fallbacks) == 0 {
			break
		}
		for _, f := range p.Fallbacks {
			in.Refused[f.Member] = compose.Refusal{Kind: f.Kind, Reason: f.Reason}
		}
	}
	if diff := cmp.Diff([][]string{{"net", "app", "edge"}, {"net", "app"}}, tried); diff != "" {
		t.Errorf("tried: %s", diff)
	}
	c, err := compose.Of(in)
	if err != nil || len(c.Fallbacks) != 1 || c.Fallbacks[0].Kind != report.FallbackConfig || !strings.Contains(c.Fallbacks[0].Reason, "path.cwd") {
		t.Errorf("fallbacks %+v, %v", c.Fallbacks, err)
	}
}
