package usecase

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/green"
)

// awaiting says what a recorded merge that no apply carries waits for: to go
// green, or where it is, why its green commit is not applied (soundness I8).
func (m merged) awaiting(ctx context.Context) (state, description string, err error) {
	waits := fmt.Sprintf("waits for %s to go green", short(m.change.MergeCommit))
	_, line, err := m.site.lineOf(ctx, m.change.BaseBranch)
	if err != nil {
		return "", "", err
	}
	tags, err := m.site.greenTags(ctx)
	if err != nil {
		return "", "", err
	}
	last, found := green.Last(shas(line), tags)
	if !found || last != m.change.MergeCommit && !furtherBack(line, m.change.MergeCommit, last) {
		return note.Pending, waits, nil
	}
	_, err = m.greenTarget(ctx, ApplyInput{Site: m.site, Branch: m.change.BaseBranch, Env: m.policy.Env.Name, Member: m.at.member})
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return note.Failure, note.Description(refusal.Message), nil
	}
	return note.Pending, waits, err
}
