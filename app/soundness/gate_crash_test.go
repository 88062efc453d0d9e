package soundness_test

import (
	"strings"
	"testing"
)

// gated is the push of a fact about a green gate: nothing is applied yet, and
// what the apply is measured from is there.
func gated(w *world) func(request) bool { return attempt(w) }

// The same at the gate of a green commit: it is asked once, a refusal is said
// once, and an approval counts once.
func TestAKilledServerAsksRefusesAndCountsOnce(t *testing.T) {
	t.Parallel()
	loops := map[string][3][]fault{
		"before": {
			{{name: "before the gate's pending fact is pushed", request: gated, when: before}},
			{{name: "before the refusal is said", request: api("POST", "/issues/1/comments$", "chant-answer"), when: before}},
			{{name: "before the gate's approval is pushed", request: gated, when: before}, {name: "before the attempt is pushed", request: attempt, when: before}},
		},
		"after": {
			{{name: "after the gate's pending fact was pushed", request: gated, when: after}},
			{{name: "after the refusal was said", request: api("POST", "/issues/1/comments$", "chant-answer"), when: after}},
			{{name: "after the gate's approval was pushed", request: gated, when: after}, {name: "after terraform applied", command: "apply", place: "end"}},
		},
		"late": {
			{{name: "the pending fact's push ends after the restart", request: gated, when: before, late: true}},
			{{name: "the answer to the refusal is lost", request: api("POST", "/issues/1/comments$", "chant-answer"), when: after, lost: true}},
			{{name: "the approval's push ends after the restart", request: gated, when: before, late: true}, {name: "the attempt's push ends after the restart", request: attempt, when: before, late: true}},
		},
	}
	for name, faults := range loops {
		if name != "after" && !heavy {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneRoot(), settings{})
			carol := w.Forge.User("carol")
			w.Repo.SetPermission(carol, "read")
			w.start()
			w.settledBranch()
			pr := w.propose("two", tf("app", plain("two")))
			w.awaitStatus(pr.Head(), "chant/plan", "success", "planned")
			merge := w.merged(pr, "merge")
			w.struck(faults[0], func() { w.green(merge) })
			w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
			line := w.line(pr, "green-"+merge[:12])
			w.struck(faults[1], func() { must(w.Forge.As(carol).Comment(pr, line))(t) })
			w.await("the refusal", func() bool { return w.answers() == 1 })
			w.settledBranch()
			w.struck(faults[2], func() { must(w.Forge.As(w.Alice).Comment(pr, line))(t) })
			w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
			w.awaitNote(pr, "applied")
			w.settledBranch()

			w.holds("app", "two")
			if n := w.tool.runs("apply"); n != 1 {
				t.Errorf("terraform applied %d times", n)
			}
			if lines := w.gateLines("green-" + merge[:12]); len(lines) != 2 {
				t.Errorf("the gate has the lines %+v, want that it waited and that it was approved", lines)
			}
			if n := w.answers(); n != 1 {
				t.Errorf("%d answers, want the refusal", n)
			}
			w.statusesOnce(pr)
			w.server.stop()
			w.settled()
		})
	}
}

// struck does something and lets faults strike one after the other.
func (w *world) struck(faults []fault, stimulus func()) {
	w.t.Helper()
	for _, f := range faults {
		w.strike(f, stimulus)
		stimulus = func() {}
	}
	w.resume()
	stimulus()
}

// answers counts what the app said besides its note.
func (w *world) answers() int {
	n := 0
	for _, c := range w.Repo.Comments(1) {
		if strings.HasPrefix(c.Body, "<!-- chant-answer:") {
			n++
		}
	}
	return n
}
