package soundness_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/forges/forgetest"
)

func oneRoot() project { return project{roots: []root{{name: "app", tf: plain("one")}}} }

// reacted tells whether the app answered a comment with a reaction.
func (w *world) reacted(c forgetest.Comment, content string) bool {
	for _, now := range w.Repo.Comments(c.Number) {
		if now.ID == c.ID {
			return now.Reactions[content] > 0
		}
	}
	return false
}

func (w *world) awaitReaction(c forgetest.Comment, content string) {
	w.t.Helper()
	w.await("reaction "+content+" to "+c.Body, func() bool { return w.reacted(c, content) })
}

// silent lets people comment while the server hears nothing of it.
func (w *world) silent(act func()) {
	w.t.Helper()
	w.server.stop()
	act()
	w.start()
}

// Whoever may not approve, and whatever does not stand any more as it was
// written, opens nothing (decision 7).
func TestOnlyAStandingCommentOfAPersonWhoMayCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	carol, robot := w.Forge.User("carol"), w.Forge.Bot("robot")
	w.Repo.SetPermission(carol, "read")
	w.Repo.SetPermission(robot, "admin")
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	line := w.line(pr, opOf(pr))
	alice := w.Forge.As(w.Alice)
	say := func(a forgetest.Actor, body string) forgetest.Comment {
		t.Helper()
		return must(a.Comment(pr, body))(t)
	}
	refused := map[string]forgetest.Comment{}
	var deleted, quoted forgetest.Comment
	w.silent(func() {
		refused["by somebody who only reads"] = say(w.Forge.As(carol), line)
		refused["by a bot"] = say(w.Forge.As(robot), line)
		refused["through an app"] = say(alice.Through(w.App), line)
		refused["with a shortened digest"] = say(alice, line[:len(line)-4])
		refused["with twelve digits"] = say(alice, strings.Replace(line, line[len(line)-64:], line[len(line)-64:][:12], 1))
		refused["without a digest"] = say(alice, "chant approve "+opOf(pr)+" pr-apply")
		refused["of another digest"] = say(alice, line[:len(line)-64]+strings.Repeat("0", 64))
		edited := say(alice, "Looks right.")
		w.Forge.Advance(2 * time.Second)
		if err := alice.EditComment(edited, line); err != nil {
			t.Fatal(err)
		}
		refused["edited into an approval"] = edited
		mallory := say(alice, line)
		w.Forge.Advance(2 * time.Second)
		if err := w.Forge.As(w.Bob).EditComment(mallory, line+" "); err != nil {
			t.Fatal(err)
		}
		refused["edited by somebody else"] = mallory
		quoted = say(alice, "> "+line+"\n\nI have not read it.")
		deleted = say(alice, line)
		if err := alice.DeleteComment(deleted); err != nil {
			t.Fatal(err)
		}
	})
	for how, c := range refused {
		w.await("an answer to the approval "+how, func() bool { return w.reacted(c, "confused") })
	}
	// A comment that comes last is answered last: what is quoted was read by then.
	asked := say(alice, "chant explain")
	w.awaitReaction(asked, "+1")
	if got := w.approvals(opOf(pr)); len(got) != 0 {
		t.Errorf("counted: %+v", got)
	}
	if w.reacted(quoted, "+1") {
		t.Error("a quoted command was run")
	}
	w.awaitReaction(say(alice, line), "+1")
	w.awaitNote(pr, "Approved by")
	if got := w.approvals(opOf(pr)); len(got) != 1 {
		t.Errorf("%d approvals", len(got))
	}
	// The head moves on: the approval stays with the plan it names.
	head := must(pr.Push(tf("app", plain("three")), w.Bob))(t)
	w.awaitNote(pr, head[:12])
	if strings.Contains(w.note(pr), "Approved by") {
		t.Error("the approval of an older plan counts for the new one")
	}
	w.awaitReaction(say(alice, line), "confused")
}

// A revocation is final: an approval written before it never counts after it, in
// whatever order they are read and whatever the clocks say (soundness I3).
func TestNoApprovalWrittenBeforeARevocationCountsAfterIt(t *testing.T) {
	t.Parallel()
	for name, offset := range map[string]time.Duration{
		"the forge's clock is an hour ahead": time.Hour, "the forge's clock is an hour behind": -time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, oneRoot(), settings{})
			w.Forge.Advance(offset)
			w.start()
			pr := w.propose("two", tf("app", plain("two")))
			line := w.line(pr, opOf(pr))
			alice := w.Forge.As(w.Alice)

			w.Forge.Faults.DropDeliveries("issue_comment", 2)
			approve := must(alice.Comment(pr, line))(t)
			w.Forge.Advance(2 * time.Second)
			revoke := must(alice.Comment(pr, "chant revoke"))(t)
			w.redeliver(revoke)
			w.awaitReaction(revoke, "+1")
			w.redeliver(approve)
			w.awaitReaction(approve, "confused")
			if got := w.approvals(opOf(pr)); len(got) != 0 {
				t.Errorf("counted: %+v", got)
			}
			w.Forge.Advance(2 * time.Second)
			again := must(alice.Comment(pr, line))(t)
			w.awaitReaction(again, "+1")
			w.awaitNote(pr, "Approved by")
		})
	}
}

// redeliver sends the delivery of a comment that was dropped.
func (w *world) redeliver(c forgetest.Comment) {
	w.t.Helper()
	for _, d := range w.Forge.Deliveries() {
		if d.Event == "issue_comment" && d.Dropped && strings.Contains(string(d.Body), c.URL) {
			if err := w.Forge.Redeliver(d.GUID); err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
	w.t.Fatalf("no delivery of %s was dropped", c.URL)
}

// Who wrote any of the change does not count under the review rule, nor does who
// did not review it, and a review that is taken back takes the approval along
// (pr-loop §5.10).
func TestUnderTheReviewRuleOnlyAReviewerWhoDidNotWriteCounts(t *testing.T) {
	t.Parallel()
	p := oneRoot()
	p.more = object{"security": []string{"review-rules"}}
	w := newWorld(t, p, settings{})
	people := map[string]*forgetest.User{"author of a commit": w.Forge.User("carol"), "committer": w.Forge.User("dave"), "co-author": w.Forge.User("erin")}
	for _, u := range people {
		w.Repo.SetPermission(u, "write")
	}
	w.start()
	must(w.Repo.CommitAs("two", tf("app", plain("two")), w.Bob, people["author of a commit"].Person(), people["committer"].Person(),
		"Two\n\nCo-authored-by: Erin <1+erin@users.noreply."+w.proxy.listen+">"))(t)
	pr := must(w.Repo.OpenPullRequest(w.Bob, "two", "main", "Two"))(t)
	line := w.line(pr, opOf(pr))
	people["author of the pull request"] = w.Bob
	people["somebody who did not review"] = w.Alice
	for how, u := range people {
		c := must(w.Forge.As(u).Comment(pr, line))(t)
		w.await("a refusal of the "+how, func() bool { return w.reacted(c, "confused") })
	}
	review := must(w.Forge.As(w.Alice).Review(pr, "APPROVE", line))(t)
	w.awaitNote(pr, "Approved by")
	if err := w.Forge.As(w.Bob).Dismiss(review); err != nil {
		t.Fatal(err)
	}
	w.await("the note without the approval", func() bool { return !strings.Contains(w.note(pr), "Approved by") })
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
	green := "green-" + merge[:12]
	for how, u := range people {
		if u == w.Alice {
			continue
		}
		c := must(w.Forge.As(u).Comment(pr, w.line(pr, green)))(t)
		w.await("a refusal of the "+how+" at the green gate", func() bool { return w.reacted(c, "confused") })
	}
	w.holds("app", "")
	must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, green)))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
}

// A pull request cannot loosen the gate it stands at (decision 2).
func TestAPullRequestCannotLetItsAuthorApprove(t *testing.T) {
	t.Parallel()
	p := oneRoot()
	env := func(who ...string) []object {
		return []object{{"name": "prod", "branch": "main", "applyOnMerge": true, "approvers": who}}
	}
	w := newWorld(t, p, settings{})
	alice, bob := w.principal("alice"), w.principal("bob")
	p.envs = env(alice)
	must(w.Repo.Commit("main", w.files(p), w.Alice))(t)
	// The base of the range then has the rule, whether the server sees the newest
	// commit before it is merged into, and records it, or after.
	must(w.Repo.Commit("main", map[string]string{"README.md": "infra\n"}, w.Alice))(t)
	w.start()

	p.envs = env(alice, bob)
	changes := w.files(p)
	changes["roots/app/main.tf"] = plain("two")
	pr := w.propose("two", changes)
	line := w.line(pr, opOf(pr))
	c := must(w.Forge.As(w.Bob).Comment(pr, line))(t)
	w.awaitReaction(c, "confused")
	merge := w.merged(pr, "merge")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "not covered")
	c = must(w.Forge.As(w.Bob).Comment(pr, w.line(pr, "green-"+merge[:12])))(t)
	w.awaitReaction(c, "confused")
	w.holds("app", "")
	must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, "green-"+merge[:12])))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	// From here on what the pull request changed counts.
	second := w.propose("three", tf("app", plain("three")))
	must(w.Forge.As(w.Bob).Comment(second, w.line(second, opOf(second))))(t)
	w.awaitNote(second, "Approved by")
}

// principal is how the ledger names an account of this world's forge.
func (w *world) principal(login string) string { return "github@" + w.proxy.listen + ":" + login }

// Two environments of one branch plan alike; what opens one opens no other
// (decision 3).
func TestAnApprovalOfStagingOpensNoProduction(t *testing.T) {
	t.Parallel()
	p := oneRoot()
	p.envs = []object{
		{"name": "staging", "branch": "main", "gate": "staging-apply"},
		{"name": "prod", "branch": "main", "applyOnMerge": true},
	}
	w := newWorld(t, p, settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	staging := w.lineIn(pr, "staging", opOf(pr))
	prod := w.line(pr, opOf(pr))
	digest := func(line string) string { _, d, _ := strings.Cut(line, "--plan "); return d }
	if digest(staging) != digest(prod) {
		t.Fatalf("the plans differ, so this proves nothing: %s and %s", staging, prod)
	}
	vague := must(w.Forge.As(w.Alice).Comment(pr, "chant approve --plan "+digest(prod)))(t)
	w.awaitReaction(vague, "confused")
	must(w.Forge.As(w.Alice).Comment(pr, staging))(t)
	w.await("the approval of staging", func() bool { return strings.Contains(w.noteOf(pr, "staging"), "Approved by") })
	if strings.Contains(w.note(pr), "Approved by") {
		t.Error("prod counts the approval of staging")
	}
	merge := must(pr.Merge("merge", w.Alice))(t)
	w.awaitStatus(pr.Head(), "chant/apply@prod", "pending", "green")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply@prod", "pending", "not covered")
	w.holds("app", "")
	must(w.Forge.As(w.Alice).Comment(pr, w.line(pr, "green-"+merge[:12])))(t)
	w.awaitStatus(pr.Head(), "chant/apply@prod", "success", "applied")
}

// The approval is on the ledger: a server that lost its database, or got an old
// one back, still knows it, and applies nothing twice.
func TestALostOrRestoredDatabaseLosesNoApprovalAndAppliesNothingAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, oneRoot(), settings{})
	w.start()
	pr := w.propose("two", tf("app", plain("two")))
	w.approved(pr)
	w.server.stop()
	early := w.databaseFiles()
	for name := range early {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	merge := must(pr.Merge("merge", w.Alice))(t)
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")

	w.server.stop()
	for name := range w.databaseFiles() {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range early {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.start()
	w.settledBranch()
	if n := w.tool.runs("apply"); n != 1 {
		t.Errorf("terraform applied %d times, want once", n)
	}
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "two")
	if n := len(w.approvals(opOf(pr))); n != 1 {
		t.Errorf("%d approvals of the first pull request", n)
	}
}

// databaseFiles are the files of the database of a server that is down.
func (w *world) databaseFiles() map[string][]byte {
	w.t.Helper()
	out := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		name := w.Dir + "/server/chant.db" + suffix
		if data, err := os.ReadFile(name); err == nil {
			out[name] = data
		}
	}
	return out
}
