package usecase

import (
	"slices"

	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/run"
)

// tell gives an event to whoever follows the deployment, one at a time.
func (d *Deployment) tell(e run.Event) {
	if d.in.Follow == nil {
		return
	}
	d.told.Lock()
	defer d.told.Unlock()
	d.in.Follow(e)
}

// eventOf is the word of an end in events (pr-loop §7.3).
func eventOf(s fanout.Status) run.EventStatus {
	switch s {
	case fanout.OK:
		return run.OK
	case fanout.Gated:
		return run.Gated
	}
	return run.EventFailed
}

// waveOf is the number of a component's wave, from 1.
func (r *rollout) waveOf(component string) int {
	for i, wave := range r.composed {
		if slices.Contains(wave, component) {
			return i + 1
		}
	}
	return 0
}

// tellWave says how the components of a wave that ran ended, as one.
func (r *rollout) tellWave(w rolloutWave) {
	ends := []fanout.Status{}
	for _, result := range r.result.Results {
		if slices.Contains(w.due, result.Component) {
			ends = append(ends, result.Status)
		}
	}
	if len(ends) < len(w.due) { // its gate is shut
		ends = append(ends, fanout.Gated)
	}
	r.tell(run.Event{Type: "wave-done", Wave: w.number, Status: eventOf(worst(ends))})
}

// tellEnd says what was not run, and how the run ended.
func (r *rollout) tellEnd(failure error) {
	for _, b := range r.in.Run.Blocked() {
		r.tell(run.Event{Type: "component-done", Wave: r.waveOf(b.Component), Component: b.Component, Status: run.EventFailed, BlockedBy: b.BlockedBy})
	}
	end := eventOf(r.result.Status)
	if failure != nil {
		end = run.EventFailed
	}
	r.tell(run.Event{Type: "run-done", Status: end})
}
