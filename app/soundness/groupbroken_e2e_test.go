//go:build e2e

package soundness_test

import (
	"os"
	"testing"
)

// picky refuses one value of what it reads.
const picky = header + `variable "from" {
  type = string
  validation {
    condition     = var.from != "there"
    error_message = "Not there."
  }
}
resource "terraform_data" "service" {
  input = "reads ${var.from}"
}
output "value" { value = "at ${var.from}" }
`

// What a member of a group follows can't be planned again: the member is blocked, and
// what is left of its group is planned by itself, since the plan of a group is applied
// whole or not at all (pr-loop §7.5, §8.2, soundness I7).
func TestWhatIsLeftOfAHeldGroupIsPlannedByItself(t *testing.T) {
	t.Parallel()
	p := grouped()
	p.roots[1].after = []string{"dns"}
	p.roots = append(p.roots, root{name: "dns", tf: picky, vars: readsFrom("zone")}, root{name: "zone", tf: plain("one")})
	w := newWorld(t, p, settings{})
	if err := os.WriteFile(w.StateFile("zone"), []byte(dnsState("here")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n", "roots/dns/main.tf": picky + "# two\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	planned := w.tool.at(t, "show", "end")
	w.green(merge)
	planned.wait(w.ctx)
	if err := os.WriteFile(w.StateFile("zone"), []byte(dnsState("there")), 0o600); err != nil {
		t.Fatal(err)
	}
	planned.release()
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "dns")
	w.holds("net", "two")
	w.holds("app", "")
	w.holds("dns", "")
}
