// Package drivertest is what every capability is held to, and a small capability of
// its own to hold to it first. Only tests use it.
package drivertest

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
)

// Kind is the step kind of Notes.
const Kind = "drivertest-apply"

// Notes is a capability that keeps one note for each variable of a step. It previews
// and forms no groups. The value is what it keeps now, by member and note; a note
// named "key" is replaced where others are updated.
type Notes map[string]map[string]digest.Value

// Plan compares the variables with what is kept.
func (n Notes) Plan(_ context.Context, t engine.Target, _ engine.Sink) (engine.Planned, error) {
	kept := n[t.Member]
	names := slices.Collect(maps.Keys(kept))
	for name := range t.Vars {
		if _, both := kept[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	p := engine.Planned{Target: t, NoChanges: true, Engine: Kind, Part: changeset.Part{Member: changeset.Member{
		Member: t.Member, Lexicon: "drivertest", Planner: "notes", Status: changeset.Planned, Holes: []changeset.Hole{},
	}}}
	for _, name := range names {
		e := change(name, kept[name], t.Vars[name])
		e.Member = t.Member
		p.NoChanges = p.NoChanges && e.Action == changeset.NoOp
		p.Part.Entries = append(p.Part.Entries, e)
	}
	d, err := digest.Of("drivertest-plan", digest.ArrayOf(digest.ObjectOf(kept), digest.ObjectOf(t.Vars)))
	p.Part.Member.PlanDigest = &d
	return p, err
}

// change is what becomes of one note.
func change(name string, before, after digest.Value) changeset.Entry {
	e := changeset.Entry{Lexicon: "drivertest", Planner: "notes", Address: "note." + name, Type: "note", Name: name, Attributes: []changeset.Attribute{}}
	text := changeset.Attribute{Path: "text", Before: before, After: after}
	switch {
	case digest.Equal(before, after):
		e.Action = changeset.NoOp
		return e
	case before.IsAbsent():
		e.Action = changeset.Create
	case after.IsAbsent():
		e.Action, e.Disruption = changeset.Delete, "destroy"
		return e
	case name == "key":
		e.Action, e.Disruption = changeset.Replace, "replace"
		text.ForcesReplacement = true
	default:
		e.Action, e.Disruption = changeset.Update, "in-place"
	}
	e.Attributes = append(e.Attributes, text)
	return e
}

// Preview plans with the stand-ins as values. It knows whole variables only.
func (n Notes) Preview(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput, sink engine.Sink) (cover.PlanShape, error) {
	vars := maps.Clone(t.Vars)
	if vars == nil {
		vars = map[string]digest.Value{}
	}
	var standIns []string
	for _, u := range unresolved {
		if len(u.Path) != 1 {
			return cover.PlanShape{}, engine.Tell(fmt.Errorf("a part of the variable %s comes from %s; give it a variable of its own", u.Path[0], u.Reads))
		}
		vars[u.Path[0]] = digest.StringOf(u.StandIn)
		standIns = append(standIns, u.StandIn)
	}
	t.Vars = vars
	p, err := n.Plan(ctx, t, sink)
	if err != nil {
		return cover.PlanShape{}, err
	}
	shape, err := cover.NewShape(p.Part, standIns)
	if err != nil {
		return cover.PlanShape{}, engine.Tell(err)
	}
	return shape, nil
}
