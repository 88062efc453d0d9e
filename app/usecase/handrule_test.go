package usecase

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// pulls is a forge where everybody may write, with one pull request in each state.
type pulls struct{ people }

func (pulls) Change(_ context.Context, _ engine.Repo, number int) (engine.Change, error) {
	states := map[int]engine.ChangeState{1: engine.Open, 2: engine.Merged, 3: engine.Closed}
	state, known := states[number]
	if !known {
		return engine.Change{}, forges.ErrNotFound
	}
	return engine.Change{Number: number, State: state, MergeCommit: strings.Repeat("ab", 20)}, nil
}

// An approval by hand that its gate would not count, whoever gives it, is refused when it
// is given, as one in a comment is (decision 4).
func TestAnApprovalByHandIsRefusedWhereItsGateIsOver(t *testing.T) {
	t.Parallel()
	open := &project.Declaration{}
	reviewed := &project.Declaration{ReviewRules: true}
	for _, c := range []struct {
		op       string
		declared *project.Declaration
		forge    forges.Forge
		want     string // "" for not refused
	}{
		{"pr-1", open, pulls{}, ""},
		{"pr-2", open, pulls{}, "is decided at green-abababababab"},
		{"pr-2", open, nil, ""}, // only the gate can tell
		{"pr-3", open, pulls{}, "is closed; reopen it"},
		{"pr-4", open, pulls{}, "has no pull request #4"},
		{"green-abababababab", open, pulls{}, ""},
		{"fan-out", open, nil, ""},
		{"fan-out", reviewed, nil, "does not enforce: requireReview"},
		{"web", reviewed, pulls{}, "does not enforce: requireReview"},
		{"pr-1", reviewed, nil, ""},
	} {
		site := &Site{Repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, Owner: "acme", Name: "infra"}, Forge: c.forge}
		in := HandApproval{Site: site, Declaration: c.declared}
		err := (&Stage{}).allowed(t.Context(), in, gate.Approval{Act: gate.Act{Op: c.op, Gate: "pr-apply", Env: "prod", By: "github:alice"}})
		_, refused := errors.AsType[*Refusal](err)
		if refused != (c.want != "") || err != nil && (!refused || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s, review rule %v, forge %v: %v, want %q", c.op, c.declared.ReviewRules, c.forge != nil, err, c.want)
		}
	}
}
