package compose

import (
	"slices"

	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// waves layers the selection with each cluster as one, the canaries before all else.
func (g *grouping) waves() [][]string {
	waiting := make([]int, len(g.components)) // dependencies outside, by what stands for it
	members := make([][]int, len(g.components))
	canary := make([]bool, len(g.components))
	for i, c := range g.components {
		canary[i] = slices.Contains(g.in.Canary, c.Name)
		members[g.one(i)] = append(members[g.one(i)], i)
		for _, dep := range g.deps[i] {
			if g.one(dep) != g.one(i) && !canary[dep] {
				waiting[g.one(i)]++
			}
		}
	}
	var first, ready []int
	for i := range g.components {
		switch {
		case canary[i]:
			first = append(first, i)
		case g.one(i) == i && waiting[i] == 0:
			ready = append(ready, i)
		}
	}
	waves := [][]string{}
	add := func(wave []int) {
		names := g.names(wave)
		slices.Sort(names)
		waves = append(waves, names)
	}
	if len(first) > 0 {
		add(first)
	}
	for len(ready) > 0 {
		var wave, next []int
		for _, one := range ready {
			wave = append(wave, members[one]...)
			next = append(next, g.released(members[one], waiting)...)
		}
		add(wave)
		ready = next
	}
	return waves
}

// released are those that waited for members last.
func (g *grouping) released(members, waiting []int) []int {
	var out []int
	one := g.one(members[0])
	for _, i := range members {
		for _, f := range g.followers[i] {
			if g.one(f) == one {
				continue
			}
			if waiting[g.one(f)]--; waiting[g.one(f)] == 0 {
				out = append(out, g.one(f))
			}
		}
	}
	return out
}

// ways says how each step is planned.
func (g *grouping) ways() map[string][]Way {
	ways := make(map[string][]Way, len(g.components))
	for i, c := range g.components {
		steps := c.Steps()
		of := make([]Way, len(steps))
		for k := range of {
			of[k] = Plain
			if g.cluster[i] != alone {
				of[k] = Grouped
			}
		}
		for _, read := range c.Reads() {
			if read.Step < 0 || of[read.Step] == Grouped || !g.in.Unknown[report.UnknownInput{From: read.Component, Output: read.Output}] {
				continue
			}
			of[read.Step] = g.withoutValue(steps[read.Step])
		}
		ways[c.Name] = of
	}
	return ways
}

// withoutValue is how a step is planned that waits for a value by itself.
func (g *grouping) withoutValue(s project.Step) Way {
	if g.in.Kinds[s.Kind].Previews {
		return Preview
	}
	return Hole
}
