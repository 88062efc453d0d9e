package terraform

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/terraform/composed"
	plans "github.com/chant-bot/chant/engine/plans/terraform"
)

// The files of a run directory.
const (
	planFile  = "plan.tfplan"
	locksFile = "terraform.lock.hcl" // the provider selections the plan was made with
	applyDir  = "apply"
)

// savedPlan is the plan's name in a scratch directory.
const savedPlan = "saved.tfplan"

// Plan runs init, plan and show. The saved plan is copied out of reach at once
// and shown from there, so that what is shown is what is hashed.
func (d *Driver) Plan(ctx context.Context, t engine.Target, sink engine.Sink) (engine.Planned, error) {
	name, err := d.Engine(ctx)
	if err != nil {
		return engine.Planned{}, err
	}
	w, err := d.open(ctx, t)
	if err != nil {
		return engine.Planned{}, err
	}
	defer w.close()
	if err := w.init(ctx, sink); err != nil {
		return engine.Planned{}, err
	}
	// Before the plan runs code that could change it.
	if err := w.keepLockFile(); err != nil {
		return engine.Planned{}, err
	}
	p := engine.Planned{Target: t, Engine: name, File: filepath.Join(t.RunDir, planFile)}
	if p.State, err = w.place(); err != nil {
		return engine.Planned{}, err
	}
	if err := w.unpushed(ctx); err != nil {
		return engine.Planned{}, err
	}
	if p.NoChanges, err = w.plan(ctx, sink); err != nil {
		return engine.Planned{}, err
	}
	if p.Hash, err = takeFile(w.private, savedPlan, w.runDir, planFile); err != nil {
		return engine.Planned{}, fmt.Errorf("saving the plan of root %s: %w", t.Root.Name, err)
	}
	if t.Made != nil {
		t.Made()
	}
	plan, err := w.document(ctx, call{args: []string{"show", "-json", p.File}, reads: []string{p.File}, json: true})
	if err != nil {
		return engine.Planned{}, err
	}
	return d.describe(p, plan)
}

// describe fills in what the plan JSON says.
func (d *Driver) describe(p engine.Planned, plan digest.Value) (engine.Planned, error) {
	t := p.Target
	scope := t.Root.Estate
	if scope == "" {
		scope = t.Root.Workspace
	}
	planDigest, err := plans.PlanDigest(plan)
	shown := plan
	if len(t.Secrets) > 0 {
		shown = plans.Hide(plan)
	}
	if err == nil {
		p.Part, err = plans.Part(t.Member, shown, plans.Options{Planner: d.planner, Scope: scope})
	}
	if err != nil {
		return engine.Planned{}, engine.Tell(fmt.Errorf("reading the plan of root %s: %w", t.Root.Name, err))
	}
	p.Part.Member.PlanDigest = &planDigest // also of what is not shown
	p.Moves = plans.Moves(shown)
	if p.Code, err = plans.Code(plan); err != nil {
		return engine.Planned{}, engine.Tell(fmt.Errorf("reading the plan of root %s: %w", t.Root.Name, err))
	}
	return p, nil
}

// plan saves a plan in the scratch directory; noChanges is the tool's own word
// (exit code 0 under -detailed-exitcode).
func (w *workdir) plan(ctx context.Context, sink engine.Sink) (noChanges bool, err error) {
	vars, err := w.variables()
	if err != nil {
		return false, engine.Tell(fmt.Errorf("planning root %s: %w", w.t.Root.Name, err))
	}
	args := []string{"plan", "-input=false", "-no-color", "-lock=true", w.lockTimeout(), "-detailed-exitcode"}
	if w.t.Destroy {
		args = append(args, "-destroy")
	}
	args = append(append(args, vars...), "-out="+filepath.Join(w.scratch, savedPlan))
	c := call{args: args, sink: sink}
	res, err := w.run(ctx, c)
	switch {
	case err != nil:
		return false, err
	case res.ExitCode != 0 && res.ExitCode != 2:
		return false, w.failure(c, res)
	}
	return res.ExitCode == 0, nil
}

func (w *workdir) lockTimeout() string { return "-lock-timeout=" + w.d.cfg.LockTimeout.String() }

// document runs a call whose standard output is one JSON value.
func (w *workdir) document(ctx context.Context, c call) (digest.Value, error) {
	res, err := w.run(ctx, c)
	if err != nil {
		return digest.Value{}, err
	}
	if res.ExitCode != 0 {
		return digest.Value{}, w.failure(c, res)
	}
	v, err := digest.Decode(res.Stdout)
	if err != nil {
		return digest.Value{}, engine.Tell(fmt.Errorf("reading %s of root %s: %w", w.name(c), w.t.Root.Name, err))
	}
	return v, nil
}

// stepVariables is the file of the step's variables in a scratch directory.
const stepVariables = "step.tfvars"

// variables are the flags that give the root its values: its files, then the step's
// variables, which win. Those are in a file: an argument has a bound, which an output that
// is read may exceed, and is shown to whoever lists processes.
func (w *workdir) variables() ([]string, error) {
	var flags []string
	for _, file := range w.t.Root.VarFiles {
		flags = append(flags, "-var-file="+filepath.FromSlash(file))
	}
	if len(w.t.Vars) == 0 {
		return flags, nil
	}
	// In the base, since a file of the root may be a link to one that is not its own.
	config, err := composed.ReadConfig(w.base.FS(), []composed.Module{{Path: filepath.ToSlash(w.rel), Root: true}}, w.d.planner)
	if err != nil {
		return nil, err
	}
	text, err := config.Assignments(w.t.Vars)
	if err != nil {
		return nil, fmt.Errorf("%w; correct the step's \"vars\"", err)
	}
	if err := errors.Join(w.private.RemoveAll(stepVariables), w.private.WriteFile(stepVariables, []byte(text), 0o644)); err != nil {
		return nil, err
	}
	return append(flags, "-var-file="+filepath.Join(w.scratch, stepVariables)), nil
}

// comparing is the first version of tofu, by minor, that reads variables anew when it
// applies a saved plan, holds them against the plan's, and takes the flags that set
// them.
const comparing = 8

// variablesAgain are the flags that an apply of the saved plan needs beside it:
// without them tofu reads the files it finds by itself (*.auto.tfvars), and refuses
// the plan where a step or a file of the root's had overridden them. terraform takes
// none.
func (w *workdir) variablesAgain(ctx context.Context) ([]string, error) {
	if w.d.planner != "tofu" {
		return nil, nil
	}
	if _, err := w.d.Engine(ctx); err != nil {
		return nil, err
	}
	major, rest, _ := strings.Cut(w.d.version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if n, err := strconv.Atoi(minor); major == "1" && (err != nil || n < comparing) {
		return nil, nil //nolint:nilerr // a version nobody knows is asked as the first ones were
	}
	return w.variables()
}
