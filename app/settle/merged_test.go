package settle

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/report"
)

// The status of an apply that waits at a gate which no approval opens says so, within
// what a forge takes.
func TestTheStatusOfAGateThatNothingOpensSaysSo(t *testing.T) {
	t.Parallel()
	waits := report.Report{Stage: report.Apply, Status: report.Waiting, Rounds: []report.Round{{
		Round: 2, Gate: "pr-apply-round-2-" + strings.Repeat("x", 150), Status: report.WaveWaiting, Members: []report.RoundMember{{Member: "app"}},
	}}}
	for _, refuse := range [][]string{nil, {"minApprovals: 2"}} {
		_, description := applyStatus(KeptRun{Status: RunEnded, Apply: &usecase.Apply{Report: waits, Policy: usecase.Policy{Refuse: refuse}}})
		if strings.HasSuffix(description, "; "+shutHint) != (len(refuse) > 0) || utf8.RuneCountInString(description) > note.MaxDescription {
			t.Errorf("with %v not enforced the status is %q", refuse, description)
		}
	}
}

// A failed apply says how it goes on, in its status and in its note, and no other
// apply does (decision 7).
func TestAFailedApplySaysHowItIsTriedAgain(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a-member-with-a-long-name-", 20)
	for name, tt := range map[string]struct {
		status RunStatus
		report report.Status
		fresh  bool
		hinted bool
	}{
		"failed":                              {RunEnded, report.Failed, false, true},
		"not planned":                         {RunEnded, report.PlanFailed, false, true},
		"failed and planned afresh by itself": {RunEnded, report.Failed, true, false},
		"running":                             {RunRunning, report.Planned, false, false},
		"failed and not over":                 {RunRunning, report.Failed, false, false},
		"applied":                             {RunEnded, report.Applied, false, false},
		"waiting at its gate":                 {RunEnded, report.Refused, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := KeptRun{ID: 7, Status: tt.status, Apply: &usecase.Apply{Fresh: tt.fresh, Report: report.Report{
				Stage: report.Apply, Status: tt.report, Head: strings.Repeat("ab", 20), Message: "app failed: " + long,
				Members: []report.Member{{Member: long, Status: report.MemberFailed}},
			}}}
			_, description := applyStatus(run)
			if strings.HasSuffix(description, "; "+retryHint) != tt.hinted || utf8.RuneCountInString(description) > note.MaxDescription {
				t.Errorf("status %q, want it hinted: %v", description, tt.hinted)
			}
			in := (&Settler{}).applyNote(usecase.Policy{}, run)
			if strings.Contains(in.Report.Message, retryHint) != tt.hinted {
				t.Errorf("note says %q, want it hinted: %v", in.Report.Message, tt.hinted)
			}
			if run.Apply.Report.Message != "app failed: "+long {
				t.Error("the hint went into the report that is kept")
			}
		})
	}
}
