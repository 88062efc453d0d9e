package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/forges/forgetest"
)

// proposeFiles opens a pull request of bob's that writes files.
func (w *world) proposeFiles(branch string, files map[string]string) *forgetest.Pull {
	w.t.Helper()
	must(w.t)(w.Repo.Commit(branch, files, w.Bob))
	return must(w.t)(w.Repo.OpenPullRequest(w.Bob, branch, "main", "Change "+branch)).(*forgetest.Pull)
}

func (w *world) main(path string) string {
	w.t.Helper()
	return must(w.t)(w.Repo.ReadFile("main", path)).(string)
}

// approved waits for the plan of a pull request and lets alice approve it.
func (w *world) approved(pr *forgetest.Pull, op string) {
	w.t.Helper()
	w.awaitStatus(pr.Head(), "chant/plan", "success", "planned")
	must(w.t)(w.Forge.As(w.Alice).Comment(pr, w.approveLineOf(pr, op)))
	w.await("the approval of "+op, func() bool {
		for _, c := range w.Repo.Comments(pr.Number) {
			if strings.Contains(c.Body, "Approved by") {
				return true
			}
		}
		return false
	})
}

func (w *world) merge(pr *forgetest.Pull) string {
	w.t.Helper()
	merge, err := pr.Merge("merge", w.Alice)
	if err != nil {
		w.t.Fatal(err)
	}
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	return merge
}

// onceDecided are the reads of permissions from when an apply was decided, and not
// before: its attempt is claimed then, and each is read again before the first step.
func (w *world) onceDecided() forgetest.Match {
	return forgetest.Match{Method: "GET", Path: "/collaborators/", When: func() bool {
		_, err := w.Repo.ReadFile("chant/lifecycle", "_green-applies/prod.attempt.json")
		return err == nil
	}}
}

func TestACommitRevokedWhileTheServerWasDownStartsNoStep(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.approved(pr, "pr-1")
	merge := w.merge(pr)
	w.Forge.Faults.Fail(w.onceDecided(), 502, 0)
	w.green(merge)
	w.await("a try that failed", func() bool { return w.logged(`job failed.*kind=apply`) > 0 })
	stop()
	w.Forge.Faults.Clear()
	if err := w.Repo.CreateTags(w.Alice, merge, "ci/revoked/"+merge); err != nil {
		t.Fatal(err)
	}
	defer w.serve()()
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "was revoked")
	w.holds("app", "service", "listens in 10.0.0.0/16")
}

// soundness I8: what nobody measured yet is measured from where recording began.
func TestWhatMergedBeforeTheFirstGreenCommitIsAppliedWithIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	first := w.propose("wider", "app", "listens in", "serves")
	w.approved(first, "pr-1")
	w.merge(first)
	second := w.proposeFiles("docs", map[string]string{"NOTES.md": "Nothing to deploy.\n"})
	w.green(must(t)(second.Merge("merge", w.Alice)).(string))
	w.awaitStatus(first.Head(), "chant/apply", "success", "applied")
	w.holds("app", "service", "serves 10.0.0.0/16")
}

// pr-loop §7.5: what reads it takes one more approval, of the value that stands. What
// was applied at the commit is not applied again for an output that no plan leaves
// as it is, or the value approved would be gone each time.
func TestAnOutputThatMovesWithEveryApplyTakesOneRound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	pr := w.proposeFiles("stamp", map[string]string{
		"roots/net/main.tf": w.main("roots/net/main.tf") + "output \"stamp\" {\n  value = timestamp()\n}\n",
		"roots/app/main.tf": w.main("roots/app/main.tf") + "variable \"stamp\" {\n  type = string\n}\nresource \"terraform_data\" \"stamp\" {\n  input = var.stamp\n}\n",
		"app.component.json": strings.Replace(w.main("app.component.json"), `"vars": { `,
			`"vars": { "stamp": { "stackOutput": { "stack": "net", "name": "stamp" } }, `, 1),
	})
	w.approved(pr, "pr-1")
	merge := w.merge(pr)
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "waits: 1 member held back, approval at pr-apply-round-2")
	must(t)(w.Forge.As(w.Alice).Comment(pr, w.approveLineOf(pr, "green-"+merge[:12]+" pr-apply-round-2")))
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.await("one apply before the round and one of it", func() bool { return w.logged(`job done.*kind=apply`) == 2 })
}

func TestWhatAKilledServerLeftIsRemovedAtTheStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	runs := filepath.Join(w.Dir, "server", "runs")
	for _, dir := range []string{"plan-1", "apply-2", "record/3"} {
		if err := os.MkdirAll(filepath.Join(runs, dir, "tree"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	defer w.serve()()
	for _, dir := range []string{"plan-1", "apply-2", "record/3"} {
		if _, err := os.Stat(filepath.Join(runs, dir)); err == nil {
			t.Errorf("%s is still there", dir)
		}
	}
}
