package usecase

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// Who wrote a merge is read when it is recorded. Until then its author would be taken
// for anybody else at the green commit's gate (pr-loop §5.10, §6.4 step 7).
func TestUnderTheReviewRuleNobodyApprovesAMergeThatIsNotRecorded(t *testing.T) {
	t.Parallel()
	const one, two = "1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"
	a := &Apply{Merges: []record.Merge{{Commit: one, Authors: []string{"github:bob"}}}}
	a.Report.Green = &report.Green{Commit: two, Merges: []report.Merge{{Commit: two}, {Commit: one}}}
	if rule := a.greenRule(); rule != nil {
		t.Errorf("without the review rule there is one: %+v", rule)
	}
	a.Policy.ReviewRules = true
	rule := a.greenRule()
	if diff := cmp.Diff(&gate.ReviewRule{Authors: []string{"github:bob"}, Unrecorded: []string{two[:12]}}, rule); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	if rule.Refuse("github:alice") == "" {
		t.Error("alice may be who wrote it, and counts")
	}
	a.wait(gate.Decision{}, cover.Report{})
	want := "No approval counts yet, so nothing was applied: no merge record says who wrote 222222222222, so nobody can be told apart from them; " +
		"chant ci run record with --forge writes it. Then run the apply again."
	if diff := cmp.Diff(want, a.Report.Message); diff != "" || a.Report.Refusal != report.NotApproved {
		t.Errorf("refused as %s (-want +got):\n%s", a.Report.Refusal, diff)
	}
}

// A record without a forge names neither pull request nor author, and stays.
func TestUnderTheReviewRuleNothingIsRecordedWithoutAForge(t *testing.T) {
	t.Parallel()
	st := &Stage{Dir: t.TempDir(), NewID: func() string { return "1" }}
	_, err := st.planCommit(t.Context(), RecordInput{Site: &Site{}}, Bound{}, Policy{ReviewRules: true}, git.Commit{})
	if !errors.Is(err, ErrNoReviews) {
		t.Errorf("got %v", err)
	}
}
