package conformance_test

import (
	"strings"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges/forgetest"
)

// approvals are where an approval can be written, and what of it counts.
func approvals() []conform {
	return []conform{
		{name: "a revocation takes an approval back for good", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			w.reacted(pr, w.says(w.alice, pr, "chant revoke"), "+1")
			w.unapproved(pr)
			w.waitsAtGreen(pr)
		}},
		{name: "an approval of an older plan is refused by name", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			must(pr.Push(to("third"), w.bob))(w.t)
			w.planned(pr)
			w.answered(pr, w.says(w.alice, pr, line), "an earlier plan")
			w.never(pr)
		}},
		{name: "a shortened digest is refused with the line to copy", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.answered(pr, w.says(w.alice, pr, line[:len(line)-52]), line)
			w.never(pr)
		}},
		{name: "a comment on a line of the change approves", run: func(w *world) {
			pr := w.propose("second")
			must(w.forge.As(w.alice).ReviewComment(pr, mainTF, 6, w.line(pr, opOf(pr))))(w.t)
			w.noted(pr, "Approved by")
		}},
		{name: "a comment on the green commit approves what waits there", lacking: lacking{
			engine.Forgejo: "Forgejo has no comments on commits",
		}, run: func(w *world) {
			pr := w.propose("second")
			w.planned(pr)
			sha := w.merges(pr, "merge")
			w.green(sha)
			must(w.forge.As(w.alice).CommitComment(w.repo, sha, w.line(pr, greenOp(sha))))(w.t)
			w.applied(pr, "second")
		}},
		{name: "an edited comment does not approve", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.relay.route(w.repo.ID, comments(late))
			c := w.says(w.alice, pr, "Looks right.")
			w.forge.Advance(2 * time.Second)
			if err := w.forge.As(w.bob).EditComment(c, line); err != nil {
				w.t.Fatal(err)
			}
			w.release()
			w.answered(pr, c, "edited")
			w.never(pr)
		}},
		{name: "a deleted comment does not approve", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.relay.route(w.repo.ID, comments(late))
			if err := w.forge.As(w.alice).DeleteComment(w.says(w.alice, pr, line)); err != nil {
				w.t.Fatal(err)
			}
			w.release()
			w.handled(pr)
			w.never(pr)
		}},
		{name: "a quoted and a fenced command are not run, and are answered", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.answered(pr, w.says(w.alice, pr, "> "+line+"\n\nI agree."), "Not run")
			w.answered(pr, w.says(w.alice, pr, "```\n"+line+"\n```"), "Not run")
			w.never(pr)
		}},
		{name: "an approval after the merge is sent to the green gate", run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.merges(pr, "merge")
			w.answered(pr, w.says(w.alice, pr, line), "this pull request is merged")
			w.never(pr)
		}},
	}
}

// approvers are who may approve, and for how long.
func approvers() []conform {
	reviewed := policy{env: object{"requireReview": true}}
	return []conform{
		{name: "who may only read cannot approve", run: func(w *world) {
			pr := w.propose("second")
			c := w.says(w.mallory, pr, w.line(pr, opOf(pr)))
			w.reacted(pr, c, "confused")
			w.answered(pr, c, "write permission")
			w.never(pr)
		}},
		{name: "who wrote the change cannot approve it where a review is required", policy: reviewed, run: func(w *world) {
			pr := w.propose("second")
			w.answered(pr, w.says(w.bob, pr, w.line(pr, opOf(pr))), "who wrote it cannot approve it")
			w.never(pr)
		}},
		{name: "who committed to the change cannot approve it where a review is required", policy: reviewed, run: func(w *world) {
			pr := w.propose("second")
			must(w.repo.CommitAs("to-second", map[string]string{"README.md": "By two.\n"}, w.carol, w.carol.Person(), w.carol.Person(), "Help"))(w.t)
			w.planned(pr)
			must(w.forge.As(w.carol).Review(pr, "APPROVE", w.line(pr, opOf(pr))))(w.t)
			w.eventually("the refusal", func() bool { return strings.Contains(w.allAnswers(pr), "cannot approve it") })
			w.never(pr)
		}},
		{name: "a comment alone does not approve where a review is required", policy: reviewed, run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.answered(pr, w.says(w.alice, pr, line), "approving review")
			w.never(pr)
			must(w.forge.As(w.alice).Review(pr, "APPROVE", ""))(w.t)
			w.says(w.alice, pr, line)
			w.noted(pr, "Approved by")
		}},
		{name: "an approval falls with its review, dismissed or withdrawn", policy: reviewed, run: func(w *world) {
			pr := w.propose("second")
			review := must(w.forge.As(w.alice).Review(pr, "APPROVE", w.line(pr, opOf(pr))))(w.t)
			w.noted(pr, "Approved by")
			if err := w.forge.As(w.alice).Dismiss(review); err != nil {
				w.t.Fatal(err)
			}
			w.look(pr)
			w.unapproved(pr)
			w.waitsAtGreen(pr)
		}},
		{name: "a review against the change takes its author's approval back", policy: reviewed, lacking: lacking{
			engine.GitLab: "GitLab's approvals know no verdict against a change; one is withdrawn",
		}, run: func(w *world) {
			pr := w.propose("second")
			must(w.forge.As(w.alice).Review(pr, "APPROVE", w.line(pr, opOf(pr))))(w.t)
			w.noted(pr, "Approved by")
			must(w.forge.As(w.alice).Review(pr, "REQUEST_CHANGES", "On second thought, no."))(w.t)
			w.unapproved(pr)
		}},
		{name: "an approval counts only while its author may write", run: func(w *world) {
			pr := w.propose("second")
			w.says(w.carol, pr, w.line(pr, opOf(pr)))
			w.noted(pr, "Approved by")
			sha := w.merges(pr, "merge")
			w.repo.SetPermission(w.carol, "read")
			w.green(sha)
			w.status(pr.Head(), "chant/apply", "pending", "not covered")
			w.holds("first")
		}},
		{name: "an account that is gone approves nothing", run: func(w *world) {
			pr := w.propose("second")
			dora := w.forge.User("dora")
			w.repo.SetPermission(dora, "write")
			w.says(dora, pr, w.line(pr, opOf(pr)))
			w.noted(pr, "Approved by")
			sha := w.merges(pr, "merge")
			w.forge.DeleteUser(dora)
			w.green(sha)
			w.status(pr.Head(), "chant/apply", "pending", "not covered")
			w.holds("first")
		}},
		{name: "only the approvers named may approve", policy: policy{approvers: []string{"carol"}}, run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.answered(pr, w.says(w.alice, pr, line), "is approved by")
			w.never(pr)
			w.says(w.carol, pr, line)
			w.noted(pr, "Approved by")
		}},
		{name: "a team that is named approves through its members alone", policy: policy{approvers: []string{"@acme/ops"}}, run: func(w *world) {
			team := w.forge.Team("acme", "ops")
			team.Add(w.carol, w.bot) // who asks has to be in it on Forgejo
			team.Invite(w.alice)
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			w.answered(pr, w.says(w.alice, pr, line), "is approved by")
			w.says(w.carol, pr, line)
			w.noted(pr, "Approved by")
		}},
		{name: "a bot never approves and gets no words", lacking: lacking{
			engine.Forgejo: "Forgejo tells of no account that it is a bot",
		}, run: func(w *world) {
			pr := w.propose("second")
			bot := w.forge.Bot("helper")
			w.repo.SetPermission(bot, "write")
			c := w.says(bot, pr, w.line(pr, opOf(pr)))
			w.reacted(pr, c, "confused")
			w.never(pr)
			if words := w.answers(pr, c.ID); words != "" {
				w.t.Errorf("answered a bot: %s", words)
			}
		}},
		{name: "what an app writes in a person's name does not approve", lacking: lacking{
			engine.GitLab: "GitLab has no apps that write in a person's name", engine.Forgejo: "Forgejo has no apps that write in a person's name",
		}, run: func(w *world) {
			pr := w.propose("second")
			app := must(w.forge.CreateApp(forgetest.AppOptions{Slug: "assistant", Owner: "acme"}))(w.t)
			c := must(w.forge.As(w.alice).Through(app).Comment(pr, w.line(pr, opOf(pr))))(w.t)
			w.reacted(pr, c, "confused")
			w.never(pr)
		}},
		{name: "where there are no approvals, no review rule is met", policy: reviewed, lacking: lacking{
			engine.GitHub: "GitHub always has reviews", engine.Forgejo: "Forgejo always has reviews",
		}, run: func(w *world) {
			w.forge.Faults.Fail(w.api("GET", "/merge_requests/1/approvals"), 404, 0)
			pr := w.propose("second")
			w.answered(pr, w.says(w.alice, pr, w.line(pr, opOf(pr))), "approving review")
			w.never(pr)
		}},
	}
}

// comments keeps comments from their usual fate.
func comments(f fate) func(post) fate {
	return func(p post) fate {
		if is[engine.CommandPosted](p) {
			return f
		}
		return arrives
	}
}

// never tells that no approval of a pull request is on the ledger.
func (w *world) never(pr *forgetest.Pull) {
	w.t.Helper()
	if n := w.approvals(opOf(pr)); n != 0 {
		w.t.Errorf("%d approvals on the ledger", n)
	}
}

// unapproved waits until the note shows no approval any more.
func (w *world) unapproved(pr *forgetest.Pull) {
	w.t.Helper()
	w.eventually("the approval to be gone", func() bool { return !strings.Contains(w.note(pr), "Approved by") })
}

// waitsAtGreen merges a pull request and sees that nothing covers it.
func (w *world) waitsAtGreen(pr *forgetest.Pull) {
	w.t.Helper()
	w.green(w.merges(pr, "merge"))
	w.status(pr.Head(), "chant/apply", "pending", "not covered")
	w.holds("first")
}

// handled waits until comments written before were read: one more is answered.
func (w *world) handled(pr *forgetest.Pull) {
	w.t.Helper()
	w.relay.route(w.repo.ID, always(arrives))
	w.answered(pr, w.says(w.alice, pr, "chant help"), "chant")
}
