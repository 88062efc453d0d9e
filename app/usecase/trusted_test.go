package usecase

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// The policy of an apply is read at the base of its range and at the tip, and the
// stricter counts, whichever of the two is (decision 2).
func TestAPolicyIsReadAtTheBaseAndAtTheTip(t *testing.T) {
	t.Parallel()
	weak := project.Env{Name: "prod", Branch: "main", Gate: "pr-apply", ApplyOnMerge: true, MinApprovals: 1}
	with := func(change func(*project.Declaration, *project.Env)) *project.Declaration {
		env := weak
		d := &project.Declaration{Bot: &project.Bot{}}
		if change != nil {
			change(d, &env)
		}
		d.Bot.Envs = []project.Env{env}
		return d
	}
	type seen struct {
		Approvers []string
		Min       int
		Review    bool
		Applies   bool
	}
	for name, tt := range map[string]struct {
		strict *project.Declaration
		want   seen
	}{
		"who approves":    {with(func(_ *project.Declaration, e *project.Env) { e.Approvers = []string{"github:alice"} }), seen{[]string{"github:alice"}, 1, false, true}},
		"how many":        {with(func(_ *project.Declaration, e *project.Env) { e.MinApprovals = 2 }), seen{nil, 2, false, true}},
		"review of one":   {with(func(_ *project.Declaration, e *project.Env) { e.RequireReview = true }), seen{nil, 1, true, true}},
		"review of all":   {with(func(d *project.Declaration, _ *project.Env) { d.ReviewRules = true }), seen{nil, 1, true, true}},
		"nothing deploys": {with(func(_ *project.Declaration, e *project.Env) { e.ApplyOnMerge = false }), seen{nil, 1, false, false}},
	} {
		for where, at := range map[string][2]*project.Declaration{"at the base": {tt.strict, with(nil)}, "at the tip": {with(nil), tt.strict}} {
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				var got Target
				if err := got.bind(ApplyInput{Branch: "main", Env: "prod"}, "prod", at[1], at[0]); err != nil {
					t.Fatal(err)
				}
				env := got.Policy.Env
				if diff := cmp.Diff(tt.want, seen{env.Approvers, env.MinApprovals, got.Policy.ReviewRules, env.ApplyOnMerge}); diff != "" {
					t.Errorf("policy (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// carriers is a forge that knows which pull requests carry a commit.
type carriers struct {
	forges.Forge

	changes []engine.Change
}

func (c carriers) ChangesOfCommit(context.Context, engine.Repo, string) ([]engine.Change, error) {
	return c.changes, nil
}

// A commit is the merge of the one pull request that it merged, and of no other
// that carries it too, merged before or later (decision 4).
func TestACommitIsTheMergeOfThePullRequestThatItMergedOnly(t *testing.T) {
	t.Parallel()
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 42}
	sha, other := strings.Repeat("ab", 20), strings.Repeat("cd", 20)
	merged := engine.Change{Repo: repo, Number: 7, BaseBranch: "main", State: engine.Merged, MergeCommit: sha}
	with := func(number int, change func(*engine.Change)) engine.Change {
		c := merged
		c.Number = number
		change(&c)
		return c
	}
	near := []engine.Change{
		with(1, func(c *engine.Change) { c.MergeCommit = other }), // carries it, merged as another
		with(2, func(c *engine.Change) { c.State = engine.Open }),
		with(3, func(c *engine.Change) { c.State = engine.Closed }),
		with(4, func(c *engine.Change) { c.BaseBranch = "next" }), // stacked below
		with(5, func(c *engine.Change) { c.Repo.ID = 43 }),        // a fork's
		with(6, func(c *engine.Change) { c.MergeCommit = "" }),
	}
	for name, tt := range map[string]struct {
		changes []engine.Change
		want    int // 0 for none
	}{
		"first": {append([]engine.Change{merged}, near...), 7},
		"last":  {append(append([]engine.Change{}, near...), merged), 7},
		"none":  {near, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, found, err := (&Site{Repo: repo, Forge: carriers{changes: tt.changes}}).mergedBy(t.Context(), sha, "main")
			if err != nil || found != (tt.want != 0) || got.Number != tt.want {
				t.Errorf("#%d, found %v, %v; want #%d", got.Number, found, err, tt.want)
			}
		})
	}
}
