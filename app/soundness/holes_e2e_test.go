//go:build e2e

package soundness_test

import (
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/forges/forgetest"
)

// byHand applies a root as somebody does who has its credentials.
func (w *world) byHand(name, text string) {
	w.t.Helper()
	dir := w.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	for _, args := range [][]string{{"init", "-backend-config=path=" + w.StateFile(name)}, {"apply", "-auto-approve"}} {
		cmd := osexec.Command(w.tool.terraform, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			w.t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
}

// ADR 24: what a hole comes to has to be approved, whatever happened to the value that
// made it one between its approval and its apply.
func TestNoApprovalOfAHoleCoversWhatItComesTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}}}, settings{})
	w.start()
	w.round("never applied", "two", "")

	// The upstream's plan moves the value no more: somebody applied it by hand.
	pr := w.propose("three", map[string]string{"roots/net/main.tf": plain("three"), "roots/app/main.tf": reader + "# three\n"})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.byHand("net", plain("three"))
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "approval")
	line := w.line(pr, "green-"+merge[:12])
	w.holds("app", "reads two")
	must(w.Forge.As(w.Alice).Comment(pr, line))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "reads three")

	// It is reverted while the round waits: the reader stays as it is, and the round that
	// was asked opens nothing any more.
	pr = w.propose("four", map[string]string{"roots/net/main.tf": plain("four"), "roots/app/main.tf": reader + "# four\n"})
	w.approved(pr)
	merge = w.merged(pr, "merge")
	w.green(merge)
	w.awaitRound(pr, "pr-apply-round-2")
	asked := w.roundLine(pr, merge, "pr-apply-round-2")
	back := w.propose("back", map[string]string{"roots/net/main.tf": plain("three"), "roots/app/main.tf": reader + "# three\n"})
	w.approved(back)
	w.green(w.merged(back, "merge"))
	w.awaitStatus(back.Head(), "chant/apply", "success", "applied")
	w.holds("net", "three")
	w.awaitReaction(must(w.Forge.As(w.Alice).Comment(pr, asked))(t), "confused")
	w.holds("app", "reads three")

	// Two pull requests: the reader's plan was approved with a value that the other moves.
	other := w.propose("reader", tf("app", strings.Replace(reader, "reads $", "now reads $", 1)))
	w.approved(other)
	pr = w.propose("five", tf("net", plain("five")))
	w.approved(pr)
	w.merged(pr, "merge")
	merge = w.merged(other, "merge")
	w.green(merge)
	w.awaitRound(other, "pr-apply-round-2")
	w.holds("net", "five")
	w.holds("app", "reads three")
	w.approveRound(other, merge, "pr-apply-round-2")
	w.awaitStatus(other.Head(), "chant/apply", "success", "applied")
	w.holds("app", "now reads five")
}

// Who opens a round is judged as it applies, by what holds then: the account, and the rule
// that a merge changed in between (decision 2, soundness I2).
func TestARoundIsOpenedByWhoMayWhenItApplies(t *testing.T) {
	t.Parallel()
	p := project{roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}}}
	waits := func(t *testing.T) (w *world, pr *forgetest.Pull, merge string) {
		t.Helper()
		w = newWorld(t, p, settings{})
		w.start()
		pr = w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n"})
		w.approved(pr)
		merge = w.merged(pr, "merge")
		w.green(merge)
		w.awaitRound(pr, "pr-apply-round-2")
		return w, pr, merge
	}
	// bobOpens has bob open the round, who alone is named in its row then.
	bobOpens := func(w *world, pr *forgetest.Pull, merge string) {
		w.awaitReaction(w.approveRoundAs(w.Bob, pr, merge, "pr-apply-round-2"), "+1")
		w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
		w.holds("app", "reads two")
		for row := range strings.Lines(w.note(pr)) {
			if strings.Contains(row, "| round 2, ") && (strings.Contains(row, "alice") || !strings.Contains(row, "bob")) {
				w.t.Errorf("the round was opened by %s", row)
			}
		}
	}
	t.Run("its approver is gone before the first step", func(t *testing.T) {
		t.Parallel()
		w, pr, merge := waits(t)
		planning := w.tool.at(t, "plan", "start")
		w.approveRound(pr, merge, "pr-apply-round-2")
		planning.wait(w.ctx)
		w.Repo.SetPermission(w.Alice, "read")
		planning.release()
		w.Forge.Advance(2e9)
		w.await("the apply to end", func() bool {
			return w.count("SELECT count(*) FROM river_job WHERE kind = 'apply' AND state IN ('available','running','retryable','scheduled')") == 0
		})
		w.holds("app", "")
		bobOpens(w, pr, merge)
	})
	t.Run("a merge changed who may approve", func(t *testing.T) {
		t.Parallel()
		w, pr, merge := waits(t)
		stricter := p
		stricter.envs = []object{{"name": "prod", "branch": "main", "applyOnMerge": true, "approvers": []string{w.principal("bob")}}}
		rule := w.propose("rule", map[string]string{"chant.workspace.json": w.files(stricter)["chant.workspace.json"]})
		sha := must(rule.Merge("merge", w.Alice))(t)
		w.await("the record of the rule", func() bool { return len(w.onLedger("_merges/prod/"+sha[:2]+"/"+sha)) > 0 })
		// Whoever that merge took off the list is told so, and what they write by hand does
		// not count when it applies.
		w.awaitReaction(w.approveRoundAs(w.Alice, pr, merge, "pr-apply-round-2"), "confused")
		w.await("a word to alice", func() bool {
			return strings.Contains(w.shown(), "this environment is approved by `@bob`. You are not among them.")
		})
		w.approvedByHand("green-"+merge[:12], "pr-apply-round-2", w.principal("alice"))
		must(w.Forge.As(w.Bob).Comment(pr, "chant apply"))(t)
		w.awaitNote(pr, "is not among the approvers of env prod")
		w.holds("app", "")
		bobOpens(w, pr, merge)
	})
}

// approvedByHand appends to the ledger what a command line would, that reads no forge: the
// approval of the plan that waits at a gate.
func (w *world) approvedByHand(op, at, by string) {
	w.t.Helper()
	lines := w.gateLines(op)
	waits := lines[slices.IndexFunc(lines, func(l gate.Record) bool { return l.Gate == at })]
	line := must(gate.NewResolution(gate.Approval{
		Act: gate.Act{Op: op, Gate: at, Env: waits.Environment, By: by, Origin: "cli"}, Digest: waits.PlanDigest,
	}, lines, time.Now()))(w.t)
	path := gate.Path("", op)
	whole := w.git("show", ledgerRef+":"+path) + "\n" + string(line.Line())
	must(w.Repo.Commit("chant/lifecycle", map[string]string{path: whole}, w.Alice))(w.t)
}

// Who approves a wave is told at once that a merge took them off the list, as who approves
// a round is.
func TestAWaveIsNotOpenedByWhoALaterMergeTookOffTheList(t *testing.T) {
	t.Parallel()
	p := waveGated(root{name: "net", tf: plain("one")}, root{name: "app", tf: reader, vars: readsFrom("net")})
	w := newWorld(t, p, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n"})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "waits: wave 2 needs approval at release-wave-2")
	p.envs[0]["approvers"] = []string{w.principal("bob")}
	rule := w.propose("rule", map[string]string{"chant.workspace.json": w.files(p)["chant.workspace.json"]})
	sha := must(rule.Merge("merge", w.Alice))(t)
	w.await("the record of the rule", func() bool { return len(w.onLedger("_merges/prod/"+sha[:2]+"/"+sha)) > 0 })
	w.awaitReaction(w.approveRoundAs(w.Alice, pr, merge, "release-wave-2"), "confused")
	w.holds("app", "")
	w.awaitReaction(w.approveRoundAs(w.Bob, pr, merge, "release-wave-2"), "+1")
}
