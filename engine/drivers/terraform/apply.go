package terraform

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/terraform/composed"
	"github.com/chant-bot/chant/engine/project"
)

// Apply applies exactly the saved plan, under a supervisor that outlives this
// process. The target's worktree may be the one that was planned in or a fresh
// checkout of the same commit. A plan that went stale, and any other end but
// success, is a failed Outcome and Moved stays false: the tool refuses and says
// why (components §3.2). A run directory is applied from once.
func (d *Driver) Apply(ctx context.Context, p engine.Planned, sink engine.Sink) (engine.Outcome, error) {
	name := p.Target.Root.Name
	supervised := filepath.Join(p.Target.RunDir, applyDir)
	st, err := exec.Recover(supervised)
	if err != nil {
		return engine.Outcome{}, fmt.Errorf("applying root %s: %w", name, err)
	}
	if st.State != exec.None {
		return engine.Outcome{}, engine.Tell(fmt.Errorf("applying root %s: its plan was used already (%s); plan again", name, st.State))
	}
	w, err := d.open(ctx, p.Target)
	if err != nil {
		return engine.Outcome{}, err
	}
	defer w.close()
	if err := w.restoreLockFile(); err != nil {
		return engine.Outcome{}, err
	}
	if err := w.init(ctx, sink); err != nil {
		return engine.Outcome{}, err
	}
	if err := w.unpushed(ctx); err != nil { // one that ended after this was planned
		return engine.Outcome{}, err
	}
	if err := w.copyIn(p); err != nil {
		return engine.Outcome{}, err
	}
	return w.apply(ctx, supervised, sink)
}

// copyIn puts the saved plan where the run finds it, if it is the one planned.
func (w *workdir) copyIn(p engine.Planned) error {
	f, err := os.Open(p.File)
	if err != nil {
		return fmt.Errorf("opening the saved plan of root %s: %w", w.t.Root.Name, err)
	}
	defer func() { _ = f.Close() }()
	hash, err := copyHashed(w.private, savedPlan, f, 0o444)
	if err != nil {
		return fmt.Errorf("reading the saved plan of root %s: %w", w.t.Root.Name, err)
	}
	if !sameHash(hash, p.Hash) {
		_ = w.private.Remove(savedPlan)
		return engine.Tell(fmt.Errorf("the saved plan of root %s is not the one that was made (SHA-256 %s, recorded %s); nothing was applied, plan again", w.t.Root.Name, hash, p.Hash))
	}
	return nil
}

func (w *workdir) apply(ctx context.Context, supervised string, sink engine.Sink) (engine.Outcome, error) {
	hold, err := w.d.holdFile(w.t.Member)
	if err != nil {
		return engine.Outcome{}, err
	}
	if err := errors.Join(w.noteWhere(), w.noteBegun()); err != nil {
		return engine.Outcome{}, err
	}
	started, res, err := w.supervise(ctx, supervised, hold, sink)
	stopped, interrupted := errors.AsType[*exec.StoppedError](err)
	switch {
	case err == nil:
		return w.settle(ctx, res, nil), nil
	case interrupted:
		return w.settle(ctx, res, stopped.Cause), nil
	case !started:
		w.d.seenToEnd(w.t)
		return engine.Outcome{}, fmt.Errorf("applying root %s: %w", w.t.Root.Name, err)
	}
	return w.d.unknown(ctx, w.t), nil
}

// supervise runs the saved plan in the scratch directory to its end. Unless it
// was started nothing was changed. The error is that of Supervised.Wait.
func (w *workdir) supervise(ctx context.Context, supervised, hold string, sink engine.Sink) (started bool, res exec.Result, err error) {
	again, err := w.variablesAgain(ctx)
	if err != nil {
		return false, exec.Result{}, err
	}
	args := append([]string{"apply", "-input=false", "-no-color", "-lock=true", w.lockTimeout()}, again...)
	cmd, err := w.command(call{args: append(args, filepath.Join(w.scratch, savedPlan)), sink: sink, detached: true})
	if err != nil {
		return false, exec.Result{}, err
	}
	cmd.Grace, cmd.Hold = w.d.cfg.ApplyGrace, hold
	var s *exec.Supervised
	err = w.d.cfg.Pool.Do(ctx, func() error {
		if w.t.Ready != nil {
			if err := w.t.Ready(); err != nil {
				return err
			}
		}
		if s, err = exec.StartSupervised(ctx, supervised, cmd); err != nil {
			return err
		}
		res, err = s.Wait(ctx)
		return err
	})
	if errors.Is(err, exec.ErrRunning) && s != nil {
		w.scratch = "" // still in use
	}
	return s != nil && !errors.Is(err, exec.ErrNotStarted), res, err
}

// unknown is the outcome of an apply whose end nobody saw. The tool may have come to it.
func (d *Driver) unknown(ctx context.Context, t engine.Target) engine.Outcome {
	out := engine.Outcome{Unknown: true, Error: fmt.Sprintf("root %s: the end of the apply was not observed; plan again", t.Root.Name)}
	d.keepErrored(ctx, t, false, &out)
	return out
}

// unread is an apply whose outputs could not be read after it.
func unread(err error) engine.Outcome {
	const what = "applied, but its outputs can't be read"
	if told, ok := errors.AsType[*engine.Told](err); ok {
		return engine.Outcome{Error: what + ": " + told.Error()}
	}
	return engine.Outcome{Error: what, Fault: err}
}

// outputsTimeout bounds reading outputs after an apply whose context ended.
const outputsTimeout = 5 * time.Minute

// settle turns the observed end of an apply into its outcome. What applied
// stays applied, so outputs are read even when ctx has ended meanwhile.
func (w *workdir) settle(ctx context.Context, res exec.Result, interrupted error) engine.Outcome {
	if res.ExitCode != 0 {
		text := w.failure(call{args: []string{"apply"}}, res).Error()
		if interrupted != nil {
			text = fmt.Sprintf("interrupted (%v): %s", interrupted, text)
		}
		out := engine.Outcome{Error: text}
		if w.d.keepErrored(ctx, w.t, isPrinted(res.Stderr), &out); out.Fault == nil {
			w.d.seenToEnd(w.t)
		}
		return out
	}
	w.d.seenToEnd(w.t)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), outputsTimeout)
	defer cancel()
	outputs, err := w.outputs(ctx)
	if err != nil {
		return unread(err)
	}
	return engine.Outcome{Outputs: outputs}
}

// Recover waits for an apply that a dead server left running, then tells how
// it ended (soundness I6). When ctx ends first the apply is left alone.
func (d *Driver) Recover(ctx context.Context, p engine.Planned) (engine.Outcome, bool, error) {
	name := p.Target.Root.Name
	st, err := exec.AwaitRecovered(ctx, filepath.Join(p.Target.RunDir, applyDir))
	switch {
	case errors.Is(err, exec.ErrNotStarted):
		return engine.Outcome{}, false, nil
	case err != nil:
		return engine.Outcome{}, true, fmt.Errorf("recovering the apply of root %s: %w", name, err)
	case st.State == exec.None:
		return engine.Outcome{}, false, nil
	case st.State == exec.Unknown:
		return d.unknown(ctx, p.Target), true, nil
	}
	w, err := d.open(ctx, p.Target)
	if err != nil {
		return engine.Outcome{}, true, err
	}
	defer w.close()
	if st.Result.ExitCode == 0 {
		if err := w.init(ctx, nil); err != nil {
			return unread(err), true, nil
		}
	}
	return w.settle(ctx, st.Result, nil), true, nil
}

// holdFile is the lock that an apply of the member holds while anything of it
// lives.
func (d *Driver) holdFile(member string) (string, error) {
	if d.cfg.Scope == "" || d.cfg.StateDir == "" {
		return "", nil
	}
	dir := filepath.Join(d.cfg.StateDir, "applying")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the directory of apply locks: %w", err)
	}
	return filepath.Join(dir, d.memberKey(member)), nil
}

// memberKey names a member of this driver's scope among those of all.
func (d *Driver) memberKey(member string) string {
	key := sha256.Sum256([]byte(d.cfg.Scope + "\x00" + member))
	return hex.EncodeToString(key[:])
}

// Declared implements engine.OutputReader.
func (d *Driver) Declared(checkout, projectDir string, root project.Root) (map[string]bool, error) {
	tree, err := os.OpenRoot(checkout)
	if err != nil {
		return nil, fmt.Errorf("reading the outputs that root %s declares: %w", root.Name, err)
	}
	defer func() { _ = tree.Close() }()
	at := composed.Module{Path: path.Join(filepath.ToSlash(projectDir), root.Dir), Root: true}
	config, err := composed.ReadConfig(tree.FS(), []composed.Module{at}, d.planner)
	if err != nil {
		return nil, fmt.Errorf("reading the outputs that root %s declares: %w", root.Name, err)
	}
	return config.Outputs, nil
}

// Outputs reads the outputs that stand now: none for a root that was never
// applied.
func (d *Driver) Outputs(ctx context.Context, t engine.Target) (map[string]engine.Output, error) {
	w, err := d.open(ctx, t)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.init(ctx, nil); err != nil {
		return nil, err
	}
	return w.outputs(ctx)
}

// outputs reads them in an initialised directory.
func (w *workdir) outputs(ctx context.Context) (map[string]engine.Output, error) {
	v, err := w.document(ctx, call{args: []string{"output", "-json"}, json: true})
	if err != nil {
		return nil, err
	}
	if v.Kind() != digest.Object {
		return nil, engine.Tell(fmt.Errorf("reading the outputs of root %s: want a JSON object, got %s", w.t.Root.Name, v.Kind()))
	}
	outputs := make(map[string]engine.Output, v.Len())
	for _, name := range v.Keys() {
		o := v.Get(name)
		sensitive, _ := o.Get("sensitive").Bool()
		outputs[name] = engine.Output{Value: o.Get("value"), Sensitive: sensitive}
	}
	return outputs, nil
}
