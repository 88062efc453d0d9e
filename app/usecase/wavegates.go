package usecase

import (
	"context"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// gated tells that each wave after the first is a pass of its own, with a gate
// (pr-loop §7.4). Such an apply asks for no rounds.
func (a *Apply) gated() bool { return a.Policy.Env.WaveGate != "" }

// keepWaves holds the waves after the first back in the main pass: each is planned
// again when it is reached. Those before the only wave of this apply are over.
func (a *Apply) keepWaves() error {
	if !a.gated() {
		return nil
	}
	for _, name := range a.State.Order {
		if m := a.State.Members[name]; m.Wave > 1 && m.Wave >= a.OnlyWave && m.Status == run.Pending {
			if err := a.State.HoldBack(name, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// askedForWave tells that the ledger has a wave gate that was asked for exactly the
// plan of the first wave in which anything is left to apply: an apply before came
// that far, and what the waves before it were let apply is there.
func (a *Apply) askedForWave(snap *ledger.Snapshot, s *run.State) (bool, error) {
	wave, members := a.firstLeft(s)
	if wave < 2 {
		return false, nil
	}
	d, err := a.Set.digestOf(members)
	if err != nil {
		return false, err
	}
	gates, err := a.gatesAsked(snap, &d)
	return slices.Contains(gates, project.WaveGate(a.Policy.Env.WaveGate, wave)), err
}

// firstLeft is the first wave in which the plan has something to apply, and all its
// members; 0 for none.
func (a *Apply) firstLeft(s *run.State) (wave int, members []string) {
	nothing := a.Set.Nothing()
	for _, name := range s.Order {
		if m := s.Members[name]; wave == 0 && !nothing[name] {
			wave = m.Wave
		}
	}
	for _, name := range s.Order {
		if s.Members[name].Wave == wave {
			members = append(members, name)
		}
	}
	return wave, members
}

// nextWave plans the next wave that is left against the outputs the waves before it
// left. Where what was approved covers all of it, it is the next pass; else its gate
// is asked, and nothing of it or after it applies before that opens.
func (ex *execution) nextWave(ctx context.Context, passes run.Passes) (*Pass, error) {
	a := ex.apply
	for {
		wave, due := firstHeld(passes, a.elsewhere(passes))
		if len(due) == 0 {
			return nil, nil //nolint:nilnil // no wave is left
		}
		if a.OnlyWave > 0 && wave > a.OnlyWave {
			a.Waits = fmt.Sprintf("wave %d is over, and wave %d is left to a run of its own", a.OnlyWave, wave)
			return nil, nil //nolint:nilnil // the run of the next wave goes on
		}
		snap, err := ex.in.Site.Ledger.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		if reason, err := ex.mainStands(ctx, ex.in.Site, snap, a); err != nil || reason != "" {
			ex.pass.State.Halt(reason)
			return nil, err
		}
		ex.say("planning wave %d again", wave)
		set, err := ex.planAgain(ctx, due)
		if err != nil {
			return nil, err
		}
		due = failUnplanned(passes, set, due)
		if holes := set.holes(); len(holes) > 0 {
			a.Waits = set.valueless(holes)
			return nil, nil //nolint:nilnil // nothing gives a value to what is read
		}
		if len(due) == 0 {
			continue
		}
		if set, err = set.only(due); err != nil {
			return nil, err
		}
		return ex.decideWave(ctx, snap, set, wave)
	}
}

// firstHeld is the first wave that has a held member, and those that it has, without
// those that wait elsewhere.
func firstHeld(passes run.Passes, elsewhere []string) (wave int, members []string) {
	for _, name := range without(passes.Held(), elsewhere) {
		at := passes[0].Members[name].Wave
		if wave == 0 {
			wave = at
		}
		if at == wave {
			members = append(members, name)
		}
	}
	return wave, members
}

// decideWave gives the pass of a wave, nil where it waits at its gate.
func (ex *execution) decideWave(ctx context.Context, snap *ledger.Snapshot, set *PlanSet, wave int) (*Pass, error) {
	a := ex.apply
	covered, gates, err := ex.covered(ctx, snap, set)
	if err != nil {
		return nil, err
	}
	if covered.Complete() {
		p, err := ex.coveredPass(set, covered, gates)
		p.Wave = wave
		return p, err
	}
	p := &Pass{Set: set, Wave: wave}
	at := Opened{Base: a.Policy.Env.WaveGate, Gate: project.WaveGate(a.Policy.Env.WaveGate, wave)}
	if err := ex.askGate(ctx, p, at, fmt.Sprintf("wave %d of %s", wave, a.what()), nil); err != nil {
		return nil, err
	}
	if p.waits() {
		a.Later = append(a.Later, p)
		return nil, nil //nolint:nilnil // it waits
	}
	return p, nil
}

// mainStands tells why an approval that the first wave applied under no longer
// stands, "" while all do: nothing of a later wave applies then, whoever approved
// it (pr-loop §7.4).
func (st *Stage) mainStands(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply) (string, error) {
	return st.stillStand(ctx, site, snap, a, a.under(), a.Set, func(merge string) bool {
		return len(a.Covering[merge]) > 0 || slices.Contains(a.Before.Covering, merge)
	})
}

// under are the green gates that the main pass applied under, in this apply or
// before.
func (a *Apply) under() []Opened {
	if len(a.Gates) > 0 {
		return a.Gates
	}
	return a.Before.Gates
}

// waveRows are the gated waves as the report says them.
func (a *Apply) waveRows() []report.Wave {
	if !a.gated() || a.Set == nil || len(a.State.Members) == 0 {
		return nil
	}
	var rows []report.Wave
	for i, components := range a.Report.Selection.Waves {
		row := report.Wave{Wave: i + 1, Op: a.Op, Gate: project.WaveGate(a.Policy.Env.WaveGate, i+1), Components: components, Status: a.waveStatus(i + 1)}
		switch p := a.passOf(i + 1); {
		case i == 0:
			row.Gate, row.Digest, row.Via, row.ApprovedBy = a.Policy.Env.Gate, a.Report.Digest, report.Via(a.State.Via), a.Report.Approval.ApprovedBy
		case p == nil:
		case p.Asked == nil:
			row.Digest, row.Via = p.State.Digest, report.ViaCoverage
		case p.waits():
			row.Digest, row.Status, row.Approve = p.Asked.Digest, report.WaveWaiting, report.CommentLine(a.Op, p.Asked.Gate, p.Asked.Digest)
		default:
			row.Digest, row.Via, row.ApprovedBy = p.Asked.Digest, report.ViaGate, p.ApprovedBy
		}
		before := slices.IndexFunc(a.Before.Waves, func(w report.Wave) bool { return w.Wave == row.Wave })
		if before >= 0 && (row.Wave < a.OnlyWave || row.Status == report.WaveApplied && a.Before.Waves[before].Status == report.WaveApplied) {
			row = a.Before.Waves[before] // it changed nothing more
		}
		rows = append(rows, row)
	}
	return rows
}

// passOf is the newest pass of a gated wave.
func (a *Apply) passOf(wave int) *Pass {
	for _, p := range slices.Backward(a.Later) {
		if p.Wave == wave {
			return p
		}
	}
	return nil
}

// waveStatus is how the members of a wave stand.
func (a *Apply) waveStatus(wave int) report.WaveStatus {
	count, all, waits := map[run.Status]int{}, 0, 0
	atGates := a.atGates(a.Passes())
	for _, m := range a.Passes().Members() {
		if m.Wave != wave {
			continue
		}
		count[m.Status]++
		all++
		if m.Status == run.Held && slices.Contains(atGates, m.Member) {
			waits++
		}
	}
	switch {
	case count[run.Blocked] == all:
		return report.WaveBlocked
	case count[run.Failed]+count[run.Unknown] > 0:
		return report.WaveFailed
	case count[run.Held]+count[run.Pending] > waits || a.OnlyWave > 0 && wave > a.OnlyWave:
		return report.WaveNotStarted
	case count[run.Blocked] > 0:
		return report.WaveFailed
	case waits > 0 && count[run.Running] == 0:
		return report.WaveWaiting
	case count[run.Applied]+count[run.NoChanges] == all:
		return report.WaveApplied
	}
	return report.WaveNotStarted
}
