package settle

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/forges"
)

// cloned is a site with a clone of its own of a remote, and its ledger.
func cloned(t *testing.T, remote string) *usecase.Site {
	t.Helper()
	clone, err := git.Open(t.Context(), filepath.Join(t.TempDir(), "clone.git"), remote, git.Auth{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clone.Close)
	return &usecase.Site{Clone: clone, Ledger: ledger.Open(clone, time.Now)}
}

// heard keeps what is said of each commit.
type heard struct {
	forges.Forge

	said map[string]string
}

func (f *heard) SetStatus(_ context.Context, _ engine.Repo, sha string, s forges.Status) error {
	f.said[sha] = s.Description
	return nil
}

// saidBefore remembers what was said.
type saidBefore map[string]Post

func (k saidBefore) Post(_ context.Context, _ engine.Repo, target string) (Post, bool, error) {
	p, found := k[target]
	return p, found, nil
}

func (k saidBefore) SavePost(_ context.Context, _ engine.Repo, target string, p Post) error {
	k[target] = p
	return nil
}

func (k saidBefore) ClaimPost(_ context.Context, _ engine.Repo, target string, p Post) (bool, error) {
	if _, found := k[target]; found {
		return false, nil
	}
	k[target] = p
	return true, nil
}

func TestAMergeThatWasRecordedIsNotSaidToWaitWhileANewerOneDoes(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"chant.workspace.json": gittest.Text(`{"name":"estate","schema":1,"minReader":"0.108.0"}`)}})
	s := &Settler{Stage: &usecase.Stage{Now: time.Now, DefaultEnv: "prod"}, Poster: &Poster{Posts: saidBefore{}}}
	forge := &heard{said: map[string]string{}}
	for _, sha := range []string{"older", "older", "newer"} {
		site := cloned(t, remote)
		site.Forge, site.DefaultBranch = forge, "main"
		if err := s.Unplanned(t.Context(), site, "main", &usecase.Unplanned{Commit: sha, Message: "no answer"}, time.Unix(0, 0)); err != nil {
			t.Fatal(err)
		}
		if got := forge.said[sha]; !strings.Contains(got, "no answer") {
			t.Errorf("of %s it is said: %q", sha, got)
		}
	}
	if got := forge.said["older"]; got != "the branch is recorded again" {
		t.Errorf("of the one that is recorded it is said: %q", got)
	}
}
