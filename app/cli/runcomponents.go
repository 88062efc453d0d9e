package cli

import (
	"context"
	"errors"

	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/graph"
)

// RunOfOptions are those of `chant run --components` (components §2.2).
type RunOfOptions struct {
	DeployOptions

	Components string `required:"" placeholder:"NAME" help:"Component to run, alone, or all for every one that is enabled."`
	GatedExit  int    `default:"3" placeholder:"CODE" help:"Exit code of a run that stops at a gate. Default: 3."`
}

// allComponents stands for every enabled component.
const allComponents = "all"

// RunComponents runs one component, or all of them wave by wave; no wave starts after
// one in which a component failed.
func RunComponents(ctx context.Context, h *Host, o RunOfOptions) error {
	if o.GatedExit < 0 || o.GatedExit > 255 {
		return Misuse("--gated-exit %d: an exit code is 0 to 255", o.GatedExit)
	}
	return refusedIsFailed(h.runComponents(ctx, o))
}

func (h *Host) runComponents(ctx context.Context, o RunOfOptions) error {
	d, err := h.openDeployment(ctx, o.DeployOptions, "HEAD", reports.Run{Stage: "run"})
	if err != nil {
		return err
	}
	defer d.remove()
	selection, err := d.selectRun(o.Components)
	if err != nil {
		return err
	}
	names := selection.Order()
	sources, err := d.Sources(ctx, names)
	if err != nil {
		return err
	}
	plan, err := fanout.Derive(d.Components(), selection, sources)
	if err != nil {
		return err
	}
	run, _ := fanout.NewRun(plan, nil)
	d.warn(h, names)
	var out usecase.Rollout
	err = h.whenFree(ctx, func() (err error) {
		out, err = d.RollOut(ctx, usecase.RolloutInput{Run: run, Sources: sources, StopAfterFailure: true})
		return err
	})
	err = h.finishDeploy(ended{options: o.DeployOptions, run: run, out: out, left: run.Due(names), failure: err, what: "run"})
	if exit, ok := errors.AsType[*ExitError](err); ok && exit.Code == Refused {
		exit.Code = o.GatedExit
	}
	return err
}

// selectRun selects the components of a run and refuses, before any of them runs, one
// that this version can't run.
func (d *deployment) selectRun(name string) (graph.Selection, error) {
	var enabled []string
	for _, c := range d.Components() {
		switch {
		case !c.Disabled:
			enabled = append(enabled, c.Name)
		case c.Name == name:
			return graph.Selection{}, &usecase.Refusal{Message: "component " + name + " is disabled; remove \"enabled\": false from " + c.File + " to run it"}
		}
	}
	if name != allComponents {
		// Alone: what it follows is not run, and its outputs are read as they stand.
		return graph.Selection{Changed: []string{name}, Waves: [][]string{{name}}}, d.Runnable([]string{name})
	}
	s, err := graph.SelectChanges(d.Components(), graph.Changes{Components: enabled})
	if err != nil {
		return s, err
	}
	return s, d.Runnable(s.Order())
}
