package usecase

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/run"
)

// StepStatus is how a step ended (components §2.3).
type StepStatus string

// The ends of a step. RollbackOptedOut: it was carried out, the component failed
// later, and nothing takes it back.
const (
	StepOK           StepStatus = "ok"
	StepFailed       StepStatus = "fail"
	StepSkipped      StepStatus = "skipped"
	RollbackOptedOut StepStatus = "rollback-opted-out"
)

// StepRecord is one step of a component that ran, or did not. What a step put out is
// in the component's outputs.
type StepRecord struct {
	Component  string     `json:"component"`
	Phase      string     `json:"phase"`
	Kind       string     `json:"kind"`
	Status     StepStatus `json:"status"`
	DurationMs int64      `json:"durationMs"`
	Note       string     `json:"note,omitempty"`
	Error      string     `json:"error,omitempty"`
}

// ComponentResult is how one component ended.
type ComponentResult struct {
	Component string        `json:"component"`
	OK        bool          `json:"ok"`
	Status    fanout.Status `json:"status"`
	Records   []StepRecord  `json:"records"`
	Gate      *GateAnswer   `json:"gate,omitempty"` // its own gate, where it stopped there
	// Waits says which input keeps it from being applied as it was planned.
	Waits string `json:"waits,omitempty"`
}

// Problem is the first error of the component, "" for none.
func (r ComponentResult) Problem() string {
	for _, s := range r.Records {
		if s.Status == StepFailed {
			return s.Error
		}
	}
	return ""
}

// componentRun is one component being run.
type componentRun struct {
	*Deployment

	c *project.Component
	// planned are steps planned before, by index; without them each is planned when
	// it is reached.
	planned map[int]*member
	source  digest.Digest // what the component is made from

	mu      sync.Mutex
	phases  map[string]digest.Value
	outputs map[string]engine.Output
	records []StepRecord
	done    []doneStep
	gate    *GateAnswer
	passed  []project.Step // its own gates that were open
	started bool           // an apply was started
	unseen  bool           // how one ended was not seen: it may still run
}

// doneStep is a step that was carried out.
type doneStep struct {
	phase string
	step  project.Step
}

// stepAt is a step of a phase, with its index in Component.Steps.
type stepAt struct {
	step  project.Step
	index int
}

// runComponent runs a component's phases in order. A failure unwinds what this
// component did; a gate that is shut stops it where it is.
func (d *Deployment) runComponent(ctx context.Context, c *project.Component, planned map[int]*member, source digest.Digest) ComponentResult {
	r := &componentRun{Deployment: d, c: c, planned: planned, source: source, phases: map[string]digest.Value{}, outputs: map[string]engine.Output{}}
	end, at := fanout.OK, 0
	for _, p := range c.Deploy {
		if end == fanout.OK {
			end = r.phase(ctx, p, at)
		} else {
			r.skip(p)
		}
		at += countSteps(p)
	}
	switch end {
	case fanout.OK:
		d.upstreams.keep(c.Name, read{values: r.outputs})
	case fanout.Fail:
		r.unwind(ctx)
	}
	return ComponentResult{Component: c.Name, OK: end == fanout.OK, Status: end, Records: r.records, Gate: r.gate}
}

func countSteps(p project.DeployPhase) int {
	return len((&project.Component{Deploy: []project.DeployPhase{p}}).Steps())
}

// phase runs one phase; at is the index of its first step. In order, the first step
// that does not end well keeps the rest from running; in parallel all run.
func (r *componentRun) phase(ctx context.Context, p project.DeployPhase, at int) (end fanout.Status) {
	r.tell(run.Event{Type: "phase-start", Component: r.c.Name, Phase: p.Name})
	defer func() {
		r.tell(run.Event{Type: "phase-done", Component: r.c.Name, Phase: p.Name, Status: eventOf(end)})
	}()
	var places []stepAt
	for _, s := range p.Steps {
		places = append(places, stepAt{s, at})
		at += countSteps(project.DeployPhase{Steps: []project.Step{s}})
	}
	if p.Parallel {
		ends := make([]fanout.Status, len(places))
		var wg sync.WaitGroup
		for i, at := range places {
			wg.Go(func() { ends[i] = r.step(ctx, p.Name, at) })
		}
		wg.Wait()
		return worst(ends)
	}
	end = fanout.OK
	for _, at := range places {
		if end != fanout.OK {
			r.skip(project.DeployPhase{Name: p.Name, Steps: []project.Step{at.step}})
			continue
		}
		end = r.step(ctx, p.Name, at)
	}
	return end
}

func worst(ends []fanout.Status) fanout.Status {
	for _, bad := range []fanout.Status{fanout.Fail, fanout.Gated} {
		if slices.Contains(ends, bad) {
			return bad
		}
	}
	return fanout.OK
}

// skip records the steps of a phase that is not reached.
func (r *componentRun) skip(p project.DeployPhase) {
	for _, s := range p.Steps {
		if s.Phase != nil {
			r.skip(*s.Phase)
			continue
		}
		r.record(StepRecord{Phase: p.Name, Kind: s.Kind, Status: StepSkipped})
	}
}

func (r *componentRun) step(ctx context.Context, phase string, at stepAt) fanout.Status {
	switch {
	case at.step.Phase != nil:
		return r.phase(ctx, *at.step.Phase, at.index)
	case at.step.Gate != nil:
		return r.askGate(ctx, phase, at.step)
	}
	if end := r.askAgain(ctx, phase, at.step); end != fanout.OK {
		return end
	}
	start := r.Now()
	r.tell(run.Event{Type: "step", Component: r.c.Name, Phase: phase, Step: at.step.Kind, Status: run.EventRunning})
	outputs, err := r.terraform(ctx, at)
	if err != nil {
		r.fail(ctx, phase, at.step.Kind, start, err)
		return fanout.Fail
	}
	r.mergeOutputs(phase, outputs)
	r.note(func() { r.done = append(r.done, doneStep{phase, at.step}) })
	r.record(StepRecord{Phase: phase, Kind: at.step.Kind, Status: StepOK, DurationMs: r.since(start)})
	return fanout.OK
}

// terraform plans the step, where that was not done before, and applies that plan.
func (r *componentRun) terraform(ctx context.Context, at stepAt) (map[string]engine.Output, error) {
	if r.planned != nil {
		m := r.planned[at.index]
		if m == nil {
			return nil, Refusef("%s:%d: no plan of this step was approved", at.step.File, at.step.Line)
		}
		return r.applyStep(ctx, m)
	}
	m := r.member(r.c, at.index, at.step)
	r.mu.Lock()
	phases := maps.Clone(r.phases)
	r.mu.Unlock()
	if err := r.planStep(ctx, m, phases); err != nil {
		return nil, err
	}
	return r.applyStep(ctx, m)
}

// askGate asks one of the component's own gates.
func (r *componentRun) askGate(ctx context.Context, phase string, s project.Step) fanout.Status {
	start := r.Now()
	answer, end := r.answer(ctx, phase, s, s)
	if end == fanout.OK {
		r.note(func() { r.passed = append(r.passed, s) })
		r.record(StepRecord{Phase: phase, Kind: s.Kind, Status: StepOK, DurationMs: r.since(start), Note: answer.Reason})
	}
	return end
}

// askAgain asks the gates that were passed once more where a step ended meanwhile: an
// approval that was taken back stops what has not started (soundness I2).
func (r *componentRun) askAgain(ctx context.Context, phase string, s project.Step) fanout.Status {
	var passed []project.Step
	r.note(func() {
		if len(r.done) > 0 {
			passed = slices.Clone(r.passed)
		}
	})
	for _, gate := range passed {
		if _, end := r.answer(ctx, phase, gate, s); end != fanout.OK {
			return end
		}
	}
	return fanout.OK
}

// answer is how a gate stands; s, which waits for it, is recorded where it is shut.
func (r *componentRun) answer(ctx context.Context, phase string, gate, s project.Step) (GateAnswer, fanout.Status) {
	start := r.Now()
	answer, err := r.gateOf(ctx, r.c, gate, r.source)
	switch {
	case err != nil:
		r.fail(ctx, phase, s.Kind, start, err)
		return answer, fanout.Fail
	case answer.Approved:
		return answer, fanout.OK
	}
	r.note(func() { r.gate = &answer })
	r.record(StepRecord{Phase: phase, Kind: s.Kind, Status: StepSkipped, DurationMs: r.since(start), Note: answer.Reason})
	return answer, fanout.Gated
}

// askComposition asks a component's own gate about its composition and what that is
// made from, where its plan is made only behind the gate.
func (d *Deployment) askComposition(ctx context.Context, c *project.Component, s project.Step, source digest.Digest) (GateAnswer, error) {
	composed, err := c.DeployDigest(d.in.Env, d.policy.Env.Vars, source.String())
	if err != nil {
		return GateAnswer{}, err
	}
	return d.ask(ctx, componentQuestion(c, s, composed))
}

func componentQuestion(c *project.Component, s project.Step, about digest.Digest) question {
	return question{op: c.Name, gate: s.Gate.Name, digest: about, timeout: s.Gate.Timeout, what: s.Gate.Description}
}

// unwind takes back what the component did, the last step first, then runs its
// rollback phases from the last to the first. Neither stops at an error, and what
// other components did stays (components §2.3, seed 001). No rollback phase runs where
// nothing was applied, beside an apply that may still run, for whoever interrupts, under
// a gate of plans, since nobody approved what it would do, and in the environment of a
// pull request, which ends as a whole.
func (r *componentRun) unwind(ctx context.Context) {
	for _, done := range slices.Backward(r.done) {
		why := "a terraform-apply has no rollback; what it applied stays"
		if n := done.step.Input.Get("noRollback"); n != nil && n.Text != "" {
			why = n.Text
		}
		r.record(StepRecord{Phase: done.phase, Kind: done.step.Kind, Status: RollbackOptedOut, Note: why})
	}
	wanted := r.started && !r.unseen && r.planned == nil && r.own == nil && ctx.Err() == nil
	for _, p := range slices.Backward(r.c.Rollback) {
		if !wanted {
			r.skip(p)
			continue
		}
		r.say("%s: rolling back: %s", r.c.Name, p.Name)
		undo := &project.Component{Deploy: []project.DeployPhase{p}}
		for _, s := range undo.Steps() {
			// Steps of a rollback have no index in deploy; none of them was planned.
			_ = r.step(context.WithoutCancel(ctx), p.Name, stepAt{s, -1})
		}
	}
}

// fail records that a step failed, in words for people.
func (r *componentRun) fail(ctx context.Context, phase, kind string, start time.Time, err error) {
	words := r.Words(ctx, err)
	r.say("%s failed: %s", r.c.Name, words)
	r.record(StepRecord{Phase: phase, Kind: kind, Status: StepFailed, DurationMs: r.since(start), Error: words})
}

func (r *componentRun) record(s StepRecord) {
	s.Component = r.c.Name
	if s.Status == StepOK || s.Status == StepFailed {
		end := map[StepStatus]run.EventStatus{StepOK: run.OK, StepFailed: run.EventFailed}[s.Status]
		r.tell(run.Event{Type: "step", Component: s.Component, Phase: s.Phase, Step: s.Kind, Status: end, Error: s.Error})
	}
	r.note(func() { r.records = append(r.records, s) })
}

// note changes what the steps of a parallel phase share.
func (r *componentRun) note(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

func (d *Deployment) since(start time.Time) int64 { return d.Now().Sub(start).Milliseconds() }
