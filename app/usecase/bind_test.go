package usecase

import (
	"testing"

	"github.com/chant-bot/chant/engine/project"
)

// Neither the base of the applied range nor the branch's tip alone says who may
// approve: a change can loosen the one by being merged, the other by not being
// merged yet (decision 2).
func TestTheStricterOfBaseAndTipBindsAnApply(t *testing.T) {
	t.Parallel()
	declaring := func(approvers ...string) *project.Declaration {
		return &project.Declaration{Bot: &project.Bot{Envs: []project.Env{{Name: "prod", Branch: "main", Gate: "pr-apply", ApplyOnMerge: true, Approvers: approvers}}}}
	}
	for name, tt := range map[string]struct{ base, tip *project.Declaration }{
		"the rule stands at the base and was taken out": {base: declaring("github:alice"), tip: declaring()},
		"the rule was put in":                           {base: declaring(), tip: declaring("github:alice")},
		"it stands at both":                             {base: declaring("github:alice"), tip: declaring("github:alice")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got Target
			if err := got.bind(ApplyInput{Branch: "main", Env: "prod"}, "prod", tt.tip, tt.base); err != nil {
				t.Fatal(err)
			}
			if who := got.Policy.Env.Approvers; len(who) != 1 || who[0] != "github:alice" {
				t.Errorf("may be approved by %v", who)
			}
		})
	}
}
