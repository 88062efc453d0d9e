package compose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// takeBack dissolves the groups that the run allows none of: every component that
// would have joined one falls back (pr-loop §8.2).
func (g *grouping) takeBack() map[int]Refusal {
	reasons := map[int]Refusal{}
	for _, members := range g.clusters() {
		kind := g.kind[members[0]]
		var why Refusal
		switch off := g.in.Kinds[kind].Off; {
		case off != "":
			why = Refusal{report.FallbackOff, fmt.Sprintf("%s keeps %s from planning components together", off, kind)}
		case g.in.WaveGates:
			why = Refusal{report.FallbackWaveGate, "under a wave gate each wave is planned after the one before it applied, component by component"}
		default:
			continue
		}
		for _, i := range members {
			reasons[i], g.cluster[i] = why, alone
		}
	}
	return reasons
}

// fallbacks explains, in run order, every component that is in no group and could
// have been in one: a step of it is of a kind that groups, and it reads what another
// of the run makes, or is read.
func (g *grouping) fallbacks(takenBack map[int]Refusal) []report.Fallback {
	out := []report.Fallback{}
	beyond := map[string][]bool{}
	for i, c := range g.components {
		kind := g.wouldBe(c)
		if kind == "" || g.cluster[i] != alone || len(g.reads[i])+len(g.readers[i]) == 0 {
			continue
		}
		why, known := takenBack[i]
		if !known {
			why, known = g.ownReason(i)
		}
		if !known {
			if beyond[kind] == nil {
				beyond[kind] = g.reachesBeyond(kind)
			}
			why = g.apartFrom(i, beyond[kind])
		}
		out = append(out, report.Fallback{Component: c.Name, Kind: why.Kind, Reason: why.Reason})
	}
	return out
}

// wouldBe is the first kind of a component's steps that groups, "" for none.
func (g *grouping) wouldBe(c *project.Component) string {
	for _, s := range c.Steps() {
		if g.in.Kinds[s.Kind].Groups {
			return s.Kind
		}
	}
	return ""
}

// ownReason is what keeps a component itself from joining any group.
func (g *grouping) ownReason(i int) (Refusal, bool) {
	c := g.components[i]
	if n := len(c.Steps()); n != 1 {
		return Refusal{report.FallbackSteps, fmt.Sprintf("it has %d steps, a gate being one, and only what has a single step is planned together with others", n)}, true
	}
	if g.in.Live[c.Name] {
		return Refusal{report.FallbackLive, "it is planned against the live system and keeps no state that could be joined"}, true
	}
	if slices.Contains(g.in.Canary, c.Name) {
		return Refusal{report.FallbackWaveGate, "it runs first, as a canary, before what it would be planned with"}, true
	}
	if why, refused := g.in.Refused[c.Name]; refused {
		return why, true
	}
	if input, missing := g.missing[i]; missing {
		return Refusal{report.FallbackReads, fmt.Sprintf("%s.%s, which it reads, is not known before the apply, and %s is not planned together with it", input.From, input.Output, input.From)}, true
	}
	return Refusal{}, false
}

// apartFrom is why a component that may join a group found none. beyond marks the
// components of other kinds through which reads lead to one of its kind.
func (g *grouping) apartFrom(i int, beyond []bool) Refusal {
	near := slices.Concat(g.reads[i], g.readers[i])
	for _, j := range append([]int{i}, near...) {
		// A split that set the two apart was found from either side.
		if x := g.between[j]; x != alone && g.kind[j] == g.kind[i] {
			return g.apartBy(i, x)
		}
	}
	for _, j := range near {
		if beyond[j] {
			return g.apartBy(i, j)
		}
	}
	return Refusal{report.FallbackAlone, "nothing that it reads, or that reads it, can be planned together with it"}
}

// apartBy names what stands between a component and what it would be planned with.
func (g *grouping) apartBy(i, x int) Refusal {
	c := g.components[x]
	var kinds []string
	same := false
	for _, s := range c.Steps() {
		kinds = append(kinds, s.Kind)
		same = same || s.Kind == g.kind[i]
	}
	slices.Sort(kinds)
	reason := fmt.Sprintf("%s (%s) comes between it and what it would be planned with", c.Name, strings.Join(slices.Compact(kinds), ", "))
	if same {
		return Refusal{report.FallbackAlone, reason}
	}
	return Refusal{report.FallbackCapability, reason}
}

// reachesBeyond marks components of other kinds from which reads, through more such
// components, lead up and down to one of the kind.
func (g *grouping) reachesBeyond(kind string) []bool {
	of := make([]bool, len(g.components))
	for i, c := range g.components {
		of[i] = slices.ContainsFunc(c.Steps(), func(s project.Step) bool { return s.Kind == kind })
	}
	n := len(g.components)
	up, down, both := make([]bool, n), make([]bool, n), make([]bool, n)
	for i := range n {
		up[i] = !of[i] && slices.ContainsFunc(g.reads[i], func(j int) bool { return of[j] || up[j] })
	}
	for i := n - 1; i >= 0; i-- {
		down[i] = !of[i] && slices.ContainsFunc(g.readers[i], func(j int) bool { return of[j] || down[j] })
	}
	for i := range n {
		both[i] = up[i] && down[i]
	}
	return both
}
