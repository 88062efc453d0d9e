package usecase

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/project"
)

// WavePlan is a wave planned as a whole, for one gate: its digest is that of the set
// of its members' plans (decision 14).
type WavePlan struct {
	Document *changeset.Document
	Digest   digest.Digest

	sources map[string]string
	code    map[string]terraform.RunsCode
	nothing map[string]bool
	plans   map[string]map[int]*member // by component and index of the step
}

// Shown is what an approver of the wave sees beside the document.
func (w *WavePlan) Shown() Shown { return Shown{Sources: w.sources, Code: w.code} }

// allNothing tells that no member has anything to apply (decision 15).
func (w *WavePlan) allNothing() bool {
	for _, m := range w.Document.Members {
		if !w.nothing[m.Member] {
			return false
		}
	}
	return true
}

// gatedWave plans every step of a wave, asks the wave's gate about exactly these
// plans, and applies them when it is open (pr-loop §7.4).
func (r *rollout) gatedWave(ctx context.Context, k int, due []string) (open bool, err error) {
	w, err := r.planWave(ctx, due)
	if err != nil {
		return false, err
	}
	wave := fanout.Wave{Wave: k, Op: FanOutOp, Gate: project.WaveGate(r.in.WaveGate, k), Components: due, Members: []fanout.WaveMember{}, Status: fanout.WaveApplied}
	planned := slices.DeleteFunc(slices.Clone(due), func(name string) bool { return w.plans[name] == nil })
	for _, m := range w.Document.Members {
		wave.Members = append(wave.Members, fanout.WaveMember{Member: m.Member, PlanDigest: m.PlanDigest})
	}
	if len(planned) == 0 {
		r.endWave(wave, due)
		return true, r.save()
	}
	wave.Digest = w.Digest.String()
	if !w.allNothing() {
		answer, err := r.askWave(ctx, wave, w)
		if err != nil {
			return false, err
		}
		wave.ApprovedBy, wave.Approved = answer.ApprovedBy, answer.Other
		if !answer.Approved {
			wave.Status = fanout.WaveGated
			r.result.Gate, r.result.Waiting = &answer, w
			r.in.Run.SettleWave(wave)
			return false, r.save()
		}
	}
	if err := r.run(ctx, rolloutWave{number: k, due: planned}, w.plans); err != nil {
		return false, err
	}
	r.endWave(wave, due)
	return true, r.save()
}

func (r *rollout) askWave(ctx context.Context, wave fanout.Wave, w *WavePlan) (GateAnswer, error) {
	return r.ask(ctx, question{
		op: wave.Op, gate: wave.Gate, digest: w.Digest, timeout: gate.DefaultTimeout,
		what:    fmt.Sprintf("wave %d of %d: %s", wave.Wave, len(r.in.Run.Plan.Waves), strings.Join(wave.Components, ", ")),
		side:    &cover.Side{Doc: w.Document, Sources: w.sources, Code: w.code},
		nothing: w.nothing,
	})
}

// endWave keeps how a wave ended.
func (r *rollout) endWave(wave fanout.Wave, due []string) {
	for _, result := range r.result.Results {
		if !slices.Contains(due, result.Component) {
			continue
		}
		switch {
		case result.Status == fanout.Fail:
			wave.Status = fanout.WaveFailed
			wave.Failed = append(wave.Failed, fanout.WaveFailure{Component: result.Component, Error: result.Problem()})
		case result.Status == fanout.Gated && wave.Status == fanout.WaveApplied:
			wave.Status = fanout.WaveGated
		}
	}
	r.in.Run.SettleWave(wave)
}

// planWave plans every step of the components. One that does not plan takes its
// component out of the wave, failed.
func (r *rollout) planWave(ctx context.Context, due []string) (*WavePlan, error) {
	var all []*member
	for _, name := range due {
		all = append(all, r.waveMembers(r.components[name])...)
	}
	var mu sync.Mutex
	failed := map[string]error{}
	each(r.planning.driver.Parallel(), all, func(m *member) {
		if err := r.planInWave(ctx, m); err != nil {
			mu.Lock()
			defer mu.Unlock()
			failed[m.component.Name] = err
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for _, name := range due {
		if err := failed[name]; err != nil {
			r.failPlan(ctx, name, err)
		}
	}
	all = slices.DeleteFunc(all, func(m *member) bool { return failed[m.component.Name] != nil })
	return r.composeWave(ctx, all)
}

// waveMembers are the steps of a component that are planned; one that has none is one
// member of its own name (pr-loop §5.4).
func (r *rollout) waveMembers(c *project.Component) []*member {
	if members := r.rootMembers(c); len(members) > 0 {
		return members
	}
	return []*member{r.member(c, 0, c.Steps()[0])}
}

func (r *rollout) planInWave(ctx context.Context, m *member) error {
	if m.step.RootOf() != "" {
		return r.planStep(ctx, m, nil)
	}
	d, err := m.component.DeployDigest(r.Deployment.in.Env, r.policy.Env.Vars, r.in.Sources[m.component.Name].String())
	m.part = changeset.Part{Member: changeset.Member{
		Member: m.name, Lexicon: "chant", Planner: "chant", Status: changeset.Planned, PlanDigest: &d,
	}}
	return err
}

// failPlan ends a component that could not be planned (components §2.1).
func (r *rollout) failPlan(ctx context.Context, name string, err error) {
	words := r.Words(ctx, err)
	r.say("planning %s failed: %s", name, words)
	r.settle(ComponentResult{Component: name, Status: fanout.Fail, Records: []StepRecord{
		{Component: name, Phase: "Plan", Kind: "plan", Status: StepFailed, Error: words},
	}})
}

func (r *rollout) composeWave(ctx context.Context, members []*member) (*WavePlan, error) {
	w := &WavePlan{code: map[string]terraform.RunsCode{}, nothing: map[string]bool{}, plans: map[string]map[int]*member{}}
	parts := make([]changeset.Part, 0, len(members))
	for _, m := range members {
		parts = append(parts, m.part)
		w.code[m.name] = m.planned.Planned.Code
		if w.plans[m.component.Name] == nil {
			w.plans[m.component.Name] = map[int]*member{}
		}
		if m.step.RootOf() != "" {
			w.plans[m.component.Name][m.index] = m
		}
	}
	var err error
	if w.Document, err = changeset.Compose(parts, r.Version); err != nil {
		return nil, err
	}
	for _, m := range members {
		w.nothing[m.name] = cover.Nothing(w.Document, m.name, m.planned.Planned.NoChanges)
	}
	if w.Digest, err = changeset.WaveDigest(w.Document.Members); err != nil {
		return nil, err
	}
	w.sources, err = r.sources(ctx, members)
	return w, err
}
