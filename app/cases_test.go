package app_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	osexec "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/cli"
	"github.com/chant-bot/chant/forges/forgetest"
)

// These are the inputs on which bots of this kind failed in public (cases), and
// faults of one repository or comment that must not reach another.

func TestEveryCommentGetsOneVisibleOutcome(t *testing.T) { //nolint:tparallel // one conversation, in order
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	// What the first sweep finds was brought by no delivery.
	w.await("the first sweep", func() bool { return w.logged(`job done.*kind=sweep-repo `) > 0 })
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member")
	line := w.approveLineOf(pr, "pr-1")

	t.Run("a trailing HTML comment changes nothing", func(*testing.T) { // atlantis 6643
		w.awaitAnswer(pr, w.said(pr, "chant explain\r\n\r\n<!-- linear:isThreadRoot -->"), "changed")
	})
	t.Run("what looks like a command and is none is answered", func(*testing.T) { // atlantis 6643
		w.awaitAnswer(pr, w.said(pr, "> "+line+"\n\nI agree"), "Not run")
		w.awaitAnswer(pr, w.said(pr, "`"+line+"`"), "Not run")
	})
	t.Run("the app is called by its own name", func(*testing.T) {
		w.awaitAnswer(pr, w.said(pr, "@chant explain"), "changed")
	})
	t.Run("a bot never approves, and gets no words", func(*testing.T) { // digger 798
		bot := w.Forge.Bot("helper[bot]")
		w.Repo.SetPermission(bot, "write")
		c := must(t)(w.Forge.As(bot).Comment(pr, line)).(forgetest.Comment)
		w.await("the bot's refusal", func() bool { return w.reacted(pr, c.ID, "confused") })
		if got := answers(w.Repo.Comments(pr.Number), c.ID); len(got) > 0 {
			t.Errorf("answered a bot: %q", got)
		}
	})
	t.Run("nothing is applied before it is green", func(*testing.T) { // atlantis 6529
		w.awaitAnswer(pr, w.said(pr, "chant apply"), "not green")
	})
	t.Run("an inline answer that was lost is not given twice", func(t *testing.T) {
		w.Forge.Faults.LoseAnswer(forgetest.Match{Method: "POST", Path: "/replies"}, 1)
		c := must(t)(w.Forge.As(w.Alice).ReviewComment(pr, "roots/app/main.tf", 1, "chant approve")).(forgetest.Comment)
		w.awaitJobs("command", fmt.Sprintf(`\"ID\":%d`, c.ID), 1)
		if got := answers(w.Repo.ReviewComments(pr.Number), c.ID); len(got) != 1 || !strings.Contains(got[0], "full digest") {
			t.Errorf("answers: %q", got)
		}
	})
	t.Run("an answer on a commit that was lost is not given twice", func(t *testing.T) {
		w.Forge.Faults.LoseAnswer(forgetest.Match{Method: "POST", Path: "/commits/" + pr.Head() + "/comments"}, 1)
		c := must(t)(w.Forge.As(w.Alice).CommitComment(w.Repo, pr.Head(), "chant help")).(forgetest.Comment)
		w.awaitJobs("command", fmt.Sprintf(`\"ID\":%d`, c.ID), 1)
		if got := answers(w.Repo.CommitComments(pr.Head()), c.ID); len(got) != 1 {
			t.Errorf("answers: %q", got)
		}
	})
	t.Run("an approval delivered twice counts once", func(t *testing.T) { // pr-agent 3373
		w.Forge.Faults.DuplicateDeliveries("issue_comment", 1)
		c := w.said(pr, line)
		w.await("the approval", func() bool { return w.reacted(pr, c.ID, "+1") })
		for _, d := range w.Forge.Deliveries() {
			if strings.Contains(string(d.Body), fmt.Sprintf(`"id":%d`, c.ID)) {
				if err := w.Forge.Redeliver(d.GUID); err != nil {
					t.Error(err)
				}
			}
		}
		if err := w.Forge.Quiesce(w.ctx); err != nil {
			t.Fatal(err)
		}
		w.awaitAnswer(pr, w.said(pr, "chant explain"), "changed")
		if got := w.approvals("pr-1"); got != 1 {
			t.Errorf("%d approvals on the ledger", got)
		}
	})
	t.Run("what a merge waits for is said by the names of its checks", func(*testing.T) {
		w.merge(pr)
		w.awaitAnswer(pr, w.said(pr, "chant explain"), "no check of that name: `lint`, `unit`")
	})
	stop()
	w.audited(w.Forge.Deliveries())
}

func TestANewHeadTakesNothingFromTheOldOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	// The first note is refused; a short one is left in its place (stategraph 493).
	w.Forge.Faults.Fail(forgetest.Match{Method: "POST", Path: "/comments"}, 422, 1)
	w.Forge.Faults.DuplicateDeliveries("pull_request", 0)
	both := w.edits([3]string{"app", "listens in", "serves"}, // and net keeps the output that app reads
		[3]string{"net", `output "cidr"`, "resource \"terraform_data\" \"peer\" {\n  input = \"10.1.0.0/16\"\n}\n\noutput \"cidr\""})
	must(t)(w.Repo.Commit("both", both, w.Bob))
	pr, err := w.Repo.OpenPullRequest(w.Bob, "both", "main", "Both")
	if err != nil {
		t.Fatal(err)
	}
	pr.Edit("Both roots", "", w.Bob) // two updates of one head: one plan (atlantis 3089)
	pr.Touch("labeled", w.Bob)
	first := pr.Head()
	w.awaitStatus(first, "chant/plan", "success", "2 members, 2 to change")
	line := w.approveLineOf(pr, "pr-1")

	app := w.edits([3]string{"app", "listens in", "listens in"}) // as on main: taken back (atlantis 1122)
	second := must(t)(pr.Push(app, w.Bob)).(string)
	w.awaitStatus(second, "chant/plan", "success", "2 members, 1 to change")
	w.awaitAnswer(pr, w.said(pr, line), "an earlier plan") // test-infra 24609
	w.await("a note of the new head alone", func() bool {
		note, err := w.Repo.CommentWith(pr.Number, "<!-- chant-pr:prod -->")
		return err == nil && strings.Contains(note.Body, "Head `"+second[:12]) && !strings.Contains(note.Body, line) &&
			strings.Contains(note.Body, "+ input: \"10.1.0.0/16\"") && !strings.Contains(note.Body, "serves")
	})
	if n := w.approvals("pr-1"); n != 0 {
		t.Errorf("%d approvals on the ledger", n)
	}
	for _, head := range []string{first, second} {
		if n := w.plans(head); n != 1 {
			t.Errorf("%d plans of %s", n, head)
		}
	}
}

func TestAnApprovalStandsOnlyWhileItsApproverMayGiveIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.declare(`"applyOnMerge": true`, `"applyOnMerge": true, "requireReview": true`)
	defer w.serve()()
	carol := w.Forge.User("carol")
	w.Repo.SetPermission(carol, "write")
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member")
	line := w.approveLineOf(pr, "pr-1")
	approved := func(yes bool) func() bool {
		return func() bool { return strings.Contains(w.notes(), "Approved by") == yes }
	}

	must(t)(w.Forge.As(w.Alice).Review(pr, "APPROVE", "Looks right.\n\n"+line))
	w.await("the approval in the note", approved(true))
	must(t)(w.Forge.As(w.Alice).Review(pr, "REQUEST_CHANGES", "On second thought, no."))
	w.await("a review with words and no command to count", approved(false))

	must(t)(w.Forge.As(carol).Review(pr, "APPROVE", line))
	w.await("carol's approval in the note", approved(true))
	w.Forge.DeleteUser(carol)
	must(t)(w.Forge.As(w.Alice).Review(pr, "COMMENT", "Where is carol?"))
	w.await("an account that is gone to approve nothing", approved(false))

	if err := w.Repo.DeleteBranch("chant/lifecycle", w.Alice); err != nil {
		t.Fatal(err)
	}
	c := w.said(pr, "chant revoke")
	w.awaitAnswer(pr, c, "cannot be used as it is")
	w.await("the refusal", func() bool { return w.reacted(pr, c.ID, "confused") })
}

func TestARepositoryThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Forge.Org("other")
	other, err := w.Forge.CreateRepo("other", "infra")
	if err != nil {
		t.Fatal(err)
	}
	must(t)(other.Commit("main", map[string]string{"a": "1"}, w.Alice))
	must(t)(w.App.Install("other"))
	defer w.serveTuned(tuning{text: func(s string) string {
		return strings.ReplaceAll(s, "repositories: [acme/infra]", "repositories: [acme/infra, other/infra]")
	}})()
	for _, path := range []string{fmt.Sprintf("/repositories/%d", other.ID), "/repos/other/infra"} {
		w.Forge.Faults.Fail(forgetest.Match{Path: path}, http.StatusBadGateway, 0)
	}
	other.SetPermission(w.Bob, "write")
	sha := must(t)(other.Commit("x", map[string]string{"a": "2"}, w.Bob)).(string)
	must(t)(other.SetCheck(sha, "lint", "completed", "success"))
	w.await("the other repository's deliveries to wait", func() bool { return strings.Contains(w.page("/deliveries"), "waiting") })

	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member")
	w.Forge.Faults.Clear()
	w.await("every delivery to be handled", func() bool {
		page := w.page("/deliveries")
		return !strings.Contains(page, "waiting") && !strings.Contains(page, "queued")
	})
}

func TestTheSweepFindsWhatNoEventSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.declare(`"x-bot": {`, `"x-bot": { "tick": false,`)
	w.Forge.Faults.DropDeliveries("", 0)
	defer w.serveTuned(tuning{sweep: time.Second})()
	// Four tags in one push, of which no forge sends an event (clerk 438).
	var commits []string
	for i := range 4 {
		commits = append(commits, must(t)(w.Repo.Commit("main", map[string]string{"x.txt": fmt.Sprint(i)}, w.Alice)).(string))
	}
	for _, sha := range commits {
		tag := osexec.CommandContext(w.ctx, "git", "update-ref", "refs/tags/ci/green/"+sha, sha)
		tag.Dir = w.Repo.Dir()
		if out, err := tag.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	newest := commits[3]
	w.await("the newest green commit to be applied", func() bool {
		applied, err := w.Repo.ReadFile("chant/lifecycle", "_green-applies/prod.json")
		return err == nil && strings.Contains(applied, newest)
	})
	c := must(t)(w.Forge.As(w.Alice).CommitComment(w.Repo, newest, "chant help")).(forgetest.Comment)
	w.await("the answer on the commit", func() bool { return len(answers(w.Repo.CommitComments(newest), c.ID)) == 1 })
}

func TestARenamedRepositoryKeepsItsRecordsAndApprovals(t *testing.T) { // MeshWeaver 1852
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member")
	w.said(pr, w.approveLineOf(pr, "pr-1"))
	w.await("the approval in the note", func() bool { return strings.Contains(w.notes(), "Approved by") })
	w.Repo.Rename("platform")
	merge, err := pr.Merge("merge", w.Alice)
	if err != nil {
		t.Fatal(err)
	}
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	stop()
	// The next process cannot ask who the listed name leads to.
	w.Forge.Faults.Fail(forgetest.Match{Path: "/repos/acme/infra"}, http.StatusBadGateway, 0)
	defer w.serve()()
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "service", "serves 10.0.0.0/16")
}

func TestAPersonWhoseTokenWeUseIsStillHeard(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.Forge.Token(w.Alice)
	defer w.serveTuned(tuning{text: func(s string) string {
		lines := strings.Split(s, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "  appId:") {
				lines[i] = fmt.Sprintf("  token: %q", token)
			} else if strings.HasPrefix(l, "  privateKey:") {
				lines[i] = ""
			}
		}
		return strings.Join(lines, "\n")
	}})()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member")
	w.said(pr, w.approveLineOf(pr, "pr-1"))
	w.await("the approval in the note", func() bool { return strings.Contains(w.notes(), "Approved by") })
}

// A command line has no time of the forge's, and its clock may be an hour behind:
// a comment that came before its revocation never counts after it (soundness I3).
func TestACommentFromBeforeARevocationByHandDoesNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member")
	op := fmt.Sprintf("pr-%d", pr.Number)
	line := w.approveLineOf(pr, op)

	w.Forge.Faults.DropDeliveries("issue_comment", 1)
	c := w.said(pr, line)
	dir := t.TempDir()
	if out, err := osexec.CommandContext(w.ctx, "git", "clone", "--quiet", w.Repo.Dir(), dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	slow := &cli.Host{
		Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}, Stdout: io.Discard, Stderr: t.Output(),
		Now: func() time.Time { return time.Now().Add(-time.Hour + time.Minute) },
	}
	if err := cli.Revoke(w.ctx, slow, cli.RevokeOptions{ActOptions: cli.ActOptions{Op: op, Gate: "pr-apply", Approver: "github:bob"}}); err != nil {
		t.Fatal(err)
	}
	for _, d := range w.Forge.Deliveries() {
		if d.Dropped {
			if err := w.Forge.Redeliver(d.GUID); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.awaitAnswer(pr, c, "revoked on a command line")
	if n := w.approvals(op); n != 0 {
		t.Errorf("%d approvals counted", n)
	}
}
