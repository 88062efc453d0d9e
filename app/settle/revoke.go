package settle

import (
	"context"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// revoke takes back every approval of the gates a comment speaks to, for good
// (decision 6). It works whether or not anything waits.
func (c *Commander) revoke(ctx context.Context, site *usecase.Site, comment forges.Comment, cmd command.Command) (answer, error) {
	at, err := c.candidates(ctx, site, comment.Ref)
	if err != nil {
		return answer{}, err
	}
	acts, err := c.revocations(ctx, site, at, cmd)
	if err != nil {
		return answer{}, err
	}
	if len(acts) == 0 {
		return refusal(note.NothingWaits, note.Refused{}), nil
	}
	for _, act := range acts {
		act.By, act.URL, act.Origin = site.Repo.Instance.Principal(comment.Author.Login), comment.URL, "forge"
		act.At = stampOf(comment)
		if _, err := c.Revoke(ctx, site, act.prefix, act.Act); err != nil {
			return answer{}, err
		}
	}
	if err := c.raise(ctx, site, at); err != nil {
		return answer{}, err
	}
	reply := ""
	if comment.Ref.Kind == engine.Review {
		reply = note.TakenBack(acts[0].Op, acts[0].Gate)
	}
	return answer{reply: reply, rule: "revocation"}, nil
}

type revocation struct {
	gate.Act
	prefix string
}

// revocations are the gates to revoke at: the ones that wait here or that an apply
// runs under, or ran and may be carried on under, and on a pull request its own in
// every env, merged or not.
func (c *Commander) revocations(ctx context.Context, site *usecase.Site, at place, cmd command.Command) ([]revocation, error) {
	var out []revocation
	add := func(prefix, op, gateName, env string) {
		if cmd.Op != "" && (cmd.Op != op || cmd.Gate != gateName) {
			return
		}
		for _, r := range out {
			if r.Op == op && r.Gate == gateName && r.Env == env {
				return
			}
		}
		out = append(out, revocation{prefix: prefix, Act: gate.Act{Op: op, Gate: gateName, Env: env}})
	}
	for _, g := range at.gates {
		add(g.prefix, g.report.Op, g.report.Gate, g.policy.Env.Name)
	}
	for _, u := range at.under {
		add(u.prefix, u.Op, u.Gate, u.Env)
	}
	if at.change.Number == 0 {
		return out, nil
	}
	d, _, err := site.BoundNow(ctx, at.change.BaseBranch)
	if err != nil {
		return out, unlessGone(err)
	}
	for _, p := range d.Places(at.change.BaseBranch, c.DefaultEnv) {
		add(project.LedgerPrefix(p.Member), project.OpPull(at.change.Number, p.Member), p.Env.Gate, p.Env.Name)
	}
	return out, nil
}
