//go:build e2e

package soundness_test

import "testing"

// Every fault alone, so that none hides behind another one.
func TestEachFaultAlone(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, project{roots: []root{{name: "app", tf: plain("one")}}}, settings{})
			w.start()
			w.ended(w.crashes([]fault{f}), "two")
		})
	}
}

// Nobody starts the server again and no webhook comes: the clock alone brings the
// sweep.
func TestTheSweepComesByItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{sweep: "10s"})
	w.Forge.Faults.DropDeliveries("", 0)
	w.start()
	w.ended(w.crashes(nil), "two")
}
