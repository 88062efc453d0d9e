package soundness_test

import (
	"testing"

	"github.com/chant-bot/chant/forges/forgetest"
)

// pr-loop §5.10: with the review rule a round is opened by somebody who reviewed a
// pull request that changed one of its members and wrote none of the changes.
func TestWithTheReviewRuleAnAuthorOpensNoRound(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{
		more:  object{"security": []string{"review-rules"}},
		roots: []root{{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}},
	}, settings{})
	carol := w.Forge.User("carol")
	w.Repo.SetPermission(carol, "write")
	w.start()
	pr := w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n"})
	review := must(w.Forge.As(w.Alice).Review(pr, "APPROVE", w.line(pr, opOf(pr))))(t)
	w.awaitNote(pr, "Approved by")
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitRound(pr, "pr-apply-round-2")
	w.awaitNote(pr, "with an approving review, not `@bob`")
	w.awaitReaction(w.approveRoundAs(w.Bob, pr, merge, "pr-apply-round-2"), "confused")
	w.awaitReaction(w.approveRoundAs(carol, pr, merge, "pr-apply-round-2"), "confused")
	if n := len(w.approvals("green-" + merge[:12])); n != 0 {
		t.Errorf("%d approvals of the round by its author and by who reviewed nothing", n)
	}
	if err := w.Forge.As(w.Bob).Dismiss(review); err != nil {
		t.Fatal(err)
	}
	w.awaitReaction(w.approveRoundAs(w.Alice, pr, merge, "pr-apply-round-2"), "confused")
	w.holds("app", "")
	must(w.Forge.As(w.Alice).Review(pr, "APPROVE", "It is right."))(t)
	w.awaitReaction(w.approveRoundAs(w.Alice, pr, merge, "pr-apply-round-2"), "+1")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "reads two")
	w.awaitNote(pr, "| round 2, `") // who let it apply, in its row
}

// pr-loop §7.4: nothing of a later wave applies once an approval that the first one
// applied under no longer stands, whoever approved the wave itself.
func TestAMainApprovalRevokedBetweenGatedWavesStopsTheLaterOnes(t *testing.T) {
	t.Parallel()
	roots := []root{
		{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")},
		{name: "top", tf: plain("one"), after: []string{"app"}},
	}
	propose := func(w *world) (pr *forgetest.Pull, merge string) {
		w.start()
		pr = w.propose("two", map[string]string{
			"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n", "roots/top/main.tf": plain("two"),
		})
		w.approved(pr)
		merge = w.merged(pr, "merge")
		w.green(merge)
		w.awaitStatus(pr.Head(), "chant/apply", "pending", "waits: wave 2 needs approval at release-wave-2")
		return pr, merge
	}
	revoke := func(w *world, pr *forgetest.Pull) {
		w.Forge.Advance(2e9)
		w.awaitReaction(must(w.Forge.As(w.Bob).Comment(pr, "chant revoke "+opOf(pr)+" pr-apply"))(w.t), "+1")
	}
	for _, c := range []struct {
		how    string
		app    string // what it holds then
		revoke func(w *world, pr *forgetest.Pull, merge string)
	}{
		{how: "before the second was approved", revoke: func(w *world, pr *forgetest.Pull, merge string) {
			line := w.roundLine(pr, merge, "release-wave-2")
			revoke(w, pr)
			must(w.Forge.As(w.Alice).Comment(pr, line))(w.t)
		}},
		{how: "while the second runs", app: "reads two", revoke: func(w *world, pr *forgetest.Pull, merge string) {
			running := w.tool.at(w.t, "apply", "start")
			w.approveRound(pr, merge, "release-wave-2")
			running.wait(w.ctx)
			revoke(w, pr)
			running.release()
		}},
	} {
		t.Run(c.how, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, waveGated(roots...), settings{})
			pr, merge := propose(w)
			c.revoke(w, pr, merge)
			w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
			w.holds("net", "two")
			w.holds("app", c.app)
			w.holds("top", "")
			if got := w.applied("prod"); got != "" {
				t.Errorf("the ledger says %s was applied (soundness I10)", got)
			}
			w.awaitNote(pr, "waits for 1 approval at `green-"+merge[:12]+"`") // the reason, and what is to be done
		})
	}
}

// A pull request that is closed applies nothing, and ends nothing of another: neither
// a round that waits nor the plan of one that is open.
func TestAClosedPullRequestAppliesNothingAndEndsNothingOfAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t, project{roots: []root{
		{name: "net", tf: plain("one")}, {name: "app", tf: reader, vars: readsFrom("net")}, {name: "other", tf: plain("one")},
	}}, settings{})
	w.start()
	pr := w.propose("two", map[string]string{"roots/net/main.tf": plain("two"), "roots/app/main.tf": reader + "# two\n"})
	w.approved(pr)
	dropped := w.propose("dropped", tf("other", plain("two")))
	w.approved(dropped)
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitRound(pr, "pr-apply-round-2")
	if err := dropped.Close(w.Bob); err != nil {
		t.Fatal(err)
	}
	late := w.propose("late", tf("other", plain("three")))
	planning := w.tool.at(t, "plan", "start")
	must(late.Push(tf("other", plain("four")), w.Bob))(t)
	planning.wait(w.ctx)
	if err := late.Close(w.Bob); err != nil { // while it is planned
		t.Fatal(err)
	}
	planning.release()
	w.approveRound(pr, merge, "pr-apply-round-2")
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "reads two")
	w.holds("other", "")
	if err := dropped.Reopen(w.Bob); err != nil {
		t.Fatal(err)
	}
	merge = w.merged(dropped, "merge")
	w.green(merge)
	w.awaitStatus(dropped.Head(), "chant/apply", "success", "applied")
	w.holds("other", "two")
	if n := w.tool.runs("apply"); n != 3 {
		t.Errorf("terraform applied %d times, want net, app and other once each", n)
	}
}
