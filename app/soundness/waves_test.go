package soundness_test

import (
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/forges/forgetest"
)

// reader is a root that keeps what it reads from another one.
const reader = header + `variable "from" { type = string }
resource "terraform_data" "service" {
  input = "reads ${var.from}"
}
`

func readsFrom(stack string) object {
	return object{"from": object{"stackOutput": object{"stack": stack, "name": "value"}}}
}

// What reads a value that is not the one its plan was made with is held, planned
// again with the value that stands, and asks at the gate of its round (pr-loop §7.5,
// soundness I7).
func TestAReaderAppliesNoPlanMadeWithAnotherValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}}}, settings{})
	w.start()
	w.round("never applied before", "two", "")
	w.round("applied as another value", "three", "reads two")
}

// round changes net; app follows only once its own plan was approved.
func (w *world) round(how, value, standing string) {
	w.t.Helper()
	w.t.Logf("the upstream was %s", how)
	pr := w.propose(value, map[string]string{
		"roots/net/main.tf": plain(value), "roots/app/main.tf": reader + "# " + value + "\n",
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	line := w.line(pr, "green-"+merge[:12])
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "waits: 1 member held back, approval at pr-apply-round-2")
	if got, _ := w.Applied("net", "service"); got != value {
		w.t.Fatalf("net holds %q, want %q\n%s", got, value, w.shown())
	}
	if got, _ := w.Applied("app", "service"); got != standing {
		w.t.Fatalf("app holds %q though nobody approved what it reads, want %q", got, standing)
	}
	if !strings.Contains(line, " pr-apply-round-2 ") {
		w.t.Errorf("the line to approve the round is %q", line)
	}
	w.awaitNote(pr, "What round 2 changes, 1 member") // who approves it has seen it
	must(w.Forge.As(w.Alice).Comment(pr, line))(w.t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.awaitNote(pr, "**Round 2** at `pr-apply-round-2`, applied")
	if got, _ := w.Applied("app", "service"); got != "reads "+value {
		w.t.Fatalf("app holds %q", got)
	}
}

// An approval that falls while a wave runs stops the next one (soundness I2).
func TestAnApprovalThatFallsBetweenWavesStopsTheNext(t *testing.T) {
	t.Parallel()
	falls := []struct {
		how    string
		review bool
		fall   func(w *world, pr *forgetest.Pull, r forgetest.Review)
	}{
		{how: "revoked", fall: func(w *world, pr *forgetest.Pull, _ forgetest.Review) {
			w.Forge.Advance(2e9)
			c := must(w.Forge.As(w.Bob).Comment(pr, "chant revoke "+opOf(pr)+" pr-apply"))(w.t)
			w.awaitReaction(c, "+1")
		}},
		{how: "its author may no longer write", fall: func(w *world, _ *forgetest.Pull, _ forgetest.Review) {
			w.Repo.SetPermission(w.Alice, "read")
		}},
		{how: "its review was dismissed", review: true, fall: func(w *world, _ *forgetest.Pull, r forgetest.Review) {
			if err := w.Forge.As(w.Bob).Dismiss(r); err != nil {
				w.t.Fatal(err)
			}
		}},
	}
	for _, f := range falls {
		if f.review && !heavy {
			continue
		}
		t.Run(f.how, func(t *testing.T) {
			t.Parallel()
			p := project{roots: []root{{name: "first", tf: plain("one")}, {name: "second", tf: plain("one"), after: []string{"first"}}}}
			if f.review {
				p.more = object{"security": []string{"review-rules"}}
			}
			w := newWorld(t, p, settings{})
			w.start()
			pr := w.propose("two", map[string]string{"roots/first/main.tf": plain("two"), "roots/second/main.tf": plain("two")})
			review := must(w.Forge.As(w.Alice).Review(pr, "APPROVE", w.line(pr, opOf(pr))))(t)
			w.awaitNote(pr, "Approved by")
			merge := w.merged(pr, "merge")
			running := w.tool.at(t, "apply", "start")
			w.green(merge)
			running.wait(w.ctx)
			f.fall(w, pr, review)
			running.release()
			w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
			w.holds("first", "two")
			w.holds("second", "")
			if n := w.tool.runs("apply"); n != 1 {
				t.Errorf("terraform applied %d times, want once", n)
			}
			if got := w.applied("prod"); got != "" {
				t.Errorf("the ledger says %s was applied (soundness I10)", got)
			}
		})
	}
}

// A run that was taken over while a wave ran starts nothing more of its own plan:
// a fresh one decides (decision 18, soundness I6).
func TestARunTakenOverBetweenWavesStartsNoMoreOfItsPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "first", tf: plain("one")}, {name: "second", tf: plain("one"), after: []string{"first"}}}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/first/main.tf": plain("two"), "roots/second/main.tf": plain("two")})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	running := w.tool.at(t, "apply", "start")
	w.green(merge)
	running.wait(w.ctx)
	planned := w.tool.runs("plan")
	path := record.AttemptPath("", "prod")
	other := must(record.ParseAttempt([]byte(w.git("show", ledgerRef+":"+path))))(t)
	other.Token = "another server's"
	must(w.Repo.Commit("chant/lifecycle", map[string]string{path: string(other.JSON())}, w.Bob))(t)
	running.release()
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("first", "two")
	w.holds("second", "two")
	if n := w.tool.runs("plan") - planned; n == 0 {
		t.Error("the second wave applied the plan of a run that was over")
	}
	if n := w.tool.runs("apply"); n != 2 {
		t.Errorf("terraform applied %d times, want once each", n)
	}
}

// An approval that fell before the apply covers nothing.
func TestAnApprovalThatFellBeforeTheApplyCoversNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.Repo.SetPermission(w.Alice, "read")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
	w.holds("app", "")
	w.Repo.SetPermission(w.Alice, "admin")
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
}

// A member that fails blocks what depends on it and nothing else, and the commit
// is not recorded as applied (soundness I10).
func TestAFailedMemberBlocksOnlyWhatDependsOnIt(t *testing.T) {
	t.Parallel()
	bad := header + "resource \"terraform_data\" \"service\" {\n  input = \"two\"\n  provisioner \"local-exec\" {\n    command = \"exit 1\"\n  }\n}\n"
	w := newWorld(t, project{roots: []root{
		{name: "bad", tf: plain("one")}, {name: "below", tf: plain("one"), after: []string{"bad"}},
		{name: "beside", tf: plain("one")}, {name: "next", tf: plain("one"), after: []string{"beside"}},
	}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{
		"roots/bad/main.tf": bad, "roots/below/main.tf": plain("two"), "roots/beside/main.tf": plain("two"), "roots/next/main.tf": plain("two"),
	})
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "failure", "bad")
	w.holds("beside", "two")
	w.holds("next", "two")
	w.holds("below", "")
	if got := w.applied("prod"); got != "" {
		t.Errorf("the ledger says %s was applied", got)
	}
	if status := w.Repo.Status(pr.Head(), "chant/apply").Description; !strings.Contains(status, "1 blocked") {
		t.Errorf("the status says %q", status)
	}
	if !heavy {
		return
	}
	repair := w.propose("repair", tf("bad", plain("three")))
	w.approved(repair)
	merge = w.merged(repair, "merge")
	w.green(merge)
	w.awaitStatus(repair.Head(), "chant/apply", "success", "applied")
	w.holds("bad", "three")
	w.holds("below", "two")
}
