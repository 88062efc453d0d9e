package soundness_test

import (
	"strings"
	"testing"
)

// A change that reaches a component and the reader of its output is planned together,
// approved once and applied in one run, in which the value reaches its reader (pr-loop
// §8.1, seed 001).
func TestAChangeOfWhatIsReadIsApprovedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{groups: true, roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}}}, settings{})
	w.start()
	for _, value := range []string{"two", "three"} {
		pr := w.propose(value, map[string]string{
			"roots/net/main.tf": plain(value), "roots/app/main.tf": reader + "# " + value + "\n",
		})
		w.approved(pr)
		w.green(w.merged(pr, "merge"))
		w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
		w.holds("net", value)
		w.holds("app", "reads "+value)
		if note := w.note(pr); !strings.Contains(note, "one group") || strings.Contains(note, "Round") {
			t.Errorf("the note of %s says\n%s", value, note)
		}
	}
}
