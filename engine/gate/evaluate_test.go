package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

// Each row is a file and what the gate says to plan "a" about it.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	a, b, none := plan(t, "a"), plan(t, "b"), digest.Digest{}
	bare, err := digest.Parse("sha256:" + strings.Repeat("a", 64))
	if err != nil {
		t.Fatal(err)
	}
	alice := approvalAt(10, a, "github:alice")
	tests := []struct {
		name     string
		lines    []Record
		query    func(*Query)
		want     []string // approvedBy, nil when not satisfied
		mismatch string   // resolvedBy of the mismatch
		pending  bool     // NeedsPending
		refused  string   // part of the first refusal's reason
	}{
		{name: "an empty ledger approves nothing", pending: true},
		{name: "an approval opens its plan", lines: []Record{pendingAt(0, a), alice}, want: []string{"github:alice"}},
		{name: "an approval may precede any pending fact", lines: []Record{alice}, want: []string{"github:alice"}},
		{name: "an approval of an older digest opens nothing", lines: []Record{pendingAt(0, b), approvalAt(10, b, "github:alice")}, mismatch: "github:alice", pending: true},
		{name: "an approval without a plan opens nothing and is a mismatch", lines: []Record{approvalAt(10, none, "github:alice")}, mismatch: "github:alice", pending: true},
		{name: "an approval of text that is no digest opens nothing", lines: []Record{with(alice, func(r *Record) { r.PlanDigest, r.OtherDigest = none, strings.Repeat("a", 12) })}, mismatch: "github:alice", pending: true},
		{name: "digests compare by their hex whatever the prefix", lines: []Record{approvalAt(10, bare, "github:alice")}, want: []string{"github:alice"}},
		{name: "a newer pending fact voids an approval of the same digest", lines: []Record{pendingAt(0, a), alice, pendingAt(20, a)}},
		{name: "going back to the old plan needs a new approval", lines: []Record{alice, pendingAt(20, b)}, pending: true},
		{name: "an approval after the newest pending fact counts", lines: []Record{alice, pendingAt(20, b), approvalAt(30, a, "github:carol")}, want: []string{"github:carol"}},
		{name: "an expired pending fact still voids", lines: []Record{alice, revokeAt(20)}, pending: true},
		{name: "an expired pending fact is recorded again", lines: []Record{with(pendingAt(0, a), func(r *Record) { r.ExpiresAt = at(60) })}, pending: true},
		{name: "an unexpired pending fact of the plan is left alone", lines: []Record{pendingAt(0, a)}},
		{name: "an approval does not expire", lines: []Record{with(pendingAt(0, a), func(r *Record) { r.ExpiresAt = at(60) }), alice}, want: []string{"github:alice"}},
		{name: "of several approvals only the newest is named", lines: []Record{alice, approvalAt(20, a, "github:carol")}, want: []string{"github:carol"}},
		{name: "an approval of another op opens nothing", lines: []Record{with(alice, func(r *Record) { r.Op = "pr-13" })}, pending: true},
		{name: "an approval of another gate opens nothing", lines: []Record{with(alice, func(r *Record) { r.Gate = "pr-apply-round-2" })}, pending: true},
		{name: "a pending fact of another gate voids nothing", lines: []Record{alice, with(pendingAt(20, b), func(r *Record) { r.Gate = "release" })}, want: []string{"github:alice"}},
		{name: "an agent's approval opens nothing", lines: []Record{with(alice, func(r *Record) { r.Approver = &Approver{Kind: "agent"} })}, refused: "a person has to", pending: true},
		{name: "an approval over a model's channel is an agent's", lines: []Record{with(alice, func(r *Record) { r.Approver, r.Origin = nil, "mcp" })}, refused: "a person has to", pending: true},
		{name: "an approval by nobody opens nothing", lines: []Record{with(alice, func(r *Record) { r.ResolvedBy = "" })}, refused: "names nobody", pending: true},
		{name: "an excluded approver does not count, with the reason", lines: []Record{alice}, query: func(q *Query) { q.Exclude = func(Record) string { return "wrote the change" } }, refused: "wrote the change", pending: true},
		{name: "an older approval counts when the newest is excluded", lines: []Record{approvalAt(5, a, "github:carol"), alice}, query: excluding("github:alice"), want: []string{"github:carol"}, refused: "excluded"},
		{name: "an excluded approval of another plan is no mismatch", lines: []Record{approvalAt(5, b, "github:alice")}, query: excluding("github:alice"), pending: true},
		{name: "a query without a digest is opened by nothing", lines: []Record{alice, approvalAt(20, none, "github:carol")}, query: func(q *Query) { q.Digest = none }, mismatch: "github:carol", pending: true},
		{name: "a gate that binds no plan is opened by the newest approval", lines: []Record{alice, approvalAt(20, b, "github:carol")}, query: func(q *Query) { q.Digest, q.AnyPlan = none, true }, want: []string{"github:carol"}},
		{name: "a pending fact for text that is no digest does not stand for no plan", lines: []Record{with(pendingAt(0, none), func(r *Record) { r.OtherDigest = "sha256:short" })}, query: func(q *Query) { q.Digest, q.AnyPlan = none, true }, pending: true},
		{name: "a stamp that is no time never counts as an approval", lines: []Record{with(alice, func(r *Record) { r.Timestamp = "yesterday" })}, pending: true},
		{name: "a pending fact whose stamp is no time voids what stands above it", lines: []Record{alice, with(pendingAt(20, b), func(r *Record) { r.Timestamp = "soon" })}, pending: true},
		{name: "a kind this version does not know voids and never approves", lines: []Record{alice, with(approvalAt(20, a, "github:carol"), func(r *Record) { r.Kind = "withdrawal" })}, pending: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			q := ask(a)
			if tt.query != nil {
				tt.query(&q)
			}
			d := Evaluate(tt.lines, q)
			if d.Satisfied != (tt.want != nil) || !cmp.Equal(d.ApprovedBy, tt.want) {
				t.Errorf("satisfied %v by %v, want %v", d.Satisfied, d.ApprovedBy, tt.want)
			}
			var mismatch string
			if d.Mismatch != nil {
				mismatch = d.Mismatch.ResolvedBy
			}
			if mismatch != tt.mismatch {
				t.Errorf("mismatch by %q, want %q", mismatch, tt.mismatch)
			}
			if d.NeedsPending != tt.pending {
				t.Errorf("NeedsPending %v, want %v", d.NeedsPending, tt.pending)
			}
			var reason string
			if len(d.Refusals) > 0 {
				reason = d.Refusals[0].Reason
			}
			if (reason == "") != (tt.refused == "") || !strings.Contains(reason, tt.refused) {
				t.Errorf("first refusal %q, want one with %q", reason, tt.refused)
			}
		})
	}
}

func excluding(who string) func(*Query) {
	return func(q *Query) {
		q.Exclude = func(r Record) string {
			if r.ResolvedBy == who {
				return "excluded"
			}
			return ""
		}
	}
}

// soundness: staging and prod plan alike; approving one approves the other.
func TestStagingAndProdPlanAlike(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	staging := with(approvalAt(10, a, "github:alice"), func(r *Record) { r.Environment = "staging" })
	nowhere := with(approvalAt(10, a, "github:alice"), func(r *Record) { r.Environment = "" })
	if Evaluate([]Record{staging}, ask(a)).Satisfied {
		t.Error("an approval of staging opened prod")
	}
	if Evaluate([]Record{nowhere}, ask(a)).Satisfied {
		t.Error("an approval that names no environment opened prod, though another environment can have the gate")
	}
	q := ask(a)
	q.OnlyEnv = true
	if !Evaluate([]Record{nowhere}, q).Satisfied {
		t.Error("where prod alone can have the gate, an approval that names no environment counts")
	}
	if Evaluate([]Record{staging}, q).Satisfied {
		t.Error("an approval of staging opened prod, the only environment configured now")
	}
	voidsAll := with(revokeAt(20), func(r *Record) { r.Environment = "" })
	if Evaluate([]Record{approvalAt(10, a, "github:alice"), voidsAll}, ask(a)).Satisfied {
		t.Error("a pending fact that names no environment must void in every one")
	}
	elsewhere := with(revokeAt(20), func(r *Record) { r.Environment = "staging" })
	if !Evaluate([]Record{approvalAt(10, a, "github:alice"), elsewhere}, ask(a)).Satisfied {
		t.Error("a revocation in staging must not touch prod")
	}
}

// soundness: revoke and approve within one millisecond.
func TestRevokeAndApproveWithinOneMillisecond(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	if Evaluate([]Record{approvalAt(10, a, "github:alice"), revokeAt(10)}, ask(a)).Satisfied {
		t.Error("the approval stands above the revocation of the same millisecond and must not count")
	}
	if !Evaluate([]Record{revokeAt(10), approvalAt(10, a, "github:alice")}, ask(a)).Satisfied {
		t.Error("the approval stands below the revocation of the same millisecond and counts (timestamp >= since)")
	}
}

// soundness: an approval stamped by a fast clock survives a revoke, one by a
// slow clock is ignored.
func TestApprovalStampedByFastOrSlowClock(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	fast := approvalAt(3600, a, "github:alice")
	if Evaluate([]Record{fast, revokeAt(20)}, ask(a)).Satisfied {
		t.Error("an approval an hour ahead must not survive the revocation written after it")
	}
	slow := approvalAt(-3600, a, "github:alice")
	if Evaluate([]Record{revokeAt(20), slow}, ask(a)).Satisfied {
		t.Error("a stamp before the revocation must not count: the act may have come before it")
	}
	if Evaluate([]Record{revokeAt(3600), revokeAt(20), approvalAt(30, a, "github:alice")}, ask(a)).Satisfied {
		t.Error("an approval must be stamped after every pending fact, also one by a fast clock")
	}
	// A writer of ours stamps after the newest line, so its approval counts.
	r, err := NewResolution(Approval{Act: Act{Op: op, Gate: gt, Env: prod, By: "github:alice"}, Digest: a}, []Record{revokeAt(60)}, t0)
	if err != nil {
		t.Fatal(err)
	}
	if !Evaluate([]Record{revokeAt(60), r}, ask(a)).Satisfied {
		t.Error("an approval written by the rule of Stamp must count despite a clock that is behind")
	}
}

// A revocation of a command line carries no time of the forge's. On the ledger the
// order of the lines decides, whatever the stamps say (soundness I3).
func TestARevocationOfACommandLineVoidsWhateverStandsAboveIt(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	forge := func(seconds int) Record {
		return with(approvalAt(seconds, a, "github:alice"), func(r *Record) { r.Origin, r.URL = "forge", "https://example.org/c/1" })
	}
	tests := []struct {
		name  string
		above []Record
		clock int // of the command line, in seconds
		below func(above []Record) []Record
		open  bool
	}{
		{name: "its clock is right", above: []Record{forge(10)}, clock: 20},
		{name: "its clock is an hour behind", above: []Record{forge(10)}, clock: -3600},
		{name: "its clock is an hour ahead", above: []Record{forge(10)}, clock: 3600},
		{name: "the approval is of the same millisecond", above: []Record{forge(10)}, clock: 10},
		{name: "the approval is stamped an hour ahead", above: []Record{forge(3600)}, clock: 0},
		{name: "the approval is stamped by no time", above: []Record{with(forge(10), func(r *Record) { r.Timestamp = "?" })}, clock: 0},
		{name: "several stand above", above: []Record{forge(3600), pendingAt(5, a), forge(10)}, clock: -3600},
		{name: "the same line comes again below", above: []Record{forge(10)}, clock: -3600, below: func(above []Record) []Record { return above }},
		{name: "a line by the slow clock comes below", above: []Record{forge(10)}, clock: 20, below: func([]Record) []Record { return []Record{forge(19)} }},
		{name: "an approval written after it counts", above: []Record{forge(10)}, clock: 20, below: func([]Record) []Record { return []Record{forge(21)} }, open: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			revoked, err := NewRevocation(Act{Op: op, Gate: gt, Env: prod, By: "github:bob", Origin: "cli"}, tt.above, t0.Add(time.Duration(tt.clock)*time.Second))
			if err != nil {
				t.Fatal(err)
			}
			lines := append(slices.Clone(tt.above), revoked)
			if tt.below != nil {
				lines = append(lines, tt.below(tt.above)...)
			}
			if got := Evaluate(lines, ask(a)).Satisfied; got != tt.open {
				t.Errorf("open %v, want %v: %+v", got, tt.open, lines)
			}
		})
	}
}

func TestUnenforcedSettingsKeepTheGateShut(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	q := ask(a)
	q.Refuse = []string{"identity.gates.pr-apply"}
	d := Evaluate([]Record{pendingAt(0, a), approvalAt(10, a, "github:alice")}, q)
	if d.Satisfied || !cmp.Equal(d.Unenforced, q.Refuse) {
		t.Errorf("satisfied %v, unenforced %v; want shut and named", d.Satisfied, d.Unenforced)
	}
}

func TestApprovalBlockKeepsTheGateShutAndIsNotReplaced(t *testing.T) {
	t.Parallel()
	a := plan(t, "a")
	quorum := digest.ObjectOf(map[string]digest.Value{"mode": digest.StringOf("enforce")})
	block := with(pendingAt(0, plan(t, "b")), func(r *Record) { r.Approval = quorum })
	d := Evaluate([]Record{block, approvalAt(10, a, "github:alice")}, ask(a))
	if d.Satisfied || d.NeedsPending || len(d.Unenforced) != 1 {
		t.Errorf("satisfied %v, needs pending %v, unenforced %v; want shut, not replaced, named", d.Satisfied, d.NeedsPending, d.Unenforced)
	}
	revoked, err := NewRevocation(Act{Op: op, Gate: gt, Env: prod, By: "github:bob"}, []Record{block}, t0)
	if err != nil {
		t.Fatal(err)
	}
	if Evaluate([]Record{block, revoked, approvalAt(50, a, "github:alice")}, ask(a)).Satisfied {
		t.Error("a revocation must not take the quorum away")
	}
}

func TestWaitingListsWhatStandsUnapproved(t *testing.T) {
	t.Parallel()
	a, b := plan(t, "a"), plan(t, "b")
	other := with(pendingAt(5, b), func(r *Record) { r.Gate = "pr-apply-round-2" })
	staging := with(pendingAt(6, b), func(r *Record) { r.Environment = "staging" })
	lines := []Record{pendingAt(0, b), pendingAt(1, a), other, staging, approvalAt(10, a, "github:alice"), revokeAt(11)}
	if diff := cmp.Diff([]Record{other, staging}, Waiting(lines, t0.Add(time.Minute)), digests); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Record{pendingAt(1, a)}, Waiting([]Record{pendingAt(0, b), pendingAt(1, a), approvalAt(10, b, "github:alice")}, t0.Add(time.Minute)), digests); diff != "" {
		t.Errorf("waiting (-want +got):\n%s", diff)
	}
	if got := Waiting([]Record{pendingAt(1, a), approvalAt(10, a, "github:alice")}, t0); got != nil {
		t.Errorf("an approved gate waits: %v", got)
	}
}

func TestAnApprovalOlderThanARevocationIsTold(t *testing.T) {
	t.Parallel()
	acted := func(seconds, act int) Record {
		return with(revokeAt(seconds), func(r *Record) { r.ActedAt = Timestamp(t0.Add(time.Duration(act) * time.Second)) })
	}
	other := with(revokeAt(0), func(r *Record) { r.Environment = "staging" })
	anywhere := with(revokeAt(0), func(r *Record) { r.Environment = "" })
	tests := []struct {
		name  string
		lines []Record
		act   int // seconds after t0
		older bool
	}{
		{"nothing was revoked", nil, 0, false},
		{"a pending fact revokes nothing", []Record{pendingAt(5, plan(t, "a"))}, 0, false},
		{"made before the stamp of a command line", []Record{revokeAt(5)}, 4, true},
		{"made in the second of the stamp", []Record{revokeAt(5)}, 5, true},
		{"made after the stamp of a command line whose clock may be an hour behind", []Record{revokeAt(5)}, 3605, true},
		{"made after the stamp, whatever the command line's clock was", []Record{revokeAt(5)}, 3606, false},
		{"a revocation by the forge's clock hides none of a command line", []Record{revokeAt(0), acted(1, 1)}, 60, true},
		{"by the forge's clock before, whatever the writer's clock said", []Record{acted(-3600, 5)}, 4, true},
		{"by the forge's clock after, whatever the writer's clock said", []Record{acted(3600, 5)}, 6, false},
		{"an older revocation written later hides no newer one", []Record{acted(0, 9), acted(1, 2)}, 5, true},
		{"of another environment", []Record{other}, -1, false},
		{"of every environment", []Record{anywhere}, -1, true},
		{"a time that can't be read is newer than anything", []Record{with(acted(0, 0), func(r *Record) { r.ActedAt = "?" })}, 99, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := RevokedSince(tt.lines, op, gt, prod, t0.Add(time.Duration(tt.act)*time.Second))
			if (got != nil) != tt.older {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestOneActRevokesOnce(t *testing.T) {
	t.Parallel()
	act := Act{Op: op, Gate: gt, Env: prod, By: "github:bob", URL: "https://example.org/c/1", At: t0}
	r, err := NewRevocation(act, nil, t0)
	if err != nil || r.ActedAt != Timestamp(t0) {
		t.Fatalf("%+v, %v", r, err)
	}
	again, err := ParseLine(r.Line())
	if err != nil || again.ActedAt != r.ActedAt {
		t.Errorf("read back: %+v, %v", again, err)
	}
	if lines := []Record{r, revokeAt(9)}; !Revoked(lines, act) {
		t.Error("the act is not known again behind a later one")
	}
	if act.URL = "https://example.org/c/2"; Revoked([]Record{r}, act) {
		t.Error("another act is taken for it")
	}
	if act.URL = ""; Revoked([]Record{r}, act) {
		t.Error("an act without an address is taken for another")
	}
}
