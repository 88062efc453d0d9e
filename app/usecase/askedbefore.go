package usecase

import (
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/run"
)

// heldByLedger notes the members that a round was asked for with exactly the plan that
// they have now: they were held back, though neither a row nor a record may know of it
// any more, and merges that would cover them by now spare no round (pr-loop §7.5).
func (a *Apply) heldByLedger(snap *ledger.Snapshot, covered cover.Report) error {
	if a.Release != nil { // it keeps them on the ledger by name
		return nil
	}
	newest, err := a.newestRound(snap, nil)
	if err != nil || newest == 0 {
		return err
	}
	s, err := a.machine(a.Set, a.Report.Digest)
	if err != nil {
		return err
	}
	for _, names := range askedTogether(covered) {
		n, err := a.askedFor(snap, s, a.Set.following(run.Passes{&s}, names))
		if err != nil {
			return err
		}
		for _, name := range names {
			if n > 0 {
				a.holdMoved(name, a.Set.Members[name].anyRead())
			}
		}
	}
	return nil
}

// askedTogether are the sets that a round may have been asked for: all that is still to
// apply, and each member with what follows it.
func askedTogether(covered cover.Report) [][]string {
	sets := [][]string{nil}
	for _, v := range covered.Members {
		if v.Status != cover.NothingToDo {
			sets[0] = append(sets[0], v.Member)
			sets = append(sets, []string{v.Member})
		}
	}
	return sets
}

// anyRead are the reads of a member as far as one may have moved since a plan that is not
// known.
func (m *PlannedMember) anyRead() []run.InputRead {
	var out []run.InputRead
	for _, r := range m.Reads {
		out = append(out, run.InputRead{From: r.From, Output: r.Output, Planned: run.NotKept, Now: r.Planned, Sensitive: r.Sensitive})
	}
	for _, r := range m.Within {
		out = append(out, run.InputRead{From: r.From, Output: r.Output, Planned: run.NotKept, Now: run.InGroup})
	}
	return out
}
