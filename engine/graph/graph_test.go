package graph

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
)

// applies makes a component that claims the root of its own name.
func applies(name string, deps ...string) *project.Component {
	return claims(name, "terraform-apply", "root", name, deps...)
}

func claims(name, kind, field, unit string, deps ...string) *project.Component {
	input := &project.Node{Kind: project.Object, Fields: []project.Field{{Name: field, Value: &project.Node{Kind: project.String, Text: unit}}}}
	return &project.Component{Name: name, DependsOn: deps, File: name + ".component.json",
		Deploy: []project.DeployPhase{{Name: "Apply", Steps: []project.Step{{Kind: kind, Input: input}}}}}
}

func disabled(c *project.Component) *project.Component {
	c.Disabled = true
	return c
}

// estate is app -> net, web -> app and dns, with db apart.
func estate() []*project.Component {
	return []*project.Component{applies("web", "app", "dns"), applies("app", "net"), applies("net"), applies("dns"), applies("db")}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		components []*project.Component
		changes    Changes
		want       Selection
	}{
		"nothing changed": {estate(), Changes{}, Selection{}},
		"a change reaches everything that follows": {estate(), Changes{Roots: []string{"net"}},
			Selection{Changed: []string{"net"}, Dependents: []string{"app", "web"}, Waves: [][]string{{"net"}, {"app"}, {"web"}}}},
		"a change at the end reaches itself": {estate(), Changes{Roots: []string{"web"}},
			Selection{Changed: []string{"web"}, Waves: [][]string{{"web"}}}},
		"unselected dependencies count as met": {estate(), Changes{Roots: []string{"app", "db"}},
			Selection{Changed: []string{"app", "db"}, Dependents: []string{"web"}, Waves: [][]string{{"app", "db"}, {"web"}}}},
		"a changed dependent is changed, not dependent": {estate(), Changes{Roots: []string{"web", "net"}},
			Selection{Changed: []string{"net", "web"}, Dependents: []string{"app"}, Waves: [][]string{{"net"}, {"app"}, {"web"}}}},
		"an unclaimed root is told": {estate(), Changes{Roots: []string{"zone", "old", "db"}},
			Selection{Changed: []string{"db"}, Unclaimed: []string{"old", "zone"}, Waves: [][]string{{"db"}}}},
		"a changed declaration changes its component": {estate(), Changes{Components: []string{"dns"}},
			Selection{Changed: []string{"dns"}, Dependents: []string{"web"}, Waves: [][]string{{"dns"}, {"web"}}}},
		"a unit of another kind can't be judged": {append(estate(), claims("chart", "helm-upgrade", "release", "net"), claims("k8s", "kubectl-apply", "stack", "s", "net")), Changes{Roots: []string{"net"}},
			Selection{Changed: []string{"net"}, Dependents: []string{"app", "k8s", "web"}, Indeterminate: []string{"chart"}, Waves: [][]string{{"net"}, {"app", "k8s"}, {"web"}}}},
		"a disabled component claims and is left out": {[]*project.Component{disabled(applies("net")), applies("app", "net")}, Changes{Roots: []string{"net"}}, Selection{}},
		"a disabled component passes a change on": {[]*project.Component{applies("net"), disabled(applies("app", "net")), applies("web", "app")}, Changes{Roots: []string{"net"}},
			Selection{Changed: []string{"net"}, Dependents: []string{"web"}, Waves: [][]string{{"net", "web"}}}},
		"canaries go first": {estate(), Changes{Roots: []string{"net", "dns", "db"}, Canary: []string{"dns", "web2"}[:1]},
			Selection{Changed: []string{"db", "dns", "net"}, Dependents: []string{"app", "web"}, Waves: [][]string{{"dns"}, {"db", "net"}, {"app"}, {"web"}}}},
		"a dependency on a canary is met": {[]*project.Component{applies("net"), applies("app", "net"), applies("db")}, Changes{Roots: []string{"net", "db"}, Canary: []string{"net"}},
			Selection{Changed: []string{"db", "net"}, Dependents: []string{"app"}, Waves: [][]string{{"net"}, {"app", "db"}}}},
		"an unselected canary is no wave": {estate(), Changes{Roots: []string{"db"}, Canary: []string{"dns"}},
			Selection{Changed: []string{"db"}, Waves: [][]string{{"db"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := SelectChanges(c.components, c.changes)
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range []*[]string{&c.want.Changed, &c.want.Dependents, &c.want.Unclaimed, &c.want.Indeterminate} {
				if *list == nil {
					*list = []string{}
				}
			}
			if c.want.Waves == nil {
				c.want.Waves = [][]string{}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectionIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		components []*project.Component
		changes    Changes
		want       string
	}{
		"unknown dependency anywhere": {append(estate(), applies("x", "nett")), Changes{Roots: []string{"db"}}, `"nett"`},
		"cycle anywhere":              {append(estate(), applies("x", "y"), applies("y", "z"), applies("z", "x")), Changes{Roots: []string{"db"}}, "x -> y -> z -> x"},
		"unknown canary":              {estate(), Changes{Canary: []string{"dnss"}}, `canary component "dnss"`},
		"unknown changed component":   {estate(), Changes{Components: []string{"nope"}}, `changed component "nope"`},
		"canary behind the selected":  {estate(), Changes{Roots: []string{"net"}, Canary: []string{"app"}}, `"app" follows "net"`},
	} {
		_, err := SelectChanges(c.components, c.changes)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
	var ps project.Problems
	if err := Validate([]*project.Component{applies("a", "a")}); !errors.As(err, &ps) || !strings.Contains(err.Error(), "a -> a") {
		t.Errorf("a component that follows itself: %v", err)
	}
}

func TestAnEmptySelectionIsListsInJSON(t *testing.T) {
	t.Parallel()
	s, err := SelectChanges(estate(), Changes{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"changed":[],"dependents":[],"unclaimed":[],"indeterminate":[],"waves":[]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSeedsAreTheOutsidersRead(t *testing.T) {
	t.Parallel()
	s, err := SelectChanges(estate(), Changes{Roots: []string{"app"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"dns", "net"}, Seeds(estate(), s)); diff != "" {
		t.Error(diff)
	}
}

func TestFanOutDigestCoversOrderEdgesAndInputs(t *testing.T) {
	t.Parallel()
	s, err := SelectChanges(estate(), Changes{Roots: []string{"app"}})
	if err != nil {
		t.Fatal(err)
	}
	subject := `{"order":["app","web"],"waves":[["app"],["web"]],"seeds":["dns","net"],
		"edges":[{"component":"app","dependsOn":["net"]},{"component":"web","dependsOn":["app","dns"]}]`
	input, err := digest.Parse("sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		inputs  map[string]digest.Digest
		subject string
	}{
		"plain":       {nil, subject + "}"},
		"with inputs": {map[string]digest.Digest{"web": input}, subject + `,"inputs":[{"component":"app","digest":null},{"component":"web","digest":"` + input.String() + `"}]}`},
		"no input":    {map[string]digest.Digest{}, subject + `,"inputs":[{"component":"app","digest":null},{"component":"web","digest":null}]}`},
	} {
		want, err := digest.OfBytes("component-fan-out", []byte(c.subject))
		if err != nil {
			t.Fatal(err)
		}
		got, err := FanOutDigest(estate(), s, c.inputs)
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", name, got, err, want)
		}
	}
	if _, err := FanOutDigest(estate()[:1], s, nil); err == nil {
		t.Error("a selection of other components was digested")
	}
}

// big is a layered graph: each component follows up to 4 of an earlier layer.
func big(components, layer int) ([]*project.Component, int) {
	list := make([]*project.Component, 0, components)
	edges := 0
	for i := range components {
		var deps []string
		for k := 1; k <= 4 && i >= layer; k++ {
			deps = append(deps, fmt.Sprintf("c%05d", (i/layer-1)*layer+(i*7+k*13)%layer))
		}
		slices.Sort(deps)
		deps = slices.Compact(deps)
		edges += len(deps)
		list = append(list, applies(fmt.Sprintf("c%05d", i), deps...))
	}
	return list, edges
}

func BenchmarkSelect5000Components(b *testing.B) {
	components, edges := big(5000, 50)
	roots := make([]string, 50)
	for i := range roots {
		roots[i] = components[i].Name
	}
	for b.Loop() {
		if _, err := SelectChanges(components, Changes{Roots: roots}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(edges), "edges")
}

// components decision 6: an environment that nothing was applied to needs what its
// selection follows too, and nothing else.
func TestUpstreamsComeBeforeWhatFollowsThem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		components []*project.Component
		changed    string
		want       [][]string
	}{
		"a change at the end":      {estate(), "web", [][]string{{"dns", "net"}, {"app"}, {"web"}}},
		"in the middle":            {estate(), "app", [][]string{{"dns", "net"}, {"app"}, {"web"}}},
		"of what follows nothing":  {estate(), "db", [][]string{{"db"}}},
		"a disabled one stays out": {[]*project.Component{disabled(applies("net")), applies("app", "net")}, "app", [][]string{{"app"}}},
	} {
		s, err := SelectChanges(c.components, Changes{Roots: []string{c.changed}})
		if err == nil {
			s, err = WithUpstreams(c.components, s)
		}
		if diff := cmp.Diff(c.want, s.Waves); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
