package usecase

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// handRule is the review rule of the gate that an approval by hand is of, nil where there
// is none; with it come the refusals that need no look at the approver. Without a forge
// only the gate can tell.
func (st *Stage) handRule(ctx context.Context, in HandApproval, env project.Env, a gate.Approval) (*gate.ReviewRule, error) {
	number, _, ofPull := project.PullOf(a.Op)
	ofGreen := strings.HasPrefix(a.Op, "green-")
	switch {
	case env.RequireReview && !ofPull && !ofGreen:
		return nil, &Refusal{Message: report.NotEnforcedMessage([]string{noReviews})}
	case in.Site.Forge == nil:
		return nil, nil
	case ofPull:
		return in.pullRule(ctx, env, number)
	case ofGreen && env.RequireReview:
		return st.greenRuleOf(ctx, in, env, a)
	}
	return nil, nil
}

// pullRule is the rule of a pull request's own gate, which an approval opens until the
// merge (decision 4).
func (in HandApproval) pullRule(ctx context.Context, env project.Env, number int) (*gate.ReviewRule, error) {
	site := in.Site
	change, err := site.Forge.Change(ctx, site.Repo, number)
	switch {
	case errors.Is(err, forges.ErrNotFound):
		return nil, Refusef("%s has no pull request #%d; correct the op", site.Repo.FullName(), number)
	case err != nil:
		return nil, err
	case change.State == engine.Merged:
		return nil, Refusef("pull request #%d is merged, and what is approved there now does not count. What applies is decided at %s; chant gates shows whether it waits there", number, project.OpGreen(change.MergeCommit, in.Member))
	case change.State != engine.Open:
		return nil, Refusef("pull request #%d is closed; reopen it before you approve its plan", number)
	case !env.RequireReview:
		return nil, nil
	}
	tip, err := site.TipOf(ctx, change.BaseBranch)
	if err != nil {
		return nil, err
	}
	if err := site.FetchHead(ctx, number, change.Head); err != nil {
		return nil, err
	}
	base, err := site.Clone.MergeBase(ctx, tip, change.Head)
	if err != nil {
		return nil, err
	}
	return site.ReviewRule(ctx, change, base)
}

// greenRuleOf is the rule of a gate of a green commit, of one of its rounds or waves: as
// the apply that waits there has it.
func (st *Stage) greenRuleOf(ctx context.Context, in HandApproval, env project.Env, a gate.Approval) (*gate.ReviewRule, error) {
	branch := env.Branch
	if branch == "" {
		_, info, err := in.Site.Forge.Repository(ctx, in.Site.Repo)
		if err != nil {
			return nil, err
		}
		branch = info.DefaultBranch
	}
	if err := in.Site.FetchBranch(ctx, branch); err != nil {
		return nil, err
	}
	_, line, err := in.Site.lineOf(ctx, branch)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(line, func(c git.Commit) bool { return project.OpGreen(c.SHA, in.Member) == a.Op })
	if at < 0 {
		return nil, Refusef("%s names no commit of %s, so who wrote what it carries cannot be told; correct the op", a.Op, branch)
	}
	own := *st
	own.DefaultEnv = env.Name
	t, err := own.GreenTarget(ctx, ApplyInput{Site: in.Site, Branch: branch, Env: env.Name, Member: in.Member, Commit: line[at].SHA})
	if err != nil {
		return nil, err
	}
	if t.Refusal != "" {
		return nil, &Refusal{Message: t.Refusal}
	}
	apply := &Apply{Policy: t.Policy, Report: report.Report{Green: &report.Green{}}}
	if apply.Report.Green.Merges, apply.Merges, err = mergesOf(in.Site.snap, t); err != nil {
		return nil, err
	}
	doc := in.Document
	if doc != nil && (!doc.Verify() || !bindsDocument(doc, a.Digest)) {
		doc = nil // of another plan
	}
	return st.RuleAt(ctx, in.Site, apply, a.Gate, doc)
}
