package usecase

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// takeUp carries on the apply that stopped part way, when its record is accepted:
// what applied is not applied again, and the rest applies under the approvals that
// one had (pr-loop §5.12, decision 13). Taken says that it decided. A record that
// is refused changes nothing, and what follows decides as if there were none: unused
// says why, where a record was handed in.
func (st *Stage) takeUp(ctx context.Context, in ApplyInput, t Target, a *Apply, snap *ledger.Snapshot, merges []cover.Merge) (taken bool, unused []string, err error) {
	r := in.stopped()
	if r == nil || r.Empty() {
		return false, nil, nil
	}
	reason := r.Of(a.place())
	if reason == "" {
		approved, who, err := st.stillApproved(ctx, in.Site, snap, a, *r)
		if err != nil {
			return false, nil, err
		}
		approved.Merges = merges
		var covered cover.Report
		if covered, reason = r.Accept(a.afresh(), approved); reason == "" {
			reason = a.owesRound(covered)
		}
		if reason == "" {
			return true, nil, st.carryOn(ctx, in, t, a, *r, covered, who)
		}
	}
	if in.Resume == nil {
		return false, nil, nil
	}
	return false, []string{"the resume record is not used: " + reason + ". Everything is planned and decided anew"}, nil
}

// owesRound names a member that a record would let apply and that has its round, since
// it moved in an apply before: also where it reads by now what it did (pr-loop §7.5). ""
// for none.
func (a *Apply) owesRound(covered cover.Report) string {
	if a.gated() || a.Release != nil { // those wait where they are asked
		return ""
	}
	moved := a.moved(nil)
	for _, v := range covered.Members {
		if v.Status == cover.Covered && len(moved[v.Member]) > 0 {
			return v.Member + " waits for its round"
		}
	}
	return ""
}

// stopped is how far the apply came that this one may carry on: by the record that
// was handed in, else by what is kept of the apply before.
func (in ApplyInput) stopped() *resume.Record {
	switch {
	case in.Resume != nil || in.Earlier == nil:
		return in.Resume
	case in.Earlier.Passes() == nil: // it failed to plan, or waited
		return in.Earlier.Stopped
	}
	r := in.Earlier.ResumeRecord()
	return &r
}

func (a *Apply) place() resume.Place {
	return resume.Place{Env: a.Report.Env, Op: a.Op, Gate: a.Report.Gate, Head: a.Report.Head, Base: a.Report.Base, FanOut: a.FanOut, Promote: a.Release != nil}
}

// followRecord takes from a record of this apply what it applied, with what that
// read, and what else was planned with another value than it reads now, whether or not
// the rest of it can be carried on: that waits for its round, whoever runs the apply
// (pr-loop §7.5).
func (a *Apply) followRecord(r *resume.Record) {
	if r == nil || r.Of(a.place()) != "" {
		return
	}
	for name, m := range a.Set.Members {
		if !slices.Contains(r.Completed, m.Component) {
			if then, planned := r.Apply().Reads[name]; planned {
				a.holdMoved(name, m.movedSince(plannedWith(then)))
			}
			continue
		}
		if _, known := a.Before.Applied[name]; known {
			continue
		}
		reads := []run.InputRead{}
		for _, read := range r.Apply().Reads[name] {
			reads = append(reads, run.InputRead{From: read.From, Output: read.Output, Hash: read.Hash})
		}
		if a.Before.Applied == nil {
			a.Before.Applied = map[string][]run.InputRead{}
		}
		a.Before.Applied[name] = reads
	}
}

// holdMoved notes reads that moved since an apply before planned a member, but for those
// that are known. Gated waves have no rounds: each is planned again anyway.
func (a *Apply) holdMoved(member string, moved []run.InputRead) {
	if _, known := a.Before.Held[member]; known || len(moved) == 0 || a.gated() {
		return
	}
	if a.Before.Held == nil {
		a.Before.Held = map[string][]run.InputRead{}
	}
	a.Before.Held[member] = moved
}

// plannedWith is a member as a record says that it was planned, as far as its reads.
func plannedWith(reads []resume.Read) *PlannedMember {
	m := &PlannedMember{}
	for _, r := range reads {
		switch r.Hash {
		case "":
			m.Unknown = append(m.Unknown, project.Read{Component: r.From, Output: r.Output})
		case resume.Within:
			m.Within = append(m.Within, run.InputRead{From: r.From, Output: r.Output})
		default:
			m.Reads = append(m.Reads, run.InputRead{From: r.From, Output: r.Output, Planned: run.NotKept, Hash: r.Hash})
		}
	}
	return m
}

// appliedBefore are the components that earlier applies of the commit applied, as far
// as its files say so: it decides what is planned together, and nothing else.
func (a *Apply) appliedBefore(r *resume.Record) []string {
	names := slices.Clone(a.Before.Components)
	if r != nil && r.Apply().Head == a.Report.Head {
		names = append(names, r.Completed...)
	}
	return names
}

// doneBefore are the components of which earlier applies of the commit applied a
// member that has nothing to apply now; nil for none.
func (a *Apply) doneBefore() *report.Resumed {
	var names []string
	nothing := a.Set.Nothing()
	for name, m := range a.Set.Members {
		if m.Done && nothing[name] && !slices.Contains(names, m.Component) {
			names = append(names, m.Component)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &report.Resumed{Applied: names}
}

// stillApproved asks the gate, without a word to it, whether its approval of the
// record's digest stands, and reads what was approved from the ledger.
func (st *Stage) stillApproved(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, r resume.Record) (approved resume.Approved, who []string, err error) {
	switch r.Apply().Via {
	case record.ViaMerges:
		return approved, nil, nil
	case record.ViaRelease:
		approved.Gates, err = st.gatesStand(ctx, site, snap, a, r.Apply().Gates)
		return approved, nil, err
	}
	d, side, err := st.approvedAt(ctx, site, snap, a, Opened{Gate: a.Policy.Env.Gate, Digest: r.Apply().Digest}, a.Set)
	return resume.Approved{Stands: d.Satisfied, Document: side}, d.ApprovedBy, err
}

// carryOn starts the apply of what a record left.
func (st *Stage) carryOn(ctx context.Context, in ApplyInput, t Target, a *Apply, r resume.Record, covered cover.Report, who []string) error {
	for _, m := range a.Set.Members {
		m.Done = slices.Contains(r.Completed, m.Component)
	}
	a.Report.Resumed = &report.Resumed{Applied: r.Completed}
	a.Report.Green.Cover = coverRows(covered)
	if allNothing(covered) && !a.endsAtGate() {
		return st.nothingToApply(ctx, in, t, a)
	}
	if in.Progress != nil {
		in.Progress(fmt.Sprintf("carrying on: %s applied before, the rest applies under the approvals it had", strings.Join(r.Completed, ", ")))
	}
	var err error
	if a.State, err = a.machine(a.Set, a.Report.Digest); err != nil {
		return err
	}
	a.allow(r.Apply().Via, coveringOf(covered))
	if a.State.Via == record.ViaGate {
		a.State.Digest = r.Apply().Digest
		a.Gates = []Opened{{Gate: a.Policy.Env.Gate, Digest: r.Apply().Digest}}
		a.Report.Approval = report.Approval{Status: report.Approved, ApprovedBy: who, Approved: &r.Apply().Digest}
	}
	if a.Release != nil {
		return a.keepRoundsBack()
	}
	return nil
}

// afresh is the plan as a resume record is held against it.
func (a *Apply) afresh() resume.Plan {
	p := a.Set
	plan := resume.Plan{Side: p.Side(), Nothing: p.Nothing(), Component: map[string]string{}, Reads: p.reads(), Later: map[string]bool{}}
	for name, m := range p.Members {
		plan.Component[name] = m.Component
		first := len(p.Selection.Waves) > 0 && slices.Contains(p.Selection.Waves[0], m.Component)
		_, held := a.Before.Held[name]
		plan.Later[name] = a.gated() && !first || a.isHole(name) || a.Release != nil && held
	}
	return plan
}

// reads are what the plans were made with, for a record.
func (p *PlanSet) reads() map[string][]resume.Read {
	out := map[string][]resume.Read{}
	for name, m := range p.Members {
		for _, read := range m.Reads {
			out[name] = append(out[name], resume.Read{From: read.From, Output: read.Output, Hash: read.Hash})
		}
		for _, read := range m.Unknown {
			out[name] = append(out[name], resume.Read{From: read.Component, Output: read.Output})
		}
		for _, read := range m.Within {
			out[name] = append(out[name], resume.Read{From: read.From, Output: read.Output, Hash: resume.Within})
		}
	}
	return out
}

// ResumeRecord is how far an apply that has started came.
func (a *Apply) ResumeRecord() resume.Record {
	of := &resume.Apply{
		Env: a.Report.Env, Op: a.Op, Gate: a.Report.Gate, Head: a.Report.Head, Base: a.Report.Base,
		Digest: a.State.Digest, Via: a.State.Via, ApprovedBy: a.Report.Approval.ApprovedBy, Reads: a.reads(),
	}
	r := resume.Record{Digest: a.FanOut, Waves: a.waveRows(), PrApply: of}
	if a.Release != nil {
		r.PrApply, r.Promote = nil, of
	}
	if of.Via == record.ViaRelease { // else it rests on the gate of everything, and these are asked again
		of.Gates = a.Release.Open
	}
	for _, m := range a.Merges {
		if members := a.Covering[m.Commit]; len(members) > 0 {
			of.Merges = append(of.Merges, resume.Merge{PR: *m.PR, Op: m.Op, Gate: m.Gate, Digest: *m.Approved, Members: members})
		}
	}
	for _, component := range slices.Concat(a.State.Waves...) {
		switch whole, failed := a.endOf(component); {
		case whole:
			r.Completed = append(r.Completed, component)
		case failed:
			r.Failed = append(r.Failed, component)
		}
	}
	return r
}

// reads are what the approved plans read, of what moved since as it was in the first of
// them, but for a hole, and of what a later pass applied what it read then.
func (a *Apply) reads() map[string][]resume.Read {
	out := a.Set.reads()
	for name, moved := range a.moved(nil) {
		for _, was := range moved {
			for i, read := range out[name] {
				if read.From == was.From && read.Output == was.Output && read.Hash != "" {
					out[name][i].Hash = was.Hash
				}
			}
		}
	}
	for _, p := range a.Later {
		then := p.Set.reads()
		for name, m := range p.State.Members {
			if m.Status == run.Applied {
				out[name] = then[name]
			}
		}
	}
	return out
}

// endOf tells whether a component applied whole, now or before, or failed.
func (a *Apply) endOf(component string) (whole, failed bool) {
	whole = true
	applied := a.Report.Resumed != nil && slices.Contains(a.Report.Resumed.Applied, component)
	passes := a.Passes()
	for _, name := range a.State.Order {
		m := passes.Member(name)
		if m.Component != component {
			continue
		}
		applied = applied || m.Status == run.Applied
		whole = whole && (m.Status == run.Applied || m.Status == run.NoChanges)
		failed = failed || m.Status == run.Failed || m.Status == run.Unknown
	}
	return whole && applied, failed
}
