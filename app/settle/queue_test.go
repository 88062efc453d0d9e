package settle

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git/gittest"
	"github.com/chant-bot/chant/forges"
)

// queueForge knows one pull request and keeps what is said.
type queueForge struct {
	forges.Forge

	change engine.Change
	said   map[string]forges.StatusState // by context
}

func (f *queueForge) ChangesOfCommit(context.Context, engine.Repo, string) ([]engine.Change, error) {
	return []engine.Change{f.change}, nil
}

func (f *queueForge) SetStatus(_ context.Context, _ engine.Repo, _ string, s forges.Status) error {
	f.said[s.Context] = s.State
	return nil
}

// queueNext keeps what is raised.
type queueNext struct {
	Next

	raised []Subject
}

func (n *queueNext) Raise(_ context.Context, _ engine.Repo, s Subject) error {
	n.raised = append(n.raised, s)
	return nil
}

// unsaid remembers nothing of what was said.
type unsaid struct{}

func (unsaid) Post(context.Context, engine.Repo, string) (Post, bool, error) {
	return Post{}, false, nil
}
func (unsaid) SavePost(context.Context, engine.Repo, string, Post) error { return nil }
func (unsaid) ClaimPost(context.Context, engine.Repo, string, Post) (bool, error) {
	return true, nil
}

// A queue waits for every status that the branch it merges to requires, and the
// forge does not say which branch that is. Who can make a delivery name a commit
// must not be able to make a waiting plan succeed by it.
func TestAQueuedCommitSucceedsAtOnceAndNoPullRequestByIt(t *testing.T) {
	t.Parallel()
	remote := gittest.Bare(t)
	declaration := gittest.Text(`{"name":"estate","schema":1,"minReader":"0.108.0",
		"x-bot":{"envs":[{"name":"dev","branch":"main"},{"name":"test","branch":"main","gate":"pr-apply-test"},{"name":"prod","branch":"release"}]}}`)
	gittest.Write(t, remote, gittest.Commit{Branch: "main", Files: map[string][]byte{"chant.workspace.json": declaration}})
	const sha = "5d41402abc4b2a76b9719d911017c592aaaaaaaa"
	everywhere := map[string]forges.StatusState{"chant/plan@dev": forges.StatusSuccess, "chant/plan@test": forges.StatusSuccess, "chant/plan": forges.StatusSuccess}
	for name, c := range map[string]struct {
		change engine.Change
		said   map[string]forges.StatusState
		raised []Subject
	}{
		"the queue's own commit":             {engine.Change{Number: 3, State: engine.Open, Head: "another"}, everywhere, nil},
		"a commit that was merged meanwhile": {engine.Change{Number: 3, State: engine.Merged, Head: sha}, everywhere, nil},
		"the head of an open pull request":   {engine.Change{Number: 3, State: engine.Open, Head: sha}, map[string]forges.StatusState{}, []Subject{PullOf(3)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			forge := &queueForge{change: c.change, said: map[string]forges.StatusState{}}
			next := &queueNext{}
			s := &Settler{Stage: &usecase.Stage{Now: time.Now, DefaultEnv: "prod"}, Next: next, Poster: &Poster{Posts: unsaid{}}}
			site := cloned(t, remote)
			site.Forge, site.DefaultBranch = forge, "main"
			if err := s.SettleQueue(t.Context(), site, sha); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.said, forge.said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.raised, next.raised); diff != "" {
				t.Error(diff)
			}
		})
	}
}
