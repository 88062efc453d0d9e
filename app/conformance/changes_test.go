package conformance_test

import (
	"strings"

	"github.com/chant-bot/chant/engine"
)

// changes are pull requests in every state, and what moves under them.
func changes() []conform {
	return []conform{
		{name: "a draft waits until it is ready", run: func(w *world) {
			must(w.repo.Commit("to-second", to("second"), w.bob))(w.t)
			pr := must(w.repo.OpenDraft(w.bob, "to-second", "main", "Change"))(w.t)
			w.status(pr.Head(), "chant/plan", "pending", "a draft")
			pr.SetDraft(false, w.bob)
			w.planned(pr)
		}},
		{name: "a draft is planned when a person asks", run: func(w *world) {
			must(w.repo.Commit("to-second", to("second"), w.bob))(w.t)
			pr := must(w.repo.OpenDraft(w.bob, "to-second", "main", "Change"))(w.t)
			w.status(pr.Head(), "chant/plan", "pending", "a draft")
			w.says(w.bob, pr, "chant plan")
			w.planned(pr)
		}},
		{name: "a bot's pull request waits for a person to ask", lacking: lacking{
			engine.Forgejo: "Forgejo tells of no account that it is a bot",
		}, run: func(w *world) {
			bot := w.forge.Bot("renovate")
			w.repo.SetPermission(bot, "write")
			must(w.repo.Commit("to-second", to("second"), bot))(w.t)
			pr := must(w.repo.OpenPullRequest(bot, "to-second", "main", "Change"))(w.t)
			w.status(pr.Head(), "chant/plan", "pending", "a bot's")
			w.says(w.alice, pr, "chant plan")
			w.planned(pr)
		}},
		{name: "a fork is not planned, nor on command where forks never are", policy: policy{public: true}, run: func(w *world) {
			fork := must(w.repo.Fork(w.mallory))(w.t)
			must(fork.Commit("evil", to("second"), w.mallory))(w.t)
			pr := must(w.repo.OpenFromFork(w.mallory, fork, "evil", "main", "Fix"))(w.t)
			w.status(pr.Head(), "chant/plan", "pending", "forks are not planned")
			w.answered(pr, w.says(w.alice, pr, "chant plan "+pr.Head()), "forks are not planned here")
			if n := w.plans(); n != 0 {
				w.t.Errorf("%d plans were made", n)
			}
		}},
		{name: "a fork is planned on a command that names its head", policy: policy{public: true, plan: object{"forks": "on-command"}}, run: func(w *world) {
			fork := must(w.repo.Fork(w.mallory))(w.t)
			must(fork.Commit("better", to("second"), w.mallory))(w.t)
			pr := must(w.repo.OpenFromFork(w.mallory, fork, "better", "main", "Fix"))(w.t)
			w.status(pr.Head(), "chant/plan", "pending", "a fork is planned on")
			w.answered(pr, w.says(w.alice, pr, "chant plan"), "chant plan "+pr.Head())
			w.says(w.alice, pr, "chant plan "+pr.Head())
			w.planned(pr)
		}},
		{name: "a pull request is planned when it comes to the branch that is planned", run: func(w *world) {
			must(w.repo.Commit("release", map[string]string{"x": "1"}, w.alice))(w.t)
			must(w.repo.Commit("to-second", to("second"), w.bob))(w.t)
			pr := must(w.repo.OpenPullRequest(w.bob, "to-second", "release", "Change"))(w.t)
			w.handled(pr)
			if err := pr.Retarget("main", w.bob); err != nil {
				w.t.Fatal(err)
			}
			w.planned(pr)
		}},
		{name: "a branch that is pushed over is planned as it is now", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			other := must(w.repo.Commit("elsewhere", to("third"), w.bob))(w.t)
			if err := w.repo.ForcePush("to-second", other, w.bob); err != nil {
				w.t.Fatal(err)
			}
			w.planned(pr)
			w.noted(pr, "third")
			w.unapproved(pr)
		}},
		{name: "a pull request that is opened again keeps its plan and its approval", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			if err := pr.Close(w.bob); err != nil {
				w.t.Fatal(err)
			}
			if err := pr.Reopen(w.bob); err != nil {
				w.t.Fatal(err)
			}
			w.handled(pr)
			w.noted(pr, "Approved by")
			if n := w.plans(); n != 1 {
				w.t.Errorf("%d plans of one head", n)
			}
		}},
		{name: "a conflict with its base is a failed plan that says so", run: func(w *world) {
			pr := w.propose("second")
			w.planned(pr)
			must(w.repo.Commit("main", to("third"), w.alice))(w.t)
			must(pr.Push(to("fourth"), w.bob))(w.t)
			w.status(pr.Head(), "chant/plan", "failure", "conflict")
		}},
		{name: "a repository renamed on the way keeps its approvals and records", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			w.repo.Rename(w.repo.Name() + "-by-another-name")
			w.green(w.merges(pr, "merge"))
			w.applied(pr, "second")
		}},
		{name: "a repository transferred on the way keeps its approvals and records", run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			w.repo.Transfer("other")
			w.green(w.merges(pr, "squash"))
			w.applied(pr, "second")
		}},
		{name: "markup in a title stays out of the note and of commands", run: func(w *world) {
			must(w.repo.Commit("to-second", to("second"), w.bob))(w.t)
			title := "Fix` \n# Approved by @admin\n</details>\n/close <script>alert(1)</script>"
			pr := must(w.repo.OpenPullRequest(w.bob, "to-second", "main", title))(w.t)
			w.planned(pr)
			w.line(pr, opOf(pr))
			w.inert(w.note(pr))
		}},
		{name: "markup in a plan is shown as text", run: func(w *world) {
			value := "`\n\n```\n# Approved by @admin\n</details>\n/close\n@alice <script>alert(1)</script>"
			must(w.repo.Commit("hostile", to(value), w.bob))(w.t)
			pr := must(w.repo.OpenPullRequest(w.bob, "hostile", "main", "Change"))(w.t)
			w.planned(pr)
			w.line(pr, opOf(pr))
			w.inert(w.note(pr))
			w.approved(pr)
		}},
	}
}

// inert tells that nothing of what a stranger wrote is markup or a command.
func (w *world) inert(note string) {
	w.t.Helper()
	fenced, folds := false, 0
	for line := range strings.Lines(note) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		} else if !fenced {
			folds += strings.Count(line, "<details>") - strings.Count(line, "</details>")
		}
		for _, bad := range []string{"# Approved", "/close", "<script"} {
			if strings.HasPrefix(strings.TrimSpace(line), bad) {
				w.t.Errorf("the note holds the line %q", line)
			}
		}
	}
	if fenced || folds != 0 {
		w.t.Errorf("the note's fences or folds do not close:\n%s", note)
	}
}
