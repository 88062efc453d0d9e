package usecase

import (
	"maps"
	"slices"

	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// Before is what the applies of the same commit before this one came to: its
// record, as far as one more apply of it needs it (pr-loop §5.12). It opens
// nothing: what is covered or approved is decided on the ledger, and everything is
// planned again.
type Before struct {
	// Applied are the members that ended well, with what they read.
	Applied map[string][]run.InputRead `json:"applied,omitempty"`
	// Components are those of which a member is among them.
	Components []string `json:"components,omitempty"`
	// Held are those that were held back, with the reads that moved.
	Held map[string][]run.InputRead `json:"held,omitempty"`
	// Rounds are the rounds that opened, and Waves the gated waves.
	Rounds []report.Round `json:"rounds,omitempty"`
	Waves  []report.Wave  `json:"waves,omitempty"`
	// Gates and Covering are what the main pass applied under: gates of the op, and
	// merges by their commit.
	Gates    []Opened `json:"gates,omitempty"`
	Covering []string `json:"covering,omitempty"`
}

// follow takes over where the apply before this one stopped. One of another commit,
// base or gate has nothing to say (pr-loop §5.12).
func (a *Apply) follow(earlier *Apply) {
	if earlier == nil || earlier.Report.Head != a.Report.Head {
		return
	}
	if earlier.Fresh {
		a.Again = earlier.Again + 1
	}
	if earlier.Report.Base != a.Report.Base || earlier.Report.Gate != a.Report.Gate || earlier.Op != a.Op || earlier.Report.Env != a.Report.Env {
		return
	}
	b := Before{
		Applied: maps.Clone(earlier.Before.Applied), Components: slices.Clone(earlier.Before.Components), Held: map[string][]run.InputRead{}, Waves: earlier.Report.Waves,
		Gates: earlier.under(), Covering: slices.Clone(earlier.Before.Covering),
	}
	b.Covering = withNew(b.Covering, slices.Collect(maps.Keys(earlier.Covering)))
	if b.Applied == nil {
		b.Applied = map[string][]run.InputRead{}
	}
	passes := earlier.Passes()
	if passes == nil { // it decided nothing new
		b.Held, b.Waves = earlier.Before.Held, earlier.Before.Waves
	}
	moved := earlier.moved(nil)
	for _, m := range passes.Members() {
		last := earlier.lastPlan(m.Member)
		switch {
		case m.Status == run.Applied:
			b.Applied[m.Member], b.Components = last.Reads, append(b.Components, m.Component)
		case m.Status == run.NoChanges:
		case m.Status == run.Held || len(moved[m.Member]) > 0 || m.Status == run.Pending && last != earlier.Set.Members[m.Member]:
			b.Held[m.Member] = moved[m.Member] // one that failed, or that a halted round did not come to, too
		}
	}
	for _, r := range earlier.Report.Rounds {
		if r.Status != report.WaveWaiting {
			b.Rounds = append(b.Rounds, r)
		}
	}
	a.Before, a.Round = b, max(1, earlier.Round)
}

// mark notes which members of a plan were applied before and come to no change of
// a resource now. An output that no plan leaves as it is, such as a time, would
// else apply its root once more, and move under whoever reads it, for ever.
func (b Before) mark(set *PlanSet) {
	for name, reads := range b.Applied {
		if m := set.Members[name]; m != nil {
			m.Done = slices.EqualFunc(m.Reads, reads, func(x, y run.InputRead) bool {
				return x.From == y.From && x.Output == y.Output && x.Hash == y.Hash
			})
		}
	}
}
