// Package fanout decides a fan-out (components §2.1): what a change has to be rolled
// out to, which of it may run next, what a failure blocks, and what a later run takes
// over from an earlier one. It decides on plain data; whoever runs components tells it
// how they ended.
package fanout

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
)

// Reason says why a component does not run.
type Reason string

// The reasons (pr-loop §7.2).
const (
	Unaffected     Reason = "unaffected"
	Indeterminate  Reason = "indeterminate"
	AlreadyApplied Reason = "already-applied"
	Blocked        Reason = "blocked"
)

// Skip is a component that does not run.
type Skip struct {
	Component string `json:"component"`
	Reason    Reason `json:"reason"`
	// BlockedBy is the component whose end is the cause, not the one in between.
	BlockedBy string `json:"blockedBy,omitempty"`
}

// Plan is what a fan-out will do. Its digest names the whole of it; a later run that
// has less left to do keeps the digest.
type Plan struct {
	Digest    digest.Digest `json:"digest"`
	Changed   []string      `json:"changed"`
	Waves     [][]string    `json:"waves"`
	Seeds     []string      `json:"seeds"`
	Unclaimed []string      `json:"unclaimed"`
	Skipped   []Skip        `json:"skipped"`

	dependsOn map[string][]string // within the plan
}

// Derive makes the plan of a selection. inputs names what each component is made
// from, so that a plan of other sources has another digest.
func Derive(components []*project.Component, s graph.Selection, inputs map[string]digest.Digest) (Plan, error) {
	d, err := graph.FanOutDigest(components, s, inputs)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Digest: d, Changed: s.Changed, Waves: s.Waves, Seeds: graph.Seeds(components, s), Unclaimed: s.Unclaimed,
		Skipped: []Skip{}, dependsOn: map[string][]string{},
	}
	selected, unsure := setOf(s.Order()), setOf(s.Indeterminate)
	for _, c := range components {
		switch {
		case unsure[c.Name]:
			p.Skipped = append(p.Skipped, Skip{Component: c.Name, Reason: Indeterminate})
		case !selected[c.Name] && !c.Disabled:
			p.Skipped = append(p.Skipped, Skip{Component: c.Name, Reason: Unaffected})
		}
		for _, dep := range c.Dependencies() {
			if selected[c.Name] && selected[dep] {
				p.dependsOn[c.Name] = append(p.dependsOn[c.Name], dep)
			}
		}
	}
	slices.SortFunc(p.Skipped, func(a, b Skip) int { return digest.Compare(a.Component, b.Component) })
	return p, nil
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// Order is every component of the plan in the order of its waves.
func (p Plan) Order() []string { return slices.Concat(p.Waves...) }

// Affected is what somebody else found changed, as `chant lifecycle affected --json`
// writes it.
type Affected struct{ Changed, Indeterminate []string }

// ParseAffected reads such a document. Items that are no text are ignored; without an
// array changed it is an error. Dependents count as changed.
func ParseAffected(data []byte) (Affected, error) {
	var raw struct {
		Changed       *[]any `json:"changed"`
		Dependents    []any  `json:"dependents"`
		Indeterminate []any  `json:"indeterminate"`
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return Affected{}, fmt.Errorf("want a document such as {\"changed\":[\"net\"]}: %w", err)
	}
	if raw.Changed == nil {
		return Affected{}, errors.New("field changed: want an array of what changed, as in {\"changed\":[\"net\"]}")
	}
	return Affected{
		Changed:       texts(slices.Concat(*raw.Changed, raw.Dependents)),
		Indeterminate: texts(raw.Indeterminate),
	}, nil
}

func texts(items []any) []string {
	var out []string
	for _, item := range items {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Select derives what follows from the units named. A unit that no component claims
// is unclaimed: said, never dropped. Changed beats indeterminate.
func (a Affected) Select(components []*project.Component) (graph.Selection, error) {
	changed, unclaimed := claimants(components, a.Changed)
	s, err := graph.SelectChanges(components, graph.Changes{Components: changed})
	if err != nil {
		return s, err
	}
	unsure, more := claimants(components, a.Indeterminate)
	selected := setOf(s.Order())
	// What the graph calls indeterminate claims only units that no source diff judges;
	// here somebody judged them.
	s.Indeterminate = slices.DeleteFunc(unsure, func(c string) bool { return selected[c] })
	s.Unclaimed = slices.Concat(unclaimed, more)
	slices.Sort(s.Unclaimed)
	s.Unclaimed = slices.Compact(s.Unclaimed)
	return s, nil
}

// WithCanary has the canary components that are selected run first, alone.
func WithCanary(components []*project.Component, s graph.Selection, canary []string) (graph.Selection, error) {
	first, err := graph.SelectChanges(components, graph.Changes{Components: s.Changed, Canary: canary})
	s.Waves = first.Waves
	return s, err
}

// claimants are the enabled components that claim one of the units, and the units
// that none claims. Both sorted; a disabled component claims its units and does not
// run.
func claimants(components []*project.Component, units []string) (claiming, unclaimed []string) {
	asked, claimed := setOf(units), map[string]bool{}
	claiming, unclaimed = []string{}, []string{}
	for _, c := range components {
		mine := false
		for _, u := range c.Units() {
			if asked[u.Name] {
				mine, claimed[u.Name] = true, true
			}
		}
		if mine && !c.Disabled {
			claiming = append(claiming, c.Name)
		}
	}
	for _, u := range units {
		if !claimed[u] {
			unclaimed = append(unclaimed, u)
		}
	}
	slices.Sort(claiming)
	return claiming, unclaimed
}
