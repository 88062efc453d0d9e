package settle

import (
	"context"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// unlessCounted turns a refusal around where this very comment was counted
// before: an approval that was recorded just before a crash stands, whatever has
// become of its pull request or its gate until it could be answered.
func (c *Commander) unlessCounted(ctx context.Context, site *usecase.Site, comment forges.Comment, cmd command.Command, a answer) (answer, error) {
	if a.refused == nil || cmd.Verb != command.Approve || cmd.Digest.IsZero() {
		return a, nil
	}
	ops, err := c.opsOf(ctx, site, comment, cmd)
	if err != nil {
		return answer{}, err
	}
	snap, err := site.Snapshot(ctx)
	if err != nil {
		return answer{}, err
	}
	for _, op := range ops {
		lines, err := usecase.GateLines(snap, project.LedgerPrefix(memberOf(op)), op)
		if err != nil {
			return answer{}, err
		}
		for _, l := range lines {
			if l.IsResolution() && l.URL == comment.URL && digest.Same(l.PlanDigest, cmd.Digest) {
				return answer{rule: "approval recorded before", digest: cmd.Digest}, nil
			}
		}
	}
	return a, nil
}

// opsOf are the ops a comment's approval can have been recorded under: the one it
// names, else those of its pull request.
func (c *Commander) opsOf(ctx context.Context, site *usecase.Site, comment forges.Comment, cmd command.Command) ([]string, error) {
	if cmd.Op != "" {
		return []string{cmd.Op}, nil
	}
	if comment.Ref.Number == 0 {
		return nil, nil
	}
	change, err := site.Forge.Change(ctx, site.Repo, comment.Ref.Number)
	if err != nil {
		return nil, err
	}
	d, _, err := site.BoundNow(ctx, change.BaseBranch)
	if err != nil {
		return nil, unlessGone(err)
	}
	var ops []string
	for _, p := range d.Places(change.BaseBranch, c.DefaultEnv) {
		ops = append(ops, project.OpPull(change.Number, p.Member))
	}
	return ops, nil
}

// memberOf is the workspace member in the name of an op, "" for the root project.
func memberOf(op string) string {
	if _, member, ok := project.PullOf(op); ok {
		return member
	}
	const sha = 12
	rest, green := strings.CutPrefix(op, "green-")
	if !green || len(rest) < sha {
		return ""
	}
	return strings.TrimPrefix(rest[sha:], "-")
}
