package graph

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/project"
)

// drawGraph makes a graph without cycles: a component follows only earlier ones.
// Some components claim a unit of another kind, some are disabled.
func drawGraph(t *rapid.T) []*project.Component {
	n := rapid.IntRange(0, 14).Draw(t, "components")
	components := make([]*project.Component, 0, n)
	for i := range n {
		deps := []string{}
		for j := range i {
			if rapid.IntRange(0, 3).Draw(t, "edge") == 0 {
				deps = append(deps, fmt.Sprintf("c%02d", j))
			}
		}
		c := applies(fmt.Sprintf("c%02d", i), deps...)
		if rapid.IntRange(0, 5).Draw(t, "kind") == 0 {
			c = claims(c.Name, "kubectl-apply", "stack", c.Name, deps...)
		}
		c.Disabled = rapid.IntRange(0, 7).Draw(t, "enabled") == 0
		components = append(components, c)
	}
	return components
}

func drawRoots(t *rapid.T, components []*project.Component) []string {
	roots := []string{}
	for _, c := range components {
		if rapid.IntRange(0, 2).Draw(t, "changed") == 0 {
			roots = append(roots, c.Name)
		}
	}
	return append(roots, rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y"}), 0, 2).Draw(t, "unclaimed")...)
}

func TestSelectionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		components := drawGraph(t)
		roots := drawRoots(t, components)
		s, err := SelectChanges(components, Changes{Roots: roots})
		if err != nil {
			t.Fatal(err)
		}
		everyMemberOnce(t, s)
		dependenciesFirst(t, components, s)
		closedUnderDependents(t, components, roots, s)
		everyRootAccounted(t, components, roots, s)
		orderOfInputIrrelevant(t, components, roots, s)
	})
}

func everyMemberOnce(t *rapid.T, s Selection) {
	order := s.Order()
	selected := slices.Concat(s.Changed, s.Dependents)
	slices.Sort(order)
	slices.Sort(selected)
	if diff := cmp.Diff(selected, order); diff != "" && len(order)+len(selected) > 0 {
		t.Fatalf("waves do not hold each selected component once: %s", diff)
	}
	for _, wave := range s.Waves {
		if len(wave) == 0 || !slices.IsSorted(wave) {
			t.Fatalf("wave %v is empty or unsorted", wave)
		}
	}
}

func dependenciesFirst(t *rapid.T, components []*project.Component, s Selection) {
	wave := map[string]int{}
	for k, names := range s.Waves {
		for _, name := range names {
			wave[name] = k + 1
		}
	}
	for _, c := range components {
		if wave[c.Name] == 0 {
			continue
		}
		latest := 0
		for _, dep := range c.Dependencies() {
			latest = max(latest, wave[dep])
		}
		if wave[c.Name] != latest+1 {
			t.Fatalf("%s is in wave %d, its latest dependency in %d", c.Name, wave[c.Name], latest)
		}
	}
}

// closedUnderDependents compares with the definition: reachability computed by
// brute force.
func closedUnderDependents(t *rapid.T, components []*project.Component, roots []string, s Selection) {
	reached := map[string]bool{}
	for _, c := range components {
		if slices.Contains(roots, c.Name) && !c.Disabled && c.Steps()[0].Kind == "terraform-apply" {
			reached[c.Name] = true
		}
	}
	for range components {
		for _, c := range components {
			for _, dep := range c.Dependencies() {
				reached[c.Name] = reached[c.Name] || reached[dep]
			}
		}
	}
	selected := slices.Concat(s.Changed, s.Dependents)
	for _, c := range components {
		if want := reached[c.Name] && !c.Disabled; slices.Contains(selected, c.Name) != want {
			t.Fatalf("%s selected: %v, want %v", c.Name, !want, want)
		}
	}
}

func everyRootAccounted(t *rapid.T, components []*project.Component, roots []string, s Selection) {
	for _, root := range roots {
		claimed := slices.ContainsFunc(components, func(c *project.Component) bool {
			return c.Name == root && c.Steps()[0].Kind == "terraform-apply"
		})
		if slices.Contains(s.Unclaimed, root) == claimed {
			t.Fatalf("root %s: claimed %v, unclaimed %v", root, claimed, s.Unclaimed)
		}
	}
}

func orderOfInputIrrelevant(t *rapid.T, components []*project.Component, roots []string, s Selection) {
	mixed := rapid.Permutation(components).Draw(t, "components mixed")
	again, err := SelectChanges(mixed, Changes{Roots: rapid.Permutation(roots).Draw(t, "roots mixed")})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s, again); diff != "" {
		t.Fatalf("another order of input gave another selection: %s", diff)
	}
	one, err1 := FanOutDigest(components, s, nil)
	two, err2 := FanOutDigest(mixed, again, nil)
	if err1 != nil || err2 != nil || one != two {
		t.Fatalf("digests %v (%v) and %v (%v)", one, err1, two, err2)
	}
}

func TestACycleIsAlwaysFoundAndNamed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		components := drawGraph(t)
		for len(components) < 2 {
			components = append(components, applies(fmt.Sprintf("c%02d", len(components))))
		}
		// An edge back from an earlier to a later component, and a path forth.
		i := rapid.IntRange(0, len(components)-2).Draw(t, "from")
		j := rapid.IntRange(i+1, len(components)-1).Draw(t, "to")
		components[i].DependsOn = append(components[i].DependsOn, components[j].Name)
		components[j].DependsOn = append(components[j].DependsOn, components[i].Name)
		err := Validate(rapid.Permutation(components).Draw(t, "mixed"))
		if err == nil {
			t.Fatalf("no cycle found with %s and %s following each other", components[i].Name, components[j].Name)
		}
		if again := Validate(components); again.Error() != err.Error() {
			t.Fatalf("the cycle named depends on the order of input:\n%v\n%v", err, again)
		}
	})
}
