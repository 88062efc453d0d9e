package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/run"
)

// again plans what was held back, against what stands now: what is covered is the next
// pass, the rest waits for its round (pr-loop §7.5).
func (r *runner) again() *pass {
	w := r.w
	passes := w.row.states()
	passes.Spread()
	held := passes.Held()
	if len(held) == 0 || passes.Halted() != "" {
		return nil
	}
	if w.gated {
		return r.nextWave(passes, held)
	}
	n := w.plan(w.tree(w.row.commit), held, w.row.op, gateOf, prod)
	held = without(held, n.following(passes, n.holes()))
	if len(held) == 0 {
		return nil
	}
	n = n.only(w, held)
	c := w.covered(n)
	var names []string
	for _, v := range c.Members {
		if v.Status == cover.Uncovered || v.Status == cover.Covered && w.otherInputs(n, v.Member) && w.planted != "a round is spared" {
			names = append(names, v.Member)
		}
	}
	rest := n.following(passes, names)
	if free := without(held, rest); len(free) > 0 {
		part := n.only(w, free)
		return w.pass(part, part.digest, w.row.under(), w.covering(w.row, c))
	}
	for _, name := range held {
		if w.row.was[name] == nil && w.otherInputs(n, name) {
			w.row.was[name] = w.row.passes[0].Note.reads[name]
		}
	}
	n.gate = fmt.Sprintf("%s-round-%d", gateOf, w.row.round+2)
	p := w.ask(n)
	if p != nil {
		w.row.round++
		count.rounds.Add(1)
	}
	return p
}

// nextWave is the first gated wave that is left, nil where it waits (pr-loop §7.4).
func (r *runner) nextWave(passes run.Passes, held []string) *pass {
	w := r.w
	wave := passes[0].Members[held[0]].Wave
	due := slices.DeleteFunc(held, func(name string) bool { return passes[0].Members[name].Wave != wave })
	first := w.row.passes[0]
	if reason := w.fallen(first); reason != "" {
		w.row.current().State.Halt(reason)
		return nil
	}
	n := w.plan(w.tree(w.row.commit), due, w.row.op, gateOf, prod)
	if c := w.covered(n); c.Complete() {
		return w.pass(n, n.digest, w.row.under(), w.covering(w.row, c))
	}
	n.gate = fmt.Sprintf("release-wave-%d", wave)
	p := w.ask(n)
	if p != nil {
		count.waves.Add(1)
	}
	return p
}

// covered compares a set planned again with what was approved before it.
func (w *world) covered(n *note) cover.Report {
	under := w.row.under()
	if under == nil {
		return cover.ByMerges(w.carried(w.row.commit), n.side, n.nothing())
	}
	approved := cover.Side{}
	if got := w.stands(under, under.digest); got.Satisfied {
		approved = w.documentOf(under.digest, got.Record)
	}
	if approved.Doc == nil {
		approved.Doc = &changeset.Document{}
	}
	return cover.ByApproved(approved, n.side, n.nothing())
}

// otherInputs reports that a member reads another value than one it was planned with for
// this commit, or had none.
func (w *world) otherInputs(n *note, member string) bool {
	return w.row.held[member] || w.row.was[member] != nil ||
		slices.ContainsFunc(w.row.passes, func(p *pass) bool { return differ(p.Note.reads[member], n.reads[member]) })
}

func without(names, these []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(these, name) })
}

// holes are the members that wait for a value.
func (n *note) holes() []string {
	var out []string
	for name, e := range n.effects {
		if e.hole {
			out = append(out, name)
		}
	}
	return out
}

// following are members and everything that follows from one of them, or can only be
// applied with one of those.
func (n *note) following(passes run.Passes, members []string) []string {
	for {
		var whole []string
		for name := range n.effects {
			if slices.ContainsFunc(members, func(m string) bool { return m == name || n.mates(m, name) }) {
				whole = append(whole, name)
			}
		}
		more := passes.Dependents(whole)
		if len(more) == len(members) {
			return more
		}
		members = more
	}
}

// ask is the pass of a set whose own gate opens, nil where it waits (decision 14).
func (w *world) ask(n *note) *pass {
	d, err := changeset.WaveDigest(n.side.Doc.Members)
	w.must(err)
	if !w.opens(n, d) {
		w.wait(n, d)
		return nil
	}
	n.digest = d
	return w.pass(n, d, n, nil)
}

// isOwn reports that a gate decides about members planned again, and no other.
func isOwn(gateName string) bool {
	return strings.Contains(gateName, "-round-") || strings.Contains(gateName, "-wave-")
}
