package gitlab_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/forges/gitlab"
)

func status(state forges.StatusState, text string) forges.Status {
	return forges.Status{Context: "chant/plan", State: state, Description: text, TargetURL: "https://chant.example.com/1"}
}

func TestAStatusIsWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	if _, err := w.forge.Status(t.Context(), w.key, p.Head(), "chant/plan"); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("before: %v", err)
	}
	for _, s := range []forges.Status{
		status(forges.StatusPending, "planning"), status(forges.StatusSuccess, "2 to change"), status(forges.StatusFailure, "failed"),
	} {
		if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), s); err != nil {
			t.Fatal(err)
		}
		if got := must(w.forge.Status(t.Context(), w.key, p.Head(), "chant/plan"))(t); got != s {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
	if _, err := w.forge.Status(t.Context(), w.key, p.Head(), "chant/apply"); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("another context: %v", err)
	}
}

// GitLab refuses the state that stands and takes no new text for it
// (forge-facts 2.5).
func TestAPendingStatusGetsANewTextEachTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for i := range 5 {
		s := status(forges.StatusPending, fmt.Sprint("waits for number ", i))
		if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), s); err != nil {
			t.Fatal(err)
		}
		if got := must(w.forge.Status(t.Context(), w.key, p.Head(), "chant/plan"))(t); got != s {
			t.Errorf("got %+v, want %+v", got, s)
		}
	}
	for _, s := range w.repo.AllStatuses(p.Head()) {
		if s.State == "success" || s.State == "failure" {
			t.Errorf("on the way it was %s", s.State)
		}
	}
}

func TestTheSameStatusTwiceIsOneWrite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for _, state := range []forges.StatusState{forges.StatusPending, forges.StatusSuccess, forges.StatusError} {
		before := w.Count("POST", "/statuses/{sha}")
		for range 2 {
			if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), status(state, "x")); err != nil {
				t.Fatal(err)
			}
		}
		if n := w.Count("POST", "/statuses/{sha}") - before; n != 1 {
			t.Errorf("%s: %d writes", state, n)
		}
	}
}

// Both read that nothing stands, and GitLab refuses the second write whatever it
// says. It is done where the first said the same, and else tried again, from what
// stands now.
func TestAStatusThatAnotherReplicaWroteMeanwhileIsDoneOnlyIfItSaidTheSame(t *testing.T) {
	t.Parallel()
	for name, texts := range map[string][2]string{"the same": {"x", "x"}, "another": {"x", "y"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var both sync.WaitGroup
			both.Add(2)
			var writes atomic.Int32
			w := newWorld(t, func(c *gitlab.Config) {
				c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Method == http.MethodPost && writes.Add(1) <= 2 {
						both.Done()
						both.Wait()
					}
					return http.DefaultTransport.RoundTrip(r)
				})
			})
			p := w.pull(t, "topic")
			set := func(text string) error {
				return w.forge.SetStatus(timeout(t), w.key, p.Head(), status(forges.StatusPending, text))
			}
			errs := [2]error{}
			var ended sync.WaitGroup
			for i, text := range texts {
				ended.Go(func() { errs[i] = set(text) })
			}
			ended.Wait()
			var failed []string
			for i, err := range errs {
				if err != nil {
					failed = append(failed, texts[i])
				}
			}
			if texts[0] == texts[1] {
				if len(failed) > 0 {
					t.Fatal("what the other one said too failed")
				}
				return
			}
			if len(failed) != 1 {
				t.Fatalf("%q failed, want the second write", failed)
			}
			if err := set(failed[0]); err != nil {
				t.Fatal(err)
			}
			got := must(w.forge.Status(t.Context(), w.key, p.Head(), "chant/plan"))(t)
			if want := status(forges.StatusPending, failed[0]); got != want {
				t.Errorf("stands %+v, want %+v", got, want)
			}
		})
	}
}

func TestAStatusOfAHeadGoesToItsMergeRequestsPipeline(t *testing.T) {
	t.Parallel()
	for name, ref := range map[string]string{"a branch's": "topic", "a merge request's": "refs/merge-requests/1/head"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pull(t, "topic")
			must(w.repo.StartPipeline(w.alice, p.Head(), "elsewhere"))(t)
			id := must(w.repo.StartPipeline(w.alice, p.Head(), ref))(t)
			must(w.repo.StartPipeline(w.alice, p.Head(), "elsewhere"))(t)
			if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), status(forges.StatusPending, "x")); err != nil {
				t.Fatal(err)
			}
			if got := w.repo.PipelineOf(p.Head(), "chant/plan"); got != id {
				t.Errorf("went to pipeline %d, want %d", got, id)
			}
		})
	}
}

// A pipeline that starts later would else hold the answer to what the first one
// waits for.
func TestEveryStatusGoesToThePipelineOfTheFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	set := func(s forges.Status) {
		if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), s); err != nil {
			t.Fatal(err)
		}
	}
	set(status(forges.StatusPending, "x"))
	first := w.repo.PipelineOf(p.Head(), "chant/plan")
	must(w.repo.StartPipeline(w.alice, p.Head(), "topic"))(t)
	set(status(forges.StatusSuccess, "y"))
	apply := status(forges.StatusPending, "z")
	apply.Context = "chant/apply"
	set(apply)
	for _, name := range []string{"chant/plan", "chant/apply"} {
		if got := w.repo.PipelineOf(p.Head(), name); got != first || first == 0 {
			t.Errorf("%s went to pipeline %d, the first to %d", name, got, first)
		}
	}
}

// A fork's branch may have the name of a branch here, and nothing of the fork may
// touch that one's pipelines.
func TestAStatusOfAForksHeadStaysOffBranches(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mallory := w.User("mallory")
	fork := must(w.repo.Fork(mallory))(t)
	must(fork.Commit("main", map[string]string{"x.tf": "x\n"}, mallory))(t)
	p := must(w.repo.OpenFromFork(mallory, fork, "main", "main", "Trust me"))(t)
	if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), status(forges.StatusPending, "not planned")); err != nil {
		t.Fatal(err)
	}
	if ref := w.repo.RefOfPipeline(w.repo.PipelineOf(p.Head(), "chant/plan")); ref != "refs/merge-requests/1/head" {
		t.Fatalf("written under %q", ref)
	}
}

func TestAStatusOfALandedCommitGoesToItsBranch(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sha := must(w.pull(t, "topic").Merge(method, w.bob))(t)
			if err := w.forge.SetStatus(t.Context(), w.key, sha, status(forges.StatusSuccess, "applied")); err != nil {
				t.Fatal(err)
			}
			if ref := w.repo.RefOfPipeline(w.repo.PipelineOf(sha, "chant/plan")); ref != "main" {
				t.Fatalf("written under %q", ref)
			}
		})
	}
}

func TestAProtectedBranchsPipelineTakesNoStatusOfADeveloper(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token, _ := w.repo.AccessToken("write", "api")
	forge := w.connect(t, token)
	var forbidden *forges.Forbidden
	err := forge.SetStatus(t.Context(), w.key, must(w.repo.Head("main"))(t), status(forges.StatusSuccess, "x"))
	if !errors.As(err, &forbidden) || !strings.Contains(forbidden.Permission, "push or merge") {
		t.Fatalf("got %v", err)
	}
	if err := forge.SetStatus(t.Context(), w.key, w.pull(t, "topic").Head(), status(forges.StatusSuccess, "x")); err != nil {
		t.Fatalf("on a topic branch: %v", err)
	}
}

func TestAStatusOfAnUnknownCommitIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := strings.Repeat("a", 40)
	if err := w.forge.SetStatus(t.Context(), w.key, sha, status(forges.StatusSuccess, "x")); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("writing: %v", err)
	}
	if _, err := w.forge.CheckRuns(t.Context(), w.key, sha); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("reading: %v", err)
	}
}

func TestAStatusBeyondGitLabsLimitIsRejected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var rejected *forges.Rejected
	err := w.forge.SetStatus(t.Context(), w.key, w.pull(t, "topic").Head(), status(forges.StatusSuccess, strings.Repeat("ü", 256)))
	if !errors.As(err, &rejected) || !strings.Contains(rejected.Message, "too long") {
		t.Fatalf("got %v", err)
	}
}

func TestGreenIsJudgedFromJobsAndForeignStatuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := must(w.repo.Head("main"))(t)
	report := func(name, state, conclusion string) forgetest.CheckRun {
		return must(w.repo.SetCheck(sha, name, state, conclusion))(t)
	}
	report("unit", "completed", "failure")
	unit := report("unit", "completed", "success")
	lint := report("lint", "in_progress", "")
	skipped := report("e2e", "completed", "skipped")
	stopped := report("slow", "completed", "cancelled")
	manual := report("deploy", "completed", "action_required")
	foreign, _ := w.repo.AccessToken("maintain", "api")
	jenkins := forges.Status{Context: "jenkins", State: forges.StatusSuccess, TargetURL: "https://jenkins.example.com/1"}
	if err := w.connect(t, foreign).SetStatus(t.Context(), w.key, sha, jenkins); err != nil {
		t.Fatal(err)
	}
	if err := w.forge.SetStatus(t.Context(), w.key, sha, status(forges.StatusPending, "ours")); err != nil {
		t.Fatal(err)
	}
	runs := must(w.forge.CheckRuns(t.Context(), w.key, sha))(t)
	verdicts, ids := map[string]string{}, map[string]int64{}
	for _, r := range runs {
		verdicts[r.Name], ids[r.Name] = r.Status+" "+r.Conclusion, r.ID
		if r.URL == "" {
			t.Errorf("%+v", r)
		}
	}
	want := map[string]string{
		"unit": "completed success", "lint": "running ", "e2e": "completed skipped", "slow": "completed cancelled",
		"deploy": "manual ", "jenkins": "completed success",
	}
	if diff := cmp.Diff(want, verdicts); diff != "" {
		t.Error(diff)
	}
	for name, run := range map[string]forgetest.CheckRun{"unit": unit, "lint": lint, "e2e": skipped, "slow": stopped, "deploy": manual} {
		if ids[name] != run.ID {
			t.Errorf("%s has id %d, want %d", name, ids[name], run.ID)
		}
	}
	if n := len(slices.DeleteFunc(runs, func(r green.CheckRun) bool { return r.Name != "unit" })); n != 2 {
		t.Errorf("%d attempts of unit, want both", n)
	}
}

func TestChecksAreReadOverPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := must(w.repo.Head("main"))(t)
	for i := range 130 {
		must(w.repo.SetCheck(sha, fmt.Sprint("job ", i), "completed", "success"))(t)
	}
	if runs := must(w.forge.CheckRuns(t.Context(), w.key, sha))(t); len(runs) != 130 {
		t.Fatalf("%d runs", len(runs))
	}
}

// A pipeline for the merged result has another commit, and a status of the head
// does not belong there.
func TestAStatusOfAHeadStaysOffThePipelineOfTheMergedResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	merged := must(w.repo.StartPipeline(w.alice, must(w.repo.Head("main"))(t), "refs/merge-requests/1/merge"))(t)
	shown := fmt.Sprintf(`{"id":1,"iid":1,"state":"opened","sha":%q,"source_project_id":%d,"source_branch":"topic",
		"head_pipeline":{"id":%d,"project_id":%[2]d,"sha":%[4]q,"ref":"refs/merge-requests/1/merge"}}`,
		p.Head(), w.repo.ID, merged, must(w.repo.Head("main"))(t))
	forge := w.connect(t, w.token, answering("/merge_requests/1", 200, shown))
	if err := forge.SetStatus(t.Context(), w.key, p.Head(), status(forges.StatusPending, "x")); err != nil {
		t.Fatal(err)
	}
	if ref := w.repo.RefOfPipeline(w.repo.PipelineOf(p.Head(), "chant/plan")); ref != "topic" {
		t.Fatalf("written under %q", ref)
	}
}

// A job that runs in our account's name is no status of ours: a tag that we push
// starts such.
func TestAJobInOurNameDoesNotSayWhereStatusesGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), forges.Status{Context: "deploy", State: forges.StatusSuccess}); err != nil {
		t.Fatal(err)
	}
	id := must(w.repo.StartPipeline(w.alice, p.Head(), "topic"))(t)
	if err := w.forge.SetStatus(t.Context(), w.key, p.Head(), status(forges.StatusPending, "x")); err != nil {
		t.Fatal(err)
	}
	if got := w.repo.PipelineOf(p.Head(), "chant/plan"); got != id {
		t.Fatalf("went to pipeline %d, want %d", got, id)
	}
}

func TestAConflictOfTwoStatusesIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.Faults.Fail(forgetest.Match{Method: "POST", Path: "/statuses/"}, 409, 1)
	err := w.forge.SetStatus(t.Context(), w.key, p.Head(), status(forges.StatusPending, "x"))
	var rejected *forges.Rejected
	if err == nil || errors.As(err, &rejected) || errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}
