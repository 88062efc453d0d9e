package cover

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// PlanShape is a plan made with stand-ins for values that are not there yet, as far
// as it holds for any values: what a stand-in reached is unknown (pr-loop §8.1). Its
// part stands in the document of a run as any plan does, so that the approval binds
// it; its digest is of what it shows.
type PlanShape struct{ changeset.Part }

// NewShape makes the shape of a plan. standIns are texts that occur nowhere else,
// each put where a value was missing. A stand-in that reached more than the values
// a change writes, such as the address of a resource or a value that stands, makes
// no shape: with another value the plan would be of other things.
func NewShape(plan changeset.Part, standIns []string) (PlanShape, error) {
	if slices.Contains(standIns, "") {
		return PlanShape{}, errors.New("an empty text stands in for a value, and could not be told from what is there")
	}
	shape := PlanShape{plan}
	shape.Member.NativeDigest = "" // is over the stand-ins too
	shape.Entries = make([]changeset.Entry, len(plan.Entries))
	for i, e := range plan.Entries {
		if at := reached(e, standIns); at != "" {
			return PlanShape{}, fmt.Errorf("%s of `%s` follows from a value that is not there yet, so what it changes cannot be told before", at, e.Address)
		}
		attributes := make([]changeset.Attribute, len(e.Attributes))
		for k, a := range e.Attributes {
			if holds(a.After, standIns) {
				a.After, a.Unknown = digest.Value{}, true
			}
			attributes[k] = a
		}
		e.Attributes = attributes
		shape.Entries[i] = e
	}
	for _, s := range plan.SideEffects {
		if holdsText(standIns, s.Address, s.Type, s.Trigger, s.Event) {
			return PlanShape{}, fmt.Errorf("the action `%s` follows from a value that is not there yet, so what it does cannot be told before", s.Address)
		}
	}
	for _, h := range plan.Member.Holes {
		if holdsText(standIns, h.Address, h.Type, h.Reason) {
			return PlanShape{}, fmt.Errorf("what the plan says nothing about, `%s`, follows from a value that is not there yet", h.Address)
		}
	}
	if err := shape.stamp(); err != nil {
		return PlanShape{}, err
	}
	return shape, nil
}

// stamp gives the shape the digest of what it shows, which is the same for any
// stand-in. It is of a kind of its own, and so equals no plan's.
func (s *PlanShape) stamp() error {
	s.Member.PlanDigest = nil
	doc, err := changeset.Compose([]changeset.Part{s.Part}, "")
	if err != nil {
		return err
	}
	d, err := digest.Of("plan-shape", digest.StringOf(doc.Digest.String()))
	s.Member.PlanDigest = &d
	return err
}

// ShapeIn is the shape of a member that was previewed, as an approved document holds
// it.
func ShapeIn(doc *changeset.Document, member string) (shape PlanShape, there bool) {
	part, there := partOf(doc, member)
	return PlanShape{part}, there
}

// Covers reports whether the plan made with the real values is what the shape showed,
// or the first reason why not, for people. It is pr-loop §5.11 between plans of one
// source, and that they are of one is for the caller to know. Unlike there a change
// that the shape shows and the plan does not have is a difference: not how far an
// apply came, but the value itself made it disappear (components §7.2).
func (s PlanShape) Covers(plan changeset.Part) (ok bool, reason string) {
	if s.Member.Member != plan.Member.Member {
		return false, fmt.Sprintf("it is a plan of %s, and the preview was of %s", plan.Member.Member, s.Member.Member)
	}
	if reason := notComparable(s.Member, plan.Member); reason != "" {
		return false, reason
	}
	if reason := ofOneSource(s.Part, plan); reason != "" {
		return false, reason
	}
	type key struct{ address, deposed string }
	planned := map[key]bool{}
	for _, e := range plan.Entries {
		planned[key{e.Address, e.Deposed}] = changes(e)
	}
	for _, e := range s.Entries {
		if changes(e) && !planned[key{e.Address, e.Deposed}] {
			return false, fmt.Sprintf("`%s`: the preview showed %s, and the plan does not have it", e.Address, e.Action)
		}
	}
	return true, ""
}

// reached names the part of an entry, other than what it writes, that a stand-in is
// in, "" for none.
func reached(e changeset.Entry, standIns []string) string {
	for _, part := range []struct {
		name  string
		texts []string
	}{
		{"the address", []string{e.Address, e.Module, e.Name, e.Deposed}},
		{"the type", []string{e.Type}}, {"the id", []string{e.ID}}, {"the region", []string{e.Region}}, {"the scope", []string{e.Scope}},
	} {
		if holdsText(standIns, part.texts...) {
			return part.name
		}
	}
	if holds(e.Index, standIns) {
		return "the index"
	}
	for _, a := range e.Attributes {
		if holdsText(standIns, a.Path) || holds(a.Before, standIns) {
			return "an attribute"
		}
	}
	return ""
}

// holds reports that a stand-in is in a value: in a key, or part of a text or number.
func holds(v digest.Value, standIns []string) bool {
	text, _ := v.Text()
	number, _ := v.NumberText()
	if holdsText(standIns, text, number) || holdsText(standIns, v.Keys()...) {
		return true
	}
	for i := range v.Len() {
		if holds(v.At(i), standIns) {
			return true
		}
	}
	return false
}

func holdsText(standIns []string, texts ...string) bool {
	for _, standIn := range standIns {
		for _, text := range texts {
			if strings.Contains(text, standIn) {
				return true
			}
		}
	}
	return false
}
