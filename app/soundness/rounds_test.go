package soundness_test

import (
	"github.com/chant-bot/chant/forges/forgetest"
	"testing"
)

// passing is a root that hands on what it reads.
const passing = reader + `output "value" { value = "on from ${var.from}" }
`

// pr-loop §7.5: a chain of members that read what has no value yet takes one round a
// link, under one merge, and each root is applied once.
func TestAChainOfReadsTakesOneRoundALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{
		{name: "net", tf: plain("one")}, {name: "app", tf: passing, vars: readsFrom("net")}, {name: "edge", tf: reader, vars: readsFrom("app")},
	}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": plain("two"), "roots/app/main.tf": passing + "# two\n", "roots/edge/main.tf": reader + "# two\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitRound(pr, "pr-apply-round-2")
	w.holds("net", "two")
	w.holds("app", "")
	w.approveRound(pr, merge, "pr-apply-round-2")
	w.awaitRound(pr, "pr-apply-round-3")
	w.holds("app", "reads two")
	w.holds("edge", "")
	w.awaitNote(pr, "`edge` reads `app.value`: planned with `(not known)`, now `\"on from two\"`")
	w.approveRound(pr, merge, "pr-apply-round-3")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("edge", "reads on from two")
	if n := w.tool.runs("apply"); n != 3 {
		t.Errorf("terraform applied %d times, want once each", n)
	}
	if got := w.applied("prod"); got != merge {
		t.Errorf("the ledger says %q was applied, want %q", got, merge)
	}
}

func (w *world) awaitRound(pr *forgetest.Pull, gate string) {
	w.t.Helper()
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "approval at "+gate)
}

// approveRound has alice approve the round that waits at a gate.
func (w *world) approveRound(pr *forgetest.Pull, merge, gate string) {
	w.t.Helper()
	line := ""
	w.await("a line to approve at "+gate, func() bool {
		for _, m := range approveLine.FindAllStringSubmatch(w.note(pr), -1) {
			if m[1] == "green-"+merge[:12] && m[2] == gate {
				line = m[0]
			}
		}
		return line != ""
	})
	must(w.Forge.As(w.Alice).Comment(pr, line))(w.t)
}
