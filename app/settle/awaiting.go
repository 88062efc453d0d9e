package settle

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/project"
)

// awaiting says what a recorded merge that no apply carries waits for: to go
// green, or where it is, why its green commit is not applied (soundness I8).
func (m merged) awaiting(ctx context.Context) (state, description string, err error) {
	waits := fmt.Sprintf("waits for %s to go green", project.Short(m.change.MergeCommit))
	if carried, err := m.site.GreenSince(ctx, m.change.BaseBranch, m.change.MergeCommit); err != nil || !carried {
		return note.Pending, waits, err
	}
	_, err = m.GreenTarget(ctx, usecase.ApplyInput{Site: m.site, Branch: m.change.BaseBranch, Env: m.policy.Env.Name, Member: m.at.Member})
	if refusal, ok := errors.AsType[*usecase.Refusal](err); ok {
		return note.Failure, note.Description(refusal.Message), nil
	}
	return note.Pending, waits, err
}

// explainMerge says which checks a merge waits for that is in no green commit
// yet, "" where it waits for none.
func (c *Commander) explainMerge(ctx context.Context, site *usecase.Site, change engine.Change) (string, error) {
	tip, err := site.TipOf(ctx, change.BaseBranch)
	if err != nil {
		return "", unlessGone(err)
	}
	b, err := site.Bound(ctx, tip)
	if err != nil || b.Green == nil || b.Green.Branch != change.BaseBranch {
		return "", err
	}
	if carried, err := site.GreenSince(ctx, change.BaseBranch, change.MergeCommit); err != nil || carried {
		return "", err
	}
	runs, err := site.Forge.CheckRuns(ctx, site.Repo, change.MergeCommit)
	if err != nil {
		return "", err
	}
	return note.NotGreen(change.MergeCommit, green.WaitsFor(*b.Green, runs)), nil
}
