package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/report"
)

// PromoteOptions are those of `chant components promote --release` (components §1.3).
type PromoteOptions struct {
	FollowOptions
	ResumeOptions

	Release  bool   `help:"Deploy what was merged since the last release. promote cannot do without it yet."`
	Commit   string `arg:"" optional:"" placeholder:"COMMIT" help:"Green commit, or its ci/green tag, to deploy; it has to be checked out. Default: the newest green one."`
	To       string `placeholder:"ENV" required:"" help:"Environment to deploy to."`
	Gate     string `placeholder:"GATE" help:"Gate that is asked once, for everything that is released, besides the gates that components have."`
	WaveGate string `placeholder:"GATE" help:"Gate that is asked for everything before the first wave, as GATE-wave-1, and as GATE-wave-2 and so on for a later wave whose plan that does not cover."`
	Wave     int    `placeholder:"N" help:"Deploy this wave only, from 1, after the promotes of the waves before it. Needs --wave-gate and --resume."`
	Member   string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	Forge    string `placeholder:"FORGE" help:"Forge to read the approvers' permissions and the checks from: github, gitlab or forgejo."`
	DryRun   bool   `help:"Plan, say what would be deployed, and deploy nothing."`
	Output   string `placeholder:"DIR" default:".chant/release" help:"Directory for the release's plans, which an approval is given from. Default: .chant/release."`
	JSON     bool   `name:"json" help:"Print the result as one line of JSON."`

	Run RunOptions `embed:""`
}

func (o PromoteOptions) check() error {
	switch {
	case !o.Release:
		return NotBuilt("promote of artifacts from one environment to another", "deploy what was merged: add --release")
	case o.Gate != "" && o.WaveGate != "":
		return Misuse("--gate asks once for everything and --wave-gate for each wave: give one of them")
	case o.Wave < 0:
		return Misuse("--wave %d: waves are numbered from 1", o.Wave)
	case o.Wave > 0 && (o.WaveGate == "" || o.Resume == ""):
		return Misuse("--wave goes on with what the record of the waves before it holds: add --wave-gate and --resume")
	}
	return nil
}

// releaseResult is what a promote deploys, as JSON.
type releaseResult struct {
	Env       string            `json:"env"`
	Commit    string            `json:"commit"`
	Base      string            `json:"base"` // commit released before
	Digest    digest.Digest     `json:"digest"`
	Merges    []report.Merge    `json:"merges"`
	Waves     []report.Wave     `json:"waves,omitempty"`
	Rounds    []report.Round    `json:"rounds,omitempty"`
	Groups    []report.Group    `json:"groups,omitempty"`
	Fallbacks []report.Fallback `json:"fallbacks,omitempty"`
	Resumed   *report.Resumed   `json:"resumed,omitempty"`
}

// Promote deploys what was merged since the last release.
func Promote(ctx context.Context, h *Host, o PromoteOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	return refusedIsFailed(h.promote(ctx, o))
}

func (h *Host) promote(ctx context.Context, o PromoteOptions) error {
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	in := usecase.PromoteInput{ApplyInput: usecase.ApplyInput{
		Site: c.site, DryRun: o.DryRun, Gate: o.Gate, WaveGate: o.WaveGate, Wave: o.Wave, Progress: h.progress,
	}}
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
	f, err := h.followApply(ctx, c, &in.ApplyInput, o.FollowOptions, o.ResumeOptions, promoteRecord)
	if err != nil {
		return err
	}
	var a *usecase.Apply
	err = h.whenFree(ctx, func() (err error) { a, err = stage.Promote(ctx, in); return err })
	f.close()
	if a == nil {
		return err
	}
	f.end(a.Report)
	return h.finishPromote(o, a, err)
}

// finishPromote says how a promote ended and turns it into an exit code.
func (h *Host) finishPromote(o PromoteOptions, a *usecase.Apply, failure error) error {
	for _, w := range a.Warnings {
		h.warnf("%s", w)
	}
	if a.Release.AppliesOnMerge {
		h.warnf("merges apply to %s by themselves too", a.Report.Env)
	}
	release := releaseOf(a)
	if a.Set == nil || o.DryRun || a.PastLastWave() {
		if a.Report.Message != "" {
			h.progress(a.Report.Message)
		}
		if failure == nil && o.JSON {
			return h.compact(release)
		}
		return errors.Join(failure, h.keepRelease(o, a))
	}
	if err := h.keepRelease(o, a); err != nil {
		return errors.Join(failure, err)
	}
	if halted := a.Passes().Halted(); failure == nil && (halted != "" || a.Report.Refusal == report.NotGreen) {
		failure = &usecase.Refusal{Message: a.Report.Message}
	}
	e := ended{options: DeployOptions{JSON: o.JSON}, plans: map[string]string{}, release: release, failure: failure, what: "promote"}
	var err error
	if e.run, e.out, err = a.Results(); err != nil {
		return errors.Join(failure, err)
	}
	for _, g := range a.ShutGates() {
		switch {
		case !g.OfComponent:
			e.waits = append(e.waits, waitingAt{GateAnswer: g.GateAnswer, Approve: approveLine(g.GateAnswer, plansDir(o.Output, a, g))})
		case g.Set != nil:
			e.plans[g.Digest.String()] = plansDir(o.Output, a, g)
		}
	}
	for _, r := range e.out.Results {
		if r.Waits != "" {
			h.progress(r.Component + " waits: " + r.Waits)
		}
	}
	if len(e.waits) == 0 && a.Report.Message != "" {
		h.progress(a.Report.Message)
	}
	h.sayGroups(a.Report.Groups, a.Report.Fallbacks)
	err = h.finishDeploy(e)
	switch {
	case failure == nil && a.WaveEnded():
		return nil
	case failure == nil && e.out.Status == fanout.Fail && a.Report.ExitCode() == Refused:
		return &ExitError{Code: Refused} // what failed found its target moved (pr-loop §5.7)
	case e.out.Status == fanout.Gated:
		h.progress("to go on, run the same promote again, after the approvals that are missing")
	}
	return err
}

func releaseOf(a *usecase.Apply) *releaseResult {
	r := a.Report
	out := &releaseResult{
		Env: r.Env, Commit: r.Head, Base: r.Base, Digest: r.Digest, Merges: []report.Merge{},
		Waves: r.Waves, Rounds: r.Rounds, Groups: r.Groups, Fallbacks: r.Fallbacks, Resumed: r.Resumed,
	}
	if r.Green != nil {
		out.Merges = append(out.Merges, r.Green.Merges...)
	}
	return out
}

// plansDir is where the plans that a gate binds are left.
func plansDir(output string, a *usecase.Apply, g usecase.Shut) string {
	if g.Set == a.Set {
		return output
	}
	return filepath.Join(output, g.Op+"-"+g.Gate)
}

// keepRelease leaves the plans of the release, and those of each round and wave that
// waits.
func (h *Host) keepRelease(o PromoteOptions, a *usecase.Apply) error {
	if a.Set == nil || len(a.Set.Members) == 0 {
		return nil
	}
	if err := h.keepWaiting(o.Output, a.Set.Document, a.Set.Shown()); err != nil {
		return err
	}
	for _, g := range a.ShutGates() {
		if g.Set == nil {
			continue
		}
		if err := h.keepWaiting(plansDir(o.Output, a, g), g.Set.Document, g.Set.Shown()); err != nil {
			return err
		}
	}
	return nil
}

// sayGroups says what was deployed together, how each member of it ended, and what could
// not be.
func (h *Host) sayGroups(groups []report.Group, fallbacks []report.Fallback) {
	for _, g := range groups {
		h.progress(fmt.Sprintf("group %s, wave %d: %s, plan %s", g.Group, g.Wave, strings.Join(g.Members, ", "), g.Digest))
		for _, m := range g.Outcome {
			h.progress("  " + m.Member + ": " + string(m.Status))
		}
	}
	for _, f := range fallbacks {
		h.progress(fmt.Sprintf("%s is in no group (%s): %s", f.Component, f.Kind, f.Reason))
	}
}
