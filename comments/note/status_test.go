package note

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chant-bot/chant/engine/report"
)

func TestStatusesSayTheDecisionFirst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change             func(*report.Report)
		state, description string
	}{
		"planned": {func(*report.Report) {}, Success, "planned: 4 members, 4 to change, 2 to destroy or replace"},
		"plan failed": {func(r *report.Report) {
			r.Status, r.Members[2].Status = report.PlanFailed, report.MemberPlanFailed
		}, Failure, "failed: 1 of 4 members did not plan: data, plan 9b1f04c2a7d3"},
		"conflict": {func(r *report.Report) {
			r.Status, r.Members, r.Message = report.PlanFailed, nil, "the head does not merge\ninto main"
		}, Failure, "failed: the head does not merge into main"},
		"nothing to plan": {func(r *report.Report) { r.Status = report.Nothing }, Success, "nothing to plan: no component is touched"},
		"applied":         {func(r *report.Report) { r.Stage, r.Status = report.Apply, report.Applied }, Success, "applied: 4 members, 4 changed, 3 destroyed or replaced"},
		"applied nothing": {func(r *report.Report) { r.Stage, r.Status, r.Members = report.Apply, report.Applied, nil }, Success, "nothing to apply"},
		"failed and blocked": {func(r *report.Report) {
			r.Stage, r.Status = report.Apply, report.Failed
			r.Members[3].Status, r.Members[1].Status = report.MemberFailed, report.MemberBlocked
		}, Failure, "failed: 1 of 4 members failed: net; 1 blocked, plan 9b1f04c2a7d3"},
		"plan changed": {func(r *report.Report) {
			r.Stage, r.Status, r.Refusal = report.Apply, report.Refused, report.PlanChanged
			d := r.Digest
			r.Approval.Approved = &d
		}, Failure, "refused: the plan changed after review, approved 9b1f04c2a7d3, now 9b1f04c2a7d3"},
		"not green":    {func(r *report.Report) { r.Status, r.Refusal = report.Refused, report.NotGreen }, Failure, "refused: the commit is not green"},
		"no request":   {func(r *report.Report) { r.Status, r.Refusal = report.Refused, report.NoPullRequest }, Failure, "refused: no pull request merged this commit"},
		"reviewer":     {func(r *report.Report) { r.Status, r.Refusal = report.Refused, report.NotAReviewer }, Failure, "refused: the approval does not count, plan 9b1f04c2a7d3"},
		"not approved": {func(r *report.Report) { r.Status, r.Refusal = report.Refused, report.NotApproved }, Pending, "waits for approval of plan 9b1f04c2a7d3 at pr-12"},
		"waits, a wave": {func(r *report.Report) {
			r.Status = report.Waiting
			r.Waves = []report.Wave{{Wave: 2, Gate: "w-2", Status: report.WaveWaiting, Digest: r.Digest}}
		}, Pending, "waits: wave 2 needs approval at w-2, plan 9b1f04c2a7d3"},
		"waits, a round": {func(r *report.Report) {
			r.Status = report.Waiting
			r.Rounds = []report.Round{{Round: 2, Gate: "pr-apply-round-2", Status: report.WaveWaiting, Digest: r.Digest, Members: []report.RoundMember{{Member: "app"}}}}
		}, Pending, "waits: 1 member held back, approval at pr-apply-round-2, plan 9b1f04c2a7d3"},
		"a status this version does not know": {func(r *report.Report) { r.Status = "x" }, Pending, "waits: 4 members still to plan: access, app, data, net"},
	} {
		r := estate(t).Report
		c.change(&r)
		state, description := Status(r)
		if state != c.state || !strings.HasPrefix(description, strings.TrimSuffix(c.description, "2 to destroy or replace")) {
			t.Errorf("%s: %s %q, want %s %q", name, state, description, c.state, c.description)
		}
	}
}

func TestAnUncoveredGreenApplyCountsMembersInItsStatus(t *testing.T) {
	t.Parallel()
	state, description := Status(greenApply(t).Report)
	if state != Pending || description != "waits: 2 of 3 members not covered, approval at green-1a2b3c4d5e6f, plan 9b1f04c2a7d3" {
		t.Errorf("%s %q", state, description)
	}
}

// runatlantis/atlantis#6529.
func TestAnApplyAskedForBeforeItsPlansIsPendingAndNamesWhoIsAwaited(t *testing.T) {
	t.Parallel()
	state, description := PendingStatus("plan", []string{"net", "data"})
	if state != Pending || description != "waits: 2 members still to plan: net, data" {
		t.Errorf("%s %q", state, description)
	}
	r := report.Report{Stage: report.Apply, Members: []report.Member{{Member: "net"}, {Member: "data", Status: report.MemberApplied}}}
	if state, description := Status(r); state != Pending || description != "waits: 1 member still to apply: net" {
		t.Errorf("%s %q", state, description)
	}
	if state, description := PendingStatus("apply", nil); state != Pending || description != "apply is queued" {
		t.Errorf("%s %q", state, description)
	}
}

func TestABlockingPlanIsPendingUntilItsDigestIsApproved(t *testing.T) {
	t.Parallel()
	r := estate(t).Report
	state, description := BlockingStatus(r, false)
	if state != Pending || !strings.HasPrefix(description, "waits for approval of plan 9b1f04c2a7d3: 4 members") {
		t.Errorf("%s %q", state, description)
	}
	if state, _ := BlockingStatus(r, true); state != Success {
		t.Error("nothing to apply still blocks")
	}
	r.Approval.Status = report.Approved
	if state, _ := BlockingStatus(r, false); state != Success {
		t.Error("an approved plan still blocks")
	}
	r.Status, r.Approval.Status = report.PlanFailed, report.Pending
	if state, _ := BlockingStatus(r, false); state != Failure {
		t.Error("a failed plan is pending")
	}
}

// runatlantis/atlantis#2506.
func TestLongDescriptionsAndContextsAreCutOnARuneAndTheSameEveryTime(t *testing.T) {
	t.Parallel()
	r := report.Report{Status: report.PlanFailed, Message: strings.Repeat("é", 141)}
	_, description := Status(r)
	if n := utf8.RuneCountInString(description); n != 140 || !utf8.ValidString(description) || !strings.HasSuffix(description, "é...") {
		t.Errorf("%d: %q", n, description)
	}
	long := "chant/plan/" + strings.Repeat("ü", 243)
	a, b := Context(long+"aa"), Context(long+"bb")
	if a == b || a != Context(long+"aa") || utf8.RuneCountInString(a) != MaxContext || !utf8.ValidString(a) {
		t.Errorf("%q and %q", a, b)
	}
	if exact := long + "a"; Context(exact) != exact {
		t.Errorf("%d code points were cut", utf8.RuneCountInString(exact))
	}
}
