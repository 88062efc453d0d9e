package gitlab_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/forges/gitlab"
)

var instance = engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}

// world is a fake GitLab with a project, two people, a project token's bot and
// an adapter.
type world struct {
	*forgetest.Forge

	repo       *forgetest.Repo
	alice, bob *forgetest.User
	bot        *forgetest.User
	token      string
	key        engine.Repo
	forge      *gitlab.Conn
}

func newWorld(t *testing.T, tune ...func(*gitlab.Config)) world {
	t.Helper()
	f := must(forgetest.NewGitLab(forgetest.Options{Dir: t.TempDir()}))(t)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	w := world{Forge: f, alice: f.User("alice"), bob: f.User("bob")}
	w.repo = must(f.CreateRepo("acme", "infra"))(t)
	w.repo.SetPermission(w.alice, "write")
	w.repo.SetPermission(w.bob, "maintain")
	must(w.repo.Commit("main", map[string]string{"a.tf": "a = 1\n"}, w.bob))(t)
	w.token, w.bot = w.repo.AccessToken("maintain", "api")
	w.key = engine.Repo{Instance: instance, ID: w.repo.ID, Owner: "acme", Name: "infra"}
	w.forge = w.connect(t, w.token, tune...)
	return w
}

func (w world) connect(t *testing.T, token string, tune ...func(*gitlab.Config)) *gitlab.Conn {
	t.Helper()
	c := gitlab.Config{Instance: instance, APIURL: w.APIURL(), Token: token}
	for _, f := range tune {
		f(&c)
	}
	return must(gitlab.New(c))(t)
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w world) pull(t *testing.T, branch string) *forgetest.Pull {
	t.Helper()
	must(w.repo.Commit(branch, map[string]string{branch + ".tf": "b = 2\n"}, w.alice))(t)
	return must(w.repo.OpenPullRequest(w.alice, branch, "main", "Change "+branch))(t)
}

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAMergeRequestIsReadAsItStands(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	got := must(w.forge.Change(t.Context(), w.key, p.Number))(t)
	want := engine.Change{
		Repo: w.key, Number: 1, Head: p.Head(),
		BaseBranch: "main", State: engine.Open,
		Author: engine.Actor{ID: w.alice.ID, Login: "alice"},
	}
	if got != want {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

func TestADraftAndABotsMergeRequestAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(w.repo.Commit("topic", map[string]string{"b.tf": "b\n"}, w.alice))(t)
	p := must(w.repo.OpenDraft(w.bot, "topic", "main", "Draft: try"))(t)
	if got := must(w.forge.Change(t.Context(), w.key, p.Number))(t); !got.Draft || !got.Author.Bot {
		t.Fatalf("%+v", got)
	}
	p.SetDraft(false, w.bot)
	if got := must(w.forge.Change(t.Context(), w.key, p.Number))(t); got.Draft {
		t.Fatal("still a draft")
	}
}

func TestAForkAndADeletedForkAreForks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mallory := w.User("mallory")
	fork := must(w.repo.Fork(mallory))(t)
	must(fork.Commit("evil", map[string]string{"x.tf": "x\n"}, mallory))(t)
	p := must(w.repo.OpenFromFork(mallory, fork, "evil", "main", "Trust me"))(t)
	if got := must(w.forge.Change(t.Context(), w.key, p.Number))(t); !got.Fork || !got.FirstTimer {
		t.Fatalf("from a fork: %+v", got)
	}
	fork.Delete()
	w.DeleteUser(mallory)
	got := must(w.forge.Change(t.Context(), w.key, p.Number))(t)
	if !got.Fork || got.Author.Login != "ghost" {
		t.Fatalf("from a deleted fork of a deleted account: %+v", got)
	}
}

func TestOpenMergeRequestsAreListedOverPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(w.repo.Commit("topic", map[string]string{"b.tf": "b\n"}, w.alice))(t)
	for range 101 {
		must(w.repo.OpenPullRequest(w.alice, "topic", "main", "again"))(t)
	}
	closed := must(w.repo.OpenPullRequest(w.alice, "topic", "main", "no"))(t)
	if err := closed.Close(w.alice); err != nil {
		t.Fatal(err)
	}
	got := must(w.forge.OpenChanges(t.Context(), w.key))(t)
	if len(got) != 101 || got[0].Number != 1 || got[100].Number != 101 {
		t.Fatalf("%d changes", len(got))
	}
}

// The commit that lands depends on the merge method: a merge commit, a squashed
// commit, or the rebased head (forge-facts 2.3).
func TestTheMergeOfACommitIsFoundByEveryMethod(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pull(t, "topic")
			must(p.Push(map[string]string{"c.tf": "c\n"}, w.alice))(t)
			w.pull(t, "other")
			if got := must(w.forge.Change(t.Context(), w.key, p.Number))(t); got.MergeCommit != "" {
				t.Fatalf("an open one has merge commit %s", got.MergeCommit)
			}
			sha := must(p.Merge(method, w.bob))(t)
			got := must(w.forge.ChangesOfCommit(t.Context(), w.key, sha))(t)
			if len(got) != 1 || got[0].Number != p.Number || got[0].MergeCommit != sha || got[0].State != engine.Merged || got[0].Repo != w.key {
				t.Fatalf("%s: %+v", sha, got)
			}
			if got[0].MergedBy.ID != w.bob.ID {
				t.Errorf("merged by %+v", got[0].MergedBy)
			}
		})
	}
}

func TestMergeRequestsOfACommitComeOverPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := must(w.repo.Commit("topic", map[string]string{"b.tf": "b\n"}, w.alice))(t)
	for range 21 { // this list has 20 a page, and no parameter to ask for more
		must(w.repo.OpenPullRequest(w.alice, "topic", "main", "again"))(t)
	}
	if got := must(w.forge.ChangesOfCommit(t.Context(), w.key, sha))(t); len(got) != 21 {
		t.Fatalf("%d merge requests", len(got))
	}
}

func TestAMovedProjectIsStillServedAndItsOldPathIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.repo.Rename("platform")
	squatter := must(w.CreateRepo("acme", "infra"))(t)
	must(squatter.Commit("main", map[string]string{"z": "z\n"}, w.alice))(t)
	must(w.forge.CreateNote(t.Context(), w.key, p.Number, "hello"))(t)
	if n := len(w.repo.Comments(p.Number)); n != 1 {
		t.Fatalf("%d notes on the renamed project", n)
	}
	repo, info, err := w.forge.Repository(t.Context(), w.key)
	if err != nil || repo.Name != "platform" || !strings.HasSuffix(info.CloneURL, "/acme/platform.git") || info.DefaultBranch != "main" {
		t.Fatalf("%+v %+v %v", repo, info, err)
	}
	if got := must(w.forge.Change(t.Context(), w.key, p.Number))(t); got.Repo != repo {
		t.Fatalf("the merge request is of %+v", got.Repo)
	}
}

// GitLab answers 405 to a write under a former path (forge-facts 2.8), so the
// number is found first.
func TestAWriteUnderAFormerPathReachesTheProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.repo.Rename("plat.form")
	byName := engine.Repo{Instance: instance, Owner: "acme", Name: "infra"}
	note := must(w.forge.CreateNote(t.Context(), byName, p.Number, "hello"))(t)
	if got := w.repo.Comments(p.Number); len(got) != 1 || got[0].Body != "hello" || note.ID != got[0].ID {
		t.Fatalf("%+v", got)
	}
	byName.Name = "plat.form" // a dot is escaped in a path
	must(w.forge.CreateNote(t.Context(), byName, p.Number, "again"))(t)
}

func TestAProjectOfANestedGroupKeepsItsWholeNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	nested := must(w.CreateRepo("acme/platform/net", "dns"))(t)
	nested.SetPermission(w.bot, "maintain")
	want := engine.Repo{Instance: instance, ID: nested.ID, Owner: "acme/platform/net", Name: "dns"}
	got, _, err := w.forge.Repository(t.Context(), engine.Repo{Instance: instance, Owner: want.Owner, Name: want.Name})
	if err != nil || got != want {
		t.Fatalf("%+v %v", got, err)
	}
}

func TestInstalledListsWhatTheTokenMayWriteTo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	web, read := must(w.CreateRepo("acme", "web"))(t), must(w.CreateRepo("acme", "read"))(t)
	web.SetPermission(w.bot, "write")
	read.SetPermission(w.bot, "read")
	must(w.CreateRepo("other", "secret"))(t).SetPublic(true)
	got := must(w.forge.Installed(t.Context()))(t)
	if len(got) != 2 || got[0] != w.key || got[1].Name != "web" {
		t.Fatalf("%+v", got)
	}
}

func TestWhatIsHiddenIsNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hidden := must(w.CreateRepo("other", "secret"))(t)
	key := engine.Repo{Instance: instance, ID: hidden.ID}
	_, _, err := w.forge.Repository(t.Context(), key)
	_, again := w.forge.Change(t.Context(), key, 1)
	_, gone := w.forge.Change(t.Context(), w.key, 77)
	for _, err := range []error{err, again, gone} {
		if !errors.Is(err, forges.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAnotherInstanceIsRefusedBeforeARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := w.key
	elsewhere.Instance.Host = "gitlab.example.com"
	before := len(w.Requests())
	_, err := w.forge.Change(t.Context(), elsewhere, 1)
	_, header := w.forge.GitHeader(t.Context(), elsewhere)
	if err == nil || header == nil {
		t.Fatal("served a project of another instance")
	}
	if after := len(w.Requests()); after != before {
		t.Fatal("a request was sent")
	}
}

func TestNamesThatWouldLeaveTheirPlaceAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	sent := w.Requests()
	for name, call := range map[string]func() error{
		"namespace": func() error {
			_, err := w.forge.Change(ctx, engine.Repo{Instance: instance, Owner: "a/../b", Name: "c"}, 1)
			return err
		},
		"name": func() error {
			_, err := w.forge.Change(ctx, engine.Repo{Instance: instance, Owner: "a", Name: ".."}, 1)
			return err
		},
		"number": func() error { _, err := w.forge.FindNote(ctx, w.key, 0, "<!-- x -->"); return err },
		"sha":    func() error { _, err := w.forge.CheckRuns(ctx, w.key, "main/../x"); return err },
		"login":  func() error { _, err := w.forge.Permission(ctx, w.key, "bob/../../x"); return err },
		"team":   func() error { _, err := w.forge.TeamMember(ctx, "acme", "../x", "bob"); return err },
		"status": func() error { return w.forge.SetStatus(ctx, w.key, "HEAD", forges.Status{}) },
	} {
		if call() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if after := w.Requests(); len(after) != len(sent) {
		t.Fatalf("requests were sent: %v", after)
	}
}

func TestAConfigurationIsCheckedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]gitlab.Config{
		"nothing":      {Instance: instance},
		"other kind":   {Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, Token: "t"},
		"bad address":  {Instance: instance, Token: "t", APIURL: "gitlab.com"},
		"not the API":  {Instance: instance, Token: "t", APIURL: "https://gitlab.com/"},
		"with a login": {Instance: instance, Token: "t", APIURL: "https://u:p@gitlab.com/api/v4"},
	} {
		if _, err := gitlab.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	must(gitlab.New(gitlab.Config{Instance: instance, Token: "t"}))(t)
	must(gitlab.New(gitlab.Config{Instance: instance, Token: "t", APIURL: "https://example.com/gitlab/api/v4"}))(t)
}
