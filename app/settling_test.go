package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/forges/forgetest"
)

// logged counts the lines of the server's log that match.
func (w *world) logged(pattern string) int {
	text, _ := os.ReadFile(filepath.Join(w.Dir, "server.log"))
	return len(regexp.MustCompile(`(?m)^.*`+pattern+`.*$`).FindAll(text, -1))
}

// edit replaces text in a file of main.
func (w *world) edit(path, old, now string) {
	w.t.Helper()
	text := must(w.t)(w.Repo.ReadFile("main", path)).(string)
	if !strings.Contains(text, old) {
		w.t.Fatalf("%s does not contain %q", path, old)
	}
	must(w.t)(w.Repo.Commit("main", map[string]string{path: strings.Replace(text, old, now, 1)}, w.Alice))
}

// records are the merge records on the ledger.
func (w *world) records() []string {
	files, _ := w.Repo.Files("chant/lifecycle")
	var out []string
	for _, f := range files {
		if strings.Contains(f, "_merges/") {
			out = append(out, f)
		}
	}
	return out
}

func (w *world) awaitRecord(sha string) {
	w.t.Helper()
	w.await("the record of "+sha, func() bool { return strings.Contains(strings.Join(w.records(), " "), sha) })
}

func TestAForkIsNotPlannedOnCommandWhereForksNeverAre(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	mallory := w.Forge.User("mallory")
	w.Repo.SetPublic(true)
	fork := must(t)(w.Repo.Fork(mallory)).(*forgetest.Repo)
	must(t)(fork.Commit("evil", map[string]string{"roots/app/evil.tf": "# evil\n"}, mallory))
	pr := must(t)(w.Repo.OpenFromFork(mallory, fork, "evil", "main", "Fix")).(*forgetest.Pull)
	w.awaitStatus(pr.Head(), "chant/plan", "pending", "forks are not planned")
	must(t)(w.Forge.As(w.Alice).Comment(pr, "chant plan "+pr.Head()))
	w.await("the refusal", func() bool { return strings.Contains(w.notes(), "pull requests from forks are not planned here") })
	if n := w.logged(`kind=plan`); n != 0 {
		t.Errorf("%d plan jobs ran", n)
	}
}

func TestOnlyTheDefaultBranchIsRecordedWhereNothingBindsTheEnv(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(t)(w.Repo.Commit("main", map[string]string{"chant.workspace.json": `{"name":"two-roots","schema":1,"minReader":"0.108.0"}`}, w.Alice))
	defer w.serve()()
	pushed := must(t)(w.Repo.Commit("dependabot/x", map[string]string{"roots/app/x.tf": "# x\n"}, w.Bob)).(string)
	w.await("the branch to settle", func() bool { return w.logged(`job done.*kind=settle.*dependabot/x`) > 0 })
	tip := must(t)(w.Repo.Commit("main", map[string]string{"x.txt": "1"}, w.Alice)).(string)
	w.awaitRecord(tip)
	if all := strings.Join(w.records(), " "); strings.Contains(all, pushed) {
		t.Errorf("what a branch holds was recorded: %s", all)
	}
	if n := w.logged(`kind=record.*dependabot/x`); n != 0 {
		t.Errorf("%d record jobs ran", n)
	}
}

func TestACommitThatDoesNotLoadIsRecordedSoAndHoldsNothingUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	comp := must(t)(w.Repo.ReadFile("main", "net.component.json")).(string)
	defer w.serve()()
	broken := w.propose("broken", "app", "listens in", "serves")
	must(t)(w.Repo.Commit("broken", map[string]string{"net.component.json": comp[:len(comp)/2]}, w.Bob))
	w.awaitStatus(broken.Head(), "chant/plan", "failure", "")
	merge := must(t)(broken.Merge("merge", w.Alice)).(string)
	w.awaitStatus(merge, "chant/apply", "failure", "did not plan: net.component.json")
	w.awaitStatus(broken.Head(), "chant/apply", "failure", "did not plan: net.component.json")
	tip := must(t)(w.Repo.Commit("main", map[string]string{"net.component.json": comp}, w.Alice)).(string)
	w.awaitRecord(tip)
	w.green(tip)
	w.await("the tag", func() bool {
		tags, _ := w.Repo.Tags()
		return strings.Contains(fmt.Sprint(tags), tip)
	})
	w.awaitStatus(tip, "chant/apply", "pending", "not covered")
}

func TestTheRootDeclaredAsAMemberIsRecordedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("chant.workspace.json", `"schema": 1,`, `"schema": 1, "members":[{"name":"estate","dir":".","kind":"chant"}],`)
	defer w.serve()()
	for i := range 2 {
		w.awaitRecord(must(t)(w.Repo.Commit("main", map[string]string{"x.txt": fmt.Sprint(i)}, w.Alice)).(string))
	}
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member, 1 to change")
	if n := w.logged(`kind=record`); n > 6 {
		t.Errorf("%d record jobs for 3 commits", n)
	}
}

func TestAWorkspaceOfMembersHasNoRootProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ws := must(t)(w.Repo.ReadFile("main", "chant.workspace.json")).(string)
	files := map[string]string{"chant.workspace.json": strings.Replace(ws, `"schema": 1,`, `"schema": 1, "members":[{"name":"estate","dir":"estate","kind":"chant"},{"name":"other","dir":"other","kind":"chant"}],`, 1), "other/.keep": ""}
	moved := []string{"chant.config.json", "net.component.json", "app.component.json", "roots/net/main.tf", "roots/app/main.tf"}
	for _, f := range moved {
		files["estate/"+f] = must(t)(w.Repo.ReadFile("main", f)).(string)
	}
	must(t)(w.Repo.Commit("main", files, w.Alice))
	must(t)(w.Repo.Remove("main", w.Alice, moved...))
	defer w.serve()()

	pr := w.proposeIn("x", "estate/roots/app/main.tf", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan/estate", "success", "1 member, 1 to change")
	w.awaitStatus(pr.Head(), "chant/plan/other", "success", "nothing to plan")

	conflict := w.proposeIn("y", "estate/roots/app/main.tf", "listens in", "answers in")
	w.awaitStatus(conflict.Head(), "chant/plan/estate", "success", "1 member")
	merge := must(t)(pr.Merge("merge", w.Alice)).(string)
	w.awaitStatus(pr.Head(), "chant/apply/estate", "pending", "green")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply/estate", "pending", "not covered")

	late := must(t)(w.Repo.Commit("y", map[string]string{"estate/roots/app/main.tf": "# gone\n"}, w.Bob)).(string)
	for _, member := range []string{"estate", "other"} {
		w.awaitStatus(late, "chant/plan/"+member, "failure", "")
	}
	for _, sha := range []string{pr.Head(), late, merge} {
		for _, s := range w.Repo.Statuses(sha) {
			if s.Context == "chant/plan" || s.Context == "chant/apply" {
				t.Errorf("a root project shows: %+v", s)
			}
		}
	}
}

// proposeIn opens a pull request of bob's that edits one file.
func (w *world) proposeIn(branch, path, old, now string) *forgetest.Pull {
	w.t.Helper()
	text := must(w.t)(w.Repo.ReadFile("main", path)).(string)
	must(w.t)(w.Repo.Commit(branch, map[string]string{path: strings.ReplaceAll(text, old, now)}, w.Bob))
	return must(w.t)(w.Repo.OpenPullRequest(w.Bob, branch, "main", "Change "+path)).(*forgetest.Pull)
}

func TestAPlanThatComesToNothingIsMadeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := must(t)(w.Repo.ReadFile("main", "chant.workspace.json")).(string)
	must(t)(w.Repo.Remove("main", w.Alice, "chant.workspace.json"))
	defer w.serve()()
	must(t)(w.Repo.Commit("add", map[string]string{"chant.workspace.json": strings.ReplaceAll(text, `"branch": "main"`, `"branch": "production"`)}, w.Bob))
	pr := must(t)(w.Repo.OpenPullRequest(w.Bob, "add", "main", "Add chant")).(*forgetest.Pull)
	w.awaitStatus(pr.Head(), "chant/plan", "success", "takes pull requests into main")
	if n := w.logged(`job done.*kind=plan`); n != 1 {
		t.Errorf("%d plans of one head", n)
	}
}

func TestADeletedBranchIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	must(t)(w.Repo.Commit("feature", map[string]string{"x.txt": "1"}, w.Bob))
	w.await("the branch to settle", func() bool { return w.logged(`job done.*kind=settle.*feature`) > 0 })
	before := w.logged(`job (done|failed).*kind=settle.*feature`)
	if err := w.Repo.DeleteBranch("feature", w.Bob); err != nil {
		t.Fatal(err)
	}
	w.await("the branch to settle again", func() bool { return w.logged(`job (done|failed).*kind=settle.*feature`) > before })
	if n := w.logged(`job failed.*feature`); n != 0 {
		t.Errorf("%d jobs failed", n)
	}
}

func TestWhatTheForgeDoesNotTakeIsAWarning(t *testing.T) {
	t.Parallel()
	t.Run("a note in a locked conversation", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.Forge.Faults.Fail(forgetest.Match{Method: "POST", Path: "/comments"}, 403, 0)
		defer w.serve()()
		pr := w.propose("wider", "app", "listens in", "serves")
		w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member, 1 to change")
		w.awaitStatus(pr.Head(), "chant/apply", "success", "before the merge")
		w.await("the warning", func() bool { return w.logged(`does not take it.*note of #1`) > 0 })
		must(t)(w.Forge.As(w.Alice).Review(pr, "APPROVE", ""))
		done := w.logged(`job done.*kind=settle.*pull`)
		w.await("another settle", func() bool { return w.logged(`job done.*kind=settle.*pull`) > done })
		if n := w.logged(`does not take it.*note of #1`); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
	t.Run("statuses it has no commit for", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.Forge.Faults.Fail(forgetest.Match{Method: "POST", Path: "/statuses"}, 404, 0)
		defer w.serve()()
		w.propose("wider", "app", "listens in", "serves")
		w.await("the warning in the note", func() bool {
			return strings.Contains(w.notes(), "The forge does not take the status")
		})
	})
}

func TestRecordingBeginsWithTheNewestCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var tip string
	for i := range 4 {
		tip = must(t)(w.Repo.Commit("main", map[string]string{"x.txt": fmt.Sprint(i)}, w.Alice)).(string)
	}
	defer w.serve()()
	w.awaitRecord(tip)
	next := must(t)(w.Repo.Commit("main", map[string]string{"x.txt": "next"}, w.Alice)).(string)
	w.awaitRecord(next)
	if all := w.records(); len(all) != 2 {
		t.Errorf("recorded %v, want the newest of the first contact and what came after", all)
	}
}

func TestTheOnlyApproverIsCalledOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("chant.workspace.json", `"applyOnMerge": true`, `"applyOnMerge": true, "approvers": ["`+w.principal()+`"]`)
	defer w.serve()()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.await("the call", func() bool { return strings.Contains(w.notes(), "@alice: plan") })
	must(t)(w.Forge.As(w.Alice).Comment(pr, w.approveLineOf(pr, "pr-1")))
	w.await("the approval in the note", func() bool { return strings.Contains(w.notes(), "Approved by") })
	if n := strings.Count(w.notes(), "@alice: plan"); n != 1 {
		t.Errorf("called %d times", n)
	}
}

// principal is alice as approvers name her: the demo's forge has a host of its
// own.
func (w *world) principal() string {
	return "github@" + strings.TrimPrefix(strings.TrimPrefix(w.Forge.URL(), "http://"), "https://") + ":alice"
}

func TestALedgerThatWentBackIsSaidEverywhereUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("chant.workspace.json", `"envs": [`, `"envs": [{ "name": "staging", "branch": "main", "gate": "stage-apply" },`)
	stop := w.serve()
	merged := w.propose("first", "net", "10.0.0.0/16", "10.1.0.0/16")
	w.awaitStatus(merged.Head(), "chant/plan@prod", "success", "")
	merge := must(t)(merged.Merge("merge", w.Alice)).(string)
	w.awaitStatus(merged.Head(), "chant/apply@prod", "pending", "green")
	open := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(open.Head(), "chant/plan@prod", "success", "")

	if err := w.Repo.DeleteBranch("chant/lifecycle", w.Alice); err != nil {
		t.Fatal(err)
	}
	stop()
	stop = w.serve() // a sweep looks at everything
	for _, sha := range []string{merged.Head(), open.Head(), merge} {
		for _, env := range []string{"prod", "staging"} {
			w.awaitStatus(sha, "chant/apply@"+env, "failure", "chant ledger accept")
		}
	}
	stop()
	path, err := w.Config(anyPort)
	if err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(app.AcceptLedger(w.ctx, c, "acme/infra"))
	defer w.serve()()
	w.awaitStatus(open.Head(), "chant/apply@prod", "success", "before the merge")
	w.awaitStatus(open.Head(), "chant/apply@staging", "success", "before the merge")
	w.awaitStatus(merge, "chant/apply@staging", "success", "")
}

func TestAPlanIsShownAfterTheClonesAreLost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.edit("chant.workspace.json", `"applyOnMerge": true`, `"applyOnMerge": true, "requireReview": true`)
	stop := w.serve()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member, 1 to change")
	must(t)(w.Forge.As(w.Alice).Comment(pr, "no command"))
	stop()
	clones, err := filepath.Glob(filepath.Join(w.Dir, "*", "clones"))
	if err != nil || len(clones) != 1 {
		t.Fatalf("clones: %v, %v", clones, err)
	}
	if err := os.RemoveAll(clones[0]); err != nil {
		t.Fatal(err)
	}
	defer w.serve()()
	must(t)(w.Forge.As(w.Alice).Review(pr, "APPROVE", "Looks right.\n\n"+w.approveLineOf(pr, "pr-1")))
	w.await("the approval in the note", func() bool { return strings.Contains(w.notes(), "Approved by") })
}

func TestAPlanThatFailsForAMomentIsNotRecordedAsFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	w.awaitRecord(must(t)(w.Repo.Commit("main", map[string]string{"x.txt": "1"}, w.Alice)).(string))
	state := w.StateFile("app")
	if err := os.Rename(state, state+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	w.edit("roots/app/main.tf", "listens in", "serves")
	tip := must(t)(w.Repo.Head("main")).(string)
	w.await("a failed try", func() bool { return w.logged(`a merge is not recorded yet`) > 0 })
	if err := os.Remove(state); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(state+".away", state); err != nil {
		t.Fatal(err)
	}
	w.awaitRecord(tip)
	rec := must(t)(w.Repo.ReadFile("chant/lifecycle", "_merges/prod/"+tip[:2]+"/"+tip+".json")).(string)
	if !strings.Contains(rec, `"status": "planned"`) {
		t.Errorf("recorded as %s", rec)
	}
}

// What the planner says of a merge counts against it only when a newer commit
// shows that the planner works; until then no approval is lost to it.
func TestAMergeThatDoesNotPlanIsToldAndRecordedWhenANewerOnePlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	w.awaitRecord(must(t)(w.Repo.Commit("main", map[string]string{"x.txt": "1"}, w.Alice)).(string))
	text := w.main("roots/app/main.tf")
	w.edit("roots/app/main.tf", "listens in", "${nothing.here}")
	broken := must(t)(w.Repo.Head("main")).(string)
	w.awaitStatus(broken, "chant/apply", "failure", "tried until")
	if all := strings.Join(w.records(), " "); strings.Contains(all, broken) {
		t.Fatalf("recorded while nobody knows why it does not plan: %s", all)
	}
	// It goes green meanwhile, and is not applied: no approval could be found.
	w.green(broken)
	w.await("the tag", func() bool {
		tags, _ := w.Repo.Tags()
		return strings.Contains(fmt.Sprint(tags), "ci/green/"+broken)
	})
	settled := w.logged(`job done.*kind=settle.*branch.*main`)
	w.await("the branch to settle", func() bool { return w.logged(`job done.*kind=settle.*branch.*main`) > settled })
	if n := w.logged(`kind=apply `); n != 0 {
		t.Errorf("%d apply jobs ran", n)
	}
	mended := must(t)(w.Repo.Commit("main", map[string]string{"roots/app/main.tf": text}, w.Alice)).(string)
	w.awaitRecord(mended)
	rec := must(t)(w.Repo.ReadFile("chant/lifecycle", "_merges/prod/"+broken[:2]+"/"+broken+".json")).(string)
	if !strings.Contains(rec, `"status": "plan-failed"`) {
		t.Errorf("recorded as %s", rec)
	}
	w.awaitStatus(broken, "chant/apply", "failure", "did not plan: app")
}
