package note

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/report"
)

func TestNotesReadAsRecorded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Input){
		"plan-waits": func(*Input) {},
		"plan-approved": func(in *Input) {
			in.Report.Approval = report.Approval{Status: report.Approved, ApprovedBy: []string{"github:alice"}}
		},
		"plan-one-of-two-approvals": func(in *Input) {
			in.Ask.MinApprovals = 2
			in.Report.Approval = report.Approval{Status: report.Approved, ApprovedBy: []string{"github:alice"}}
		},
		"plan-changed-after-review": func(in *Input) {
			in.Report.Approval = report.Approval{Status: report.Changed, Approved: new(digestOf(t, "51c0"))}
			old := *in.Report.ChangeSet
			old.Entries = append([]changeset.Entry(nil), old.Entries...)
			old.Entries[5].Action = changeset.Update
			in.Earlier = []Earlier{{Digest: digestOf(t, "51c0"), Head: strings.Repeat("9d", 20), At: in.At.Add(-3600e9), Document: &old},
				{Digest: digestOf(t, "77"), Head: strings.Repeat("8c", 20)}}
		},
		"plan-failed": func(in *Input) {
			in.Report.Status = report.PlanFailed
			in.Report.Members[2] = report.Member{Member: "data", Component: "data", Status: report.MemberPlanFailed,
				Error: "\x1b[31mError: Invalid reference\x1b[0m\n\n  on main.tf line 3:\n   3:   name = var.nmae\n\n/etc/passwd: no such file\npassword = \"hunter2\""}
		},
		"plan-conflict": func(in *Input) {
			in.Report.Status, in.Report.Members, in.Report.ChangeSet, in.Report.RunsCode = report.PlanFailed, nil, nil, nil
			in.Report.Digest, in.Report.Selection.Waves = digestOf(t, "00"), nil
			in.Report.Message = "the head does not merge into main: conflict in infra/net/main.tf"
		},
		"plan-nothing": func(in *Input) {
			in.Report.Status, in.Report.Members, in.Report.ChangeSet, in.Report.RunsCode = report.Nothing, nil, nil, nil
			in.Report.Selection.Waves, in.Report.Selection.Unclaimed = nil, []string{"infra/orphan"}
		},
		"plan-base-moved-and-trust-changed": func(in *Input) {
			in.BaseMoved = strings.Repeat("be", 20)
			in.TrustChanged = []string{"chant.workspace.json: x-bot.envs", ".chant/allowed_signers"}
			in.NotIsolated = true
			in.Warnings = []string{"status could not be written to acme/infra: 404"}
		},
		"plan-unenforced": func(in *Input) { in.Ask.Unenforced = []string{"identity.gates.pr-apply", "minApprovals"} },
		"plan-sealed-gate-in-a-member": func(in *Input) {
			in.Ask.Sealed, in.Report.Member, in.Marker = true, "network", "<!-- chant-pr:prod:network -->"
		},
	} {
		in := estate(t)
		change(&in)
		golden(t, name, Render(in, Limit(engine.GitHub)))
	}
}

func TestApplyNotesReadAsRecorded(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Input){
		"apply-waits-at-the-green-gate": func(*Input) {},
		"apply-all-applied": func(in *Input) {
			in.Report.Status, in.Report.Refusal = report.Applied, ""
			for i := range in.Report.Members {
				in.Report.Members[i].Status = report.MemberApplied
			}
		},
		"apply-failed-and-blocked": func(in *Input) {
			in.Report.Status, in.Report.Refusal = report.Failed, ""
			in.Report.Members[3].Status, in.Report.Members[3].Error = report.MemberFailed, "Error: creating subnet: InvalidSubnet.Conflict"
			in.Report.Members[1].Status, in.Report.Members[1].BlockedBy = report.MemberBlocked, "net"
			in.Report.Members[0].Status = report.MemberApplied
			in.Report.Resumed = &report.Resumed{Applied: []string{"access"}}
		},
		"apply-waits-at-a-round": func(in *Input) {
			in.Report.Status, in.Report.Refusal = report.Waiting, ""
			in.Report.Members[1].Status, in.Report.Members[1].BlockedBy = report.MemberHeld, "data"
			in.Report.Rounds = []report.Round{{Round: 2, Op: in.Report.Op, Gate: "pr-apply-round-2", Digest: digestOf(t, "abc1"), Status: report.WaveWaiting,
				Members: []report.RoundMember{{Member: "app", Reads: []report.Read{{From: "data", Output: "endpoint", Now: "db.example:5432"}}}}}}
		},
		"apply-waits-at-a-wave": func(in *Input) {
			in.Report.Status, in.Report.Refusal = report.Waiting, ""
			in.Report.Waves = []report.Wave{
				{Wave: 1, Op: in.Report.Op, Gate: "pr-apply", Components: []string{"access", "net"}, Digest: in.Report.Digest, Status: report.WaveApplied, Via: report.ViaMerges},
				{Wave: 2, Op: in.Report.Op, Gate: "release-wave-2", Components: []string{"data"}, Digest: digestOf(t, "abc2"), Status: report.WaveWaiting},
				{Wave: 3, Op: in.Report.Op, Gate: "release-wave-3", Components: []string{"app"}, Status: report.WaveNotStarted}}
		},
		"apply-plan-changed": func(in *Input) {
			in.Report.Refusal = report.PlanChanged
			in.Report.Approval = report.Approval{Status: report.Changed, Approved: new(digestOf(t, "d181"))}
			in.Report.Message = "The plan changed after review, so nothing was applied. approved: jcs1-sha256:d181...; planned now: jcs1-sha256:cef9.... Read the new plan, and if it is right, approve it: chant approve pr-2 pr-apply --plan jcs1-sha256:cef9...; then run the apply again."
		},
	} {
		in := greenApply(t)
		change(&in)
		golden(t, name, Render(in, Limit(engine.GitHub)))
	}
}

func TestAnswersReadAsRecorded(t *testing.T) {
	t.Parallel()
	in := estate(t)
	golden(t, "explain", Explain(in, ""))
	golden(t, "explain-member", Explain(in, "data"))
	golden(t, "explain-unknown-member", Explain(in, "nope`@x"))
	golden(t, "help", Help("chant-app"))
	golden(t, "act-now", ActNow(in, "org/platform", "https://forge.example/acme/infra/pull/12#issuecomment-1"))
	golden(t, "short", Short(in, 65536))
	golden(t, "explain-not-green", NotGreen("4053a471dcec4955540d7df18b70a80ebcb37b66", green.Waits{
		Failed: []string{"lint"}, Running: []string{"ci / build (push)"}, Missing: []string{"unit"}, Others: []string{"unit (push)", "`x` @alice"},
	}))
}

// manyDestroys is a plan whose names alone are far longer than a note.
func manyDestroys(t testing.TB, n int) Input {
	t.Helper()
	in := estate(t)
	doc := *in.Report.ChangeSet
	for i := range n {
		doc.Entries = append(doc.Entries, changeset.Entry{Member: "data", Address: fmt.Sprintf("aws_db_instance.shard[%d]", i), Action: changeset.Delete})
	}
	in.Report.ChangeSet = &doc
	return in
}

func TestTheNoteFitsWhateverThePlan(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1500, 10_000} {
		in := manyDestroys(t, n)
		for _, limit := range []int{400, 12_000, 65_536} {
			got := Render(in, limit)
			if length(got) > limit {
				t.Errorf("%d destroys, limit %d: %d code points", n, limit, length(got))
			}
			if !strings.HasPrefix(got, in.Marker+"\n") {
				t.Errorf("%d destroys, limit %d: marker is not first", n, limit)
			}
			if !strings.Contains(got, "\nchant approve pr-12 pr-apply --plan "+in.Report.Digest.String()+"\n") {
				t.Errorf("%d destroys, limit %d: approve line is lost", n, limit)
			}
		}
	}
}

func TestNamesThatDoNotFitAreCountedAndSmallKindsStayWhole(t *testing.T) {
	t.Parallel()
	got := Render(manyDestroys(t, 10_000), 65_536)
	for _, want := range []string{"**10002 to destroy, 1 to replace**", "`aws_subnet.b`", "`aws_eip.old`", "`null_resource.sync`", "more to destroy**, by name on the [run page]"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing", want)
		}
	}
	listed := strings.Count(got, "`aws_db_instance.shard[")
	if listed < 1500 {
		t.Errorf("only %d names listed", listed)
	}
	if want := fmt.Sprintf("**and %d more to destroy**", 10_002-listed-2); !strings.Contains(got, want) && !strings.Contains(got, fmt.Sprintf("**and %d more to destroy**", 10_002-listed)) {
		t.Errorf("%d listed, and the rest is counted wrong", listed)
	}
}

func TestEveryDestroyIsNamedWhileNamesFit(t *testing.T) {
	t.Parallel()
	in := manyDestroys(t, 1500)
	got := Render(in, 65_536)
	for i := range 1500 {
		if !strings.Contains(got, fmt.Sprintf("`aws_db_instance.shard[%d]`", i)) {
			t.Fatalf("destroy %d is not named", i)
		}
	}
}

func TestBlocksAreLeftOutFromTheEndAndCounted(t *testing.T) {
	t.Parallel()
	in := estate(t)
	doc := *in.Report.ChangeSet
	for i := range 400 {
		doc.Entries = append(doc.Entries, changeset.Entry{Member: "net", Address: fmt.Sprintf("aws_route.r%d", i), Action: changeset.Update,
			Attributes: []changeset.Attribute{{Path: "description", Before: str(strings.Repeat("a", 200)), After: str(strings.Repeat("b", 200))}}})
	}
	in.Report.ChangeSet = &doc
	in.Earlier = []Earlier{{Digest: digestOf(t, "51"), Head: strings.Repeat("9d", 20)}}
	got := Render(in, 65_536)
	if !strings.Contains(got, "attribute details, 1 earlier plan; all of it is on the [run page](https://chant.example/r/812).") {
		t.Errorf("what was left out is not counted:\n%s", got[len(got)-400:])
	}
	if length(got) > 65_536 || length(got) < 60_000 {
		t.Errorf("%d code points", length(got))
	}
	if strings.Count(got, "<details>") != strings.Count(got, "</details>") {
		t.Error("a fold is left open")
	}
}

// stategraph/stategraph#493: the budget is in code points, not bytes.
func TestTheBudgetCountsCodePoints(t *testing.T) {
	t.Parallel()
	in := estate(t)
	doc := *in.Report.ChangeSet
	for i := range 900 {
		doc.Entries = append(doc.Entries, changeset.Entry{Member: "net", Address: fmt.Sprintf("aws_route.%s%d", strings.Repeat("路", 30), i), Action: changeset.Delete})
	}
	in.Report.ChangeSet = &doc
	got := Render(in, 65_536)
	if n := length(got); n > 65_536 || n < 40_000 || len(got) < 65_536 {
		t.Errorf("%d code points, %d bytes", n, len(got))
	}
}
