package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/report"
)

// PromoteOptions are those of `chant components promote --release` (components §1.3).
type PromoteOptions struct {
	Release bool   `help:"Deploy what was merged since the last release. promote cannot do without it yet."`
	Commit  string `arg:"" optional:"" placeholder:"COMMIT" help:"Green commit, or its ci/green tag, to deploy; it has to be checked out. Default: the newest green one."`
	To      string `placeholder:"ENV" required:"" help:"Environment to deploy to."`
	Member  string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	Forge   string `placeholder:"FORGE" help:"Forge to read the approvers' permissions and the checks from: github, gitlab or forgejo."`
	DryRun  bool   `help:"Plan, say what would be deployed, and deploy nothing."`
	Output  string `placeholder:"DIR" default:".chant/release" help:"Directory for the release's plans, which an approval is given from. Default: .chant/release."`
	JSON    bool   `name:"json" help:"Print the result as one line of JSON."`

	Run RunOptions `embed:""`
}

// releaseResult is what a promote deploys, as JSON.
type releaseResult struct {
	Env    string         `json:"env"`
	Commit string         `json:"commit"`
	Base   string         `json:"base"` // commit released before
	Digest digest.Digest  `json:"digest"`
	Merges []report.Merge `json:"merges"`
}

// Promote deploys what was merged since the last release.
func Promote(ctx context.Context, h *Host, o PromoteOptions) error {
	if !o.Release {
		return NotBuilt("promote of artifacts from one environment to another", "deploy what was merged: add --release")
	}
	return refusedIsFailed(h.promote(ctx, o))
}

func (h *Host) promote(ctx context.Context, o PromoteOptions) error {
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	in := usecase.PromoteInput{Site: c.site, DryRun: o.DryRun, Progress: h.progress}
	if in.Head, err = c.resolve(ctx, "HEAD"); err != nil {
		return err
	}
	if o.Commit != "" {
		if in.Commit, err = c.resolve(ctx, o.Commit); err != nil {
			return err
		}
	}
	where, err := h.target(ctx, c, CommonOptions{Env: o.To, Member: o.Member}, in.Head)
	if err != nil {
		return err
	}
	in.Branch, in.Env, in.Member = where.branch, where.env, where.member
	stage, _, err := h.stage(ctx, c, o.Run, where.env)
	if err != nil {
		return err
	}
	var remove func()
	if in.Dir, remove, err = c.runDir(); err != nil {
		return err
	}
	defer remove()
	out, err := stage.Promote(ctx, in)
	return h.finishPromote(o, in, out, err)
}

func (h *Host) finishPromote(o PromoteOptions, in usecase.PromoteInput, out usecase.Promotion, failure error) error {
	e := ended{
		options: DeployOptions{JSON: o.JSON}, run: out.Run, out: out.Rollout, from: o.Output, failure: failure, what: "promote",
		release: &releaseResult{Env: in.Env, Commit: out.Commit, Base: out.Base, Merges: append([]report.Merge{}, out.Merges...)},
	}
	if out.Plan != nil {
		e.document = out.Plan.Document.Digest
		e.release.Digest = e.document
		if err := h.keepWaiting(o.Output, out.Plan.Document, out.Plan.Shown()); err != nil {
			return errors.Join(failure, err)
		}
	}
	if out.AppliesOnMerge {
		h.warnf("merges apply to %s by themselves too", in.Env)
	}
	switch {
	case out.Run == nil && failure != nil:
		return failure
	case out.Run == nil:
		h.progress(fmt.Sprintf("%s is what %s has already", out.Commit, in.Env))
	}
	if o.DryRun || out.Run == nil {
		if failure == nil && o.JSON {
			return h.compact(e.release)
		}
		return failure
	}
	err := h.finishDeploy(e)
	if out.Status == fanout.Gated {
		h.progress("to go on, run the same promote again, after the approvals that are missing")
	}
	return err
}
