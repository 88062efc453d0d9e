package usecase

import (
	"context"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// waveRecord refuses a wave that has no record of those before it: nobody can say what
// they came to, nor under what they applied (pr-loop §7.4).
func (in ApplyInput) waveRecord() error {
	if in.Wave > 1 && in.Resume == nil {
		return Refusef("wave %d has no record of the waves before it, so nothing of it is applied; run them first, with the same resume record", in.Wave)
	}
	return nil
}

// takeWave goes on with one wave after the waves before it, each of which ran by
// itself. What they came to, and under what, is in their record; that it all still
// stands is read again. What did not end well in them is not tried again here.
func (st *Stage) takeWave(ctx context.Context, in ApplyInput, a *Apply, snap *ledger.Snapshot) error {
	r := *in.Resume
	if why := r.Of(a.place()); why != "" {
		return Refusef("the record is not one of the waves before wave %d: %s", a.OnlyWave, why)
	}
	if a.PastLastWave() {
		a.Report.Status, a.Report.Message = report.Nothing, fmt.Sprintf("there are %d waves, so wave %d has nothing to apply", len(a.Set.Selection.Waves), a.OnlyWave)
		return nil
	}
	if waits, err := a.wavesBefore(r); err != nil {
		return err
	} else if waits > 0 {
		a.Report.Status, a.Report.Message, a.Report.Waves = report.Waiting, fmt.Sprintf("wave %d waits, so nothing of wave %d is applied", waits, a.OnlyWave), r.Waves
		return nil
	}
	a.followWaves(r)
	if reason, err := st.mainStands(ctx, in.Site, snap, a); err != nil {
		return err
	} else if reason != "" {
		return Refusef("nothing of wave %d is applied: %s", a.OnlyWave, reason)
	}
	if reason := r.CompletedIsDone(a.afresh()); reason != "" {
		return Refusef("nothing of wave %d is applied: %s", a.OnlyWave, reason)
	}
	var err error
	if a.State, err = a.machine(a.Set, r.Apply().Digest); err != nil {
		return err
	}
	a.allow(r.Apply().Via, a.Covering)
	if a.State.Via == record.ViaGate {
		a.Report.Approval = report.Approval{Status: report.Approved, ApprovedBy: r.Apply().ApprovedBy, Approved: &r.Apply().Digest}
	}
	a.Report.Resumed = &report.Resumed{Applied: r.Completed}
	return a.endBefore(r)
}

// wavesBefore is the first wave before this one that waits at its gate, 0 for none. One
// that the record does not have is an error.
func (a *Apply) wavesBefore(r resume.Record) (waits int, err error) {
	for k := 1; k < a.OnlyWave; k++ {
		i := slices.IndexFunc(r.Waves, func(w report.Wave) bool { return w.Wave == k })
		switch {
		case i < 0 || r.Waves[i].Status == report.WaveNotStarted:
			return 0, Refusef("wave %d has not run, so nothing of wave %d is applied; run it first, with the same resume record", k, a.OnlyWave)
		case r.Waves[i].Status == report.WaveWaiting && r.Waves[i].Approve != "": // else a component's own gate is shut, which holds what follows it
			return k, nil
		}
	}
	return 0, nil
}

// followWaves takes from the record of a gated apply under what its first wave applied,
// and which waves came after it.
func (a *Apply) followWaves(r resume.Record) {
	a.Before.Waves = r.Waves
	if r.Apply().Via == record.ViaGate {
		a.Gates = []Opened{{Gate: r.Apply().Gate, Digest: r.Apply().Digest}}
		return
	}
	a.Covering = map[string][]string{}
	for _, then := range r.Apply().Merges {
		for _, m := range a.Merges {
			if m.PR != nil && *m.PR == then.PR && m.Op == then.Op && m.Gate == then.Gate {
				a.Covering[m.Commit] = then.Members
			}
		}
	}
}

// endBefore has the waves before this one be over: what they applied has nothing to
// apply, and what else they left to apply did not end well, and blocks what follows.
func (a *Apply) endBefore(r resume.Record) error {
	for _, m := range a.Set.Members {
		m.Done = slices.Contains(r.Completed, m.Component)
	}
	nothing := a.Set.Nothing()
	for _, name := range a.State.Order {
		m := a.State.Members[name]
		if m.Wave >= a.OnlyWave || nothing[name] || m.Status != run.Pending {
			continue
		}
		if err := a.State.HoldBack(name, nil); err != nil {
			return err
		}
		if a.atGateBefore(r, name) {
			a.Release.AtGate[name] = true
			a.Warnings = append(a.Warnings, fmt.Sprintf("%s waits since wave %d, at a gate of its component or of one that it follows; run that wave again once it is open", name, m.Wave))
			continue
		}
		why := fmt.Sprintf("it did not end well in wave %d; run that wave again", m.Wave)
		if problem := a.Set.Members[name].Error; problem != "" {
			why += ": " + problem
		}
		run.Passes{&a.State}.FailHeld(name, why)
	}
	return nil
}

// atGateBefore tells that a member did not fail in its wave and waited at a gate of a
// component.
func (a *Apply) atGateBefore(r resume.Record, member string) bool {
	m := a.Set.Members[member]
	return a.Release != nil && m.Error == "" && !slices.Contains(r.Failed, m.Component) && len(a.Release.gatesBefore(m)) > 0
}

// PastLastWave tells that the only wave of an apply is one that it does not have.
func (a *Apply) PastLastWave() bool { return a.Set != nil && a.OnlyWave > len(a.Set.Selection.Waves) }

// WaveEnded tells that the only wave of an apply is over and the waves after it are left
// to runs of their own.
func (a *Apply) WaveEnded() bool {
	left := func(w report.Wave) bool { return w.Wave > a.OnlyWave && w.Status == report.WaveNotStarted }
	waits := func(w report.Wave) bool { return w.Wave <= a.OnlyWave && w.Status != report.WaveApplied }
	return a.OnlyWave > 0 && a.Report.Status == report.Waiting && a.Passes().Halted() == "" &&
		slices.ContainsFunc(a.Report.Waves, left) && !slices.ContainsFunc(a.Report.Waves, waits)
}
