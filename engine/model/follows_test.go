package model

import (
	"maps"
	"slices"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// An apply that follows another one of its commit (pr-loop §5.12, §7.5): what the server
// kept of that one, or the record that was handed in, says what applied and what waits
// for a round.

// ended is what is kept of an apply that ended part way.
type ended struct {
	sha, base string
	round     int
	record    resume.Record
	held      map[string]bool // whether the member's own input moved
	applied   map[string]bool
	gate      *note // the main pass applied under
	cover     []resume.Merge
}

// keep is what the apply under way came to, for the next one of its commit.
func (w *world) keep(record resume.Record) {
	first, passes := w.row.passes[0], w.row.states()
	e := &ended{
		sha: w.row.sha, base: w.row.base, round: w.row.round, record: record,
		held: map[string]bool{}, applied: maps.Clone(w.row.done), gate: w.row.under(), cover: slices.Concat(w.row.covered, first.Cover),
	}
	for _, name := range first.State.Order {
		last := w.row.last(name)
		switch status, moved := passes.Member(name).Status, w.row.was[name] != nil; {
		case status == run.Applied:
			e.applied[name] = true
		case status == run.NoChanges:
		case status == run.Held || moved || status == run.Pending && last != first:
			e.held[name] = moved
		}
	}
	w.before = e
}

// follow takes over where the apply before stopped.
func (r *row) follow(e *ended) {
	if e == nil || e.sha != r.sha || e.base != r.base {
		return
	}
	r.round, r.gate, r.covered = e.round, e.gate, e.cover
	maps.Copy(r.held, e.held)
	maps.Copy(r.done, e.applied)
}

// followRecord takes over what its record says: what applied, and what was planned with
// another value than it reads now.
func (r *row) followRecord(w *world, record *resume.Record, n *note) {
	if record == nil || w.strange(record, r, n) {
		return
	}
	for name := range n.effects {
		if then, planned := record.PrApply.Reads[name]; planned && !slices.Contains(record.Completed, name) && differ(then, n.reads[name]) {
			if !w.gated {
				r.held[name] = true
			}
			r.was[name] = then
		}
	}
}

// differ tells whether a member reads another value than it was planned with, or had
// none: what its group passes on is like any other, but to a hole.
func differ(then, now []resume.Read) bool {
	for i, earlier := range then {
		grouped := earlier.Hash != "" && (earlier.Hash == resume.Within || now[i].Hash == resume.Within)
		if earlier.Hash != now[i].Hash && !grouped {
			return true
		}
	}
	return false
}

// last is the last pass that has a member.
func (r *row) last(name string) *pass {
	for _, p := range slices.Backward(r.passes) {
		if p.State.Members[name] != nil {
			return p
		}
	}
	return nil
}

// under is the green gate that the main pass applied under, in this apply or before, nil
// for none.
func (r *row) under() *note {
	if g := r.passes[0].Gate; g != nil {
		return g
	}
	return r.gate
}

// uncoverHeld takes back the coverage of what moved in an apply before.
func (w *world) uncoverHeld(next *row, c cover.Report) cover.Report {
	c.Members = slices.Clone(c.Members)
	for i, v := range c.Members {
		if v.Status == cover.Covered && next.held[v.Member] && !w.gated && w.planted != "an earlier round is forgotten" {
			c.Members[i] = cover.Verdict{Member: v.Member, Status: cover.Uncovered, Reason: "it moved"}
		}
	}
	return c
}

// keptForLater tells whether a round or a gated wave decides about what is not covered,
// and what follows from it: it was held back before, or such a gate was asked for it.
func (w *world) keptForLater(next *row, n *note, s *run.State, due, rest []string) bool {
	held := !slices.ContainsFunc(due, func(name string) bool { _, before := next.held[name]; return !before })
	asked := w.asked(next, n, s, rest)
	switch {
	case w.gated:
		return (held || asked > 0) && w.mainStands(next)
	case asked == 0 && held:
		asked = max(w.askedFor(next, "-round-", nil), next.round+2)
	}
	if asked == 0 {
		return false
	}
	next.round = asked - 2
	return true
}

// mainStands tells whether all that the first wave applied under before stands.
func (w *world) mainStands(next *row) bool {
	if next.gate != nil && !w.stands(next.gate, next.gate.digest).Satisfied {
		return false
	}
	return !slices.ContainsFunc(w.carried(next.commit), func(m cover.Merge) bool {
		return m.Revoked && slices.ContainsFunc(next.covered, func(then resume.Merge) bool { return then.Op == m.Op })
	})
}

// debt is a round that a member waits for, in each apply of a commit until it applied,
// and what it was planned with before.
type debt struct {
	sha   string
	reads []resume.Read
}

// owes notes that a member, planned with reads, waits for a round.
func (w *world) owes(name string, reads []resume.Read) {
	if w.keeps && !w.gated && w.owed[name].sha != w.row.sha {
		w.owed[name] = debt{w.row.sha, reads}
	}
}

// owesRound tells whether a member waits for a round that did not open for this pass. A
// record tells of no value that moved and is back.
func (w *world) owesRound(p *pass, name string) bool {
	d := w.owed[name]
	return d.sha == w.row.sha && (p.Gate == nil || p.Gate != p.Note) && (!w.job || differ(d.reads, p.Note.reads[name]))
}
