// Package compose decides how each component of a run is planned when it reads
// what another makes in the same run: together with it as one group, as a preview,
// or as a hole that is planned once the value is there (pr-loop §8.1, §8.2; seed
// 001). It says why a component that could have joined a group did not. It plans
// nothing, input order never matters, and names come out in run order.
package compose

import (
	"cmp"
	"slices"

	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// Input is what a composition follows from.
type Input struct {
	Components []*project.Component // all of the project
	Selection  graph.Selection
	// Kinds is what the capability of each step kind can do. One that is missing
	// can do neither.
	Kinds map[string]Ability
	// Live components plan against the system itself and keep no state that could
	// be joined.
	Live map[string]bool
	// Refused are components that a driver cannot plan in a group, or whose group
	// could not be planned as a whole: name all of its members with FallbackPlan and
	// compose again, and they are planned one by one.
	Refused map[string]Refusal
	// Unknown are the outputs that are read and have no value now, or whose value the
	// plan of what makes them moves: as that gets known, compose again.
	Unknown map[report.UnknownInput]bool
	// Canary components run first, by themselves (components §2.1).
	Canary []string
	// WaveGates: each wave is planned, component by component, after the one before
	// it applied.
	WaveGates bool
}

// Ability is what a capability can do with a value that is not there yet.
type Ability struct {
	Groups   bool
	Previews bool
	// Off names the setting that keeps it from forming groups, "" for none.
	Off string
}

// Refusal is why a component joins no group.
type Refusal struct {
	Kind   report.FallbackKind
	Reason string // for people
}

// Way is how a step is planned.
type Way string

// The ways of pr-loop §8.1. A Plain step reads nothing, or only what stands.
const (
	Plain   Way = "plain"
	Grouped Way = "group"
	Preview Way = "preview"
	Hole    Way = "hole"
)

// Group is several components that are planned and applied by one call. Every value
// that one of them reads and that does not stand is made by another one of them.
type Group struct {
	ID         string // the name of its first member
	Wave       int    // 1-based, in Composition.Waves
	Capability string // step kind
	Members    []string
}

// Composition is how a run is planned.
type Composition struct {
	// Waves are those of the selection with each group as one: all its members stand
	// in the group's wave, the first after everything they follow outside it.
	Waves     [][]string
	Groups    []Group // by wave, then ID
	Fallbacks []report.Fallback
	// Ways of each selected component, one for each of project.Component.Steps.
	Ways map[string][]Way
}

// Of composes a selection. A cluster of readers is split only where a path between
// two of them leads outside; another split might then have left larger pieces, and of
// two clusters that wait for each other both are split. That costs rounds, never an
// approval that covers more. The error is a selection that was not derived from these components.
func Of(in Input) (Composition, error) {
	g, err := newGrouping(in)
	if err != nil {
		return Composition{}, err
	}
	g.settle()
	fallbacks := g.takeBack()
	c := Composition{Waves: g.waves(), Groups: []Group{}, Ways: g.ways()}
	wave := map[string]int{}
	for k, names := range c.Waves {
		for _, name := range names {
			wave[name] = k + 1
		}
	}
	for _, members := range g.clusters() {
		first := g.components[members[0]].Name
		c.Groups = append(c.Groups, Group{ID: first, Wave: wave[first], Capability: g.kind[members[0]], Members: g.names(members)})
	}
	slices.SortFunc(c.Groups, func(a, b Group) int { return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.ID, b.ID)) })
	c.Fallbacks = g.fallbacks(fallbacks)
	return c, nil
}
