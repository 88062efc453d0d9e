// Package graph derives what runs from what changed: components claim changed
// units, dependents follow, waves give the order (pr-loop §7.2). It decides on
// plain data and may not do I/O. Input order never matters, time is linear in
// components and dependencies, and results are sorted by name.
package graph

import (
	"maps"
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

// SelectChanges derives the selection. An invalid graph is an error before
// anything is selected; so is a changed component or canary that is not declared.
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

// WithUpstreams adds to a selection what it depends on, directly and through others:
// what an environment needs that nothing was applied to before. What is disabled stays
// out.
func WithUpstreams(components []*project.Component, s Selection) (Selection, error) {
	g := newIndex(components)
	wanted, err := g.ids(s.Order(), "selected component")
	if err != nil {
		return Selection{}, err
	}
	selected := make([]bool, len(g.components))
	due := slices.Collect(maps.Keys(wanted))
	for len(due) > 0 {
		i := due[len(due)-1]
		due = due[:len(due)-1]
		if !selected[i] && !g.components[i].Disabled {
			selected[i] = true
			due = append(due, g.deps[i]...)
		}
	}
	s.Waves = g.waves(selected, nil)
	return s, nil
}
