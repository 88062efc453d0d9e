package conformance_test

import (
	"net/http"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges/forgetest"
)

// waits tells that a merge is not green: it is said, no tag is there, and
// nothing was applied.
func (w *world) waits(pr *forgetest.Pull, sha string) {
	w.t.Helper()
	w.answered(pr, w.says(w.alice, pr, "chant apply"), "not green")
	if w.tagged("green", sha) {
		w.t.Error("it is tagged green")
	}
	w.holds("first")
}

// land merges an approved change.
func (w *world) land() (*forgetest.Pull, string) {
	w.t.Helper()
	pr := w.propose("second")
	w.approved(pr)
	return pr, w.merges(pr, "merge")
}

// greens are what CI says, in the words of each forge.
func greens() []conform {
	return []conform{
		{name: "a commit without its required check is not green", run: func(w *world) {
			pr, sha := w.land()
			must(w.repo.SetCheck(sha, "lint", "completed", "success"))(w.t)
			w.hint()
			w.waits(pr, sha)
		}},
		{name: "a check that runs is not green yet", run: func(w *world) {
			pr, sha := w.land()
			w.check(sha, "in_progress", "")
			w.waits(pr, sha)
			w.green(sha)
			w.applied(pr, "second")
		}},
		{name: "a failed check is not green, and a re-run that passes is", run: func(w *world) {
			pr, sha := w.land()
			w.check(sha, "completed", "failure")
			w.waits(pr, sha)
			w.check(sha, "in_progress", "")
			w.waits(pr, sha)
			w.green(sha)
			w.applied(pr, "second")
		}},
		{name: "a cancelled check is not green", run: func(w *world) {
			pr, sha := w.land()
			w.check(sha, "completed", "cancelled")
			w.waits(pr, sha)
		}},
		{name: "a skipped check is not green", lacking: lacking{
			engine.Forgejo: "Forgejo 11 reports a skipped job as one that passed",
		}, run: func(w *world) {
			pr, sha := w.land()
			w.check(sha, "completed", "skipped")
			w.waits(pr, sha)
		}},
		{name: "a re-run that fails takes green back before the gate opens", run: func(w *world) {
			pr := w.propose("second")
			w.planned(pr)
			sha := w.merges(pr, "merge")
			w.green(sha)
			line := w.line(pr, greenOp(sha))
			w.check(sha, "completed", "failure")
			w.awaitTag("revoked", sha)
			w.says(w.alice, pr, line)
			w.answered(pr, w.says(w.alice, pr, "chant help"), "chant")
			w.holds("first")
		}},
		{name: "what somebody else says under a check's name does not hide its failure", lacking: lacking{
			engine.GitLab: "GitLab lists a Developer's status like a job of CI's own",
		}, run: func(w *world) {
			pr, sha := w.land()
			w.check(sha, "completed", "failure")
			w.spoof(w.carol, sha, "test")
			w.hint()
			w.waits(pr, sha)
		}},
		{name: "a green tag that was deleted comes back", run: func(w *world) {
			pr, sha := w.land()
			w.green(sha)
			w.applied(pr, "second")
			if err := w.repo.DeleteTags(w.alice, "ci/green/"+sha); err != nil {
				w.t.Fatal(err)
			}
			w.awaitTag("green", sha)
		}},
		{name: "a green tag set by hand is worth nothing while a check fails", run: func(w *world) {
			pr, sha := w.land()
			w.check(sha, "completed", "failure")
			if err := w.repo.CreateTags(w.carol, sha, "ci/green/"+sha); err != nil {
				w.t.Fatal(err)
			}
			w.awaitTag("revoked", sha)
			w.answered(pr, w.says(w.alice, pr, "chant apply"), "not green")
			w.holds("first")
		}},
		{name: "a merge queue gets its status at once", lacking: lacking{
			engine.Forgejo: "Forgejo has no merge queue",
		}, run: func(w *world) {
			pr := w.propose("second")
			w.planned(pr)
			w.status(w.queue(pr), "chant/plan", "success", "")
			if n := w.plans(); n != 1 {
				w.t.Errorf("%d plans were made", n)
			}
		}},
	}
}

// queue puts a pull request into the forge's merge queue and gives the head that
// is tried.
func (w *world) queue(pr *forgetest.Pull) string {
	w.t.Helper()
	if w.kind == engine.GitHub {
		return must(w.repo.QueueGroup(w.alice, pr))(w.t)
	}
	sha := must(w.repo.Commit("train-1", map[string]string{"x": "1"}, w.alice))(w.t)
	must(w.repo.StartPipeline(w.alice, sha, "refs/merge-requests/1/train"))(w.t)
	must(w.repo.SetCheck(sha, "test", "in_progress", ""))(w.t)
	return sha
}

// spoof sets a commit status as an account does with a token of its own.
func (w *world) spoof(u *forgetest.User, sha, name string) {
	w.t.Helper()
	path := "repos/" + w.repo.FullName() + "/statuses/" + sha
	body := `{"state":"success","context":"` + name + `"}`
	req := must(http.NewRequestWithContext(w.ctx, http.MethodPost, w.forge.APIURL()+path, strings.NewReader(body)))(w.t)
	req.Header.Set("Authorization", "token "+w.forge.Token(u))
	resp := must(http.DefaultClient.Do(req))(w.t)
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusCreated {
		w.t.Fatalf("setting a status: %s", resp.Status)
	}
}
