package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/forges/forgetest"
)

// A repository may move between the server and a pipeline, or run both: what the
// ledger says was applied is shown, whoever applied it (decision 11).
func TestAPullRequestAppliedByAPipelineIsShownSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serveTuned(tuning{sweep: time.Second})()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.approved(pr, fmt.Sprintf("pr-%d", pr.Number))
	before := must(t)(w.Repo.Head("main")).(string)
	merge := w.merge(pr)
	d, err := digest.Parse("jcs1-sha256:" + strings.Repeat("a", 64))
	if err != nil {
		t.Fatal(err)
	}
	applied := string(record.Apply{
		Commit: merge, Base: before, Env: "prod", Digest: d, Via: record.ViaMerges, ApprovedBy: []string{"github:alice"}, Timestamp: "2026-11-30T11:00:00.000Z",
	}.JSON())
	must(t)(w.Repo.Commit("chant/lifecycle", map[string]string{
		record.GreenApplyPath("", "prod"): applied, record.AppliesPath("", "prod", merge): applied,
	}, w.Alice))
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied with "+merge[:12])
	if n := w.logged(`kind=apply`); n != 0 {
		t.Errorf("%d apply jobs ran here", n)
	}
}

// Nothing more happens to a pull request whose base branch is gone, and nobody is
// to be told of it again and again.
func TestAMergeIntoABranchThatWasDeletedIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.main("chant.workspace.json")
	release := strings.ReplaceAll(text, `"branch": "main"`, `"branch": "release"`)
	if release == text {
		t.Fatalf("no env of main in %s", text)
	}
	must(t)(w.Repo.Commit("release", map[string]string{"chant.workspace.json": release}, w.Alice))
	must(t)(w.Repo.Commit("wider", map[string]string{"roots/app/main.tf": strings.ReplaceAll(w.main("roots/app/main.tf"), "listens in", "serves")}, w.Bob))
	pr := must(t)(w.Repo.OpenPullRequest(w.Bob, "wider", "release", "Wider")).(*forgetest.Pull)
	stop := w.serve()
	w.awaitStatus(pr.Head(), "chant/plan", "success", "planned")
	stop()
	must(t)(pr.Merge("merge", w.Alice))
	if err := w.Repo.DeleteBranch("release", w.Alice); err != nil {
		t.Fatal(err)
	}

	stop = w.serve()
	settles := fmt.Sprintf(`job done.*kind=settle.*pull.{1,20}name.{1,6}%d\\"`, pr.Number)
	w.await("the settle of the first sweep", func() bool { return w.logged(settles) > 0 })
	stop()
	defer w.serveTuned(tuning{sweep: time.Second})()
	w.await("two sweeps", func() bool { return w.logged(`job done.*kind=sweep `) >= 2 })
	if done, failed := w.logged(settles), w.logged(`job failed`); done != 0 || failed != 0 {
		t.Errorf("settled %d times more, %d jobs failed; want none", done, failed)
	}
}

func TestTheFirstPageSaysWhatTheSweepMayNotRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Forge.Faults.Fail(forgetest.Match{Method: http.MethodGet, Path: "/pulls"}, http.StatusForbidden, 0)
	defer w.serveTuned(tuning{sweep: time.Second})()
	w.await("the refusal on the first page", func() bool {
		return strings.Contains(w.page("/"), "listing the open pull requests of acme/infra: forbidden")
	})
	w.Forge.Faults.Clear()
	w.await("the first page without it", func() bool { return !strings.Contains(w.page("/"), "problem") })
}
