package usecase

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/record"
)

// An approval is found by its merge's record, so that no commit is applied before
// it has one (pr-loop §6.4).
func TestAGreenCommitIsNotAppliedBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	declaration := gittest.Text(`{"name":"estate","schema":1,"minReader":"0.108.0",
		"ci":{"green":{"branch":"main","phases":{"check":["test"]},"require":["check"]}},
		"x-bot":{"envs":[{"name":"prod","branch":"main","applyOnMerge":true}]}}`)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"chant.workspace.json": declaration}})
	first := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": gittest.Text("1")}})
	second := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": gittest.Text("2")}})
	s := &Settler{Stage: &Stage{Now: time.Now, DefaultEnv: "prod"}}
	recorded := func() error {
		site := siteOf(t, remote) // of a stage of its own, which looks again
		return s.Recorded(t.Context(), ApplyInput{Site: site, Branch: "main", Env: "prod"})
	}
	keep := func(sha string) {
		t.Helper()
		m := record.Merge{Commit: sha, Base: first, Env: "prod", Gate: "pr-apply", Status: "nothing", Approval: record.Approval{Status: "pending"}, Timestamp: "2026-11-30T10:00:00.000Z"}
		_, err := siteOf(t, remote).Ledger.Update(t.Context(), "Merge record", func(*ledger.Snapshot) ([]ledger.File, error) {
			return []ledger.File{{Path: record.MergePath("", "prod", sha), Content: m.JSON()}}, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	keep(first)
	gittest.Run(t, remote, "update-ref", "refs/tags/ci/green/"+first, first)
	if err := recorded(); err != nil {
		t.Errorf("the recorded commit, below one that is not: %v", err)
	}
	gittest.Run(t, remote, "update-ref", "refs/tags/ci/green/"+second, second)
	if _, refused := errors.AsType[*Refusal](recorded()); !refused || !strings.Contains(recorded().Error(), second[:12]) {
		t.Errorf("the commit that is not recorded: %v", recorded())
	}
	keep(second)
	if err := recorded(); err != nil {
		t.Errorf("once it is recorded: %v", err)
	}
}
