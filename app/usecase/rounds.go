package usecase

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// keepForLater holds members back that the approvals do not cover, and what follows
// from them, when a round or a wave was asked for them before: the rest goes on, and
// that one decides about them. Whether one was asked says the apply before, or the
// ledger, where such a gate waits for exactly this plan of them.
func (st *Stage) keepForLater(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, s *run.State, uncovered []cover.Verdict) (bool, error) {
	names, held := make([]string, len(uncovered)), true
	for i, v := range uncovered {
		_, before := a.Before.Held[v.Member]
		names[i], held = v.Member, held && before
	}
	rest := a.Set.following(run.Passes{s}, names)
	switch {
	case a.gated():
		if reason, err := st.mainStands(ctx, site, snap, a); err != nil || reason != "" {
			return false, err
		}
		if asked, err := a.askedForWave(snap, s); err != nil || !held && !asked {
			return false, err
		}
	default:
		n, err := a.askedFor(snap, *s, rest)
		if err == nil && n == 0 && held {
			n, err = a.newestRound(snap, nil)
			n = max(n, a.Round+1)
		}
		if err != nil || n == 0 {
			return false, err
		}
		a.Round = n - 1
	}
	for _, name := range rest {
		if err := s.HoldBack(name, a.Before.Held[name]); err != nil {
			return false, err
		}
	}
	return true, nil
}

// askedFor is the number of the newest round whose gate was asked for exactly the
// plan of these members, as far as they can be planned by now; 0 for none.
func (a *Apply) askedFor(snap *ledger.Snapshot, s run.State, members []string) (int, error) {
	ready := without(members, a.Set.following(run.Passes{&s}, a.Set.holes()))
	if len(ready) == 0 {
		return 0, nil
	}
	d, err := a.Set.digestOf(ready)
	if err != nil {
		return 0, err
	}
	return a.newestRound(snap, &d)
}

// newestRound is the number of the newest round whose gate was asked for a plan; nil is
// any, and 0 for none.
func (a *Apply) newestRound(snap *ledger.Snapshot, plan *digest.Digest) (int, error) {
	gates, err := a.gatesAsked(snap, plan)
	newest := 0
	for _, name := range gates {
		newest = max(newest, project.RoundOf(a.Policy.Env.Gate, name))
	}
	return newest, err
}

// gatesAsked are the gates of the apply's op that were asked for a plan, nil for any.
func (a *Apply) gatesAsked(snap *ledger.Snapshot, plan *digest.Digest) ([]string, error) {
	lines, err := GateLines(snap, a.Prefix, a.Op)
	var names []string
	for _, l := range lines {
		if l.Environment == a.Policy.Env.Name && (plan == nil || digest.Same(l.PlanDigest, *plan)) {
			names = append(names, l.Gate)
		}
	}
	return names, err
}

func without(names, these []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(these, n) })
}

// withNew adds to names those of more that are not among them.
func withNew(names, more []string) []string {
	for _, name := range more {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// nextPass plans what was held back again, against the outputs that stand now, once
// everything else settled (pr-loop §7.5). What is covered is the next pass; where
// nothing is, the rest is, once the gate of its round opens. nil means that no pass
// follows: nothing is held, the round waits, or nothing gives a value to what is
// read.
func (ex *execution) nextPass(ctx context.Context) (*Pass, error) {
	a := ex.apply
	passes := a.Passes()
	passes.Spread()
	held := without(passes.Held(), a.elsewhere(passes))
	if len(held) == 0 || passes.Halted() != "" {
		return nil, nil //nolint:nilnil // as said above
	}
	if a.gated() {
		return ex.nextWave(ctx, passes)
	}
	set, held, err := ex.planHeld(ctx, passes, held)
	if err != nil {
		return nil, err
	}
	ready := without(held, set.following(passes, set.holes()))
	if len(ready) == 0 {
		a.Waits = set.valueless(without(passes.Held(), a.elsewhere(passes)))
		return nil, nil //nolint:nilnil // as said above
	}
	if set, err = set.only(ready); err != nil {
		return nil, err
	}
	snap, err := ex.in.Site.Ledger.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	covered, gates, err := ex.covered(ctx, snap, set)
	if err != nil {
		return nil, err
	}
	if !a.byComponents() || len(a.roundGate(ready[0])) > 0 {
		covered = uncoverMoved(covered, a.moved(set))
	}
	var names []string
	for _, v := range covered.Uncovered() {
		names = append(names, v.Member)
	}
	rest := set.following(passes, names)
	if free := without(ready, rest); len(free) > 0 {
		if set, err = set.only(free); err != nil {
			return nil, err
		}
		return ex.coveredPass(set, covered, gates)
	}
	return ex.askRounds(ctx, passes, set)
}

// planHeld plans members that were held back again, and gives those of them that are
// still held. Where one that can't be planned takes others of a group with it, what is
// left of that group is planned once more: its plan is applied whole or not at all
// (soundness I7).
func (ex *execution) planHeld(ctx context.Context, passes run.Passes, held []string) (*PlanSet, []string, error) {
	for {
		ex.say("planning again what was held back: %s", strings.Join(held, ", "))
		set, err := ex.planAgain(ctx, held)
		if err != nil {
			return nil, nil, err
		}
		left := failUnplanned(passes, set, held)
		if len(left) == 0 || len(set.whole(left)) == len(left) {
			return set, left, nil
		}
		held = left
	}
}

// failUnplanned ends the members that could not be planned again, and gives those of
// the others that are still held.
func failUnplanned(passes run.Passes, set *PlanSet, members []string) []string {
	for _, name := range members {
		if m := set.Members[name]; m.Error != "" {
			passes.FailHeld(name, m.Error)
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(name string) bool { return passes.Member(name).Status != run.Held })
}

// planAgain plans members of the selection that were held back.
func (ex *execution) planAgain(ctx context.Context, members []string) (*PlanSet, error) {
	in := ex.planInput()
	in.Gated = ex.apply.Release != nil
	in.Base, in.Head, in.Tried = ex.apply.Report.Base, ex.apply.Report.Head, ex.apply.Tried
	in.Only, in.KeepTrees, in.Progress = members, true, ex.in.Progress
	return ex.PlanMembers(ctx, in)
}

// valueless says why nothing follows, though members are held: what they read has
// no value still.
func (p *PlanSet) valueless(held []string) string {
	var reads []string
	for _, name := range held {
		for _, read := range p.Members[name].Unknown {
			reads = append(reads, name+" reads "+read.String())
		}
	}
	if len(reads) == 0 {
		return ""
	}
	return "what is read has no value, though everything it comes from was applied: " + strings.Join(reads, ", ") + "; correct the output's name, or give it a value other than null"
}

// covered compares a set planned again with what was approved before it: the
// documents of the merges, or that of the green commit's own gate where the main
// pass applied under it. gates are those whose approval it then rests on.
func (ex *execution) covered(ctx context.Context, snap *ledger.Snapshot, set *PlanSet) (cover.Report, []Opened, error) {
	a := ex.apply
	if a.byComponents() {
		return a.allowed(set), nil, nil
	}
	if under := a.under(); len(under) > 0 {
		_, side, err := ex.approvedAt(ctx, ex.in.Site, snap, a, under[0], ex.pass.Set)
		if err != nil {
			return cover.Report{}, nil, err
		}
		if side.Doc == nil {
			side.Doc = &changeset.Document{} // nothing is approved
		}
		return cover.ByApproved(side, set.Side(), set.Nothing()), under, nil
	}
	merges, err := ex.coverMerges(ctx, ex.in.Site, snap, a)
	if err != nil {
		return cover.Report{}, nil, err
	}
	return cover.ByMerges(merges, set.Side(), set.Nothing()), nil, nil
}

// coveredPass is a pass of what was approved before.
func (ex *execution) coveredPass(set *PlanSet, covered cover.Report, gates []Opened) (*Pass, error) {
	p := &Pass{Set: set, Gates: gates, Covering: map[string][]string{}}
	for commit, members := range coveringOf(covered) {
		for _, m := range members {
			if set.Members[m] != nil {
				p.Covering[commit] = append(p.Covering[commit], m)
			}
		}
	}
	var err error
	p.State, err = ex.apply.machine(set, set.Document.Digest)
	p.State.Via = ex.apply.State.Via
	return p, err
}

// askRound asks a gate for round n of a set. It gives the pass that it opens, nil where
// it waits.
func (ex *execution) askRound(ctx context.Context, set *PlanSet, at Opened, n int) (*Pass, error) {
	a := ex.apply
	p := &Pass{Set: set, Round: n}
	moved := a.moved(set)
	at.Gate = project.RoundGate(at.Base, n)
	if err := ex.askGate(ctx, p, at, fmt.Sprintf("round %d of %s", n, a.what()), moved); err != nil {
		return nil, err
	}
	a.Report.Rounds = append(a.Report.Rounds, a.roundRow(p, moved))
	if p.waits() {
		a.Later = append(a.Later, p)
		return nil, nil //nolint:nilnil // as said above
	}
	a.Round = p.Round
	return p, nil
}

// what names an apply, for who approves one of its gates.
func (a *Apply) what() string {
	if a.Release != nil {
		return "the release of " + project.Short(a.Report.Head)
	}
	return "green commit " + project.Short(a.Report.Head)
}

// askGate asks the gate of a round or a wave for a pass, and records there that it
// waits. A pass that waits is held whole: moved are the reads that made it so.
func (ex *execution) askGate(ctx context.Context, p *Pass, at Opened, what string, moved map[string][]run.InputRead) error {
	a := ex.apply
	var err error
	if at.Digest, err = changeset.WaveDigest(p.Set.Document.Members); err != nil {
		return err
	}
	p.Asked, p.Moved = &at, moved
	q, who, err := ex.question(ctx, ex.in.Site, a, *p.Asked, p.Set)
	if err != nil {
		return err
	}
	if p.State, err = a.machine(p.Set, at.Digest); err != nil {
		return err
	}
	p.State.Via = record.ViaGate
	decision, _, warning, err := decideOrWait(ctx, ex.in.Site, a.Prefix, q, who, gate.DefaultTimeout, what+": "+strings.Join(p.State.Order, ", "))
	if err != nil {
		return err
	}
	if warning != "" {
		a.Warnings = append(a.Warnings, warning)
	}
	if a.Opens(p, decision) {
		p.Gates, p.ApprovedBy, a.Waits = []Opened{*p.Asked}, decision.ApprovedBy, ""
		return nil
	}
	a.Waits = whyShut(decision, q)
	for _, member := range p.State.Order {
		if err := p.State.HoldBack(member, moved[member]); err != nil {
			return err
		}
	}
	return nil
}

// roundRow is a round as the report says it, with what its members read.
func (a *Apply) roundRow(p *Pass, moved map[string][]run.InputRead) report.Round {
	row := report.Round{Round: p.Round, Op: a.opOf(*p.Asked), Gate: p.Asked.Gate, Digest: p.Asked.Digest, Status: report.WaveNotStarted, ApprovedBy: p.ApprovedBy}
	if p.waits() {
		row.Status, row.Approve = report.WaveWaiting, report.CommentLine(a.opOf(*p.Asked), p.Asked.Gate, p.Asked.Digest)
	}
	for _, m := range p.Set.Document.Members {
		member := report.RoundMember{Member: m.Member, Reads: []report.Read{}}
		for _, r := range moved[m.Member] {
			member.Reads = append(member.Reads, report.Read{From: r.From, Output: r.Output, Planned: r.Planned, Now: r.Now})
		}
		row.Members = append(row.Members, member)
	}
	return row
}

// endRounds says in the rows of the rounds that opened how they ended. Each gate counts
// its rounds by itself.
func (a *Apply) endRounds() {
	for _, p := range a.Later {
		for i := range a.Report.Rounds {
			row := &a.Report.Rounds[i]
			if p.Round == 0 || p.waits() || row.Op != a.opOf(*p.Asked) || row.Gate != p.Asked.Gate || row.Status == report.WaveWaiting {
				continue
			}
			switch result, done := p.State.Done(); {
			case done && result == run.ResultFailed:
				row.Status = report.WaveFailed
			case p.State.Halted != "":
				row.Status = report.WaveBlocked
			case done:
				row.Status = report.WaveApplied
			}
		}
	}
}

// approvers are the principals under whose approvals the apply ran, those of its
// rounds and waves too.
func (a *Apply) approvers() []string {
	out := slices.Clone(a.Report.Approval.ApprovedBy)
	for _, r := range a.Report.Rounds {
		out = withNew(out, r.ApprovedBy)
	}
	for _, w := range a.Report.Waves {
		out = withNew(out, w.ApprovedBy)
	}
	return out
}
