package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestARepositoryHasOneCloneUnderEveryName(t *testing.T) {
	t.Parallel()
	s := &sites{config: &config.Config{StateDir: t.TempDir()}, now: time.Now, open: map[string]*opened{}}
	repo := store.Repo{Repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42}}
	open := func(url string) *opened {
		t.Helper()
		repo.CloneURL = url
		o, err := s.openClone(t.Context(), repo)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	first := open(filepath.Join(t.TempDir(), "infra.git"))
	clone := first.clone
	t.Cleanup(clone.Close)
	moved := filepath.Join(t.TempDir(), "platform.git")
	if again := open(moved); again != first || again.clone != clone || again.url != moved {
		t.Errorf("after a rename: %p of %s, want %p of %s", again, again.url, first, moved)
	}
}

func TestWhatIsServedIsToldWhileACloneOpens(t *testing.T) {
	t.Parallel()
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42, Owner: "acme", Name: "platform"}
	opening := &opened{}
	opening.mu.Lock() // for as long as git takes
	s := &sites{
		config: &config.Config{StateDir: t.TempDir(), GitHub: config.Forge{WebURL: "https://github.com"}, Repositories: []string{"acme/infra"}},
		open:   map[string]*opened{repo.Key(): opening},
		served: map[string]string{"listed github.com/acme/infra": repo.Key()},
	}
	started := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		close(started)
		_, err := s.openClone(t.Context(), store.Repo{Repo: repo, CloneURL: filepath.Join(s.config.StateDir, "infra.git")})
		ended <- err
	}()
	<-started
	if !s.serves(repo) {
		t.Error("a renamed repository is not served")
	}
	other := repo
	if other.ID++; s.serves(other) {
		t.Error("another repository is served")
	}
	opening.mu.Unlock()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	opening.clone.Close()
}

// nowhere is a forge on which nothing is installed.
func nowhere(instance engine.Instance) *connection {
	return &connection{instance: instance, reach: func(context.Context, engine.Repo) (forges.Forge, error) {
		return nil, forges.ErrNotFound
	}}
}

// One replica learned what a listed name stands for, then the repository was
// renamed, and another one works on it.
func TestWhatAnotherReplicaLearnedOfTheAllowListCountsHere(t *testing.T) {
	t.Parallel()
	d := sqltest.Open(t)
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42, Owner: "acme", Name: "platform"}
	s := &sites{
		config: &config.Config{GitHub: config.Forge{WebURL: "https://github.com"}, Repositories: []string{"acme/infra"}},
		forges: connections{nowhere(repo.Instance)}, repos: store.NewRepos(d), settings: store.NewSettings(d), served: map[string]string{},
	}
	if err := s.repos.Upsert(t.Context(), d.Write, store.Repo{Repo: repo}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), repo.Key()); !errors.Is(err, store.ErrNotFound) {
		t.Fatalf("nobody listed it: %v", err)
	}
	if err := s.settings.Put(t.Context(), d.Write, "listed github.com/acme/infra", []byte(repo.Key()), time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(t.Context(), repo.Key()); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("it is not taken for listed: %v", err)
	}
}

func TestARenamedRepositoryKeepsItsCredentials(t *testing.T) {
	t.Parallel()
	const text = "externalUrl: https://chant.example.com\nrepositories: [acme/infra]\ngithub: {token: t, webhookSecrets: [s]}\n" +
		"credentials: [{repository: acme/infra, env: prod, plan: {env: {KEY: value}}}]\n"
	path := filepath.Join(t.TempDir(), "chant.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := config.Load(config.Source{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42, Owner: "acme", Name: "platform"}
	s := &sites{config: c, served: map[string]string{"listed github.com/acme/infra": repo.Key()}}
	other := repo
	other.ID++
	for r, want := range map[engine.Repo]int{repo: 1, other: 0} {
		got, err := credentials{c, s.listedAs}.For(t.Context(), r, "prod", usecase.ForPlan)
		if err != nil || len(got) != want {
			t.Errorf("%s gets %d credentials, %v; want %d", r.Key(), len(got), err, want)
		}
	}
}
