package usecase

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/run"
)

// moved are the members that were planned with other values than the ones they read
// now, here or in the apply before, with those reads. Nothing that was approved
// before covers such a member (pr-loop §7.5). again is a set that is planned again,
// nil for none.
func (a *Apply) moved(again *PlanSet) map[string][]run.InputRead {
	out := map[string][]run.InputRead{}
	add := func(member string, reads []run.InputRead) {
		for _, r := range reads {
			same := func(x run.InputRead) bool { return x.From == r.From && x.Output == r.Output }
			if i := slices.IndexFunc(out[member], same); i >= 0 {
				out[member][i].Now = r.Now
			} else {
				out[member] = append(out[member], r)
			}
		}
	}
	for name, reads := range a.Before.Held {
		add(name, reads)
	}
	for _, s := range a.Passes() {
		for name, m := range s.Members {
			add(name, m.Reads)
		}
	}
	for _, p := range a.Later {
		for name, reads := range p.Moved {
			add(name, reads)
		}
	}
	if again != nil {
		for name, m := range again.Members {
			for _, earlier := range a.plansOf(name) {
				add(name, m.movedSince(earlier))
			}
		}
	}
	return out
}

// plansOf are the plans of a member in the passes of this apply, oldest first.
func (a *Apply) plansOf(member string) []*PlannedMember {
	out := []*PlannedMember{a.Set.Members[member]}
	for _, p := range a.Later {
		if m := p.Set.Members[member]; m != nil {
			out = append(out, m)
		}
	}
	return out
}

// lastPlan is the newest plan of a member in a pass of this apply.
func (a *Apply) lastPlan(member string) *PlannedMember {
	plans := a.plansOf(member)
	return plans[len(plans)-1]
}

// movedSince are the reads that have another value now than an earlier plan of the
// member was made with. A hole has read nothing, so that each of its reads moved, also
// where a group passes the value on by now (pr-loop §7.5: a hole always has a round).
func (m *PlannedMember) movedSince(earlier *PlannedMember) []run.InputRead {
	var out []run.InputRead
	for _, now := range m.Reads {
		if earlier.readsWithin(now) {
			continue // whatever its group would have passed on is what was approved
		}
		then := run.PlannedRead(now.From, now.Output, digest.Value{}, now.Sensitive)
		for _, r := range earlier.Reads {
			if r.From == now.From && r.Output == now.Output {
				then = r
			}
		}
		if r, moved := then.MovedTo(now); moved {
			out = append(out, r)
		}
	}
	for _, r := range earlier.Unknown {
		if m.readsWithin(run.InputRead{From: r.Component, Output: r.Output}) {
			out = append(out, run.InputRead{From: r.Component, Output: r.Output, Planned: run.NotKnown, Now: run.InGroup})
		}
	}
	return out
}

// readsWithin tells that a member was planned together with what it reads.
func (m *PlannedMember) readsWithin(r run.InputRead) bool {
	return slices.ContainsFunc(m.Within, func(x run.InputRead) bool { return x.From == r.From && x.Output == r.Output })
}

// uncoverMoved takes back the coverage of the members that moved.
func uncoverMoved(r cover.Report, moved map[string][]run.InputRead) cover.Report {
	for i, v := range r.Members {
		if v.Status == cover.Covered && len(moved[v.Member]) > 0 {
			read := moved[v.Member][0]
			r.Members[i] = cover.Verdict{Member: v.Member, Status: cover.Uncovered, Reason: fmt.Sprintf("`%s.%s` is not what its plan was approved with", read.From, read.Output)}
		}
	}
	return r
}
