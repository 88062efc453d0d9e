package fanout

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Status is how a component, or a whole run, ended. Of a run, failed beats gated
// beats ok.
type Status string

// The ends.
const (
	OK    Status = "ok"
	Fail  Status = "fail"
	Gated Status = "gated"
)

// Run is a plan being carried out. It is not safe for concurrent use.
type Run struct {
	Plan Plan
	// Earlier are the components that an earlier run completed.
	Earlier []string

	ends    map[string]Status
	blocked map[string]string // component to the root of its failure
	outputs map[string]map[string]digest.Value
	waves   map[int]Wave
}

// NewRun starts a plan over. What an earlier run of the very same plan completed is
// not run again; a record of another plan is not taken, and same is false. A nil
// record is none.
func NewRun(p Plan, earlier *Record) (run *Run, same bool) {
	r := &Run{Plan: p, ends: map[string]Status{}, blocked: map[string]string{}, outputs: map[string]map[string]digest.Value{}, waves: map[int]Wave{}}
	if earlier == nil {
		return r, true
	}
	if earlier.Digest.IsZero() || !digest.Same(earlier.Digest, p.Digest) {
		return r, false
	}
	completed := setOf(earlier.Completed)
	for _, name := range p.Order() {
		if !completed[name] {
			continue
		}
		r.Earlier = append(r.Earlier, name)
		r.ends[name] = OK
		if outs := earlier.Outputs[name]; outs != nil {
			r.outputs[name] = outs
		}
	}
	for _, w := range earlier.Waves {
		r.waves[w.Wave] = w
	}
	return r, true
}

// Due are those of the components named that have to run and may.
func (r *Run) Due(names []string) []string {
	var due []string
	for _, name := range names {
		_, ended := r.ends[name]
		if !ended && r.blocked[name] == "" {
			due = append(due, name)
		}
	}
	return due
}

// BlockedBy is the component whose end keeps this one from counting as done, "" for
// none.
func (r *Run) BlockedBy(component string) string { return r.blocked[component] }

// Settle says how a component ended and what it gives to others, sensitive values
// left out. Anything but OK blocks everything that follows it.
func (r *Run) Settle(component string, end Status, outputs map[string]digest.Value) {
	r.ends[component] = end
	if end == OK {
		r.outputs[component] = outputs
		return
	}
	for _, name := range r.Plan.Order() { // dependencies stand before what follows them
		for _, dep := range r.Plan.dependsOn[name] {
			if r.blocked[name] != "" {
				break
			}
			if dep == component || r.blocked[dep] == component {
				r.blocked[name] = component
			}
		}
	}
}

// SettleWave keeps how a gated wave stands.
func (r *Run) SettleWave(w Wave) { r.waves[w.Wave] = w }

// Waves are the gated waves in order.
func (r *Run) Waves() []Wave {
	out := make([]Wave, 0, len(r.waves))
	for k := range r.Plan.Waves {
		if w, ok := r.waves[k+1]; ok {
			out = append(out, w)
		}
	}
	return out
}

// LeftBefore refuses wave k while an earlier one has work left: what it applies may
// rest on that (pr-loop §7.4).
func (r *Run) LeftBefore(k int) error {
	for i, wave := range r.Plan.Waves[:min(k-1, len(r.Plan.Waves))] {
		var left []string
		for _, name := range wave {
			if r.ends[name] != OK {
				left = append(left, name)
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("wave %d has work left: %s; run it before, and give this run its attempt record with --resume", i+1, strings.Join(left, ", "))
		}
	}
	return nil
}

// Of is every component that ended so, in run order.
func (r *Run) Of(end Status) []string {
	out := []string{}
	for _, name := range r.Plan.Order() {
		if r.ends[name] == end {
			out = append(out, name)
		}
	}
	return out
}

// Blocked are the components that did not run because of how another one ended, in
// run order.
func (r *Run) Blocked() []Skip {
	out := []Skip{}
	for _, name := range r.Plan.Order() {
		// One that was applied in a group with what it follows did run.
		ran := r.ends[name] == OK || r.ends[name] == Fail
		if by := r.blocked[name]; by != "" && !ran {
			out = append(out, Skip{Component: name, Reason: Blocked, BlockedBy: by})
		}
	}
	return out
}

// Status is the end of the run so far. gated says that it stopped at a gate of its
// own.
func (r *Run) Status(gated bool) Status {
	switch {
	case len(r.Of(Fail)) > 0:
		return Fail
	case gated || len(r.Of(Gated)) > 0:
		return Gated
	}
	return OK
}

// Record is how far the run came.
func (r *Run) Record() Record {
	return Record{Digest: r.Plan.Digest, Completed: r.Of(OK), Failed: r.Of(Fail), Outputs: r.Outputs(), Waves: r.Waves()}
}

// Outputs are those of the components that completed, by component.
func (r *Run) Outputs() map[string]map[string]digest.Value {
	out := map[string]map[string]digest.Value{}
	for name, end := range r.ends {
		if outs := r.outputs[name]; end == OK && outs != nil {
			out[name] = outs
		}
	}
	return out
}
