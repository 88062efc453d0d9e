package soundness_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A root between two others fails after the first of them applied, at a green commit
// that was approved at its own gate. What is left is no longer the plan that was
// approved, and it applies under that approval as long as it stands (pr-loop §5.12).
func TestAnApplyThatFailedIsCarriedOnUnderTheApprovalItHad(t *testing.T) {
	t.Parallel()
	for _, revoked := range []bool{false, true} {
		t.Run(fmt.Sprintf("revoked %v", revoked), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, project{roots: []root{
				{name: "first", tf: plain("one")}, {name: "second", tf: plain("one"), after: []string{"first"}},
				{name: "third", tf: plain("one"), after: []string{"second"}},
			}}, settings{})
			w.start()
			may := filepath.Join(w.State, "second-may")
			patient := header + fmt.Sprintf("resource \"terraform_data\" \"service\" {\n  input = \"two\"\n  lifecycle {\n    postcondition {\n"+
				"      condition     = fileexists(self.output == \"\" ? \"\" : %q)\n      error_message = \"not yet\"\n    }\n  }\n}\n", may)
			pr := w.propose("two", map[string]string{
				"roots/first/main.tf": plain("two"), "roots/second/main.tf": patient, "roots/third/main.tf": plain("two"),
			})
			w.awaitStatus(pr.Head(), "chant/plan", "success", "planned: ")
			merge := w.merged(pr, "merge")
			w.green(merge)
			w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
			op := "green-" + merge[:12]
			must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, op)))(t)
			w.awaitStatus(pr.Head(), "chant/apply", "failure", "second")
			w.holds("first", "two")

			must(os.Create(may))(t)
			if revoked {
				c := must(w.Forge.As(w.Bob).Comment(pr, "chant revoke "+op+" pr-apply"))(t)
				w.awaitReaction(c, "+1")
			}
			must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
			if revoked {
				w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
				w.holds("third", "")
				return
			}
			w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
			w.awaitNote(pr, "An earlier attempt applied `first`")
			w.holds("third", "two")
			if n := w.tool.runs("apply"); n != 3 { // each of them once
				t.Errorf("terraform applied %d times", n)
			}
			if got := w.applied("prod"); got != merge {
				t.Errorf("the ledger says %q was applied", got)
			}
		})
	}
}
