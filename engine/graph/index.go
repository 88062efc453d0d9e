package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// index is the graph with components as numbers, in name order.
type index struct {
	components []*project.Component
	byName     map[string]int
	deps       [][]int // deps[i]: what i follows
	readers    [][]int // readers[i]: what follows i
}

func newIndex(components []*project.Component) *index {
	g := &index{components: slices.Clone(components), byName: make(map[string]int, len(components))}
	slices.SortStableFunc(g.components, func(a, b *project.Component) int { return strings.Compare(a.Name, b.Name) })
	for i, c := range g.components {
		g.byName[c.Name] = i
	}
	g.deps = make([][]int, len(g.components))
	g.readers = make([][]int, len(g.components))
	for i, c := range g.components {
		for _, dep := range c.Dependencies() {
			if j, ok := g.byName[dep]; ok {
				g.deps[i] = append(g.deps[i], j)
				g.readers[j] = append(g.readers[j], i)
			}
		}
	}
	return g
}

func (g *index) ids(names []string, what string) (map[int]bool, error) {
	ids := make(map[int]bool, len(names))
	for _, name := range names {
		i, ok := g.byName[name]
		if !ok {
			return nil, fmt.Errorf("%s %q is not declared in this project; declared: %s", what, name, g.declared())
		}
		ids[i] = true
	}
	return ids, nil
}

// declared lists the components, the first of many.
func (g *index) declared() string {
	const shown = 20
	names := slices.Sorted(maps.Keys(g.byName))
	if rest := len(names) - shown; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), rest)
	}
	return strings.Join(names, ", ")
}

// changed marks the enabled components a change touches and returns the changed
// roots nobody claims, sorted. A disabled component claims its root but is not
// changed by it.
func (g *index) changed(ch Changes) (marked []bool, unclaimed []string, err error) {
	own, err := g.ids(ch.Components, "changed component")
	if err != nil {
		return nil, nil, err
	}
	roots := make(map[string]bool, len(ch.Roots)) // root -> claimed
	for _, r := range ch.Roots {
		roots[r] = false
	}
	marked = make([]bool, len(g.components))
	for i, c := range g.components {
		touched := own[i]
		for _, u := range c.Units() {
			if u.Kind != project.UnitRoot {
				continue
			}
			if _, ok := roots[u.Name]; ok {
				roots[u.Name] = true
				touched = true
			}
		}
		marked[i] = touched && !c.Disabled
	}
	unclaimed = []string{}
	for r, claimed := range roots {
		if !claimed {
			unclaimed = append(unclaimed, r)
		}
	}
	slices.Sort(unclaimed)
	return marked, unclaimed, nil
}

// closure marks the given components and everything that follows them.
func (g *index) closure(start []bool) []bool {
	reached := slices.Clone(start)
	var queue []int
	for i, in := range start {
		if in {
			queue = append(queue, i)
		}
	}
	for len(queue) > 0 {
		i := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, r := range g.readers[i] {
			if !reached[r] {
				reached[r] = true
				queue = append(queue, r)
			}
		}
	}
	return reached
}

// canGoFirst refuses a canary that would run before, or beside, a selected
// component it follows.
func (g *index) canGoFirst(selected []bool, canary map[int]bool) error {
	for _, i := range slices.Sorted(maps.Keys(canary)) {
		for _, dep := range g.deps[i] {
			if selected[i] && selected[dep] {
				return fmt.Errorf("canary component %q follows %q, which is selected too; name %q alone as canary",
					g.components[i].Name, g.components[dep].Name, g.components[dep].Name)
			}
		}
	}
	return nil
}

// waves layers the selected components: each wave holds those whose selected
// dependencies are all in earlier waves. Canary components form the first wave
// and dependencies on them count as met.
func (g *index) waves(selected []bool, canary map[int]bool) [][]string {
	waves := [][]string{}
	waiting := make([]int, len(g.components))
	var wave, first []int
	for i := range g.components {
		if !selected[i] {
			continue
		}
		if canary[i] {
			first = append(first, i)
			continue
		}
		for _, dep := range g.deps[i] {
			if selected[dep] && !canary[dep] {
				waiting[i]++
			}
		}
		if waiting[i] == 0 {
			wave = append(wave, i)
		}
	}
	if len(first) > 0 {
		waves = append(waves, g.names(first))
	}
	for len(wave) > 0 {
		waves = append(waves, g.names(wave))
		var next []int
		for _, i := range wave {
			for _, r := range g.readers[i] {
				if !selected[r] || canary[r] {
					continue
				}
				if waiting[r]--; waiting[r] == 0 {
					next = append(next, r)
				}
			}
		}
		slices.Sort(next)
		wave = next
	}
	return waves
}

func (g *index) names(ids []int) []string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = g.components[id].Name
	}
	return names
}
