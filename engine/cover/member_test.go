package cover

import (
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

type coverCase struct {
	name            string
	approved, fresh []changeset.Entry
	change          func(approved, fresh *changeset.Part) // before composing
	sides           func(approved, fresh *Side)           // after composing
	equal           bool                                  // the members' plan digests are equal
	why             string                                // part of the reason; "" when covered
}

func (c coverCase) run(t *testing.T) {
	t.Helper()
	then, now := part(net, plan(t, "a"), c.approved...), part(net, plan(t, "b"), c.fresh...)
	if c.equal {
		now.Member.PlanDigest = plan(t, "a")
	}
	if c.change != nil {
		c.change(&then, &now)
	}
	approved, fresh := side(t, then), side(t, now)
	if c.sides != nil {
		c.sides(&approved, &fresh)
	}
	ok, why := PlanCoveredBy(approved, fresh, net)
	if ok != (c.why == "") || !strings.Contains(why, c.why) || ok != (why == "") {
		t.Errorf("covered %v, %q; want a reason with %q", ok, why, c.why)
	}
}

func runCases(t *testing.T, cases []coverCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

// pr-loop §5.11, rules 1 to 6 and 8.
func TestMembers(t *testing.T) {
	t.Parallel()
	one := []changeset.Entry{entry("a.x", changeset.Create, write("n", "", "1"))}
	hole := func(address, kind string) []changeset.Hole {
		return []changeset.Hole{{Address: address, Type: kind, Reason: "deferred"}}
	}
	runCases(t, []coverCase{
		{name: "a member planned the same is covered", approved: one, fresh: one, equal: true},
		{name: "1: a member that is gone is covered", approved: one, fresh: one, sides: func(_, f *Side) { *f = Side{Doc: &changeset.Document{}} }},
		{name: "2: a member the approval did not see is not", fresh: one, sides: func(a, _ *Side) { a.Doc = &changeset.Document{} }, why: "does not have it"},
		{name: "3: a failed plan is not, whatever its digest", approved: one, fresh: one, equal: true, change: func(_, f *changeset.Part) { f.Member.Status = changeset.Failed }, why: "failed to plan"},
		{name: "3: a plan without a digest is not", approved: one, fresh: one, change: func(_, f *changeset.Part) { f.Member.PlanDigest = nil }, why: "no plan digest"},
		{name: "3: a digest of nothing is none", approved: one, fresh: one, sides: func(_, f *Side) { f.Doc.Members[0].PlanDigest = &digest.Digest{} }, why: "no plan digest"},
		{name: "3: two plans without a digest are not equal", approved: one, fresh: one, change: func(a, f *changeset.Part) { a.Member.PlanDigest, f.Member.PlanDigest = nil, nil }, why: "no plan digest"},
		{name: "4: a provisional plan is not, whatever its digest", approved: one, fresh: one, equal: true, change: func(_, f *changeset.Part) { f.Member.Provisional = true }, why: "provisional"},
		{name: "4: a provisional approval covers nothing, whatever its digest", approved: one, fresh: one, equal: true, change: func(a, _ *changeset.Part) { a.Member.Provisional = true }, why: "provisional"},
		{name: "4: an input hole that was approved covers nothing, whatever its digest", approved: one, fresh: one, equal: true, change: func(a, _ *changeset.Part) { a.Member.Holes = hole("db.endpoint", "input") }, why: "db.endpoint"},
		{name: "4: an input hole of now is not covered, whatever its digest", approved: one, fresh: one, equal: true, change: func(_, f *changeset.Part) { f.Member.Holes = hole("db.endpoint", "input") }, why: "db.endpoint"},
		{name: "5: a member that had failed covers nothing", approved: one, fresh: one, change: func(a, _ *changeset.Part) { a.Member.Status = changeset.Failed }, why: "failed to plan when"},
		{name: "6: a hole that was approved stays covered", approved: one, fresh: one, change: func(a, f *changeset.Part) { a.Member.Holes, f.Member.Holes = hole("a.y", ""), hole("a.y", "") }},
		{name: "6: a hole elsewhere is not", approved: one, fresh: one, change: func(a, f *changeset.Part) { a.Member.Holes, f.Member.Holes = hole("a.y", ""), hole("a.z", "") }, why: "a.z"},
		{name: "terraform-json#123: a deferred part the approval saw planned is not covered", approved: one, change: func(_, f *changeset.Part) { f.Member.Holes = hole("a.x", "a") }, why: "says nothing about `a.x`"},
		{name: "8: an approved side effect is covered", approved: one, fresh: one, change: func(a, f *changeset.Part) {
			a.SideEffects = []changeset.SideEffect{effect("action.x", "a.x", "after_create"), effect("action.y", "", "")}
			f.SideEffects = []changeset.SideEffect{effect("action.x", "a.x", "after_create")}
		}},
		{name: "8: a new side effect is not", approved: one, fresh: one, change: func(_, f *changeset.Part) { f.SideEffects = []changeset.SideEffect{effect("action.x", "", "")} }, why: "action.x"},
		{name: "8: a side effect of another trigger is not", approved: one, fresh: one, change: effects(effect("x", "a.x", "e"), effect("x", "a.y", "e")), why: "x"},
		{name: "8: a side effect at another event is not", approved: one, fresh: one, change: effects(effect("x", "a.x", "before"), effect("x", "a.x", "after")), why: "x"},
		{name: "8: a side effect of another type is not", approved: one, fresh: one, change: effects(effect("x", "", ""), changeset.SideEffect{Address: "x", Type: "other"}), why: "x"},
		{name: "another workspace is another target, whatever the digest", approved: one, fresh: one, equal: true, change: func(_, f *changeset.Part) { f.Member.Scope = "staging" }, why: "into staging"},
		{name: "another planner is not what was approved", approved: one, fresh: one, equal: true, change: func(_, f *changeset.Part) { f.Member.Planner = "tofu" }, why: "tofu"},
		{name: "another lexicon is not what was approved", approved: one, fresh: one, equal: true, change: func(_, f *changeset.Part) { f.Member.Lexicon = "aws" }, why: "planned by"},
	})
}

func effects(approved, fresh changeset.SideEffect) func(a, f *changeset.Part) {
	return func(a, f *changeset.Part) {
		a.SideEffects, f.SideEffects = []changeset.SideEffect{approved}, []changeset.SideEffect{fresh}
	}
}

// soundness: PR 1 approved at digest D; PR 2 changes a provisioner's command, the
// expression behind an unknown value, or a provider's region, and merges
// unapproved: terraform's plan digest is still D.
func TestSourceChangedUnderAnEqualDigest(t *testing.T) {
	t.Parallel()
	plain := []changeset.Entry{entry("a.x", changeset.Update, write("n", "1", "2"))}
	moved := func(_, f *Side) { f.Sources = map[string]string{net: "source-2"} }
	code := func(c terraform.RunsCode) func(a, f *Side) {
		return func(a, f *Side) {
			moved(a, f)
			f.Code = map[string]terraform.RunsCode{net: c}
		}
	}
	provisioner := terraform.RunsCode{Provisioners: []terraform.Provisioner{{Address: "a.x", Type: "local-exec"}}}
	cases := []coverCase{
		{name: "a plan that tells everything is covered by an equal digest", approved: plain, fresh: plain, equal: true, sides: moved},
		{name: "a provisioner may run another command", approved: plain, fresh: plain, equal: true, sides: code(provisioner), why: "provisioner"},
		{name: "a provisioner that was approved may have run another command", approved: plain, fresh: plain, equal: true, sides: func(a, f *Side) {
			moved(a, f)
			a.Code = map[string]terraform.RunsCode{net: provisioner}
		}, why: "provisioner"},
		{name: "an external data source may run another program", approved: plain, fresh: plain, equal: true, sides: code(terraform.RunsCode{External: []string{"data.external.x"}}), why: "runs a program"},
		{name: "a deferred read may read something else", approved: plain, fresh: plain, equal: true, sides: code(terraform.RunsCode{HasDeferredReads: true}), why: "read only while it applies"},
		{name: "a read in the plan is a deferred read", approved: append(plain, entry("data.x", changeset.Read)), fresh: append(plain, entry("data.x", changeset.Read)), equal: true, sides: moved, why: "read only while it applies"},
		{name: "a provider may point elsewhere", approved: plain, fresh: plain, equal: true, sides: code(terraform.RunsCode{ProviderConfig: *plan(t, "c")}), why: "configuration differs"},
		{name: "a provider written alike may point elsewhere, by a variable", approved: plain, fresh: plain, equal: true, sides: func(a, f *Side) {
			moved(a, f)
			a.Code = map[string]terraform.RunsCode{net: {ProviderConfig: *plan(t, "c")}}
			f.Code = a.Code
		}, why: "may evaluate"},
		{name: "code that is not known may be any", approved: plain, fresh: plain, equal: true, sides: func(a, f *Side) { moved(a, f); a.Code = nil }, why: "not known"},
		{name: "code of now that is not known may be any", approved: plain, fresh: plain, equal: true, sides: func(a, f *Side) { moved(a, f); f.Code = nil }, why: "not known"},
		{name: "the expression behind an unknown value may be another", approved: []changeset.Entry{entry("a.x", changeset.Update, unknown("n", "1"))}, fresh: []changeset.Entry{entry("a.x", changeset.Update, unknown("n", "1"))}, equal: true, sides: moved, why: "known only after apply"},
		{name: "a sensitive value may be another", approved: []changeset.Entry{entry("a.x", changeset.Update, secret("n"))}, fresh: []changeset.Entry{entry("a.x", changeset.Update, secret("n"))}, equal: true, sides: moved, why: "sensitive"},
		{name: "an action may be another", approved: plain, fresh: plain, equal: true, change: effects(effect("x", "", ""), effect("x", "", "")), sides: moved, why: "runs an action"},
		{name: "what a hole hides may be another", approved: plain, fresh: plain, equal: true, change: func(a, f *changeset.Part) {
			a.Member.Holes = []changeset.Hole{{Address: "a.y", Reason: "deferred"}}
			f.Member.Holes = a.Member.Holes
		}, sides: moved, why: "says nothing"},
		{name: "a failed plan that was approved covers nothing", approved: plain, fresh: plain, equal: true, change: func(a, _ *changeset.Part) { a.Member.Status = changeset.Failed }, sides: moved, why: "failed to plan when"},
		{name: "another digest is not covered, though every change is", approved: plain, fresh: plain, sides: moved, why: "not exactly the approved"},
		{name: "a source that is not known equals none", approved: plain, fresh: plain, sides: func(a, f *Side) { a.Sources, f.Sources = nil, nil }, why: "not exactly the approved"},
		{name: "an approved source that is not known equals none", approved: plain, fresh: plain, sides: func(a, _ *Side) { a.Sources = nil }, why: "not exactly the approved"},
	}
	runCases(t, cases)
}

// soundness: a subset of the approved plan is worse than all of it (public access
// block removed).
func TestASubsetIsCoveredOnlyUnderAnEqualSource(t *testing.T) {
	t.Parallel()
	both := []changeset.Entry{
		entry("bucket.b", changeset.Create, write("name", "", "b")),
		entry("bucket_public_access_block.b", changeset.Create, write("block", "", "true")),
	}
	runCases(t, []coverCase{
		{name: "fewer changes than approved, equal source", approved: both, fresh: both[:1]},
		{name: "fewer changes than approved, another source", approved: both, fresh: both[:1], sides: func(_, f *Side) { f.Sources[net] = "source-2" }, why: "not exactly the approved"},
	})
}

func TestNumbersTheDigestRounds(t *testing.T) {
	t.Parallel()
	same := []changeset.Entry{entry("a.x", changeset.Update, changeset.Attribute{Path: "n", Before: number(t, "1"), After: number(t, "2")})}
	inexact := func(after string, sensitive bool) []changeset.Inexact {
		return []changeset.Inexact{{Address: "a.x", Path: "n", After: after, Sensitive: sensitive}}
	}
	set := func(then, now []changeset.Inexact) func(a, f *changeset.Part) {
		return func(a, f *changeset.Part) { a.Inexact, f.Inexact = then, now }
	}
	hidden := inexact("", true)
	otherSource := func(_, f *Side) { f.Sources[net] = "source-2" }
	secretly := []changeset.Entry{entry("a.x", changeset.Update, secret("n"))}
	runCases(t, []coverCase{
		{name: "equal numbers are equal", approved: same, fresh: same, equal: true, change: set(inexact("9007199254740993", false), inexact("9007199254740993", false))},
		{name: "equal numbers are equal under another source too", approved: same, fresh: same, equal: true, change: set(inexact("9007199254740993", false), inexact("9007199254740993", false)), sides: otherSource},
		{name: "numbers that share a double are not equal", approved: same, fresh: same, equal: true, change: set(inexact("9007199254740993", false), inexact("9007199254740992.5", false)), why: "too close"},
		{name: "a number that is exact now is not the one approved", approved: same, fresh: same, equal: true, change: set(inexact("9007199254740993", false), nil), why: "too large"},
		{name: "a number that was exact is not the one of now", approved: same, fresh: same, equal: true, change: set(nil, inexact("9007199254740993", false)), why: "too close"},
		{name: "a hidden number is covered by the rule for sensitive values under an equal source", approved: secretly, fresh: secretly, equal: true, change: set(hidden, hidden)},
		{name: "a hidden number in a value shown is not covered by an equal digest", approved: same, fresh: []changeset.Entry{entry("a.x", changeset.Update, write("n", "1", "3"))}, equal: true, change: set(hidden, hidden), why: "`n`"},
		{name: "a hidden number is not covered under another source", approved: same, fresh: same, equal: true, change: set(hidden, hidden), sides: otherSource, why: "not exactly the approved"},
		{name: "one hidden number among others is not covered under another source", approved: same, fresh: same, equal: true, change: set(slices.Concat(hidden, inexact("9007199254740993", false)), slices.Concat(hidden, inexact("9007199254740993", false))), sides: otherSource, why: "not exactly the approved"},
		{name: "attributes compare exactly where digests differ", approved: []changeset.Entry{entry("a.x", changeset.Create, changeset.Attribute{Path: "n", After: number(t, "9007199254740993")})}, fresh: []changeset.Entry{entry("a.x", changeset.Create, changeset.Attribute{Path: "n", After: number(t, "9007199254740992")})}, why: "`n`"},
		{name: "a number spelled otherwise is the same number", approved: []changeset.Entry{entry("a.x", changeset.Create, changeset.Attribute{Path: "n", After: number(t, "1.0")})}, fresh: []changeset.Entry{entry("a.x", changeset.Create, changeset.Attribute{Path: "n", After: number(t, "1")})}},
	})
}
