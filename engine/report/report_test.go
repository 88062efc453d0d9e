package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/run"
)

func plan(t *testing.T, hex string) digest.Digest {
	t.Helper()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat(hex, 64))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func document(t *testing.T) *changeset.Document {
	t.Helper()
	d := plan(t, "a")
	entries := []changeset.Entry{{Member: "net", Lexicon: "terraform", Planner: "terraform", Address: "a.r", Type: "a", Action: changeset.Read}}
	for i, action := range []changeset.Action{changeset.Create, changeset.Update, changeset.Update, changeset.Replace, changeset.Delete, changeset.NoOp, changeset.Forget} {
		entries = append(entries, changeset.Entry{Member: "net", Lexicon: "terraform", Planner: "terraform", Address: "a." + string(rune('a'+i)), Type: "a", Action: action})
	}
	doc, err := changeset.Compose([]changeset.Part{
		{Member: changeset.Member{Member: "net", Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned, PlanDigest: &d}, Entries: entries},
		{Member: changeset.Member{Member: "app", Lexicon: "chant", Planner: "chant", Status: changeset.Failed, Error: "init failed <&>"}},
	}, "")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func full(t *testing.T) Report {
	t.Helper()
	r, err := New(Apply, document(t), map[string]string{"net": "network", "app": "app"})
	if err != nil {
		t.Fatal(err)
	}
	pr, approved := 12, plan(t, "c")
	r.PR, r.Env, r.Member, r.Base, r.Head, r.Op, r.Gate = &pr, "prod", "estate", strings.Repeat("1", 40), strings.Repeat("2", 40), "pr-12", "pr-apply"
	r.Status, r.Refusal, r.Message = Refused, PlanChanged, "The plan changed"
	r.Approval = Approval{Status: Changed, Approved: &approved}
	r.Selection = graph.Selection{Changed: []string{"network"}, Dependents: []string{"app"}, Unclaimed: []string{}, Indeterminate: []string{}, Waves: [][]string{{"network"}, {"app"}}}
	r.Members[0].UnknownInputs = []UnknownInput{{From: "network", Output: "cidr"}}
	r.Resumed = &Resumed{Applied: []string{"network"}}
	r.Green = &Green{
		Commit: r.Head, Base: r.Base, Approve: "chant approve …",
		Merges: []Merge{{Commit: r.Head, PR: &pr, Approved: &approved, ApprovedBy: []string{"github:alice"}}, {Commit: r.Base}},
		Cover:  []Cover{{Member: "net", Status: Covered, By: &CoverBy{PR: 12, Digest: approved}}, {Member: "app", Status: Uncovered, Reason: "it failed to plan"}},
	}
	r.Waves = []Wave{{Wave: 2, Op: "green-1", Gate: "release-wave-2", Components: []string{"app"}, Digest: approved, Status: WaveWaiting, Approve: "x"}}
	r.Rounds = []Round{{Round: 2, Op: "green-1", Gate: "pr-apply-round-2", Members: []RoundMember{{Member: "app", Reads: []Read{{From: "network", Output: "cidr", Planned: "a", Now: "b"}}}}, Digest: approved, Status: WaveWaiting}}
	r.Groups = []Group{{Group: "g1", Wave: 1, Capability: "terraform-apply", Members: []string{"net"}, Digest: approved, Outcome: []Outcome{{Member: "net", Status: OutcomePartial}}}}
	r.Fallbacks = []Fallback{{Component: "app", Kind: FallbackReads, Reason: "r"}}
	r.RunsCode = map[string]RunsCode{"net": {Provisioners: []Provisioner{{Address: "a.x", Type: "local-exec"}}, External: []string{"data.external.x"}, BackendChanged: true}}
	return r
}

func TestNewCountsPerMember(t *testing.T) {
	t.Parallel()
	d := plan(t, "a")
	want := []Member{
		{Member: "app", Component: "app", Status: MemberPlanFailed, Error: "init failed <&>"},
		{Member: "net", Component: "network", PlanDigest: &d, Status: MemberPlanned, Counts: Counts{Create: 1, Update: 2, Replace: 1, Delete: 1}},
	}
	r, err := New(Plan, document(t), map[string]string{"net": "network", "app": "app"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, r.Members, exact); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if r.Digest != r.ChangeSet.Digest || r.Approval.Status != Pending {
		t.Errorf("digest %s, approval %s", r.Digest, r.Approval.Status)
	}
}

func TestAReportBeforeAnythingPlannedHoldsAnEmptyChangeSet(t *testing.T) {
	t.Parallel()
	r, err := New(Plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Digest.IsZero() || len(r.Members) != 0 || !r.ChangeSet.Verify() {
		t.Errorf("digest %q, members %v", r.Digest, r.Members)
	}
}

var exact = cmp.Options{cmp.Comparer(func(a, b digest.Digest) bool { return a == b }), cmp.Comparer(digest.Equal)}

func TestReportSurvivesItsJSON(t *testing.T) {
	t.Parallel()
	want := full(t)
	data, err := want.JSON()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, exact); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	if !got.ChangeSet.Verify() {
		t.Error("the change set no longer verifies")
	}
	text := string(data)
	if !strings.HasPrefix(text, "{\n  \"$schema\": \"https://intentius.io/chant/schemas/workspace/pr-report/v1/pr-report.schema.json\",\n  \"contract\": 1,\n  \"stage\": \"apply\",\n  \"pr\": 12,\n") ||
		!strings.HasSuffix(text, "}\n") || strings.Contains(text, `\u003c`) {
		t.Errorf("not 2 spaces, a final LF and plain text:\n%.300s", text)
	}
}

func TestListsAreNeverNull(t *testing.T) {
	t.Parallel()
	r, err := New(Plan, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Status, r.Members, r.Green = Nothing, nil, &Green{}
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	v, err := digest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{
		{"members"}, {"selection", "changed"}, {"selection", "dependents"}, {"selection", "unclaimed"}, {"selection", "indeterminate"},
		{"selection", "waves"}, {"green", "merges"}, {"green", "cover"}, {"changeSet", "members"}, {"changeSet", "entries"},
	} {
		at := v
		for _, key := range path {
			at = at.Get(key)
		}
		if at.Kind() != digest.Array {
			t.Errorf("%v is %s", path, at.Kind())
		}
	}
	if pr := v.Get("pr"); pr.IsAbsent() || !pr.IsNull() {
		t.Error("pr is null when there is none")
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	data, err := full(t).JSON()
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, old, new, says string }{
		{"another contract", `"contract": 1`, `"contract": 2`, "contract"},
		{"another schema", "pr-report/v1", "pr-report/v2", "$schema"},
		{"no stage", `"stage"`, `"stages"`, "stage"},
		{"a stage of no meaning", `"stage": "apply"`, `"stage": "destroy"`, "stage"},
		{"a status of no meaning", `"status": "refused"`, `"status": "great"`, "status"},
		{"a refusal of no meaning", `"refusal": "plan-changed"`, `"refusal": "mood"`, "refusal"},
		{"a refusal without a refused status", `"status": "refused"`, `"status": "applied"`, "refusal"},
		{"a refused status without a refusal", `"refusal": "plan-changed",`, ``, "refusal"},
		{"an approval of no meaning", `"status": "changed"`, `"status": "sure"`, "approval.status"},
		{"no change set", `"changeSet"`, `"changes"`, "changeSet"},
		{"a change set of another contract", `change-set/v1`, `change-set/v9`, "changeSet"},
		{"a digest that is none", `"digest": "jcs1-sha256:`, `"digest": "md5:`, "digest"},
		{"text behind it", "}\n", "}\n}", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			broken := strings.Replace(string(data), tt.old, tt.new, 1)
			if tt.old == "}\n" {
				broken = string(data) + "}"
			}
			if broken == string(data) {
				t.Fatalf("the report does not hold %q", tt.old)
			}
			if _, err := Parse([]byte(broken)); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("parsed with %v, want an error with %q", err, tt.says)
			}
		})
	}
	older := strings.Replace(string(data), "{", `{"later": 1,`, 1)
	if _, err := Parse([]byte(older)); err != nil {
		t.Errorf("a field of a later version: %v", err)
	}
}

// pr-loop §5.7.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	failed, moved := Member{Status: MemberFailed}, Member{Status: MemberFailed, Moved: true}
	tests := []struct {
		name   string
		report Report
		want   int
	}{
		{"planned", Report{Status: Planned}, 0},
		{"nothing", Report{Status: Nothing}, 0},
		{"applied", Report{Status: Applied}, 0},
		{"plan failed", Report{Status: PlanFailed}, 1},
		{"refused", Report{Status: Refused, Refusal: NotApproved}, 3},
		{"a plan that changed", Report{Status: Refused, Refusal: PlanChanged}, 3},
		{"not green", Report{Status: Refused, Refusal: NotGreen}, 3},
		{"waiting at a round", Report{Status: Waiting}, 3},
		{"a member failed", Report{Status: Failed, Members: []Member{{Status: MemberApplied}, failed}}, 1},
		{"a target moved", Report{Status: Failed, Members: []Member{{Status: MemberApplied}, moved, {Status: MemberBlocked}}}, 3},
		{"a target moved and another member failed", Report{Status: Failed, Members: []Member{moved, failed}}, 1},
		{"failed without a failed member", Report{Status: Failed}, 1},
		{"a status of no meaning", Report{}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.report.ExitCode(); got != tt.want {
				t.Errorf("exit %d, want %d", got, tt.want)
			}
		})
	}
}

func TestTakeWritesHowAnApplyStands(t *testing.T) {
	t.Parallel()
	var units []run.Unit
	rows := []Member{}
	for _, c := range []string{"a", "b", "c", "d", "e", "f"} {
		units = append(units, run.Unit{Member: c, Component: c})
		rows = append(rows, Member{Member: c, Component: c, Status: MemberPlanned})
	}
	rows = append(rows, Member{Member: "g", Component: "g", Status: MemberPlanned})
	s, err := run.New(run.Config{Waves: [][]string{{"a", "b", "c", "d"}, {"e", "f"}}, DependsOn: map[string][]string{"e": {"c"}}, Units: units})
	if err != nil {
		t.Fatal(err)
	}
	for member, o := range map[string]run.Outcome{"a": {}, "b": {NoChanges: true}, "c": {Moved: true, Error: "moved"}} {
		if err := s.Start(member); err != nil {
			t.Fatal(err)
		}
		if err := s.Settle(member, o); err != nil {
			t.Fatal(err)
		}
	}
	r := Report{Members: rows}
	r.Take(run.Passes{&s})
	if r.Status != "" {
		t.Errorf("status %q of an apply that goes on", r.Status)
	}
	if err := s.Hold("d", nil); err != nil {
		t.Fatal(err)
	}
	s.Halt("the approval was revoked")
	r.Take(run.Passes{&s})
	want := []Member{
		{Member: "a", Component: "a", Status: MemberApplied},
		{Member: "b", Component: "b", Status: MemberApplied},
		{Member: "c", Component: "c", Status: MemberFailed, Error: "moved", Moved: true},
		{Member: "d", Component: "d", Status: MemberHeld},
		{Member: "e", Component: "e", Status: MemberBlocked, BlockedBy: "c"},
		{Member: "f", Component: "f", Status: MemberBlocked, Error: "the approval was revoked"},
		{Member: "g", Component: "g", Status: MemberPlanned},
	}
	if diff := cmp.Diff(want, r.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if r.Status != Failed || r.ExitCode() != 3 {
		t.Errorf("status %s, exit %d; the only failure is a moved target", r.Status, r.ExitCode())
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	then, now := plan(t, "d"), plan(t, "c")
	const hexC = "cccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccccc"
	const hexD = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd"
	uncovered := cover.Report{Members: []cover.Verdict{{Member: "net", Status: cover.Covered}, {Member: "dns", Status: cover.NothingToDo}, {Member: "app", Status: cover.Uncovered, Reason: "`cidr` moved"}}}
	for _, tt := range []struct{ got, want string }{
		{PlanChangedMessage("pr-2", "pr-apply", then, now, true), "The plan changed after review, so nothing was applied. approved: jcs1-sha256:" + hexD + "; planned now: jcs1-sha256:" + hexC +
			". Read the new plan, and if it is right, approve it: chant approve pr-2 pr-apply --plan jcs1-sha256:" + hexC + " --approver <you> --sign; then run the apply again."},
		{CommandLine("pr-2", "pr-apply", now, "github:alice", false), "chant approve pr-2 pr-apply --plan jcs1-sha256:" + hexC + " --approver github:alice"},
		{NotCoveredMessage("green-1a2b3c4d5e6f", "pr-apply", now, uncovered, false), "1 of 2 members with changes are not covered by the approvals of the merges, so nothing was applied. app: `cidr` moved. " +
			"Read the plan, and if it is right, approve all of it: chant approve green-1a2b3c4d5e6f pr-apply --plan jcs1-sha256:" + hexC + " --approver <you>; then run the apply again."},
		{NotAReviewerMessage([]gate.Refusal{{Reason: "github:bob wrote part of the change"}, {Reason: "github:carol approved as an agent; a person has to"}, {Reason: "github:bob wrote part of the change"}}),
			"The plan is approved, and no approval counts, so nothing was applied: github:bob wrote part of the change; github:carol approved as an agent; a person has to" +
				". Somebody whose approval counts has to approve the same plan."},
		{NotGreenMessage("1a2b", "ci/revoked/1a2b exists"), "1a2b is not green, so nothing was applied: ci/revoked/1a2b exists."},
	} {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("message (-want +got):\n%s", diff)
		}
	}
	if got := PlanChangedMessage("pr-2", "pr-apply", digest.Digest{}, now, false); !strings.Contains(got, "approved: (none") {
		t.Errorf("an approval without a plan: %s", got)
	}
}
