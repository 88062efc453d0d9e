package usecase

import (
	"context"
	"maps"
	"slices"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/run"
)

// heldBefore are the members that a promote of this commit before held back, and that
// still have something to apply: the round decides about them.
func (a *Apply) heldBefore() {
	nothing := a.Set.Nothing()
	for name := range a.Release.Rounds {
		if a.Set.Members[name] == nil || nothing[name] {
			continue
		}
		if a.Before.Held == nil {
			a.Before.Held = map[string][]run.InputRead{}
		}
		a.Before.Held[name] = nil
	}
}

// keepRoundsBack holds back what only a round may apply.
func (a *Apply) keepRoundsBack() error {
	for _, name := range a.State.Order {
		if _, held := a.Before.Held[name]; !held || a.State.Members[name].Status != run.Pending {
			continue
		}
		if err := a.State.HoldBack(name, nil); err != nil {
			return err
		}
	}
	return nil
}

// byComponents tells that the gates of the components are the only ones of a release.
func (a *Apply) byComponents() bool { return a.Release != nil && a.Policy.Env.Gate == "" }

// allowed has no gate of the whole be asked: what guards a member is asked when it
// starts. One that was held back is allowed by nothing but its round, as far as there is
// a gate to ask one at.
func (a *Apply) allowed(set *PlanSet) cover.Report {
	var r cover.Report
	nothing := set.Nothing()
	for _, m := range set.Document.Members {
		_, held := a.Before.Held[m.Member]
		v := cover.Verdict{Member: m.Member, Status: cover.Covered}
		switch {
		case nothing[m.Member]:
			v.Status = cover.NothingToDo
		case held && !a.isOpened(m.Member) && len(a.roundGate(m.Member)) > 0:
			v.Status, v.Reason = cover.Uncovered, "it was held back, and its round decides"
		}
		r.Members = append(r.Members, v)
	}
	return r
}

// isOpened tells that a round of the member opened in this apply.
func (a *Apply) isOpened(member string) bool {
	return slices.ContainsFunc(a.Later, func(p *Pass) bool { return p.Asked != nil && !p.waits() && p.Set.Members[member] != nil })
}

// roundGate is the gate at which a member's round is asked: the last one before it in
// its component, else the first of the release, and none where nothing has a gate. All
// of them bind the document of the first pass.
func (a *Apply) roundGate(member string) []gateStep {
	d := a.Release.deployment
	m := a.Set.Members[member]
	var own []gateStep
	for _, g := range gatesOf(d.components[m.Component]) {
		if g.index < m.Step {
			own = []gateStep{g}
		}
	}
	if len(own) > 0 {
		return own
	}
	for _, name := range a.Set.Selection.Order() {
		if gates := gatesOf(d.components[name]); len(gates) > 0 {
			return gates[:1]
		}
	}
	return nil
}

// elsewhere are the held members that no next pass takes up: those that wait at a gate
// of a component or at a round that was asked, and what follows from one of them.
func (a *Apply) elsewhere(passes run.Passes) []string {
	if a.Release == nil {
		return nil
	}
	var names []string
	for _, name := range passes.Held() {
		asked := slices.ContainsFunc(a.Later, func(p *Pass) bool { return p.waits() && p.Set.Members[name] != nil })
		if asked || a.Release.AtGate[name] {
			names = append(names, name)
		}
	}
	return a.Set.following(passes, names)
}

// atGates are the held members that wait at a gate of a component, and what follows from
// one of them.
func (a *Apply) atGates(passes run.Passes) []string {
	if a.Release == nil {
		return nil
	}
	names := slices.DeleteFunc(passes.Held(), func(name string) bool { return !a.Release.AtGate[name] })
	return a.Set.following(passes, names)
}

// askRounds asks the rounds of a set, one at each gate. What follows from a member of
// another round is asked for once that one was applied.
func (ex *execution) askRounds(ctx context.Context, passes run.Passes, set *PlanSet) (*Pass, error) {
	a := ex.apply
	if !a.byComponents() {
		return ex.askRound(ctx, set, Opened{Base: a.Policy.Env.Gate}, a.Round+1)
	}
	byGate, order := map[Opened][]string{}, []Opened{}
	for _, u := range set.Units {
		g := a.roundGate(u.Member)[0]
		at := Opened{Op: g.component.Name, Base: g.step.Gate.Name}
		if byGate[at] == nil {
			order = append(order, at)
		}
		byGate[at] = append(byGate[at], u.Member)
	}
	for _, at := range order {
		var others []string
		for other, names := range byGate {
			if other != at {
				others = append(others, names...)
			}
		}
		mine := without(byGate[at], set.following(passes, others))
		if len(mine) == 0 {
			continue
		}
		part, err := set.only(mine)
		if err != nil {
			return nil, err
		}
		if p, err := ex.askRound(ctx, part, at, a.roundAt(at, mine)); err != nil || p != nil {
			return p, err
		}
	}
	return nil, nil //nolint:nilnil // all of them wait
}

// roundAt is the number of the next round at a gate: that which was asked for the
// members before, and never one that opened already.
func (a *Apply) roundAt(at Opened, members []string) int {
	n := 2
	for _, name := range members {
		n = max(n, a.Release.Rounds[name])
	}
	for _, p := range a.Later {
		if p.Asked != nil && !p.waits() && p.Asked.Op == at.Op && p.Asked.Base == at.Base {
			n = max(n, p.Round+1)
		}
	}
	return n
}

// keptForRounds are the members that only a round may apply, with its number, for the
// promote that follows.
func (a *Apply) keptForRounds() map[string]int {
	if !a.byComponents() {
		return nil
	}
	kept := maps.Clone(a.Release.Rounds)
	if kept == nil {
		kept = map[string]int{}
	}
	passes := a.Passes()
	for _, name := range a.State.Order {
		hole, moved := a.isHole(name), len(passes.Member(name).Reads) > 0
		if _, known := kept[name]; !known && (hole || moved) && len(a.roundGate(name)) > 0 {
			kept[name] = 0
		}
	}
	for _, p := range a.Later {
		for name := range p.Set.Members {
			if p.waits() {
				kept[name] = p.Round
			}
		}
	}
	maps.DeleteFunc(kept, func(name string, _ int) bool {
		m := passes.Member(name)
		return m == nil || m.Status == run.Applied || m.Status == run.NoChanges
	})
	return kept
}

// keepRounds notes in the attempt which members a round decides about. Whoever promotes
// next would else find their inputs known, and no gate before them.
func (ex *execution) keepRounds(ctx context.Context) error {
	a := ex.apply
	if !a.byComponents() {
		return nil
	}
	kept := a.keptForRounds()
	written, err := ex.in.Site.Ledger.Update(ctx, "Apply attempt", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		attempt, _, err := readProgress(snap, a.Prefix, a.Policy.Env.Name)
		if err != nil || attempt == nil || attempt.Token != a.Token || maps.Equal(attempt.Rounds, kept) {
			return nil, err
		}
		attempt.Rounds = kept
		return []ledger.File{{Path: record.AttemptPath(a.Prefix, a.Policy.Env.Name), Content: attempt.JSON()}}, nil
	})
	return landed(written, err)
}
