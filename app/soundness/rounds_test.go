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
	w.awaitNote(pr, "`edge` reads `app.value`: planned with a value not known yet, now `\"on from two\"`")
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

// approveRound has alice approve the round or wave that waits at a gate.
func (w *world) approveRound(pr *forgetest.Pull, merge, gate string) {
	w.t.Helper()
	w.approveRoundAs(w.Alice, pr, merge, gate)
}

func (w *world) approveRoundAs(who *forgetest.User, pr *forgetest.Pull, merge, gate string) forgetest.Comment {
	w.t.Helper()
	return must(w.Forge.As(who).Comment(pr, w.roundLine(pr, merge, gate)))(w.t)
}

// roundLine waits for the note to hold the line that approves at the gate of a round
// or a wave.
func (w *world) roundLine(pr *forgetest.Pull, merge, gate string) string {
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
	return line
}

// kill -9 while the next pass is planned, and again while it applies: what applied is
// not applied again, and the round is asked and approved once (soundness I6).
func TestAServerKilledBetweenPassesCarriesTheNextOneOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n"})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	applied := w.tool.at(t, "apply", "end")
	w.green(merge)
	applied.wait(w.ctx)
	planning := w.tool.at(t, "plan", "start") // of what was held back
	applied.release()
	planning.wait(w.ctx)
	w.server.kill()
	planning.release()
	w.start()
	w.awaitRound(pr, "pr-apply-round-2")
	w.holds("net", "two")
	w.holds("app", "")

	applying := w.tool.at(t, "apply", "start")
	w.approveRound(pr, merge, "pr-apply-round-2")
	applying.wait(w.ctx)
	w.server.kill()
	w.start()
	applying.release() // it lives on, and the next server sees it end
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "reads two")
	if n := w.tool.runs("apply"); n != 2 {
		t.Errorf("terraform applied %d times, want once each", n)
	}
	if n := len(w.approvals("green-" + merge[:12])); n != 1 {
		t.Errorf("%d approvals of the round, want one", n)
	}
}

// An approval of a round that is revoked while the round runs stops its next wave,
// and what is left is asked again (soundness I2, I3).
func TestARoundThatIsRevokedWhileItRunsStopsAndAsksAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{
		{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")},
		{name: "edge", tf: reader, vars: readsFrom("net"), after: []string{"app"}},
	}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n", "roots/edge/main.tf": reader + "# two\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitRound(pr, "pr-apply-round-2")
	running := w.tool.at(t, "apply", "start")
	w.approveRound(pr, merge, "pr-apply-round-2")
	running.wait(w.ctx)
	w.Forge.Advance(2e9)
	revoked := must(w.Forge.As(w.Bob).Comment(pr, "chant revoke green-"+merge[:12]+" pr-apply-round-2"))(t)
	w.awaitReaction(revoked, "+1")
	running.release()
	w.awaitRound(pr, "pr-apply-round-3")
	w.holds("app", "reads two")
	w.holds("edge", "")
	w.approveRound(pr, merge, "pr-apply-round-3")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("edge", "reads two")
	if n := w.tool.runs("apply"); n != 3 {
		t.Errorf("terraform applied %d times, want once each", n)
	}
}
