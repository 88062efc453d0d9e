package usecase

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// RolloutInput says how the waves of a fan-out are run.
type RolloutInput struct {
	Run     *fanout.Run
	Sources map[string]digest.Digest // by component, as Sources gives them
	// Gate is asked for everything, WaveGate for each wave's plans; "" for neither,
	// and never both.
	Gate, WaveGate string
	Wave           int      // the only wave to run, from 1; 0 for all
	Canary         []string // components that go first, in no group
	// StopAfterFailure starts no wave after one in which a component failed.
	StopAfterFailure bool
	// Save keeps how far the run came: before the first step, after every component
	// and every wave. nil keeps nothing.
	Save func(fanout.Record) error
}

// Rollout is how the waves ended.
type Rollout struct {
	Status  fanout.Status
	Results []ComponentResult
	// Gate is the gate of the set or of a wave that is shut: nothing it guards ran.
	Gate *GateAnswer
	// Waiting is the wave that waits there, as it was planned.
	Waiting *WavePlan
	// Groups were planned and applied as one; Fallbacks say why others were not.
	Groups    []report.Group
	Fallbacks []report.Fallback
}

// rollout is one RollOut under way.
type rollout struct {
	*Deployment

	in RolloutInput

	composed [][]string                 // the waves, each group as one
	refused  map[string]compose.Refusal // why components are in no group any more

	mu     sync.Mutex // guards what follows, and the run
	result Rollout
	saved  error
}

// RollOut runs what is due, wave by wave, the components of a wave side by side. A
// failure blocks what follows it and nothing else (pr-loop §7.3).
func (d *Deployment) RollOut(ctx context.Context, in RolloutInput) (Rollout, error) {
	r := &rollout{Deployment: d, in: in, refused: map[string]compose.Refusal{}, composed: in.Run.Plan.Waves}
	if in.Wave > 0 {
		if err := in.Run.LeftBefore(in.Wave); err != nil {
			return Rollout{}, err
		}
	}
	if err := r.save(); err != nil {
		return Rollout{}, err
	}
	var err error
	if _, due := r.nextDue(r.composed); due == nil {
		r.tell(run.Event{Type: "run-start", Waves: r.composed})
	} else {
		err = d.Deploy(ctx, func() error { return r.waves(ctx) })
	}
	r.result.Status = in.Run.Status(r.result.Gate != nil)
	order := in.Run.Plan.Order()
	slices.SortFunc(r.result.Results, func(a, b ComponentResult) int {
		return slices.Index(order, a.Component) - slices.Index(order, b.Component)
	})
	r.tellEnd(err)
	return r.result, err
}

func (r *rollout) waves(ctx context.Context) error {
	if err := r.compose(); err != nil {
		return err
	}
	if err := r.placeStates(ctx); err != nil {
		return err
	}
	r.tell(run.Event{Type: "run-start", Waves: r.composed})
	for k, due := r.nextDue(r.composed); due != nil; k, due = r.nextDue(r.composed) {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped before wave %d: %w", k, err)
		}
		if err := r.lease.Renew(ctx); err != nil {
			return fmt.Errorf("renewing the lease of env %s: %w", r.Deployment.in.Env, err)
		}
		if open, err := r.setGate(ctx); err != nil || !open {
			return err
		}
		w, err := r.planNext(ctx)
		if err != nil {
			return fmt.Errorf("planning wave %d: %w", k, err)
		}
		r.say("wave %d: %s", w.number, strings.Join(w.due, ", "))
		r.tell(run.Event{Type: "wave-start", Wave: w.number, Components: w.due})
		open, err := r.wave(ctx, w)
		r.tellWave(w)
		if err := errors.Join(err, r.saved); err != nil || !open {
			return err
		}
		if r.in.StopAfterFailure && r.in.Run.Status(false) == fanout.Fail {
			return nil
		}
	}
	return nil
}

// wave runs one wave. It is not open when its gate is shut: then nothing of it ran.
func (r *rollout) wave(ctx context.Context, w rolloutWave) (open bool, err error) {
	if r.in.WaveGate == "" {
		return true, r.run(ctx, w, nil)
	}
	return r.gatedWave(ctx, w.number, w.due)
}

// run runs a wave side by side; planned are the plans of its components where they were
// made before. An interruption lets run what began and is an error.
func (r *rollout) run(ctx context.Context, w rolloutWave, planned map[string]map[int]*member) error {
	var units []func()
	for _, g := range w.groups {
		units = append(units, func() { r.runGroup(ctx, g) })
	}
	for _, name := range w.alone() {
		units = append(units, func() {
			r.tell(run.Event{Type: "component-start", Wave: w.number, Component: name})
			r.settle(r.runComponent(ctx, r.components[name], planned[name], r.in.Sources[name]))
		})
	}
	each(r.doing.driver.Parallel(), units, func(unit func()) {
		if ctx.Err() == nil { // else it was interrupted before it began, and is still due
			unit()
		}
	})
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted: %w", err)
	}
	return nil
}

// settle keeps how a component ended.
func (r *rollout) settle(result ComponentResult) {
	outputs := r.plain(result.Component)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in.Run.Settle(result.Component, result.Status, outputs)
	r.result.Results = append(r.result.Results, result)
	r.say("%s: %s", result.Component, result.Status)
	r.tell(run.Event{Type: "component-done", Wave: r.waveOf(result.Component), Component: result.Component, Status: eventOf(result.Status)})
	if err := r.save(); err != nil {
		r.saved = err
	}
}

func (r *rollout) save() error {
	if r.in.Save == nil {
		return nil
	}
	return r.in.Save(r.in.Run.Record())
}

// setGate asks the gate of everything, whose digest names what is rolled out and what
// that is made from. It is asked before every wave, so that an approval taken back
// stops what has not started (soundness I2).
func (r *rollout) setGate(ctx context.Context) (open bool, err error) {
	if r.in.Gate == "" {
		return true, nil
	}
	plan := r.in.Run.Plan
	answer, err := r.ask(ctx, question{
		op: FanOutOp, gate: r.in.Gate, digest: plan.Digest, timeout: gate.DefaultTimeout,
		what: fmt.Sprintf("%d components in %d waves: %s", len(plan.Order()), len(plan.Waves), strings.Join(plan.Order(), ", ")),
	})
	if err == nil && !answer.Approved {
		r.result.Gate = &answer
	}
	return answer.Approved, err
}
