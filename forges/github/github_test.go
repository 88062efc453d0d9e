package github_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/forges/github"
)

var instance = engine.Instance{Kind: engine.GitHub, Host: "github.com"}

// world is a fake GitHub with an app, a repository, two people and an adapter.
type world struct {
	*forgetest.Forge

	app        *forgetest.App
	in         *forgetest.Installation
	repo       *forgetest.Repo
	alice, bob *forgetest.User
	all        *github.Connections
	key        engine.Repo
	forge      forges.Forge
}

func newWorld(t *testing.T, tune ...func(*forgetest.AppOptions)) world {
	t.Helper()
	f := forgetest.Start(t)
	w := world{Forge: f, alice: f.User("alice"), bob: f.User("bob")}
	w.repo = forgetest.Must(f.CreateRepo("acme", "infra"))
	w.repo.SetPermission(w.alice, "write")
	w.repo.SetPermission(w.bob, "maintain")
	forgetest.Must(w.repo.Commit("main", map[string]string{"a.tf": "a = 1\n"}, w.alice))
	options := forgetest.AppOptions{Slug: "chant"}
	for _, f := range tune {
		f(&options)
	}
	w.app = forgetest.Must(f.CreateApp(options))
	w.in = forgetest.Must(w.app.Install("acme"))
	w.all = connect(t, github.Config{Instance: instance, APIURL: f.APIURL(), AppID: w.app.ID, PrivateKey: w.app.PrivateKeyPEM()})
	w.key = engine.Repo{Instance: instance, ID: w.repo.ID, Owner: "acme", Name: "infra"}
	w.forge = must(w.all.For(t.Context(), w.key))(t)
	return w
}

func connect(t *testing.T, c github.Config) *github.Connections {
	t.Helper()
	return must(github.New(c))(t)
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

func TestAChangeIsReadAsItStands(t *testing.T) {
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

func TestATestMergeIsNoMergeCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for range 2 { // the first read makes the test merge
		if got := must(w.forge.Change(t.Context(), w.key, p.Number))(t); got.MergeCommit != "" {
			t.Fatalf("an open pull request has merge commit %s", got.MergeCommit)
		}
	}
	sha := must(p.Merge("squash", w.bob))(t)
	got := must(w.forge.Change(t.Context(), w.key, p.Number))(t)
	if got.State != engine.Merged || got.MergeCommit != sha || got.MergedBy.ID != w.bob.ID {
		t.Fatalf("merged as %+v, want %s by bob", got, sha)
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
	if !got.Fork || got.Author != (engine.Actor{}) {
		t.Fatalf("from a deleted fork of a deleted account: %+v", got)
	}
}

func TestOpenChangesAreListedOverPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(w.repo.Commit("topic", map[string]string{"b.tf": "b\n"}, w.alice))(t)
	for range 101 {
		must(w.repo.OpenPullRequest(w.alice, "topic", "main", "again"))(t)
	}
	got := must(w.forge.OpenChanges(t.Context(), w.key))(t)
	if len(got) != 101 || got[0].Number != 1 || got[100].Number != 101 {
		t.Fatalf("%d changes", len(got))
	}
}

func TestTheMergeOfACommitIsFound(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pull(t, "topic")
			must(p.Push(map[string]string{"c.tf": "c\n"}, w.alice))(t)
			w.pull(t, "other")
			sha := must(p.Merge(method, w.bob))(t)
			got := must(w.forge.ChangesOfCommit(t.Context(), w.key, sha))(t)
			if len(got) != 1 || got[0].Number != p.Number || got[0].MergeCommit != sha || got[0].State != engine.Merged || got[0].Repo != w.key {
				t.Fatalf("%s: %+v", sha, got)
			}
		})
	}
}

func TestARenamedRepositoryIsStillServedAndItsOldNameIsNot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.repo.Rename("platform")
	squatter := must(w.CreateRepo("acme", "infra"))(t)
	must(squatter.Commit("main", map[string]string{"z": "z\n"}, w.alice))(t)

	if _, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "hello"); err != nil {
		t.Fatal(err)
	}
	if n := len(w.repo.Comments(p.Number)); n != 1 {
		t.Fatalf("%d comments on the renamed repository", n)
	}
	repo, info, err := w.forge.Repository(t.Context(), w.key)
	if err != nil || repo.Name != "platform" || !strings.HasSuffix(info.CloneURL, "/acme/platform.git") || info.DefaultBranch != "main" {
		t.Fatalf("%+v %+v %v", repo, info, err)
	}
}

func TestAWriteUnderAnOldNameKeepsItsBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.repo.Rename("platform")
	byName := engine.Repo{Instance: instance, Owner: "acme", Name: "infra"}
	note := must(w.forge.CreateNote(t.Context(), byName, p.Number, "hello"))(t)
	if got := w.repo.Comments(p.Number); len(got) != 1 || got[0].Body != "hello" || note.ID != got[0].ID {
		t.Fatalf("%+v", got)
	}
}

func TestInstalledListsWhatTheInstallationServes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	must(w.CreateRepo("acme", "web"))(t)
	must(w.CreateRepo("other", "secret"))(t)
	got := must(w.forge.Installed(t.Context()))(t)
	if len(got) != 2 || got[0] != w.key || got[1].Name != "web" {
		t.Fatalf("%+v", got)
	}
}

func TestWithoutAnInstallationThereIsNoForge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := must(w.CreateRepo("other", "secret"))(t)
	_, err := w.all.For(t.Context(), engine.Repo{Instance: instance, ID: other.ID})
	if !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
}

func TestAnotherInstanceIsRefusedBeforeARequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	elsewhere := w.key
	elsewhere.Instance.Host = "ghes.example.com"
	before := len(w.Requests())
	if _, err := w.forge.Change(t.Context(), elsewhere, 1); err == nil {
		t.Fatal("served a repository of another instance")
	}
	if _, err := w.all.For(t.Context(), elsewhere); err == nil {
		t.Fatal("connected to a repository of another instance")
	}
	if after := len(w.Requests()); after != before {
		t.Fatal("a request was sent")
	}
}

func TestNamesThatWouldLeaveTheirPathAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	sent := w.Requests()
	for name, call := range map[string]func() error{
		"owner": func() error {
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
		"team":   func() error { _, err := w.forge.TeamMember(ctx, "acme", "a/b", "bob"); return err },
		"status": func() error { return w.forge.SetStatus(ctx, w.key, "HEAD", forges.Status{}) },
	} {
		if call() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	delete(sent, "GET /user")
	if after := w.Requests(); len(after) != len(sent) {
		t.Fatalf("requests were sent: %v", after)
	}
}

func timeout(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
