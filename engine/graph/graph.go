// Package graph derives what runs from what changed: components claim changed
// units, dependents follow, waves give the order (pr-loop §7.2). It decides on
// plain data and may not do I/O. Input order never matters, time is linear in
// components and dependencies, and results are sorted by name.
package graph

import (
	"slices"

	"github.com/chant-bot/chant/engine/project"
)

// Selection is what a change reaches. Its JSON is the report's selection
// (pr-loop §5.6).
type Selection struct {
	// Changed components claim a changed unit, or were changed themselves.
	Changed []string `json:"changed"`
	// Dependents follow a changed component, directly or through others.
	Dependents []string `json:"dependents"`
	// Unclaimed are changed units no component claims: warn, never drop.
	Unclaimed []string `json:"unclaimed"`
	// Indeterminate components claim only units a source diff cannot judge.
	Indeterminate []string `json:"indeterminate"`
	// Waves hold Changed and Dependents in dependency order.
	Waves [][]string `json:"waves"`
}

// Order is the waves flattened: the run order.
func (s Selection) Order() []string { return slices.Concat(s.Waves...) }

// Validate refuses a component named twice, an unknown dependency and a cycle,
// over the whole graph. The error is project.Problems.
func Validate(components []*project.Component) error {
	return project.CheckDependencies(components)
}

// Changes is what a change touched.
type Changes struct {
	Roots []string // names of changed terraform roots
	// Components whose own declaration changed.
	Components []string
	// Canary components that are selected form the first wave. One that follows
	// another selected component can't go first and is refused.
	Canary []string
}

// Select derives the selection of changed terraform roots. An invalid graph is
// an error before anything is selected.
func Select(components []*project.Component, changedRoots []string) (Selection, error) {
	return SelectChanges(components, Changes{Roots: changedRoots})
}

// SelectChanges is Select for any change. A changed component or canary that is
// not declared is an error.
func SelectChanges(components []*project.Component, ch Changes) (Selection, error) {
	if err := Validate(components); err != nil {
		return Selection{}, err
	}
	g := newIndex(components)
	changed, unclaimed, err := g.changed(ch)
	if err != nil {
		return Selection{}, err
	}
	selected := g.closure(changed)
	canary, err := g.ids(ch.Canary, "canary component")
	if err != nil {
		return Selection{}, err
	}
	s := Selection{Changed: []string{}, Dependents: []string{}, Unclaimed: unclaimed, Indeterminate: []string{}}
	for i, c := range g.components {
		switch {
		case c.Disabled:
			selected[i] = false
		case changed[i]:
			s.Changed = append(s.Changed, c.Name)
		case selected[i]:
			s.Dependents = append(s.Dependents, c.Name)
		case indeterminate(c):
			s.Indeterminate = append(s.Indeterminate, c.Name)
		}
	}
	if err := g.canGoFirst(selected, canary); err != nil {
		return Selection{}, err
	}
	s.Waves = g.waves(selected, canary)
	return s, nil
}

// indeterminate: the component claims units and none of them is a terraform
// root, the only kind judged by a diff of sources.
func indeterminate(c *project.Component) bool {
	units := c.Units()
	return len(units) > 0 && !slices.ContainsFunc(units, func(u project.Unit) bool { return u.Kind == project.UnitRoot })
}

// Dependents returns every component that follows one of the given, directly or
// through others, without the given ones. Unknown names are left out. Sorted.
func Dependents(components []*project.Component, of []string) []string {
	g := newIndex(components)
	start := make([]bool, len(g.components))
	for _, name := range of {
		if i, ok := g.byName[name]; ok {
			start[i] = true
		}
	}
	reached := g.closure(start)
	dependents := []string{}
	for i, c := range g.components {
		if reached[i] && !start[i] {
			dependents = append(dependents, c.Name)
		}
	}
	return dependents
}

// Blocked blames every transitive dependent of a failed component on it; one
// that follows several is blamed on the first by name (pr-loop §7.3).
func Blocked(components []*project.Component, failed []string) map[string]string {
	blame := map[string]string{}
	for _, f := range slices.Sorted(slices.Values(failed)) {
		for _, d := range Dependents(components, []string{f}) {
			if _, known := blame[d]; !known && !slices.Contains(failed, d) {
				blame[d] = f
			}
		}
	}
	return blame
}

// Seeds returns the components outside the selection that a selected one
// depends on directly: their outputs are read, not made. Sorted.
func Seeds(components []*project.Component, s Selection) []string {
	selected := map[string]bool{}
	for _, name := range s.Order() {
		selected[name] = true
	}
	seeds := []string{}
	for _, c := range components {
		if !selected[c.Name] {
			continue
		}
		for _, dep := range c.Dependencies() {
			if !selected[dep] {
				seeds = append(seeds, dep)
			}
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}
