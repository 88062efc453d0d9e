package soundness_test

import (
	"math/rand/v2"
	"testing"
)

// kills is how often the random loop strikes.
const kills = 10

// The server is killed at requests nobody chose, before or after the forge did
// what was asked, or with the request still under way; the loop ends all the same.
func TestKillsAtRandomRequestsChangeNothing(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	w.settledBranch()
	left := kills
	var next *point
	arm := func() {
		count := 1 + dice.IntN(12)
		when := before
		if dice.IntN(2) == 0 {
			when = after
		}
		next = w.proxy.at(when, func(request) bool { count--; return count == 0 })
	}
	arm()
	w.disturb = func() {
		select {
		case <-next.hit:
		default:
			return
		}
		hit := next
		w.server.kill()
		if left--; left > 0 {
			arm()
		} else {
			next = &point{}
		}
		if dice.IntN(3) == 0 { // it is carried out while the next server runs
			w.start()
			hit.on <- goOn
			return
		}
		hit.on <- drop
		w.start()
	}
	pr := w.propose("two", tf("app", plain("two")))
	line := w.line(pr, opOf(pr))
	must(w.Forge.As(w.Alice).Comment(pr, line))(t)
	w.awaitNote(pr, "Approved by")
	merge := must(pr.Merge("merge", w.Alice))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.awaitNote(pr, "applied")
	w.disturb = nil
	w.proxy.release()
	w.settledBranch()
	t.Logf("%d kills", kills-left)
	w.ended(pr, "two")
}
