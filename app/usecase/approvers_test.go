package usecase

import (
	"context"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// people is a forge where everybody may write and one team has one member.
type people struct{ forges.Forge }

func (people) Permission(context.Context, engine.Repo, string) (forges.Permission, error) {
	return forges.Write, nil
}

func (people) TeamMember(_ context.Context, org, team, login string) (bool, error) {
	return org == "org" && team == "ops" && login == "alice", nil
}

func TestAnApproverMustBeOnEveryList(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  project.Env
		want bool
	}{
		"no list":                  {project.Env{}, true},
		"empty list":               {project.Env{Approvers: []string{}}, false},
		"by name":                  {project.Env{Approvers: []string{"github:alice"}}, true},
		"other name":               {project.Env{Approvers: []string{"github:bob"}}, false},
		"same name, other forge":   {project.Env{Approvers: []string{"gitlab:alice"}}, false},
		"by team":                  {project.Env{Approvers: []string{"github:bob", "github:@org/ops"}}, true},
		"other team":               {project.Env{Approvers: []string{"github:@org/dev"}}, false},
		"on one list of two":       {project.Env{Approvers: []string{"github:alice"}, AlsoApprovers: [][]string{{"github:bob"}}}, false},
		"on both, one by the team": {project.Env{Approvers: []string{"github:alice"}, AlsoApprovers: [][]string{{"github:@org/ops"}}}, true},
	} {
		site := &Site{Repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}}, Forge: people{}}
		who := site.Approvers(c.env, nil)
		if reason := who.Refuse(t.Context(), "github:alice"); (reason == "") != c.want || who.Err != nil {
			t.Errorf("%s: refused with %q, %v; want counted: %v", name, reason, who.Err, c.want)
		}
	}
}
