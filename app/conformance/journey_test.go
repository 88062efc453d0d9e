package conformance_test

import (
	"strings"

	"github.com/chant-bot/chant/engine"
)

// journeys are the loop as it is meant to go, in each of its ways.
func journeys() []conform {
	return []conform{
		{name: "a comment approves, a merge commit lands, and terraform applies it once it is green", policy: policy{real: true}, run: func(w *world) {
			seed := w.propose("seed")
			w.status(seed.Head(), "chant/plan", "success", "1 member")
			w.approved(seed)
			w.green(w.merges(seed, "merge"))
			w.applied(seed, "seed")

			pr := w.propose("second")
			w.planned(pr)
			w.approved(pr)
			sha := w.merges(pr, "merge")
			w.holds("seed")
			w.green(sha)
			w.awaitTag("green", sha)
			w.applied(pr, "second")
		}},
		{name: "a review approves in its text", run: func(w *world) {
			pr := w.propose("second")
			must(w.forge.As(w.alice).Review(pr, "APPROVE", "Read it.\n\n"+w.line(pr, opOf(pr))))(w.t)
			w.noted(pr, "Approved by")
		}},
		{name: "a squashed commit is joined with its pull request", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			sha := w.merges(pr, "squash")
			w.green(sha)
			w.applied(pr, "second")
			record := must(w.repo.ReadFile("chant/lifecycle", "_merges/prod/"+sha[:2]+"/"+sha+".json"))(w.t)
			if !strings.Contains(record, `"status": "approved"`) {
				w.t.Errorf("the record holds no approval: %s", record)
			}
		}},
		{name: "a rebased pull request is joined by its last commit", run: func(w *world) {
			w.begins()
			pr := w.propose("second")
			must(pr.Push(map[string]string{"README.md": "Second.\n"}, w.bob))(w.t)
			w.approved(pr)
			sha := must(pr.Merge("rebase", w.alice))(w.t)
			w.green(sha)
			w.awaitTag("green", sha)
			head := pr.Head()
			if w.kind == engine.GitLab { // there the head itself is rebased
				head = sha
			}
			w.status(head, "chant/apply", "success", "applied")
			w.holds("second")
		}},
		{name: "what nobody approved waits, and is approved when it is green", run: func(w *world) {
			pr := w.propose("second")
			w.planned(pr)
			sha := w.merges(pr, "squash")
			w.green(sha)
			w.status(pr.Head(), "chant/apply", "pending", "not covered")
			w.holds("first")
			w.says(w.alice, pr, w.line(pr, greenOp(sha)))
			w.applied(pr, "second")
		}},
	}
}
