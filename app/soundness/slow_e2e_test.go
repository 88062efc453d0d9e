//go:build e2e

package soundness_test

import "testing"

// An apply that takes longer than a server that is told to stop waits for it goes on
// without one, and the next server carries it on: nobody ends it, and it is not
// applied twice (soundness I6).
func TestAnApplyOutlastsAServerThatWasToldToStop(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "app", tf: plain("one")}}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/app/main.tf": plain("two")})
	w.approved(pr)
	slow := w.tool.at(t, "apply", "start")
	w.green(w.merged(pr, "merge"))
	slow.wait(w.ctx)
	w.server.stop()
	w.start()
	slow.release()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "two")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times", n)
	}
}
