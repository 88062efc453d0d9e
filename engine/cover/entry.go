package cover

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// uncoveredEntry is rule 7 over all entries of a member under an equal source:
// the reason why the first uncovered one is not covered.
func uncoveredEntry(approved, fresh []changeset.Entry) string {
	type key struct{ address, deposed string }
	known := make(map[key]changeset.Entry, len(approved))
	for _, e := range approved {
		known[key{e.Address, e.Deposed}] = e
	}
	for _, now := range fresh {
		if !changes(now) {
			continue
		}
		then, found := known[key{now.Address, now.Deposed}]
		if !found && now.Action == changeset.Delete && now.Deposed != "" {
			// A replacement that stopped half way left the old object deposed.
			then, found = known[key{now.Address, ""}]
		}
		if !found {
			return fmt.Sprintf("`%s`: %s was not in the approved plan", now.Address, now.Action)
		}
		if reason := uncoveredChange(then, now); reason != "" {
			return fmt.Sprintf("`%s`: %s", now.Address, reason)
		}
	}
	return ""
}

// uncoveredChange compares one change with the approved one at its address.
func uncoveredChange(then, now changeset.Entry) string {
	half := then.Action == changeset.Replace && (now.Action == changeset.Create || now.Action == changeset.Delete)
	switch {
	case then.Type != now.Type || then.Lexicon != now.Lexicon || then.Planner != now.Planner:
		return fmt.Sprintf("it is %s of %s now, and was %s of %s when approved", now.Type, now.Planner, then.Type, then.Planner)
	case then.Action != now.Action && !half:
		return fmt.Sprintf("%s now, %s was approved", now.Action, then.Action)
	case now.Importing && !then.Importing:
		return "an import was not in the approved plan"
	case !half && rank(now.Disruption) > rank(then.Disruption):
		return fmt.Sprintf("the %s is %s now, %s was approved", now.Action, shownDisruption(now), shownDisruption(then))
	case now.Region != then.Region && now.Region != "" && then.Region != "":
		return fmt.Sprintf("in region %s now, %s was approved", now.Region, then.Region)
	case now.Scope != then.Scope:
		return fmt.Sprintf("in %q now, %q was approved", now.Scope, then.Scope)
	case now.ID != then.ID && now.ID != "" && then.ID != "": // another object would be changed or lost
		return fmt.Sprintf("it is %q now, %q was approved", now.ID, then.ID)
	}
	written := make(map[string]changeset.Attribute, len(then.Attributes))
	for _, a := range then.Attributes {
		written[a.Path] = a
	}
	for _, a := range now.Attributes {
		approved, found := written[a.Path]
		if !found {
			if half && now.Action == changeset.Create {
				continue // a create writes every attribute, also those the replacement keeps
			}
			return fmt.Sprintf("`%s` was not written by the approved plan", a.Path)
		}
		if reason := uncoveredAttribute(approved, a, !half); reason != "" {
			return reason
		}
	}
	return ""
}

// rank orders disruptions from mild to harsh. One nobody can name is harshest.
func rank(disruption string) int {
	switch disruption {
	case "":
		return 0
	case "in-place":
		return 1
	case "rolling":
		return 2
	case "replace":
		return 3
	case "destroy":
		return 4
	}
	return 5
}

func shownDisruption(e changeset.Entry) string {
	if e.Disruption == "" {
		return "not disruptive"
	}
	return e.Disruption
}

// uncoveredAttribute compares one written attribute. compareBefore: the change
// starts from a value, which must be the one the approver saw; the half of a
// replacement that is left does not.
func uncoveredAttribute(then, now changeset.Attribute, compareBefore bool) string {
	switch {
	case now.Sensitive && !then.Sensitive:
		return fmt.Sprintf("`%s` is sensitive now, and its value was approved in the open", now.Path)
	case now.Sensitive:
		return ""
	case then.Sensitive:
		return fmt.Sprintf("`%s` was sensitive when it was approved, so its value was not seen", now.Path)
	case compareBefore && !equalOrNull(then.Before, now.Before):
		return fmt.Sprintf("`%s` moved since: it is %s now, and was %s when approved", now.Path, shown(now.Before), shown(then.Before))
	case then.Unknown:
		return ""
	case now.Unknown:
		return fmt.Sprintf("`%s` is known only after apply, and %s was approved", now.Path, shown(then.After))
	case !equalOrNull(then.After, now.After):
		return fmt.Sprintf("`%s` is %s now, %s was approved", now.Path, shown(now.After), shown(then.After))
	}
	return ""
}

// equalOrNull is exact equality in which null and absent are alike.
func equalOrNull(a, b digest.Value) bool {
	return a.IsNull() && b.IsNull() || digest.Equal(a, b)
}

// shown is a value as a reason quotes it: JSON, cut to what a table can hold.
func shown(v digest.Value) string {
	if v.IsNull() {
		return "not set"
	}
	text, err := v.MarshalJSON()
	if err != nil {
		return "a value that cannot be shown"
	}
	const most = 60
	if runes := []rune(string(text)); len(runes) > most {
		return strings.TrimSpace(string(runes[:most])) + "..."
	}
	return string(text)
}
