package cover

import (
	"fmt"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

// otherSourceNote opens the reasons that count only because the sources differ.
const otherSourceNote = "what it was planned from is not what was approved, and "

// PlanCoveredBy reports whether an approval of the approved side's plan of a
// member also covers the fresh side's plan of it, or the first reason why not,
// for people (pr-loop §5.11; the numbers below are its rules).
func PlanCoveredBy(approved, fresh Side, member string) (ok bool, reason string) {
	now, there := partOf(fresh.Doc, member)
	if !there { // 1
		return true, ""
	}
	then, there := partOf(approved.Doc, member)
	if !there { // 2
		return false, "the approved plan does not have it"
	}
	if reason := notComparable(then.Member, now.Member); reason != "" {
		return false, reason
	}
	equal := digest.Same(*planDigest(then.Member), *now.Member.PlanDigest)
	exact, reason := exactlyEqual(then.Inexact, now.Inexact)
	if equal && reason != "" { // equal only because the digest rounds numbers
		return false, reason
	}
	if !sameSource(approved, fresh, member) {
		reason := otherSource(approved, fresh, then, now, equal && exact)
		return reason == "", reason
	}
	if equal && exact { // 4
		return true, ""
	}
	reason = ofOneSource(then, now)
	return reason == "", reason
}

// partOf is what a document says about one member.
func partOf(doc *changeset.Document, member string) (part changeset.Part, there bool) {
	m, there := doc.Member(member)
	if !there {
		return changeset.Part{}, false
	}
	return changeset.Part{
		Member: m, Entries: doc.EntriesOf(member), SideEffects: doc.SideEffectsOf(member), Inexact: doc.InexactOf(member),
	}, true
}

// ofOneSource is rules 5 to 8, which hold between plans that were made from the same
// source: the first reason why one is not covered, "" when it is.
func ofOneSource(then, now changeset.Part) string {
	if then.Member.Status != changeset.Planned { // 5
		return "it failed to plan when it was approved"
	}
	if reason := newHole(then.Member, now.Member); reason != "" { // 6
		return reason
	}
	if reason := uncoveredEntry(then.Entries, now.Entries); reason != "" { // 7
		return reason
	}
	return newSideEffect(then.SideEffects, now.SideEffects) // 8
}

// notComparable is rules 3 and 4 before any digest is compared: what failed, is
// a preview on mock values, or waits for an input is covered by nothing.
func notComparable(then, now changeset.Member) string {
	switch {
	case now.Status != changeset.Planned:
		return "it failed to plan"
	case now.PlanDigest == nil || now.PlanDigest.IsZero():
		return "it has no plan digest"
	case now.Provisional:
		return "it is planned on provisional values"
	case then.Provisional:
		return "it was approved on provisional values"
	case then.Planner != now.Planner || then.Lexicon != now.Lexicon || then.Scope != now.Scope:
		return fmt.Sprintf("it is planned by %s now, and was approved as planned by %s", plannedBy(now), plannedBy(then))
	}
	for _, h := range then.Holes {
		if h.Type == changeset.InputHole {
			return fmt.Sprintf("`%s` was not known when it was approved", h.Address)
		}
	}
	for _, h := range now.Holes {
		if h.Type == changeset.InputHole {
			return fmt.Sprintf("`%s` is not known yet", h.Address)
		}
	}
	return ""
}

func plannedBy(m changeset.Member) string {
	if m.Scope == "" {
		return m.Planner
	}
	return fmt.Sprintf("%s into %s", m.Planner, m.Scope)
}

// planDigest is the member's digest, the zero digest when it has none: that
// equals no plan's.
func planDigest(m changeset.Member) *digest.Digest {
	if m.PlanDigest == nil {
		return &digest.Digest{}
	}
	return m.PlanDigest
}

// exactlyEqual compares the numbers no digest holds exactly. exact: there are
// none, or all are known and equal. A reason means that known ones differ.
func exactlyEqual(then, now []changeset.Inexact) (exact bool, reason string) {
	exact = true
	index := make(map[changeset.Inexact]bool, len(then))
	for _, x := range then {
		index[x] = true
		exact = exact && !x.Sensitive
	}
	for _, x := range now { // an equal list is as exact as the approved one
		if !index[x] {
			return false, fmt.Sprintf("`%s` of `%s` is another number than was approved, too close for the digest to tell", x.Path, x.Address)
		}
	}
	if len(then) != len(now) {
		return false, "a number too large for the digest is not the one approved"
	}
	return exact, ""
}

// sameSource reports that both sides were planned from the same files with the
// same tool.
func sameSource(approved, fresh Side, member string) bool {
	then, now := approved.Sources[member], fresh.Sources[member]
	return then != "" && then == now
}

// otherSource decides a member whose source is not the approved one, or not
// known: only a plan that tells everything it will do, and is equal, is covered.
// It returns the first reason why not, "" when covered.
func otherSource(approved, fresh Side, before, after changeset.Part, exactDigest bool) string {
	if !exactDigest {
		return otherSourceNote + "the plan is not exactly the approved one"
	}
	then, known := approved.Code[before.Member.Member]
	now, knownNow := fresh.Code[after.Member.Member]
	if !known || !knownNow {
		return otherSourceNote + "what the plan runs is not known"
	}
	if reason := runsCode(then, now); reason != "" {
		return otherSourceNote + reason
	}
	for _, part := range []changeset.Part{before, after} {
		if reason := hidesSomething(part); reason != "" {
			return otherSourceNote + reason
		}
	}
	return ""
}

// runsCode names the first thing both plans run that no digest tells.
func runsCode(then, now terraform.RunsCode) string {
	for _, code := range []terraform.RunsCode{then, now} {
		switch {
		case len(code.Provisioners) > 0:
			return fmt.Sprintf("`%s` runs a provisioner", code.Provisioners[0].Address)
		case len(code.External) > 0:
			return fmt.Sprintf("`%s` runs a program", code.External[0])
		case code.HasDeferredReads:
			return "data is read only while it applies"
		}
	}
	switch {
	case !digest.Same(then.ProviderConfig, now.ProviderConfig):
		return "its provider configuration differs"
	case !now.ProviderConfig.IsZero():
		// The digest is over what is written. A region that comes from a variable
		// or a local is written alike and points elsewhere.
		return "its provider configuration may evaluate to something else"
	}
	return ""
}

// hidesSomething names the first thing about a plan that its digest does not
// tell: a value not known or not shown, a read left to the apply, an action
// whose configuration the document does not hold, a hole, a failed plan.
func hidesSomething(p changeset.Part) string {
	switch {
	case p.Member.Status != changeset.Planned:
		return "it failed to plan when it was approved"
	case len(p.Member.Holes) > 0:
		return fmt.Sprintf("the plan says nothing about `%s`", p.Member.Holes[0].Address)
	}
	for _, e := range p.Entries {
		if e.Action == changeset.Read {
			return fmt.Sprintf("`%s` is read only while it applies", e.Address)
		}
		for _, a := range e.Attributes {
			switch {
			case a.Unknown:
				return fmt.Sprintf("`%s` of `%s` is known only after apply", a.Path, e.Address)
			case a.Sensitive:
				return fmt.Sprintf("`%s` of `%s` is sensitive", a.Path, e.Address)
			}
		}
	}
	if len(p.SideEffects) > 0 {
		return fmt.Sprintf("`%s` runs an action", p.SideEffects[0].Address)
	}
	return ""
}

// newHole is rule 6.
func newHole(then, now changeset.Member) string {
	known := make(map[string]bool, len(then.Holes))
	for _, h := range then.Holes {
		known[h.Address] = true
	}
	for _, h := range now.Holes {
		if !known[h.Address] {
			return fmt.Sprintf("the plan says nothing about `%s`, and the approved one did: %s", h.Address, h.Reason)
		}
	}
	return ""
}

// newSideEffect is rule 8.
func newSideEffect(then, now []changeset.SideEffect) string {
	type key struct{ address, kind, trigger, event string }
	known := make(map[key]bool, len(then))
	for _, s := range then {
		known[key{s.Address, s.Type, s.Trigger, s.Event}] = true
	}
	for _, s := range now {
		if !known[key{s.Address, s.Type, s.Trigger, s.Event}] {
			return fmt.Sprintf("the action `%s` was not in the approved plan", s.Address)
		}
	}
	return ""
}
