package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/graph"
)

// The directories where plans are left that wait for an approval, unless --output says
// otherwise.
const (
	pullDir    = ".chant/pr"
	fanOutDir  = ".chant/fan-out"
	releaseDir = ".chant/release"
)

// FanOutOptions are those of `chant components fan-out` (components §2.1).
type FanOutOptions struct {
	DeployOptions

	Base         string   `placeholder:"REF" help:"Commit the change is measured from: what differs between it and --head is rolled out."`
	Head         string   `placeholder:"REF" default:"HEAD" help:"Commit that is rolled out. Default: HEAD. Files that are not committed are not."`
	FromAffected string   `placeholder:"FILE" help:"JSON file with the changed units, as in {\"changed\":[\"net\"]}, instead of --base."`
	Gate         string   `placeholder:"GATE" help:"Gate that is asked once, for everything that is rolled out."`
	WaveGate     string   `placeholder:"GATE" help:"Gate that is asked for the plans of each wave, as GATE-wave-1 and so on."`
	Wave         int      `placeholder:"N" help:"Run this wave only, from 1. Needs --wave-gate."`
	Canary       []string `placeholder:"NAME" help:"Component that goes first, before all others. May be repeated."`
	Resume       string   `placeholder:"FILE" help:"Attempt record: what it says completed is not run again, and how far this run comes is written to it."`
	DryRun       bool     `help:"Say what would run, and run nothing."`
	Output       string   `placeholder:"DIR" default:".chant/fan-out" help:"Directory for the plans of a wave that waits. Default: .chant/fan-out."`
}

func (o FanOutOptions) check() error {
	switch {
	case (o.Base == "") == (o.FromAffected == ""):
		return errors.New("say what changed: give exactly one of --base and --from-affected")
	case o.Gate != "" && o.WaveGate != "":
		return errors.New("--gate asks once for everything and --wave-gate for each wave: give one of them")
	case o.Wave != 0 && o.WaveGate == "":
		return errors.New("--wave runs one gated wave: add --wave-gate")
	case o.Wave < 0:
		return fmt.Errorf("--wave %d: waves are numbered from 1", o.Wave)
	}
	return nil
}

// FanOut rolls a change out to the components it reaches, wave by wave.
func FanOut(ctx context.Context, h *Host, o FanOutOptions) error {
	return refusedIsFailed(h.fanOut(ctx, o))
}

func (h *Host) fanOut(ctx context.Context, o FanOutOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	d, err := h.openDeployment(ctx, o.DeployOptions, o.Head, reports.Run{Op: usecase.FanOutOp, Stage: "fan-out"})
	if err != nil {
		return err
	}
	defer d.remove()
	selection, err := h.selectFanOut(ctx, d, o)
	if err != nil {
		return err
	}
	names := selection.Order()
	if err := d.Runnable(names); err != nil {
		return err
	}
	sources, err := d.Sources(ctx, names)
	if err != nil {
		return err
	}
	plan, err := fanout.Derive(d.Components(), selection, sources)
	if err != nil {
		return err
	}
	record, err := h.readRecord(o.Resume)
	if err != nil {
		return err
	}
	run, same := fanout.NewRun(plan, record)
	if !same {
		h.warnf("%s is the record of another fan-out and is not taken: everything runs", o.Resume)
	}
	h.sayPlan(run)
	if o.DryRun {
		return h.finishDryRun(o, plan)
	}
	d.warn(h, names)
	var out usecase.Rollout
	err = h.whenFree(ctx, func() (err error) {
		out, err = d.RollOut(ctx, usecase.RolloutInput{
			Run: run, Sources: sources, Gate: o.Gate, WaveGate: o.WaveGate, Wave: o.Wave, Canary: o.Canary, Save: h.saveRecord(o.Resume),
		})
		return err
	})
	if err == nil && out.Waiting != nil {
		err = h.keepWaiting(o.Output, out.Waiting.Document, out.Waiting.Shown())
	}
	return h.finishDeploy(ended{options: o.DeployOptions, run: run, out: out, from: o.Output, failure: err, what: "fan-out"})
}

func (h *Host) finishDryRun(o FanOutOptions, plan fanout.Plan) error {
	if !o.JSON {
		return nil
	}
	return h.compact(plan)
}

// selectFanOut selects what changed, by git or as a file says.
func (h *Host) selectFanOut(ctx context.Context, d *deployment, o FanOutOptions) (graph.Selection, error) {
	s, err := h.changedBy(ctx, d, o)
	if err != nil {
		return s, err
	}
	for _, unit := range s.Unclaimed {
		h.warnf("%s changed and no component claims it", unit)
	}
	if len(o.Canary) == 0 {
		return s, nil
	}
	return fanout.WithCanary(d.Components(), s, o.Canary)
}

func (h *Host) changedBy(ctx context.Context, d *deployment, o FanOutOptions) (graph.Selection, error) {
	if o.FromAffected == "" {
		tip, err := d.checkout.resolve(ctx, o.Base)
		if err != nil {
			return graph.Selection{}, fmt.Errorf("--base: %w", err)
		}
		base, err := d.checkout.site.Clone.MergeBase(ctx, tip, d.commit)
		if err != nil {
			return graph.Selection{}, fmt.Errorf("--base: %w", err)
		}
		return d.SelectChanged(ctx, base)
	}
	text, err := os.ReadFile(h.path(o.FromAffected))
	if err != nil {
		return graph.Selection{}, fmt.Errorf("--from-affected: %w", err)
	}
	affected, err := fanout.ParseAffected(text)
	if err != nil {
		return graph.Selection{}, fmt.Errorf("--from-affected %s: %w", o.FromAffected, err)
	}
	return affected.Select(d.Components())
}

// sayPlan says what will run and what will not.
func (h *Host) sayPlan(run *fanout.Run) {
	p := run.Plan
	count := map[fanout.Reason]int{}
	for _, s := range p.Skipped {
		count[s.Reason]++
	}
	h.progress(fmt.Sprintf("fan-out: %d selected, %d unaffected, %d indeterminate", len(p.Order()), count[fanout.Unaffected], count[fanout.Indeterminate]))
	for i, wave := range p.Waves {
		h.progress(fmt.Sprintf("  wave %d: %s", i+1, strings.Join(wave, ", ")))
	}
	if len(p.Waves) == 0 {
		h.progress("  nothing to run")
	}
	not := p.Skipped
	for _, name := range run.Earlier {
		not = append(not, fanout.Skip{Component: name, Reason: fanout.AlreadyApplied})
	}
	if len(run.Earlier) > 0 {
		h.progress("  completed by an earlier run: " + strings.Join(run.Earlier, ", "))
	}
	h.sayNotRunning(not)
	h.progress("  plan: " + p.Digest.String())
}

func (h *Host) sayNotRunning(not []fanout.Skip) {
	if len(not) == 0 {
		return
	}
	width := 0
	for _, s := range not {
		width = max(width, len(s.Component))
	}
	h.progress(fmt.Sprintf("  not running (%d):", len(not)))
	for _, s := range not {
		h.progress(fmt.Sprintf("    %-*s  %s", width, s.Component, s.Reason))
	}
}

// sayEnd says how a rollout ended.
func (h *Host) sayEnd(e ended, waiting []waitingAt) {
	run, out := e.run, e.out
	applied, failed, blocked := run.Of(fanout.OK), run.Of(fanout.Fail), run.Blocked()
	if len(applied) > 0 {
		h.progress("applied: " + strings.Join(applied, ", "))
	}
	if len(failed) > 0 {
		h.progress("failed: " + strings.Join(failed, ", "))
	}
	for _, b := range blocked {
		h.progress(fmt.Sprintf("%s: blocked by %q, not run", b.Component, b.BlockedBy))
	}
	if len(e.left) > 0 {
		h.progress("not reached: " + strings.Join(e.left, ", ") + "; no wave starts after one in which a component failed")
	}
	for _, w := range waiting {
		h.sayWaiting(out, w)
	}
	h.sayGroups(out.Groups, out.Fallbacks)
	word := map[fanout.Status]string{fanout.OK: "completed", fanout.Fail: "failed", fanout.Gated: "waits"}[out.Status]
	h.progress(fmt.Sprintf("%s %s: %d applied, %d failed, %d blocked", e.what, word, len(applied), len(failed), len(blocked)))
}

// sayWaiting says which gate is shut and what opens it, on the page of a CI job too
// (components §6.3).
func (h *Host) sayWaiting(out usecase.Rollout, w waitingAt) {
	what := fmt.Sprintf("gated: %s %s in %s: %s", w.Op, w.Gate, w.Env, w.Reason)
	if len(out.Results) == 0 {
		what = fmt.Sprintf("gated: nothing ran; %s %s in %s: %s", w.Op, w.Gate, w.Env, w.Reason)
	}
	if w.ExpiresAt != "" {
		what += "; waits until " + w.ExpiresAt
	}
	h.progress(what)
	if w.Approve != "" {
		h.progress("  " + w.Approve)
	}
	if w.Warning != "" {
		h.warnf("%s", w.Warning)
	}
	if w.Approve != "" {
		what += "\n\n```\n" + w.Approve + "\n```"
	}
	h.stepSummary(what)
}
