// Package terraform reads the plan JSON of terraform, tofu and choudoufu
// (`show -json` of a saved plan) into a change-set part and the plan's digest
// (change-set §4). It runs no tool and treats every plan as hostile input: what
// it does not understand is an error or hidden, never skipped.
package terraform

import (
	"fmt"
	"path"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

const lexicon = "terraform"

// Options are what a plan does not say about itself.
type Options struct {
	Planner      string // terraform, tofu or choudoufu; empty is terraform
	Scope        string // estate or workspace it plans into
	NativeDigest string // the planner's own hash of the plan
}

// PlannerOf names the planner of a binary, a path or a name, by its base name.
func PlannerOf(binary string) string {
	base := path.Base(strings.ReplaceAll(binary, `\`, "/"))
	for _, planner := range []string{"choudoufu", "tofu"} {
		if strings.HasPrefix(base, planner) {
			return planner
		}
	}
	return "terraform"
}

// Part is the change-set part of a plan, under the name of its member
// (change-set §4.1). Every resource change is one entry, in the plan's order.
// An action this version does not know is an error that quotes it; an errored
// plan is a failed member that keeps its entries and digest; what was deferred
// is a hole.
func Part(member string, plan digest.Value, opts Options) (changeset.Part, error) {
	if opts.Planner == "" {
		opts.Planner = "terraform"
	}
	planDigest, err := PlanDigest(plan)
	if err != nil {
		return changeset.Part{}, fmt.Errorf("reading the %s plan of %s: %w", opts.Planner, member, err)
	}
	part := changeset.Part{
		Member: changeset.Member{
			Member: member, Lexicon: lexicon, Planner: opts.Planner, Scope: opts.Scope, Status: changeset.Planned,
			PlanDigest: &planDigest, NativeDigest: opts.NativeDigest, Holes: holes(member, plan),
		},
		Entries:     []changeset.Entry{},
		SideEffects: sideEffects(plan),
		Inexact:     inexact(member, plan),
	}
	if errored, _ := plan.Get("errored").Bool(); errored {
		part.Member.Status = changeset.Failed
		part.Member.Error = opts.Planner + " marked the plan errored"
	}
	changes, err := array(plan, "resource_changes")
	if err != nil {
		return changeset.Part{}, fmt.Errorf("reading the %s plan of %s: %w", opts.Planner, member, err)
	}
	for i := range changes.Len() {
		entry, err := entryOf(changes.At(i))
		if err != nil {
			return changeset.Part{}, fmt.Errorf("reading the %s plan of %s: resource_changes[%d]: %w", opts.Planner, member, i, err)
		}
		entry.Member, entry.Planner, entry.Scope = member, opts.Planner, opts.Scope
		part.Entries = append(part.Entries, entry)
	}
	return part, nil
}

// array is a list of the plan. Absent or null is an empty one; anything else
// is an error, for reading it as empty would hide changes.
func array(plan digest.Value, key string) (digest.Value, error) {
	v := plan.Get(key)
	if !v.IsNull() && v.Kind() != digest.Array {
		return digest.Value{}, fmt.Errorf("%s is of type %s, want a list", key, v.Kind())
	}
	return v, nil
}

func entryOf(resource digest.Value) (changeset.Entry, error) {
	change := resource.Get("change")
	address := textOf(resource, "address")
	action, createFirst, err := actionOf(change.Get("actions"))
	if err != nil {
		return changeset.Entry{}, fmt.Errorf("%s: %w", address, err)
	}
	where := placeOf(resource, address)
	return changeset.Entry{
		Lexicon: lexicon, Address: address, Type: where.kind, Name: where.name, Index: where.index, Module: where.module,
		Deposed:    textOf(resource, "deposed"),
		Action:     action,
		Importing:  change.Get("importing").Kind() == digest.Object,
		Disruption: disruption(action, createFirst),
		Region:     region(change),
		Attributes: attributes(action, change),
	}, nil
}

// actionOf reads change.actions. createFirst tells a replace that creates
// before it destroys.
func actionOf(actions digest.Value) (action changeset.Action, createFirst bool, err error) {
	first, _ := actions.At(0).Text()
	second, _ := actions.At(1).Text()
	isList := actions.Kind() == digest.Array
	switch {
	case isList && actions.Len() == 2 && first == "create" && second == "delete":
		return changeset.Replace, true, nil
	case isList && actions.Len() == 2 && first == "delete" && second == "create":
		return changeset.Replace, false, nil
	case isList && actions.Len() == 1:
		switch a := changeset.Action(first); a {
		case changeset.Create, changeset.Update, changeset.Delete, changeset.Read, changeset.NoOp, changeset.Forget:
			return a, false, nil
		}
	case actions.IsAbsent():
		return "", false, fmt.Errorf("the change has no actions")
	}
	return "", false, fmt.Errorf("the actions %s are not known to this version, so what they do cannot be shown or approved", shorten(actions.String()))
}

func shorten(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}

func disruption(action changeset.Action, createFirst bool) string {
	switch {
	case action == changeset.Update:
		return "in-place"
	case action == changeset.Replace && createFirst:
		return "replace"
	case action == changeset.Replace, action == changeset.Delete:
		return "destroy"
	}
	return ""
}

// region is where the change lands. Unlike the published adapter it is left
// out when the plan marks it sensitive.
func region(change digest.Value) string {
	if marksOf(change).hide("region") {
		return ""
	}
	if after := textOf(change.Get("after"), "region"); after != "" {
		return after
	}
	return textOf(change.Get("before"), "region")
}

// textOf is a string property, "" for anything else.
func textOf(v digest.Value, key string) string {
	s, _ := v.Get(key).Text()
	return s
}

// sideEffects are the plan's action invocations, in its order.
func sideEffects(plan digest.Value) []changeset.SideEffect {
	invocations := plan.Get("action_invocations")
	if invocations.Kind() != digest.Array {
		return nil
	}
	var effects []changeset.SideEffect
	for i := range invocations.Len() {
		item := invocations.At(i)
		trigger := item.Get("lifecycle_action_trigger")
		effect := changeset.SideEffect{
			Address: textOf(item, "address"), Type: "unknown",
			Trigger: textOf(trigger, "triggering_resource_address"), Event: textOf(trigger, "action_trigger_event"),
		}
		if kind, ok := item.Get("type").Text(); ok {
			effect.Type = kind
		}
		if _, ok := item.Get("address").Text(); !ok {
			effect.Address = effect.Type
		}
		effects = append(effects, effect)
	}
	return effects
}

// holes are the deferred changes, each with its reason. A plan that says it is
// incomplete without saying where is one hole, for the member.
func holes(member string, plan digest.Value) []changeset.Hole {
	holes := []changeset.Hole{}
	for _, list := range []struct{ deferred, of string }{
		{"deferred_changes", "resource_change"},
		{"deferred_action_invocations", "action_invocation"},
	} {
		items := plan.Get(list.deferred)
		for i := range items.Len() {
			item := items.At(i)
			of := item.Get(list.of)
			hole := changeset.Hole{Address: textOf(of, "address"), Type: textOf(of, "type"), Reason: textOf(item, "reason")}
			if hole.Address == "" {
				hole.Address = member
			}
			if hole.Reason == "" {
				hole.Reason = "deferred"
			}
			holes = append(holes, hole)
		}
	}
	if complete, ok := plan.Get("complete").Bool(); ok && !complete && len(holes) == 0 {
		holes = append(holes, changeset.Hole{Address: member, Reason: "the planner says the plan is not complete"})
	}
	return holes
}
