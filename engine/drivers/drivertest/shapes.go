package drivertest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
)

// Planner is the part of a capability that makes the plan with the real values.
type Planner interface {
	Plan(ctx context.Context, t engine.Target, sink engine.Sink) (engine.Planned, error)
}

// Shapes holds a capability to what a run relies on when it spares a previewed member
// its round (components §3.1): the shape covers the plan with the real values, and no
// plan that does anything else.
type Shapes struct {
	Planner   Planner
	Previewer engine.Previewer
	// Target is the same member each time, with files and a run directory of its own,
	// whose step has these variables.
	Target func(vars map[string]digest.Value) engine.Target
	// Known are the variables that have a value before, and Later those that come from
	// elsewhere, with what they turn out to be. A change writes each of them.
	Known, Later map[string]digest.Value
	// Moved is Known with one other value.
	Moved map[string]digest.Value
}

// Check fails the test for everything that is not as it has to be.
func (s Shapes) Check(t *testing.T) {
	t.Helper()
	problems, err := s.Problems(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

// Problems says what is not as it has to be. The error is a plan that could not be
// made.
func (s Shapes) Problems(ctx context.Context) ([]string, error) {
	const one, two = "chant-unknown-5f3a09c1", "chant-unknown-other-77e2"
	shape, err1 := s.preview(ctx, one)
	again, err2 := s.preview(ctx, two)
	plan, err3 := s.plan(ctx, s.Known)
	moved, err4 := s.plan(ctx, s.Moved)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	problems := bound(shape, again, one)
	if unknowns(shape.Entries) <= unknowns(plan.Entries) {
		problems = append(problems, "the shape leaves nothing open that the plan with the real values knows")
	}
	if ok, why := shape.Covers(plan); !ok {
		problems = append(problems, "the shape does not cover the plan with the real values: "+why)
	}
	different := others(plan)
	different["with another known value"] = moved
	for _, how := range slices.Sorted(maps.Keys(different)) {
		if ok, _ := shape.Covers(different[how]); ok {
			problems = append(problems, "the shape covers a plan "+how)
		}
	}
	return problems, nil
}

// bound: what is approved is the shape, which tells nothing of the stand-ins and is
// the same for any.
func bound(shape, again cover.PlanShape, standIn string) []string {
	var problems []string
	text, err := json.Marshal(shape)
	if err != nil || strings.Contains(string(text), standIn) {
		problems = append(problems, fmt.Sprintf("the shape shows a stand-in (%v)", err))
	}
	other, err := json.Marshal(again)
	if err != nil || !bytes.Equal(text, other) {
		problems = append(problems, fmt.Sprintf("the shape follows from the stand-in (%v): %s and %s", err, text, other))
	}
	doc, err := changeset.Compose([]changeset.Part{shape.Part}, "")
	if err != nil {
		return append(problems, err.Error())
	}
	if back, there := cover.ShapeIn(doc, shape.Member.Member); !there || back.Member.Provisional || back.Member.PlanDigest == nil {
		problems = append(problems, "a document would not bind the shape: it needs a digest and may not be provisional")
	}
	return problems
}

func unknowns(entries []changeset.Entry) int {
	n := 0
	for _, e := range entries {
		for _, a := range e.Attributes {
			if a.Unknown {
				n++
			}
		}
	}
	return n
}

// others are plans that differ from the real one in one thing.
func others(plan changeset.Part) map[string]changeset.Part {
	altered := func(change func(p *changeset.Part)) changeset.Part {
		p := plan
		p.Entries = slices.Clone(plan.Entries)
		change(&p)
		return p
	}
	at := slices.IndexFunc(plan.Entries, func(e changeset.Entry) bool {
		return e.Action == changeset.Create || e.Action == changeset.Update
	})
	if at < 0 {
		return map[string]changeset.Part{"that changes nothing": plan}
	}
	return map[string]changeset.Part{
		"with an entry more": altered(func(p *changeset.Part) {
			more := p.Entries[at]
			more.Address += "_more"
			p.Entries = append(p.Entries, more)
		}),
		"with a stronger action":    altered(func(p *changeset.Part) { p.Entries[at].Action = changeset.Replace }),
		"in which a change is gone": altered(func(p *changeset.Part) { p.Entries = slices.Delete(p.Entries, at, at+1) }),
		"that failed":               altered(func(p *changeset.Part) { p.Member.Status = changeset.Failed }),
	}
}

// plan plans with every value there.
func (s Shapes) plan(ctx context.Context, known map[string]digest.Value) (changeset.Part, error) {
	vars := maps.Clone(known)
	maps.Copy(vars, s.Later)
	p, err := s.Planner.Plan(ctx, s.Target(vars), func(string) {})
	return p.Part, err
}

func (s Shapes) preview(ctx context.Context, standIn string) (cover.PlanShape, error) {
	var unresolved []engine.UnresolvedInput
	for _, name := range slices.Sorted(maps.Keys(s.Later)) {
		unresolved = append(unresolved, engine.UnresolvedInput{Path: []string{name}, Reads: "upstream." + name, StandIn: standIn + name})
	}
	return s.Previewer.Preview(ctx, s.Target(maps.Clone(s.Known)), unresolved, func(string) {})
}
