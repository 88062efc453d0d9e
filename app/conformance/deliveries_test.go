package conformance_test

import (
	"slices"
	"time"

	"github.com/chant-bot/chant/engine"
)

// deliveries are what can become of one on its way.
func deliveries() []conform {
	return []conform{
		{name: "every delivery doubled comes to the same", run: func(w *world) {
			w.relay.route(w.repo.ID, always(twice))
			pr := w.propose("second")
			w.approved(pr)
			w.green(w.merges(pr, "merge"))
			w.applied(pr, "second")
			w.once(pr)
			if n := w.approvals(opOf(pr)); n != 1 {
				w.t.Errorf("%d approvals on the ledger", n)
			}
			if n := w.plans(); n != 1 {
				w.t.Errorf("%d plans of one head", n)
			}
		}},
		{name: "deliveries in the wrong order come to the same", run: func(w *world) {
			w.relay.route(w.repo.ID, always(late))
			pr := w.propose("second")
			must(pr.Push(to("third"), w.bob))(w.t)
			pr.SetDraft(true, w.bob)
			pr.SetDraft(false, w.bob)
			w.quiet()
			kept := w.relay.take(w.repo.ID)
			slices.Reverse(kept)
			w.relay.route(w.repo.ID, always(arrives))
			for _, p := range kept {
				w.relay.send(w.ctx, p)
			}
			w.approved(pr)
			w.once(pr)
		}},
		{name: "what no delivery told is found by the sweep", alone: &setup{sweep: 2 * time.Second}, run: func(w *world) {
			w.relay.route(w.repo.ID, always(lost))
			pr := w.propose("second")
			w.approved(pr)
			sha := must(pr.Merge("merge", w.alice))(w.t)
			w.status(pr.Head(), "chant/apply", "pending", "green")
			must(w.repo.SetCheck(sha, "test", "completed", "success"))(w.t)
			w.applied(pr, "second")
		}},
		{name: "deliveries that come after the merge do no harm", run: func(w *world) {
			w.relay.route(w.repo.ID, always(late))
			pr := w.propose("second")
			must(pr.Merge("merge", w.alice))(w.t)
			w.release()
			w.status(pr.Head(), "chant/apply", "pending", "green")
			if n := len(w.notes(pr)); n != 0 {
				w.t.Errorf("%d notes on what was merged unseen", n)
			}
		}},
		{name: "a delivery sent again by hand does nothing again", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			for _, p := range w.relay.handed(w.repo.ID) {
				if status, answer := w.relay.send(w.ctx, p); status != 202 || !is[engine.Ignored](p) && answer != `{"outcome":"duplicate"}`+"\n" {
					w.t.Errorf("%T was answered %d %s", p.event, status, answer)
				}
			}
			w.handled(pr)
			w.once(pr)
			if n := w.approvals(opOf(pr)); n != 1 {
				w.t.Errorf("%d approvals on the ledger", n)
			}
		}},
		{name: "an approval replayed under another id counts once", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			for _, p := range w.relay.handed(w.repo.ID) {
				if is[engine.CommandPosted](p) {
					w.relay.send(w.ctx, renamed(p, "another-id"))
				}
			}
			w.handled(pr)
			if n := w.approvals(opOf(pr)); n != 1 {
				w.t.Errorf("%d approvals on the ledger", n)
			}
		}},
		{name: "two updates of one head make one plan", run: func(w *world) {
			pr := w.propose("second")
			for _, action := range []string{"labeled", "milestoned", "assigned"} {
				pr.Touch(action, w.bob)
			}
			pr.Edit("Another title", "Another text", w.bob)
			w.approved(pr)
			if n := w.plans(); n != 1 {
				w.t.Errorf("%d plans of one head", n)
			}
		}},
		{name: "what we do ourselves is not taken for somebody's act", run: func(w *world) {
			pr := w.propose("second")
			w.line(pr, opOf(pr))
			c := w.says(w.alice, pr, "chant approve")
			w.answered(pr, c, "chant approve "+opOf(pr)) // a command, in our own words
			w.handled(pr)
			w.never(pr)
			for _, n := range w.repo.Comments(pr.Number) {
				if n.Author.Login == w.bot.Login && len(n.Reactions) > 0 {
					w.t.Errorf("we reacted to what we wrote: %v %s", n.Reactions, n.Body)
				}
			}
		}},
	}
}
