package usecase

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// Shut is a gate that something of a release waits at, with the plans it binds; nil
// where it binds a composition.
type Shut struct {
	GateAnswer

	Set *PlanSet
	// OfComponent: it is a component's own, and in the component's result too.
	OfComponent bool
}

// ShutGates are the gates that are shut: of the whole, of its rounds and waves, and of
// components.
func (a *Apply) ShutGates() []Shut {
	var out []Shut
	add := func(at Opened, p *Pass, why string) {
		out = append(out, Shut{Set: p.Set, GateAnswer: GateAnswer{
			Op: a.opOf(at), Gate: at.Gate, Env: a.Policy.Env.Name, Member: a.Member, Digest: at.Digest, Reason: why,
		}})
	}
	if _, _, waits := a.Waiting(); waits && a.Report.Status == report.Refused {
		why := a.shut
		if why == "" {
			why = a.Report.Message
		}
		add(Opened{Gate: a.Policy.Env.Gate, Digest: a.Report.Digest}, &a.Pass, why)
	}
	for _, name := range slices.Sorted(maps.Keys(a.Release.Waiting)) {
		answer := a.Release.Waiting[name]
		shut := Shut{GateAnswer: answer, OfComponent: true}
		if set := a.Release.Plans[name]; set != nil && digest.Same(set.Document.Digest, answer.Digest) {
			shut.Set = set
		}
		out = append(out, shut)
	}
	for _, p := range a.Later {
		switch why := a.Waits; {
		case !p.waits():
		case why != "":
			add(*p.Asked, p, why)
		case p.Round > 0:
			add(*p.Asked, p, fmt.Sprintf("round %d is not approved yet", p.Round))
		default:
			add(*p.Asked, p, fmt.Sprintf("wave %d is not approved yet", p.Wave))
		}
	}
	return out
}

// Results is how the components of a release ended, as every deployment says it.
func (a *Apply) Results() (*fanout.Run, Rollout, error) {
	plan, err := a.Release.Plan(a)
	if err != nil {
		return nil, Rollout{}, err
	}
	r, _ := fanout.NewRun(plan, nil)
	var out Rollout
	for _, name := range plan.Order() {
		result, settled := a.componentResult(name)
		if !settled {
			continue
		}
		r.Settle(name, result.Status, map[string]digest.Value{})
		out.Results = append(out.Results, result)
	}
	out.Status = r.Status(a.Report.Status == report.Refused || a.Report.Status == report.Waiting)
	return r, out, nil
}

// componentResult is how a component ended; settled is false where it was not reached.
func (a *Apply) componentResult(name string) (result ComponentResult, settled bool) {
	result = ComponentResult{Component: name, Status: fanout.OK, Records: []StepRecord{}}
	if shut, waits := a.Release.Waiting[name]; waits {
		result.Gate, result.Status = &shut, fanout.Gated
	}
	passes := a.Passes()
	if passes == nil {
		return result, a.Report.Status == report.Nothing
	}
	var waits []string
	for _, u := range a.Set.Units {
		m := passes.Member(u.Member)
		if u.Component != name || m == nil {
			continue
		}
		step := StepRecord{Component: name, Phase: m.Phase, Kind: m.Step, Status: StepSkipped, Error: m.Error}
		switch {
		case m.Status == run.Applied || m.Status == run.NoChanges:
			step.Status = StepOK
		case m.Status == run.Failed || m.Status == run.Unknown:
			step.Status, result.Status = StepFailed, fanout.Fail
		case m.BlockedBy != "" && m.BlockedBy != name:
			return result, false
		case result.Status == fanout.OK:
			result.Status = fanout.Gated
		}
		waits = append(waits, readsOf(m)...)
		result.Records = append(result.Records, step)
	}
	result.OK, result.Waits = result.Status == fanout.OK, strings.Join(waits, "; ")
	return result, true
}

// readsOf says which reads hold a member back.
func readsOf(m *run.MemberState) []string {
	var out []string
	for _, r := range m.Reads {
		if m.Status != run.Held {
			continue
		}
		was := "which was " + r.Planned + " when it was planned and is " + r.Now
		if r.Hash == "" {
			was = "which was not known when it was planned"
		}
		out = append(out, fmt.Sprintf("%s reads %s.%s, %s", m.Member, r.From, r.Output, was))
	}
	return out
}
