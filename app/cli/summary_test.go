package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/digest"
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
