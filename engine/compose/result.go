package compose

import (
	"slices"

	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// waves layers the selection with each cluster as one.
func (g *grouping) waves() [][]string {
	waiting := make([]int, len(g.components)) // dependencies outside, by what stands for it
	members := make([][]int, len(g.components))
	for i := range g.components {
		one := g.one(i)
		members[one] = append(members[one], i)
		for _, dep := range g.deps[i] {
			if g.one(dep) != one {
				waiting[one]++
			}
		}
	}
	var ready []int
	for i := range g.components {
		if g.one(i) == i && waiting[i] == 0 {
			ready = append(ready, i)
		}
	}
	waves := [][]string{}
	for len(ready) > 0 {
		var wave, next []int
		for _, one := range ready {
			wave = append(wave, members[one]...)
			for _, i := range members[one] {
				for _, f := range g.followers[i] {
					if g.one(f) == one {
						continue
					}
					if waiting[g.one(f)]--; waiting[g.one(f)] == 0 {
						next = append(next, g.one(f))
					}
				}
			}
		}
		names := g.names(wave)
		slices.Sort(names)
		waves = append(waves, names)
		ready = next
	}
	return waves
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
