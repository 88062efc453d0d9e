package settle

import (
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
)

// A refused approval says once why, about those it is about: who may approve, whose
// account is not known, which merge has no record. It never names who asked in their place.
func TestARefusedApprovalIsAboutWhoItNames(t *testing.T) {
	t.Parallel()
	forge := engine.Instance{Kind: engine.Forgejo, Host: "git.example.org"}
	bob := forge.Principal("Bob")
	listed := project.Env{Approvers: []string{forge.Principal("alice")}, AlsoApprovers: [][]string{{"forgejo@git.example.org:@acme/ops", forge.Principal("alice")}}}
	for name, tt := range map[string]struct {
		env  project.Env
		rule *gate.ReviewRule
		kind note.Kind
		says string
	}{
		"not on the lists":  {listed, nil, note.NotAnApprover, "approved by `@acme/ops`, `@alice`. You are not among them"},
		"lost write":        {project.Env{}, nil, note.NoPermission, "takes write permission"},
		"wrote it":          {listed, &gate.ReviewRule{NeedReview: true, Authors: []string{bob}, Unresolved: []string{"x@example.com"}}, note.WroteChange, "`@bob` wrote part of this change"},
		"authors unknown":   {listed, &gate.ReviewRule{Unresolved: []string{"x@example.com"}}, note.AuthorsUnknown, "cannot be told for `x@example.com`"},
		"not recorded":      {listed, &gate.ReviewRule{Unrecorded: []string{"0123456789ab"}}, note.NotRecorded, "who wrote `0123456789ab`"},
		"reviewed nothing":  {listed, &gate.ReviewRule{NeedReview: true, Reviewers: []string{forge.Principal("carol")}}, note.NoReview, "approving review stands"},
		"on no list either": {listed, &gate.ReviewRule{NeedReview: true, Reviewers: []string{bob}}, note.NotAnApprover, "You are not among them"},
	} {
		kind, about := gateAt{policy: usecase.Policy{Env: tt.env}, rule: tt.rule}.kindOf(bob)
		if kind != tt.kind {
			t.Errorf("%s: %s, want %s", name, kind, tt.kind)
		}
		if says := note.Refusal(note.Refused{Kind: kind, Names: about, Forge: forge, Op: "pr-1", Gate: "pr-apply"}); !strings.Contains(says, tt.says) {
			t.Errorf("%s: %q is not in\n%s", name, tt.says, says)
		}
	}
}
