package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/report"
)

// Where a rule is declared that this version does not enforce, no line to copy is
// printed, since no approval would open the gate.
func TestNoLineToApproveIsPrintedWhereNobodyCanApprove(t *testing.T) {
	t.Parallel()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	plan := report.Report{Stage: report.Plan, Status: report.Planned, Op: "pr-12", Gate: "pr-apply", Digest: d}
	apply := report.Report{Stage: report.Apply, Status: report.Waiting, Message: report.NotEnforcedMessage([]string{"minApprovals: 2"}),
		Rounds: []report.Round{{Round: 2, Op: "green-1", Gate: "pr-apply-round-2", Digest: d, Status: report.WaveWaiting}},
		Waves:  []report.Wave{{Wave: 2, Op: "green-1", Gate: "release-wave-2", Digest: d, Status: report.WaveWaiting}}}
	for _, r := range []report.Report{plan, apply} {
		for _, unenforced := range [][]string{nil, {"minApprovals: 2"}} {
			var out bytes.Buffer
			(&Host{Stdout: &out}).summary(outcome{report: r, note: note.Input{Ask: note.Ask{Unenforced: unenforced}}}, ".chant/pr")
			shut := len(unenforced) > 0
			if has := strings.Contains(out.String(), "chant approve"); has == shut || shut && !strings.Contains(out.String(), "this version does not enforce: minApprovals: 2") {
				t.Errorf("%s, with %v not enforced:\n%s", r.Stage, unenforced, &out)
			}
		}
	}
	for _, shut := range []bool{false, true} {
		if line := approveLine(usecase.GateAnswer{Op: "fan-out", Gate: "go", Env: "prod", Digest: d, Shut: shut}, ""); (line == "") != shut {
			t.Errorf("of a gate that is shut for good (%v) the line is %q", shut, line)
		}
	}
}

// What failed and what waits are both named where a run ends, so that the next one does
// not stop at a gate that nobody was told of.
func TestARunThatFailedNamesTheApprovalsThatAreMissingToo(t *testing.T) {
	t.Parallel()
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("ab", 32))
	if err != nil {
		t.Fatal(err)
	}
	go1 := usecase.GateAnswer{Op: "net", Gate: "go", Env: "prod", Digest: d}
	shut := usecase.GateAnswer{Op: "web", Gate: "go", Env: "prod", Digest: d, Shut: true}
	for want, results := range map[string][]usecase.ComponentResult{
		"to go on, mend what failed and run the same again\n":                                          {{Component: "bad", Status: fanout.Fail}, {Component: "web", Status: fanout.Gated, Gate: &shut}},
		"to go on, mend what failed, have net go approved by the line given, and run the same again\n": {{Component: "bad", Status: fanout.Fail}, {Component: "net", Status: fanout.Gated, Gate: &go1}},
	} {
		var said bytes.Buffer
		run, _ := fanout.NewRun(fanout.Plan{}, nil)
		err := (&Host{Stdout: &said, Stderr: &said}).finishDeploy(ended{run: run, what: "run", out: usecase.Rollout{Status: fanout.Fail, Results: results}})
		if CodeOf(err) != Failed || !strings.HasSuffix(said.String(), want) {
			t.Errorf("ended with %v, want the last line %q of\n%s", err, want, &said)
		}
	}
	failed := report.Report{Rounds: []report.Round{{Round: 2, Op: "green-1", Gate: "pr-apply-round-2", Status: report.WaveWaiting}}, Waves: []report.Wave{{Wave: 1, Status: report.WaveFailed}}}
	if got := toGoOn(waitingPasses(failed, nil)); !strings.Contains(got, "have green-1 pr-apply-round-2 approved") {
		t.Error(got)
	}
}
