package conformance_test

import (
	"strings"
	"time"

	"github.com/chant-bot/chant/engine"
)

// approvals are who may approve what, and for how long that stands.
func approvals() []conform {
	return []conform{
		{name: "a revocation takes an approval back for good", run: func(w *world) {
			pr := w.propose("second")
			first := w.approved(pr)
			c := w.says(w.alice, pr, "chant revoke")
			w.reacted(pr, c, "+1")
			w.eventually("the approval to be gone", func() bool { return !strings.Contains(w.note(pr), "Approved by") })
			_ = first
			sha := w.merges(pr, "merge")
			w.green(sha)
			w.status(pr.Head(), "chant/apply", "pending", "not covered")
			w.holds("first")
		}},
		{name: "an approval of an older plan is refused by name", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			must(pr.Push(to("third"), w.bob))(w.t)
			w.planned(pr)
			w.answered(pr, w.says(w.alice, pr, line), "an earlier plan")
			if n := w.approvals(opOf(pr)); n != 0 {
				w.t.Errorf("%d approvals on the ledger", n)
			}
		}},
		{name: "a shortened digest is refused with the line to copy", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.answered(pr, w.says(w.alice, pr, line[:len(line)-52]), line)
		}},
		{name: "who may only read cannot approve", run: func(w *world) {
			pr := w.propose("second")
			c := w.says(w.mallory, pr, w.line(pr, opOf(pr)))
			w.reacted(pr, c, "confused")
			w.answered(pr, c, "write")
		}},
		{name: "a comment on a line of the change approves", run: func(w *world) {
			pr := w.propose("second")
			must(w.forge.As(w.alice).ReviewComment(pr, mainTF, 6, w.line(pr, opOf(pr))))(w.t)
			w.noted(pr, "Approved by")
		}},
		{name: "a comment on the green commit approves what waits there", lacking: map[engine.ForgeKind]string{
			engine.Forgejo: "Forgejo has no comments on commits",
		}, run: func(w *world) {
			pr := w.propose("second")
			w.planned(pr)
			sha := w.merges(pr, "merge")
			w.green(sha)
			must(w.forge.As(w.alice).CommitComment(w.repo, sha, w.line(pr, greenOp(sha))))(w.t)
			w.applied(pr, "second")
		}},
		{name: "an edited comment does not approve", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.relay.route(w.repo.ID, func(p post) fate {
				if is[engine.CommandPosted](p) {
					return late
				}
				return arrives
			})
			c := w.says(w.alice, pr, "Looks right.")
			w.forge.Advance(2 * time.Second)
			if err := w.forge.As(w.bob).EditComment(c, line); err != nil {
				w.t.Fatal(err)
			}
			w.release()
			w.answered(pr, c, "edited")
		}},
	}
}
