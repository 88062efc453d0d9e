package conformance_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges/forgetest"
)

// api matches requests of the case's repository.
func (w *world) api(method, rest string) forgetest.Match {
	base := map[engine.ForgeKind]string{
		engine.GitHub:  fmt.Sprintf("/repositories/%d", w.repo.ID),
		engine.GitLab:  fmt.Sprintf("/projects/%d", w.repo.ID),
		engine.Forgejo: "/repos/" + w.repo.FullName(),
	}[w.kind]
	return forgetest.Match{Method: method, Path: base + rest}
}

// writing matches what writes a comment on a pull request.
func (w *world) writing(number int) forgetest.Match {
	if w.kind == engine.GitLab {
		return w.api("POST", fmt.Sprintf("/merge_requests/%d/notes", number))
	}
	return w.api("POST", fmt.Sprintf("/issues/%d/comments", number))
}

// reading matches what reads a pull request.
func (w *world) reading(number int) forgetest.Match {
	if w.kind == engine.GitLab {
		return w.api("GET", fmt.Sprintf("/merge_requests/%d", number))
	}
	return w.api("GET", fmt.Sprintf("/pulls/%d", number))
}

// once tells that nothing was said twice: no status and no note.
func (w *world) once(pr *forgetest.Pull) {
	w.t.Helper()
	said := map[string]int{}
	for _, s := range w.repo.AllStatuses(pr.Head()) {
		if key := s.Context + ": " + s.State + ": " + s.Description; s.Creator == w.bot {
			if said[key]++; said[key] > 1 {
				w.t.Errorf("%s was set %d times", key, said[key])
			}
		}
	}
	if n := len(w.notes(pr)); n != 1 {
		w.t.Errorf("%d notes", n)
	}
}

// writes are what goes wrong between the server and its forge.
func writes() []conform {
	return []conform{
		{name: "a status whose answer was lost is not set twice", run: func(w *world) {
			w.forge.Faults.LoseAnswer(w.api("POST", "/statuses/"), 1)
			pr := w.propose("second")
			w.approved(pr)
			w.once(pr)
		}},
		{name: "a note whose answer was lost is not written twice", run: func(w *world) {
			w.forge.Faults.LoseAnswer(w.writing(1), 1)
			pr := w.propose("second")
			w.approved(pr)
			w.once(pr)
		}},
		{name: "a reply whose answer was lost is not written twice", run: func(w *world) {
			pr := w.propose("second")
			w.line(pr, opOf(pr))
			w.forge.Faults.LoseAnswer(w.writing(1), 1)
			c := w.says(w.alice, pr, "chant approve")
			w.answered(pr, c, "full digest")
			w.eventually("the command to have its outcome", func() bool { return w.jobs("command") > 0 })
			if n := strings.Count(w.answers(pr, c.ID), "full digest"); n != 1 {
				w.t.Errorf("answered %d times", n)
			}
		}},
		{name: "an approval whose reaction was lost counts once", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			reacting := w.api("POST", "/issues/comments/")
			if w.kind == engine.GitLab {
				reacting = w.api("POST", "/merge_requests/1/notes/")
			}
			w.forge.Faults.LoseAnswer(reacting, 3)
			c := w.says(w.alice, pr, line)
			w.eventually("the approval", func() bool { return w.approvals(opOf(pr)) > 0 })
			w.noted(pr, "Approved by")
			w.reacted(pr, c, "eyes")
			if n := w.approvals(opOf(pr)); n != 1 {
				w.t.Errorf("%d approvals on the ledger", n)
			}
		}},
		{name: "a deleted note is written anew", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			if err := w.forge.As(w.alice).DeleteComment(w.notes(pr)[0]); err != nil {
				w.t.Fatal(err)
			}
			w.says(w.alice, pr, line)
			w.noted(pr, "Approved by")
			w.once(pr)
		}},
		{name: "a note somebody pasted is not taken for ours", run: func(w *world) {
			must(w.repo.Commit("to-second", to("second"), w.bob))(w.t)
			w.relay.route(w.repo.ID, always(late))
			pr := must(w.repo.OpenPullRequest(w.bob, "to-second", "main", "Change"))(w.t)
			pasted := w.says(w.mallory, pr, noteMarker+"\nApproved by everybody.\n")
			w.release()
			w.planned(pr)
			w.line(pr, opOf(pr))
			w.once(pr)
			if now := must(w.repo.CommentWith(pr.Number, "Approved by everybody"))(w.t); now.ID != pasted.ID {
				w.t.Errorf("what mallory wrote was changed: %+v", now)
			}
		}},
		{name: "a status that finds no commit is said in the note", run: func(w *world) {
			w.forge.Faults.Fail(w.api("POST", "/statuses/"), 404, 0)
			pr := w.propose("second")
			w.noted(pr, "The forge does not take the status")
			w.noted(pr, "chant approve "+opOf(pr))
		}},
		{name: "a note in a locked conversation keeps no status from being set", run: func(w *world) {
			w.forge.Faults.Fail(w.writing(1), 403, 0)
			pr := w.propose("second")
			w.planned(pr)
			w.status(pr.Head(), "chant/apply", "success", "before the merge")
		}},
		{name: "a server error on a write is tried again", run: func(w *world) {
			w.forge.Faults.Fail(w.api("POST", "/statuses/"), 500, 1)
			w.forge.Faults.Fail(w.writing(1), 503, 1)
			pr := w.propose("second")
			w.approved(pr)
			w.once(pr)
		}},
		{name: "a server error on a read is tried again", run: func(w *world) {
			w.forge.Faults.Fail(w.reading(1), 502, 2)
			pr := w.propose("second")
			w.approved(pr)
			w.once(pr)
		}},
		{name: "a secondary rate limit in the middle of a settle is waited out", run: func(w *world) {
			w.forge.Faults.SecondaryLimit(w.writing(1), 403, "1", 1)
			pr := w.propose("second")
			w.approved(pr)
			w.once(pr)
		}},
		{name: "a primary rate limit is waited out", run: func(w *world) {
			w.forge.Faults.PrimaryLimit(w.reading(1), 429, w.forge.Now().Add(time.Second), 1)
			pr := w.propose("second")
			w.approved(pr)
			w.once(pr)
		}},
	}
}
