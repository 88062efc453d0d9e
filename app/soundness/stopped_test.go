package soundness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chant-bot/chant/forges/forgetest"
)

// patient is a root that makes its resource and fails as long as a file is missing.
func patient(value, file string) string {
	return header + fmt.Sprintf(`resource "terraform_data" "service" {
  input = %q
  lifecycle {
    postcondition {
      condition     = fileexists(self.output == "" ? "" : %q)
      error_message = "not yet"
    }
  }
}
`, value, file)
}

// A root between others fails after the first of them applied, at a green commit that
// was approved at its own gate. What is left is no longer the plan that was approved,
// and it applies under that approval as long as it stands (pr-loop §5.12, soundness
// I2).
func TestAnApplyThatFailedIsCarriedOnUnderTheApprovalItHad(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name           string
		before, during bool   // when the approval is taken back
		third, fourth  string // what they hold in the end
		applies        int
	}{
		{name: "the approval stands", third: "two", fourth: "two", applies: 4},
		{name: "it was revoked before", before: true, applies: 2},
		{name: "it is revoked meanwhile", during: true, third: "two", applies: 3},
	}
	for _, tt := range tests {
		if tt.before && !heavy {
			continue // the journey resume.txtar of the command line has it too
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, project{roots: []root{
				{name: "first", tf: plain("one")}, {name: "second", tf: plain("one"), after: []string{"first"}},
				{name: "third", tf: plain("one"), after: []string{"second"}}, {name: "fourth", tf: plain("one"), after: []string{"third"}},
			}}, settings{})
			w.start()
			may := filepath.Join(w.State, "second-may")
			pr, op := w.failedAtItsGate("second", map[string]string{
				"roots/first/main.tf": plain("two"), "roots/second/main.tf": patient("two", may),
				"roots/third/main.tf": plain("two"), "roots/fourth/main.tf": plain("two"),
			})
			w.holds("first", "two")

			must(os.Create(may))(t)
			if tt.before {
				w.revoked(pr, op)
			}
			var running *stop
			if tt.during {
				running = w.tool.at(t, "apply", "start")
			}
			must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
			if tt.during {
				running.wait(w.ctx)
				w.revoked(pr, op)
				running.release()
			}
			if tt.before || tt.during {
				w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
			} else {
				w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
				w.awaitNote(pr, "An earlier attempt applied `first`")
			}
			w.holds("third", tt.third)
			w.holds("fourth", tt.fourth)
			if n := w.tool.runs("apply"); n != tt.applies {
				t.Errorf("terraform applied %d times, want %d", n, tt.applies)
			}
			if got := w.applied("prod"); (got != "") != (tt.fourth != "") {
				t.Errorf("the ledger says %q was applied (soundness I10)", got)
			}
		})
	}
}

// failedAtItsGate merges files without an approval, approves the green commit at its
// own gate, op, and waits until the apply failed at a member.
func (w *world) failedAtItsGate(member string, files map[string]string) (pr *forgetest.Pull, op string) {
	w.t.Helper()
	pr = w.propose("two", files)
	w.awaitStatus(pr.Head(), "chant/plan", "success", "planned: ")
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
	op = "green-" + merge[:12]
	must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, op)))(w.t)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", member)
	return pr, op
}

// revoked has bob take back what was approved at a gate.
func (w *world) revoked(pr *forgetest.Pull, op string) {
	w.t.Helper()
	w.awaitReaction(must(w.Forge.As(w.Bob).Comment(pr, "chant revoke "+op+" pr-apply"))(w.t), "+1")
}
