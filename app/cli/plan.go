package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
)

// PlanOptions are those of `chant components pr-plan` (pr-loop §5.1).
type PlanOptions struct {
	CommonOptions

	Base string `env:"BASE_SHA" placeholder:"REF" required:"" help:"Target branch's commit the pull request merges into."`
	PR   int    `name:"pr" env:"PR_NUMBER" placeholder:"N" required:"" help:"Number of the pull request."`
	Head string `placeholder:"REF" help:"Head of the pull request. Default: HEAD, or in a job on the forge's own merge commit the head that was merged."`
}

// PlanPull plans the merge of a pull request into its base branch and writes
// pr-plan.json, change-set.json and pr-note.md. It pushes nothing.
func PlanPull(ctx context.Context, h *Host, o PlanOptions) error {
	if o.PR < 1 {
		return Misuse("--pr %d is no pull request", o.PR)
	}
	c, pull, err := h.openToPlan(ctx, o)
	if err != nil {
		return err
	}
	baseTip, err := c.resolve(ctx, o.Base)
	if err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	head, err := h.head(ctx, c, o)
	if err != nil {
		return fmt.Errorf("--head: %w", err)
	}
	where, err := h.target(ctx, c, o.CommonOptions, baseTip)
	if err != nil {
		return err
	}
	stage, runs, err := h.stage(ctx, c, o.Run, where.env)
	if err != nil {
		return err
	}
	dir, remove, err := c.runDir()
	if err != nil {
		return err
	}
	defer remove()
	plans, trust, err := stage.PlanPull(ctx, usecase.PullInput{
		Site: c.site, Head: head, BaseTip: baseTip, BaseBranch: where.branch, Number: o.PR,
		Env: where.env, Member: where.member, RootOnly: where.member == "", Gate: o.Gate,
		Dir: dir, Progress: h.progress,
	})
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return Misuse("nothing to plan: env %s is not declared for branch %s", where.env, where.branch)
	}
	p := plans[0]
	if p.Report.Status == report.Planned {
		if p.Report.Approval, err = stage.PullApproval(ctx, c.site, p, pull); err != nil {
			h.warnf("the approval cannot be read, it is shown as pending: %v", err)
		}
	}
	return h.finishPlan(ctx, c, o, plannedPull{plan: p, trust: trust, target: where, baseTip: baseTip, notIsolated: runs.notIsolated()})
}

// openToPlan opens the checkout and, where the environment allows, the forge. A
// plan stands without a forge, so a failure there is a warning. pull gives the pull
// request, and where it is not known why.
func (h *Host) openToPlan(ctx context.Context, o PlanOptions) (c *checkout, pull func() (engine.Change, error), err error) {
	without := func(err error) func() (engine.Change, error) {
		return func() (engine.Change, error) { return engine.Change{}, err }
	}
	if c, err = h.open(ctx, o.Forge); err != nil || o.Forge == "" {
		return c, without(usecase.ErrNoReviews), err
	}
	forge, repo, err := h.connect(ctx, c.job)
	if err != nil {
		h.warnf("note and statuses are left out: %v", err)
		return c, without(errors.New("the review rule is on, and the forge it reads reviews from was not reached; mend that and run this again")), nil
	}
	c.site.Forge, c.site.Repo = forge, repo
	change, err := forge.Change(ctx, repo, o.PR)
	if err != nil {
		h.warnf("pull request #%d cannot be read: %v", o.PR, err)
		return c, without(fmt.Errorf("the review rule is on, and #%d, whose reviews it reads, was not read; mend that and run this again", o.PR)), nil
	}
	return c, func() (engine.Change, error) { return change, nil }, nil
}

// head is the commit planned. A job on a pull request has the forge's merge of
// it checked out, whose second parent is the head (pr-loop §5.8).
func (h *Host) head(ctx context.Context, c *checkout, o PlanOptions) (string, error) {
	if o.Head != "" {
		return c.resolve(ctx, o.Head)
	}
	head, err := c.site.Clone.Commit(ctx, "HEAD")
	if err != nil {
		return "", err
	}
	if c.job.merged && c.job.number == o.PR && len(head.Parents) == 2 {
		return head.Parents[1], nil
	}
	return head.SHA, nil
}
