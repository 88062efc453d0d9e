package soundness_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/forges/forgetest"
)

// logged waits for words in the server's log: where nothing is to be shown to
// people, it is how one knows that something was looked at.
func (w *world) awaitLog(text string) {
	w.t.Helper()
	w.await("the log to say "+text, func() bool {
		log, _ := os.ReadFile(w.logPath())
		return strings.Contains(string(log), text)
	})
}

// Two pull requests that went green together apply together, each under its own
// approval, however they were merged; and no older commit applies after them
// (decision 18).
func TestTwoMergesCoverAPlanOfBothAndNoOlderCommitFollows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{{name: "one", tf: plain("a")}, {name: "two", tf: plain("a")}}}, settings{})
	w.start()
	w.begin()
	first := w.propose("first", tf("one", plain("b")))
	w.approved(first)
	older := w.merged(first, "squash")
	second := w.propose("second", tf("two", plain("x")))
	must(second.Push(tf("two", plain("b")), w.Bob))(t)
	w.awaitStatus(second.Head(), "chant/plan", "success", "planned")
	w.approvedPlan(second, second.Head())
	newer := w.merged(second, "rebase")
	w.green(newer)
	w.awaitStatus(second.Head(), "chant/apply", "success", "applied: 2 members")
	w.awaitStatus(first.Head(), "chant/apply", "success", "applied: 2 members")
	w.holds("one", "b")
	w.holds("two", "b")
	applies := w.tool.runs("apply")

	w.green(older)
	w.await("the green tag of the older commit", func() bool { return w.tagged("ci/green/" + older) })
	if err := w.Repo.DeleteTags(w.Bob, "ci/green/"+newer); err != nil {
		t.Fatal(err)
	}
	must(w.Repo.SetCheck(newer, "test", "completed", "failure"))(t)
	must(w.Forge.As(w.Alice).Comment(first, "chant apply"))(t)
	w.awaitLog("is not applied: a newer commit was already applied")
	if n := w.tool.runs("apply"); n != applies {
		t.Errorf("terraform applied %d times after the older commit went green", n-applies)
	}
	if got := w.applied("prod"); got != newer {
		t.Errorf("the ledger says %s was applied, want %s", got, newer)
	}
}

// approvedPlan has alice approve the plan of one head.
func (w *world) approvedPlan(pr *forgetest.Pull, head string) {
	w.t.Helper()
	w.awaitNote(pr, head[:12])
	must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, opOf(pr))))(w.t)
	w.awaitNote(pr, "Approved by")
}

func (w *world) tagged(name string) bool {
	for _, tag := range must(w.Repo.Tags())(w.t) {
		if tag.Name == name {
			return true
		}
	}
	return false
}

// What was pushed past every pull request has a record without an approval, and
// waits; a revert that was approved applies what it reverts to, and what it
// reverted never does.
func TestADirectPushCoversNothingAndItsRevertApplies(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pushed := must(w.Repo.Commit("main", tf("app", plain("evil")), w.Bob))(t)
	w.await("the record of the push", func() bool { return len(w.onLedger("_merges/prod/"+pushed[:2]+"/"+pushed)) == 1 })
	record := w.git("show", ledgerRef+":_merges/prod/"+pushed[:2]+"/"+pushed+".json")
	if !strings.Contains(record, `"pr": null`) && !strings.Contains(record, `"pr":null`) {
		t.Errorf("the record names a pull request: %s", record)
	}
	w.green(pushed)
	w.awaitStatus(pushed, "chant/apply", "pending", "not covered")
	w.holds("app", "")

	revert := w.propose("revert", tf("app", plain("good")))
	w.approved(revert)
	merge := w.merged(revert, "merge")
	w.green(merge)
	w.awaitStatus(revert.Head(), "chant/apply", "success", "applied")
	w.holds("app", "good")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
}

// A green tag counts for the commit it names, on the branch, while its checks
// pass, and never once it was revoked (decision 5).
func TestATagThatAnybodyCanPushOpensNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	foreign := pr.Head() // approved and planned, and not on the branch
	merge := w.merged(pr, "merge")
	tag := func(name, commit string) {
		t.Helper()
		if err := w.Repo.CreateTags(w.Bob, commit, name); err != nil {
			t.Fatal(err)
		}
	}
	tag("ci/green/"+foreign, foreign)
	must(w.Repo.SetCheck(merge, "test", "completed", "failure"))(t)
	tag("ci/green/"+merge, merge) // by hand, over a failed check
	w.await("the tag's revocation", func() bool { return w.tagged("ci/revoked/" + merge) })
	must(w.Repo.SetCheck(merge, "test", "completed", "success"))(t)
	must(w.Forge.As(w.Alice).Comment(pr, "chant apply"))(t)
	w.settledBranch()
	w.holds("app", "")

	next := w.propose("three", tf("app", plain("three")))
	w.approved(next)
	merge = w.merged(next, "merge")
	tag("ci/green/"+merge, foreign) // names one commit and peels to another
	w.green(merge)
	w.settledBranch()
	if n := w.tool.runs("apply"); n != 0 {
		t.Errorf("terraform applied %d times", n)
	}
	if err := w.Repo.DeleteTags(w.Bob, "ci/green/"+merge); err != nil {
		t.Fatal(err)
	}
	w.awaitStatus(next.Head(), "chant/apply", "success", "applied")
	w.holds("app", "three")
}

// settledBranch waits until everything that was raised so far was settled and
// nothing is queued: then what was to happen has happened.
func (w *world) settledBranch() {
	w.t.Helper()
	if err := w.Forge.Quiesce(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	w.await("the server to have nothing left to do", func() bool {
		return w.count(`SELECT count(*) FROM river_job WHERE state IN ('available','pending','retryable','running','scheduled')`) == 0
	})
}

// A ledger that went back or vanished is not read until an operator accepts it
// (pr-loop §1.5).
func TestARewoundLedgerIsRefusedUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	for how, rewind := range map[string]func(*world){
		"rewound": func(w *world) { w.git("update-ref", ledgerRef, ledgerRef+"~1") },
		"deleted": func(w *world) { w.git("update-ref", "-d", ledgerRef) },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneRoot(), settings{})
			w.start()
			pr := w.propose("two", tf("app", plain("two")))
			line := w.line(pr, opOf(pr))
			w.approved(pr)
			w.Forge.Advance(2 * time.Second)
			revoke := must(w.Forge.As(w.Alice).Comment(pr, "chant revoke"))(t)
			w.awaitReaction(revoke, "+1")
			w.settledBranch()

			rewind(w) // so that the revocation never happened
			w.Forge.Advance(2 * time.Second)
			again := must(w.Forge.As(w.Alice).Comment(pr, line))(t)
			w.awaitReaction(again, "eyes")
			merge := must(pr.Merge("merge", w.Alice))(t)
			w.green(merge)
			w.awaitLog("the ledger does not hold the last tip seen")
			if w.reacted(again, "+1") {
				t.Error("an approval was counted on a ledger that cannot be trusted")
			}
			if n := len(w.onLedger("_merges/prod/" + merge[:2] + "/" + merge)); n != 0 {
				t.Error("the merge was recorded on it")
			}
			w.holds("app", "")

			c := must(config.Load(config.Source{Path: w.config}))(t)
			if tip := must(app.AcceptLedger(w.ctx, c, "acme/infra"))(t); how == "rewound" && tip == "" {
				t.Error("the accepted ledger is empty")
			}
			w.server.stop()
			w.start() // what waits is tried again at once
			w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
			w.awaitReaction(again, "confused")
		})
	}
}

// The branch was pushed over what was applied: which commit is newer can't be
// told, so nothing applies, and the pull request says why.
func TestABranchPushedOverWhatWasAppliedSaysWhyItWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	start := must(w.Repo.Head("main"))(t)
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	if err := w.Repo.ForcePush("main", start, w.Bob); err != nil {
		t.Fatal(err)
	}
	second := w.propose("three", tf("app", plain("three")))
	w.approved(second)
	other := must(second.Merge("merge", w.Alice))(t)
	w.green(other)
	w.await("the green tag", func() bool { return w.tagged("ci/green/" + other) })
	w.server.stop()
	w.start() // the sweep looks at what is open again
	w.awaitStatus(second.Head(), "chant/apply", "failure", "not on one first-parent line")
	w.holds("app", "two")
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times", n)
	}
	// Pushed back, it goes on from there.
	if err := w.Repo.ForcePush("main", merge, w.Bob); err != nil {
		t.Fatal(err)
	}
	third := w.propose("four", tf("app", plain("four")))
	w.approved(third)
	merge = w.merged(third, "merge")
	w.green(merge)
	w.awaitStatus(third.Head(), "chant/apply", "success", "applied")
	w.holds("app", "four")
}
