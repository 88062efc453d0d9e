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
