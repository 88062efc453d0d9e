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
			in.Report.Status, in.Again = report.PlanFailed, "Push what mends it, or comment `chant plan` to plan again."
			in.Report.Members[2] = report.Member{Member: "data", Component: "data", Status: report.MemberPlanFailed,
				Error: "\x1b[31mError: Invalid reference\x1b[0m\n\n  on main.tf line 3:\n   3:   name = var.nmae\n\n/etc/passwd: no such file\npassword = \"hunter2\""}
		},
		"plan-conflict": func(in *Input) {
			in.Report.Status, in.Report.Members, in.Report.ChangeSet, in.Report.RunsCode = report.PlanFailed, nil, nil, nil
			in.Report.Digest, in.Report.Selection.Waves = digestOf(t, "00"), nil
			in.Report.Message = "the head does not merge into main: conflict in infra/net/main.tf"
			in.Again, in.Report.Groups = "Push what mends it, or comment `chant plan "+strings.Repeat("9d", 20)+"` to plan again.", nil
		},
		"plan-only-a-hole": func(in *Input) {
			doc := *in.Report.ChangeSet
			doc.Members, doc.Entries = doc.Members[1:2], nil
			in.Report.ChangeSet, in.Report.Members, in.Report.RunsCode, in.Report.Groups = &doc, in.Report.Members[1:2], nil, nil
			in.Report.Selection.Waves = [][]string{{"app"}}
		},
		"plan-nothing": func(in *Input) {
			in.Report.Status, in.Report.Members, in.Report.ChangeSet, in.Report.RunsCode = report.Nothing, nil, nil, nil
			in.Report.Selection.Waves, in.Report.Selection.Unclaimed, in.Report.Groups = nil, []string{"infra/orphan"}, nil
		},
		"plan-base-moved-and-trust-changed": func(in *Input) {
			in.BaseMoved = strings.Repeat("be", 20)
			in.TrustChanged = []string{"chant.workspace.json: x-bot.envs", ".chant/allowed_signers"}
			in.NotIsolated = true
			in.Warnings = []string{"status could not be written to acme/infra: 404"}
		},
		"plan-unenforced": func(in *Input) { in.Ask.Unenforced = []string{"identity.gates.pr-apply", "minApprovals"} },
		"plan-nobody-can-approve-in-a-member": func(in *Input) {
			in.Ask.Approvers, in.Report.Member, in.Marker = []string{"github:dana", "github:lee"}, "network", "<!-- chant-pr:prod:network -->"
			in.Ask.Excluded = []string{"github:lee", "github:dana"}
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
		"apply-waits-at-a-round": func(in *Input) { inRound(t, in, report.WaveWaiting) },
		"apply-round-applied": func(in *Input) {
			inRound(t, in, report.WaveApplied)
			in.Report.Status, in.Report.Members[1].Status, in.Report.Members[1].BlockedBy = report.Applied, report.MemberApplied, ""
			in.Report.Rounds[0].ApprovedBy = []string{"github:bob"}
		},
		"apply-waits-at-a-wave": func(in *Input) {
			allCovered(in)
			in.Report.Status, in.Report.Refusal = report.Waiting, ""
			in.Report.Members[2].Status, in.Report.Members[1].Status = report.MemberHeld, report.MemberHeld
			gatedWaves(in)
			in.Report.Fallbacks = []report.Fallback{
				{Component: "data", Kind: report.FallbackWaveGate, Reason: "each wave has a gate of its own, release"},
				{Component: "net", Kind: report.FallbackWaveGate, Reason: "each wave has a gate of its own, release"}}
			in.Report.Waves = []report.Wave{
				{Wave: 1, Op: in.Report.Op, Gate: "pr-apply", Components: []string{"access", "net"}, Digest: in.Report.Digest, Status: report.WaveApplied, Via: report.ViaMerges, ApprovedBy: []string{"github:alice"}},
				{Wave: 2, Op: in.Report.Op, Gate: "release-wave-2", Components: []string{"data"}, Digest: digestOf(t, "abc2"), Status: report.WaveWaiting},
				{Wave: 3, Op: in.Report.Op, Gate: "release-wave-3", Components: []string{"app"}, Status: report.WaveNotStarted}}
			in.Asked = []Asked{{Gate: "release-wave-2", Document: only(in.Report.ChangeSet, "data")}}
		},
		"apply-waves-ended": func(in *Input) {
			allCovered(in)
			in.Report.Status, in.Report.Refusal = report.Failed, ""
			gatedWaves(in)
			in.Report.Members[3].Status, in.Report.Members[3].Error = report.MemberFailed, "Error: creating subnet: InvalidSubnet.Conflict"
			in.Report.Members[1].Status, in.Report.Members[1].BlockedBy = report.MemberBlocked, "net"
			in.Report.Waves = []report.Wave{
				{Wave: 1, Op: in.Report.Op, Gate: "pr-apply", Components: []string{"access", "net"}, Digest: in.Report.Digest, Status: report.WaveFailed, Via: report.ViaMerges, ApprovedBy: []string{"github:alice"}},
				{Wave: 2, Op: in.Report.Op, Gate: "release-wave-2", Components: []string{"data"}, Digest: digestOf(t, "abc2"), Status: report.WaveApplied, Via: report.ViaGate, ApprovedBy: []string{"github:bob"}},
				{Wave: 3, Op: in.Report.Op, Gate: "release-wave-3", Components: []string{"app"}, Status: report.WaveBlocked}}
		},
		"apply-group-failed-half-way": func(in *Input) {
			allCovered(in)
			in.Report.Status, in.Report.Refusal = report.Failed, ""
			in.Report.Members[2].Status, in.Report.Members[2].Error = report.MemberFailed, "Error: creating database: quota"
			in.Report.Members[1].Status, in.Report.Members[1].BlockedBy = report.MemberBlocked, "data"
			in.Report.Groups[0].Outcome = []report.Outcome{{Member: "net", Status: report.OutcomeApplied}, {Member: "data", Status: report.OutcomePartial}}
			in.Report.Fallbacks = []report.Fallback{{Component: "access", Kind: report.FallbackAlone, Reason: "nothing that it reads, or that reads it, can be planned together with it"}}
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

// inRound holds app back for a round; the rest applied.
func inRound(t *testing.T, in *Input, status report.WaveStatus) {
	t.Helper()
	allCovered(in)
	r := &in.Report
	r.Status, r.Refusal = report.Waiting, ""
	r.Green.Cover[1].Status, r.Green.Cover[1].By, r.Green.Cover[1].Reason = report.Uncovered, nil, "app waits for an input and needs its own approval"
	r.Members[1].Status = report.MemberHeld
	r.Rounds = []report.Round{{Round: 2, Op: r.Op, Gate: "pr-apply-round-2", Digest: digestOf(t, "abc1"), Status: status,
		Members: []report.RoundMember{{Member: "app", Reads: []report.Read{
			{From: "data", Output: "endpoint", Planned: `"db.example:5432"`, Now: `"db.example:6432"`}, {From: "data", Output: "password", Planned: "(sensitive)", Now: "(sensitive)"}}}}}}
	in.Asked = []Asked{{Gate: "pr-apply-round-2", RunsCode: map[string]report.RunsCode{"app": {External: []string{"data.external.version"}}},
		Document: &changeset.Document{Members: []changeset.Member{{Member: "app", Status: changeset.Planned}}, Entries: []changeset.Entry{
			{Member: "app", Address: "aws_ecs_service.app", Action: changeset.Replace, Attributes: []changeset.Attribute{
				{Path: "endpoint", Before: str("db.example:5432"), After: str("db.example:6432"), ForcesReplacement: true}}}}}}}
}

// allCovered is an apply of which the merge's approval covers everything that was
// planned, and everything applied.
func allCovered(in *Input) {
	r := &in.Report
	for i := range r.Members {
		r.Members[i].Status = report.MemberApplied
		r.Green.Cover[i] = report.Cover{Member: r.Members[i].Member, Status: report.Covered, By: &report.CoverBy{PR: 12, Digest: r.Digest}}
	}
}

// gatedWaves is the same estate without a group.
func gatedWaves(in *Input) {
	in.Report.Groups, in.Report.Selection.Waves = nil, [][]string{{"access", "net"}, {"data"}, {"app"}}
}

func only(doc *changeset.Document, member string) *changeset.Document {
	part := changeset.Document{Members: []changeset.Member{{Member: member, Status: changeset.Planned}}}
	for _, e := range doc.Entries {
		if e.Member == member {
			part.Entries = append(part.Entries, e)
		}
	}
	return &part
}

// Whoever approves a round has to see what its plan destroys and runs, and that
// alone is what its line approves; however little room there is.
func TestWhatARoundAsksForIsShownWhereItIsApproved(t *testing.T) {
	t.Parallel()
	in := greenApply(t)
	inRound(t, &in, report.WaveWaiting)
	for _, limit := range []int{600, 12_000, 65_536} {
		got := Render(in, limit)
		if line := "\nchant approve green-1a2b3c4d5e6f pr-apply-round-2 --plan " + digestOf(t, "abc1").String() + "\n"; !strings.Contains(got, line) || length(got) > limit {
			t.Errorf("limit %d: the line to approve is lost, or %d code points:\n%s", limit, length(got), got)
		}
		if limit < 12_000 {
			continue
		}
		for _, want := range []string{"- **replace** `aws_ecs_service.app` in `app` (`endpoint` forces it)", "- **runs code** `data.external.version` in `app`"} {
			if !strings.Contains(got, want) {
				t.Errorf("limit %d: %s is missing", limit, want)
			}
		}
	}
}

func TestAnswersReadAsRecorded(t *testing.T) {
	t.Parallel()
	in := estate(t)
	golden(t, "explain", Explain(in, ""))
	golden(t, "explain-member", Explain(in, "data"))
	golden(t, "explain-unknown-member", Explain(in, "nope`@x"))
	golden(t, "help", Help("chant-app"))
	golden(t, "approved", Approved("pr-12", "pr-apply", digestOf(t, "9b1f"), nil, 2)+
		Approved("pr-12", "pr-apply", digestOf(t, "9b1f"), []string{"app"}, 2)+Approved("pr-12", "pr-apply", digestOf(t, "9b1f"), []string{"app"}, 1))
	golden(t, "act-now", ActNow(in, "org/platform", "https://forge.example/acme/infra/pull/12#issuecomment-1"))
	round := greenApply(t)
	inRound(t, &round, report.WaveWaiting)
	golden(t, "act-now-at-a-round", ActNow(round, "org/platform", ""))
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

func TestAVeryLargeApplyInWavesRoundsAndGroupsKeepsItsLineToApprove(t *testing.T) {
	t.Parallel()
	in := greenApply(t)
	in.Report.ChangeSet = manyDestroys(t, 3000).Report.ChangeSet
	inRound(t, &in, report.WaveWaiting)
	in.Asked[0].Document = in.Report.ChangeSet
	r := &in.Report
	r.Green.Merges = nil
	for i := range 200 {
		name := fmt.Sprintf("component-%03d-%s", i, strings.Repeat("x", 60))
		r.Members = append(r.Members, report.Member{Member: name, Component: name, Status: report.MemberBlocked, BlockedBy: "net"})
		r.Groups = append(r.Groups, report.Group{Group: name, Wave: i, Members: []string{name, "app"}, Outcome: []report.Outcome{{Member: name, Status: report.OutcomePartial}}})
		r.Fallbacks = append(r.Fallbacks, report.Fallback{Component: name, Kind: report.FallbackReads, Reason: strings.Repeat("because ", 60)})
		r.Waves = append(r.Waves, report.Wave{Wave: i + 1, Gate: name, Components: []string{name}, Status: report.WaveBlocked})
		r.Rounds = append(r.Rounds, report.Round{Round: i + 3, Gate: name, Status: report.WaveApplied, Members: []report.RoundMember{{Member: name, Reads: []report.Read{
			{From: name, Output: name, Planned: strings.Repeat("p", 500), Now: strings.Repeat("n", 500)}}}}})
	}
	got := Render(in, 65_536)
	if length(got) > 65_536 || !strings.Contains(got, "\nchant approve green-1a2b3c4d5e6f pr-apply-round-2 --plan "+digestOf(t, "abc1").String()+"\n") ||
		!strings.Contains(got, "| wave | member |") {
		t.Errorf("%d code points, or the line or the table is lost:\n%s", length(got), got[:min(len(got), 3000)])
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
