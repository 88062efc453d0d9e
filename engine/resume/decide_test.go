package resume

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/record"
)

const (
	head, base = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	op         = "green-111111111111"
)

func hexDigest(t *testing.T, hex string) digest.Digest {
	t.Helper()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 64))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// part is a member with a plan of its own that makes a resource of each name.
func part(t *testing.T, member, plan string, created ...string) changeset.Part {
	t.Helper()
	d := hexDigest(t, plan)
	p := changeset.Part{Member: changeset.Member{
		Member: member, Lexicon: "terraform", Planner: "terraform", Scope: "default", Status: changeset.Planned, PlanDigest: &d, Holes: []changeset.Hole{},
	}}
	for _, name := range created {
		p.Entries = append(p.Entries, changeset.Entry{
			Member: member, Lexicon: "terraform", Planner: "terraform", Address: "x." + name, Type: "x", Action: changeset.Create,
			Attributes: []changeset.Attribute{{Path: "n", After: digest.StringOf(name)}},
		})
	}
	return p
}

func side(t *testing.T, parts ...changeset.Part) cover.Side {
	t.Helper()
	doc, err := changeset.Compose(parts, "")
	if err != nil {
		t.Fatal(err)
	}
	s := cover.Side{Doc: doc, Sources: map[string]string{}, Code: map[string]terraform.RunsCode{}}
	for _, p := range parts {
		s.Sources[p.Member.Member] = "source"
	}
	return s
}

// stopped is an apply of net, app and db of which net applied and app failed: the
// record it left, and all that stands when it is to be carried on.
type stopped struct {
	t      *testing.T
	record Record
	place  Place
	plan   Plan
	ledger Approved
}

func stopAfterNet(t *testing.T, via string) *stopped {
	t.Helper()
	approved := side(t, part(t, "net", "a", "net"), part(t, "app", "b", "app", "more"), part(t, "db", "c", "db"))
	fanOut := hexDigest(t, "f")
	reads := func() map[string][]Read { return map[string][]Read{"app": {{From: "net", Output: "cidr", Hash: "h"}}} }
	s := &stopped{
		t: t,
		record: Record{Digest: fanOut, Completed: []string{"net"}, Failed: []string{"app"}, PrApply: &Apply{
			Env: "prod", Op: op, Gate: "pr-apply", Head: head, Base: base, Digest: approved.Doc.Digest, Via: via,
			ApprovedBy: []string{"github:alice"}, Reads: reads(),
		}},
		place: Place{Env: "prod", Op: op, Gate: "pr-apply", Head: head, Base: base, FanOut: fanOut},
		plan: Plan{
			Side:      side(t, part(t, "net", "d"), part(t, "app", "e", "app"), part(t, "db", "c", "db")),
			Nothing:   map[string]bool{},
			Component: map[string]string{"net": "net", "app": "app", "db": "db"}, Reads: reads(),
		},
	}
	if via == record.ViaGate {
		s.ledger = Approved{Stands: true, Document: approved}
		return s
	}
	one := side(t, part(t, "net", "a", "net"))
	two := side(t, part(t, "app", "b", "app", "more"), part(t, "db", "c", "db"))
	for i, m := range []cover.Side{one, two} {
		now := cover.Merge{PR: i + 1, Op: []string{"pr-1", "pr-2"}[i], Gate: "pr-apply", Digest: m.Doc.Digest, Side: m}
		then := Merge{PR: now.PR, Op: now.Op, Gate: now.Gate, Digest: now.Digest}
		for _, member := range m.Doc.Members {
			then.Members = append(then.Members, member.Member)
		}
		s.ledger.Merges = append([]cover.Merge{now}, s.ledger.Merges...) // newest first
		s.record.PrApply.Merges = append(s.record.PrApply.Merges, then)
	}
	return s
}

func (s *stopped) decide() (cover.Report, string) {
	if why := s.record.Of(s.place); why != "" {
		return cover.Report{}, why
	}
	return s.record.Accept(s.plan, s.ledger)
}

func TestARecordIsTakenUpWhereEverythingItRestsOnStands(t *testing.T) {
	t.Parallel()
	for _, via := range []string{record.ViaGate, record.ViaMerges} {
		covered, reason := stopAfterNet(t, via).decide()
		got := map[string]cover.Status{}
		for _, v := range covered.Members {
			got[v.Member] = v.Status
		}
		want := map[string]cover.Status{"net": cover.NothingToDo, "app": cover.Covered, "db": cover.Covered}
		if diff := cmp.Diff(want, got); diff != "" || reason != "" {
			t.Errorf("via %s: %q (-want +got):\n%s", via, reason, diff)
		}
	}
}

// components §1.3: each component of a promote rests on the approval at its own gate.
func TestAPromoteIsCarriedOnUnderTheGatesOfItsComponents(t *testing.T) {
	t.Parallel()
	promote := func() *stopped {
		s := stopAfterNet(t, record.ViaGate)
		a := s.record.PrApply
		a.Via, a.Gate, a.Gates = record.ViaRelease, "", []Gate{{Op: "app", Gate: "go-live", Digest: a.Digest, ApprovedBy: []string{}}}
		s.record.PrApply, s.record.Promote = nil, a
		s.place.Gate, s.place.Promote = "", true
		s.ledger = Approved{Gates: map[string]cover.Side{"app": s.ledger.Document}}
		return s
	}
	s := promote()
	text, err := s.record.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(text); err != nil {
		t.Error(err)
	}
	if _, reason := s.decide(); reason != "" {
		t.Errorf("refused: %s", reason)
	}
	s.plan.Sources["db"] = "other" // has no gate
	if _, reason := s.decide(); reason != "" {
		t.Errorf("what no gate guards is held against the record: %s", reason)
	}
	tests := []struct {
		name   string
		change func(*stopped)
		why    string
	}{
		{"taken by pr-apply", func(s *stopped) { s.place.Promote = false }, "it is a record of promote"},
		{"the gate fell", func(s *stopped) { s.ledger.Gates = nil }, "at app go-live no longer stands"},
		{"another source behind a gate", func(s *stopped) { s.plan.Sources["app"] = "other" }, "app is not covered"},
		{"what applied has changes again", func(s *stopped) {
			s.plan.Side = side(s.t, part(s.t, "net", "a", "net"), part(s.t, "app", "e", "app"), part(s.t, "db", "c", "db"))
		}, "net applied, and planned again it has changes"},
	}
	for _, tt := range tests {
		s := promote()
		tt.change(s)
		if _, reason := s.decide(); !strings.Contains(reason, tt.why) {
			t.Errorf("%s: %q, want %q", tt.name, reason, tt.why)
		}
	}
	s = stopAfterNet(t, record.ViaGate)
	s.place.Promote = true
	if _, reason := s.decide(); reason != "it is a record of pr-apply" {
		t.Errorf("taken by promote: %q", reason)
	}
}

// pr-loop §7.4: a gated wave after the first is planned again when it is reached.
func TestWhatALaterWaveReadsIsNotHeldAgainstTheRecord(t *testing.T) {
	t.Parallel()
	s := stopAfterNet(t, record.ViaGate)
	s.plan.Reads["app"][0].Hash, s.plan.Sources["app"] = "other", "other"
	if _, reason := s.decide(); reason == "" {
		t.Error("a value that moved is taken where waves are not gated")
	}
	s.plan.Later = map[string]bool{"app": true}
	covered, reason := s.decide()
	if reason != "" || len(covered.Uncovered()) != 1 {
		t.Errorf("%q, uncovered %v", reason, covered.Uncovered())
	}
	s.plan.Sources["db"] = "other"
	if _, reason := s.decide(); !strings.HasPrefix(reason, "db is not covered") {
		t.Errorf("of the first wave: %q", reason)
	}
}

// pr-loop §8.1, §8.2: what a group left is planned with the values its others applied
// with. Whether these were approved is the coverage's to say.
func TestAValueFromWithinAGroupIsComparedByCoverage(t *testing.T) {
	t.Parallel()
	s := stopAfterNet(t, record.ViaGate)
	s.record.PrApply.Reads["app"][0].Hash = Within
	if _, reason := s.decide(); reason != "" {
		t.Errorf("the record is refused: %s", reason)
	}
	s.plan.Side = side(t, part(t, "net", "d"), part(t, "app", "e", "another"), part(t, "db", "c", "db"))
	if _, reason := s.decide(); !strings.Contains(reason, "app is not covered") {
		t.Errorf("another change of app came to %q", reason)
	}
}

// pr-loop §5.12, each condition broken alone.
func TestARecordIsRefusedForEachConditionThatDoesNotHold(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		via    string
		change func(*stopped)
		why    string
	}{
		{"another env", "gate", func(s *stopped) { s.place.Env = "test" }, "of env prod, and this apply is of test"},
		{"another op", "gate", func(s *stopped) { s.place.Op = "green-111111111111-web" }, "op green-111111111111, and"},
		{"another gate", "gate", func(s *stopped) { s.place.Gate = "release" }, "gate pr-apply, and this apply is of release"},
		{"another head", "gate", func(s *stopped) { s.place.Head = base }, "of commit 111111111111, and this apply is of 222222222222"},
		{"another base", "merges", func(s *stopped) { s.place.Base = head }, "measured from commit 222222222222"},
		{"another selection", "gate", func(s *stopped) { s.place.FanOut = hexDigest(s.t, "0") }, "not the components selected now"},
		{"the approval was revoked", "gate", func(s *stopped) { s.ledger.Stands = false }, "no longer stands"},
		{"the approval came without its document", "gate", func(s *stopped) { s.ledger.Document = cover.Side{} }, "is not on the ledger"},
		{"another document", "gate", func(s *stopped) { s.ledger.Document = s.plan.Side }, "not the one approved"},
		{"a document that does not verify", "gate", func(s *stopped) {
			s.ledger.Document.Doc.Entries[0].Action = changeset.Delete
		}, "not the one approved"},
		{"what applied has changes again", "gate", func(s *stopped) {
			s.plan.Side = side(s.t, part(s.t, "net", "a", "net"), part(s.t, "app", "e", "app"), part(s.t, "db", "c", "db"))
		}, "net applied, and planned again it has changes"},
		{"what applied has changes again, covered by its merge or not", "merges", func(s *stopped) {
			s.plan.Side = side(s.t, part(s.t, "net", "a", "net"), part(s.t, "app", "e", "app"), part(s.t, "db", "c", "db"))
		}, "net applied, and planned again it has changes"},
		{"what applied is planned no more", "gate", func(s *stopped) {
			s.plan.Side = side(s.t, part(s.t, "app", "e", "app"), part(s.t, "db", "c", "db"))
		}, "net applied, and is not planned any more"},
		{"an output that is read moved", "gate", func(s *stopped) { s.plan.Reads["app"][0].Hash = "other" }, "app reads net.cidr, which has another value"},
		{"an output that had no value has one", "gate", func(s *stopped) { s.record.PrApply.Reads["app"][0].Hash = "" }, "app reads net.cidr"},
		{"an output more is read", "gate", func(s *stopped) { s.plan.Reads["db"] = []Read{{From: "net", Output: "id"}} }, "db reads net.id"},
		{"an output less is read", "gate", func(s *stopped) { s.plan.Reads["app"] = nil }, "app reads other outputs"},
		{"a member left changes what nobody approved", "gate", func(s *stopped) {
			s.plan.Side = side(s.t, part(s.t, "net", "d"), part(s.t, "app", "e", "app", "new"), part(s.t, "db", "c", "db"))
		}, "app is not covered by what was approved: `x.new`: create was not in the approved plan"},
		{"a member left has another source", "gate", func(s *stopped) { s.plan.Sources["app"] = "other" }, "app is not covered"},
		{"a member left has no source on the ledger", "gate", func(s *stopped) { s.ledger.Document.Sources = nil }, "app is not covered"},
		{"a member left fails to plan", "gate", func(s *stopped) {
			failed := changeset.Part{Member: changeset.Member{Member: "app", Lexicon: "chant", Planner: "chant", Status: changeset.Failed, Error: "no", Holes: []changeset.Hole{}}}
			s.plan.Side = side(s.t, part(s.t, "net", "d"), failed, part(s.t, "db", "c", "db"))
		}, "app is not covered by what was approved: it failed to plan"},
		{"a hole that is left", "gate", func(s *stopped) {
			hole := part(s.t, "app", "b")
			hole.Member.Holes = []changeset.Hole{{Address: "net.cidr", Type: "input", Reason: "inputs from net"}}
			s.ledger.Document = side(s.t, part(s.t, "net", "a", "net"), hole, part(s.t, "db", "c", "db"))
			s.record.PrApply.Digest = s.ledger.Document.Doc.Digest
		}, "app is not covered"},
		{"a merge of what is left was revoked", "merges", func(s *stopped) { s.ledger.Merges[0].Revoked = true }, "the approval of #2, which covered what is still to apply"},
		{"a merge of what is left has another approved document", "merges", func(s *stopped) { s.ledger.Merges[0].Digest = hexDigest(s.t, "0") }, "the approval of #2"},
		{"the document of a merge of what is left was approved at another pull request", "merges", func(s *stopped) { s.ledger.Merges[0].PR = 3 }, "the approval of #2"},
		{"the document of a merge of what is left was approved at another op", "merges", func(s *stopped) { s.ledger.Merges[0].Op = "pr-2-web" }, "the approval of #2"},
		{"the document of a merge of what is left was approved at another gate", "merges", func(s *stopped) { s.ledger.Merges[0].Gate = "release" }, "the approval of #2"},
		{"a merge of what is left is not in the range", "merges", func(s *stopped) { s.ledger.Merges = s.ledger.Merges[1:] }, "the approval of #2"},
		{"a record that lists no merge of what is left", "merges", func(s *stopped) {
			s.record.PrApply.Merges = s.record.PrApply.Merges[:1]
			s.plan.Side = side(s.t, part(s.t, "net", "d"), part(s.t, "app", "e", "new"), part(s.t, "db", "c", "db"))
		}, "app is not covered by what was approved"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := stopAfterNet(t, tt.via)
			tt.change(s)
			if _, reason := s.decide(); !strings.Contains(reason, tt.why) || reason == "" {
				t.Errorf("%q, want %q", reason, tt.why)
			}
		})
	}
}

// Decision 13: only approvals of what is still to apply have to stand.
func TestAMergeWhoseMembersAllAppliedMayBeRevoked(t *testing.T) {
	t.Parallel()
	s := stopAfterNet(t, record.ViaMerges)
	s.ledger.Merges[1].Revoked = true
	if _, reason := s.decide(); reason != "" {
		t.Errorf("refused: %s", reason)
	}
}

// Decision 15: what is left and has nothing to apply any more needs no approval.
func TestAMemberLeftWithNothingToApplyNeedsNoApproval(t *testing.T) {
	t.Parallel()
	for _, via := range []string{record.ViaGate, record.ViaRelease} {
		s := stopAfterNet(t, record.ViaGate)
		s.record.PrApply.Via, s.ledger.Gates = via, map[string]cover.Side{"app": s.ledger.Document}
		s.plan.Side, s.plan.Nothing = side(t, part(t, "net", "d"), part(t, "app", "e"), part(t, "db", "c", "db")), map[string]bool{"app": true}
		s.plan.Sources["app"] = "other" // so that only an equal plan is covered
		covered, reason := s.record.Accept(s.plan, s.ledger)
		if i := slices.IndexFunc(covered.Members, func(v cover.Verdict) bool { return v.Member == "app" }); reason != "" || covered.Members[i].Status != cover.NothingToDo {
			t.Errorf("via %s: %q, %+v", via, reason, covered)
		}
	}
}

// Nor does the gate of a component that applied whole have to stand.
func TestAGateWhoseComponentAppliedMayHaveFallen(t *testing.T) {
	t.Parallel()
	s := stopAfterNet(t, record.ViaRelease)
	s.record.PrApply.Gates = []Gate{{Op: "net", Gate: "go-live", Digest: s.record.PrApply.Digest}}
	if _, reason := s.record.Accept(s.plan, s.ledger); reason != "" {
		t.Errorf("refused: %s", reason)
	}
}

func TestOnlyWhatCompletedCarriesOver(t *testing.T) {
	t.Parallel()
	s := stopAfterNet(t, record.ViaGate)
	s.record.Failed = []string{"app", "db", "net2"}
	// Of app only an output is left, which a plan shows in its digest alone.
	s.plan.Side = side(t, part(t, "net", "d"), part(t, "app", "e"), part(t, "db", "c", "db"))
	covered, reason := s.decide()
	for _, v := range covered.Members {
		if v.Member != "net" && v.Status != cover.Covered {
			t.Errorf("%s is %s", v.Member, v.Status)
		}
	}
	if reason != "" || s.record.Empty() || !(Record{}).Empty() {
		t.Errorf("refused: %s", reason)
	}
}
