package settle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// appliesGreen declares an env whose green commits apply by themselves.
const appliesGreen = `{"name":"estate","schema":1,"minReader":"0.108.0",
	"ci":{"green":{"branch":"main","phases":{"check":["test"]},"require":["check"]}},
	"x-bot":{"envs":[{"name":"prod","branch":"main","applyOnMerge":true}]}}`

// keepMerge records a merge as one without an approval.
func keepMerge(t *testing.T, remote, sha, base string) {
	t.Helper()
	m := record.Merge{Commit: sha, Base: base, Env: "prod", Gate: "pr-apply", Status: "nothing", Approval: record.Approval{Status: "pending"}, Timestamp: "2026-11-30T10:00:00.000Z"}
	_, err := cloned(t, remote).Ledger.Update(t.Context(), "Merge record", func(*ledger.Snapshot) ([]ledger.File, error) {
		return []ledger.File{{Path: record.MergePath("", "prod", sha), Content: m.JSON()}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// An approval is found by its merge's record, so that no commit is applied before
// it has one (pr-loop §6.4).
func TestAGreenCommitIsNotAppliedBeforeItIsRecorded(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"chant.workspace.json": gittest.Text(appliesGreen)}})
	first := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": gittest.Text("1")}})
	second := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": gittest.Text("2")}})
	s := &Settler{Stage: &usecase.Stage{Now: time.Now, DefaultEnv: "prod"}}
	recorded := func() error {
		site := cloned(t, remote) // of a stage of its own, which looks again
		return s.Ready(t.Context(), usecase.ApplyInput{Site: site, Branch: "main", Env: "prod"}, true)
	}
	keep := func(sha string) { keepMerge(t, remote, sha, first) }
	keep(first)
	gittest.Run(t, remote, "update-ref", "refs/tags/ci/green/"+first, first)
	if err := recorded(); err != nil {
		t.Errorf("the recorded commit, below one that is not: %v", err)
	}
	gittest.Run(t, remote, "update-ref", "refs/tags/ci/green/"+second, second)
	if _, refused := errors.AsType[*usecase.Refusal](recorded()); !refused || !strings.Contains(recorded().Error(), second[:12]) {
		t.Errorf("the commit that is not recorded: %v", recorded())
	}
	keep(second)
	if err := recorded(); err != nil {
		t.Errorf("once it is recorded: %v", err)
	}
}

// What queued an apply may have looked before another one ended, so that it is
// looked again; what a person asks for is not held to that.
func TestAnApplyThatIsNotDueAnyMoreIsNotMadeUnlessSomebodyAsks(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	first := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"chant.workspace.json": gittest.Text(appliesGreen)}})
	commit := gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"a": gittest.Text("1")}})
	keepMerge(t, remote, first, first)
	keepMerge(t, remote, commit, first)
	gittest.Run(t, remote, "update-ref", "refs/tags/ci/green/"+commit, commit)
	for name, tt := range map[string]struct {
		run     usecase.Apply
		refused string
	}{
		"it failed":           {run: usecase.Apply{Report: report.Report{Head: commit, Status: report.Failed}}, refused: "not to be applied any more"},
		"it asked for a next": {run: usecase.Apply{Report: report.Report{Head: commit, Status: report.Waiting}, Fresh: true}},
		"of another commit":   {run: usecase.Apply{Report: report.Report{Head: "0123", Status: report.Failed}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &Settler{Stage: &usecase.Stage{Now: time.Now, DefaultEnv: "prod"}, Facts: ended{run: KeptRun{Apply: &tt.run}}}
			ready := func(asked bool) error {
				return s.Ready(t.Context(), usecase.ApplyInput{Site: cloned(t, remote), Branch: "main", Env: "prod"}, asked)
			}
			if err := ready(true); err != nil {
				t.Errorf("asked for: %v", err)
			}
			err := ready(false)
			if _, refused := errors.AsType[*usecase.Refusal](err); refused != (tt.refused != "") || refused && !strings.Contains(err.Error(), tt.refused) || !refused && err != nil {
				t.Errorf("found due: %v", err)
			}
		})
	}
}

// ended are facts that know one run.
type ended struct {
	Facts
	run KeptRun
}

func (e ended) NewestRun(context.Context, engine.Repo, string, string) (KeptRun, bool, error) {
	return e.run, true, nil
}
