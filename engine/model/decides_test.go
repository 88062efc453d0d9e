package model

import (
	"slices"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// mainPass is the pass of everything, nil where it has to wait for an approval. What
// waits for a value, and under a wave gate every later wave, is kept for a pass of its
// own.
func (w *world) mainPass(next *row, n *note, handed *resume.Record) *pass {
	p := w.taken(next, n, handed)
	if p == nil {
		p = w.allowed(next, n)
	}
	if p == nil {
		w.wait(n, n.digest)
		return nil
	}
	for _, name := range p.State.Order {
		m := p.State.Members[name]
		if m.Status == run.Pending && (n.effects[name].hole || w.gated && m.Wave > 1) {
			w.must(p.State.HoldBack(name, nil))
		}
	}
	return p
}

// allowed is the main pass under what was approved, nil for none.
func (w *world) allowed(next *row, n *note) *pass {
	c := w.uncoverHeld(next, cover.ByMerges(w.carried(next.commit), n.side, n.nothing()))
	due := n.withoutHoles(c).Uncovered()
	p := w.pass(n, n.digest, nil, w.covering(next, c))
	if len(due) == 0 || w.planted == "coverage is not asked" {
		return p
	}
	var names []string
	for _, v := range due {
		names = append(names, v.Member)
	}
	rest := n.following(run.Passes{&p.State}, names)
	if !w.keptForLater(next, n, &p.State, names, rest) {
		if w.opens(n, n.digest) {
			return w.pass(n, n.digest, n, nil)
		}
		return nil
	}
	for _, name := range rest { // that gate decides about them
		w.must(p.State.HoldBack(name, nil))
	}
	return p
}

// asked is the number of the newest round, or gated wave, that was asked for exactly this
// plan of members before, 0 for none.
func (w *world) asked(next *row, n *note, s *run.State, members []string) int {
	kind := "-round-"
	if w.gated {
		kind = "-wave-"
		wave := s.Members[members[0]].Wave
		members = slices.DeleteFunc(slices.Clone(s.Order), func(name string) bool { return s.Members[name].Wave != wave })
	}
	members = without(members, n.holes())
	if len(members) == 0 {
		return 0
	}
	d, err := changeset.WaveDigest(n.only(w, members).side.Doc.Members)
	w.must(err)
	return w.askedFor(next, kind, &d)
}

// askedFor is the number of the newest gate of a kind that was asked for a plan, nil for
// any.
func (w *world) askedFor(next *row, kind string, d *digest.Digest) int {
	newest := 0
	for _, r := range w.lines[next.op] {
		if _, number, is := strings.Cut(r.Gate, kind); is && r.Environment == prod && (d == nil || digest.Same(r.PlanDigest, *d)) {
			n, err := strconv.Atoi(number)
			w.must(err)
			newest = max(newest, n)
		}
	}
	return newest
}

// carried are the approved merges since the commit applied last, newest first, each
// with whether its approval stands.
func (w *world) carried(to int) []cover.Merge {
	var out []cover.Merge
	for i := to; i > w.index(w.applied.Commit); i-- {
		m, recorded := w.merges[w.line[i].sha]
		if !recorded || m.approved == nil {
			continue
		}
		d := gate.Evaluate(w.lines[m.op], gate.Query{Op: m.op, Gate: gateOf, Env: prod, Digest: *m.approved, Now: w.now})
		out = append(out, cover.Merge{PR: m.pr, Commit: w.line[i].sha, Op: m.op, Gate: gateOf, Digest: *m.approved, Revoked: !d.Satisfied, Side: m.side})
	}
	return out
}

// covering are the merges that cover members, as a record names them.
func (w *world) covering(of *row, c cover.Report) []resume.Merge {
	var out []resume.Merge
	for _, m := range w.carried(of.commit) {
		merge := resume.Merge{PR: m.PR, Op: m.Op, Gate: m.Gate, Digest: m.Digest}
		for _, v := range c.Members {
			if v.By != nil && v.By.Op == m.Op {
				merge.Members = append(merge.Members, v.Member)
			}
		}
		if len(merge.Members) > 0 {
			out = append(out, merge)
		}
	}
	return out
}

// withoutHoles leaves out members of which nothing applies yet: each has a round. Where
// nothing else is due, their approval is what is asked for.
func (n *note) withoutHoles(r cover.Report) cover.Report {
	rest := cover.Report{}
	due := false
	for _, v := range r.Members {
		if !n.effects[v.Member].hole {
			rest.Members = append(rest.Members, v)
			due = due || v.Status != cover.NothingToDo
		}
	}
	if !due {
		return r
	}
	return rest
}

// stands asks a gate for a digest.
func (w *world) stands(n *note, d digest.Digest) gate.Decision {
	return gate.Evaluate(w.lines[n.op], gate.Query{Op: n.op, Gate: n.gate, Env: prod, Digest: d, Now: w.now})
}

// opens asks a gate whether what is planned now was approved, under the sources it was
// shown with.
func (w *world) opens(n *note, d digest.Digest) bool {
	got := w.stands(n, d)
	return got.Satisfied && n.withoutHoles(cover.UnderApproval(n.side, got.Record.Sources, n.nothing())).Complete()
}

// wait records that a gate waits, and shows the plan to people.
func (w *world) wait(n *note, d digest.Digest) {
	q := gate.Query{Op: n.op, Gate: n.gate, Env: prod, Digest: d, Now: w.now}
	if gate.Evaluate(w.lines[n.op], q).NeedsPending {
		q.Now = w.stamp()
		w.lines[n.op] = append(w.lines[n.op], gate.NewPending(q, w.lines[n.op], gate.DefaultTimeout, ""))
	}
	shown := *n
	shown.digest = d
	if w.planted != "nobody is told what waits" {
		w.notes = append(w.notes, &shown)
	}
}

// pass is one of the members of a note, under a gate, at which the digest of that note
// was approved, or under merges.
func (w *world) pass(n *note, d digest.Digest, under *note, cover []resume.Merge) *pass {
	c := run.Config{Commit: n.op, Env: prod, Digest: d, DependsOn: w.reads}
	level := n.levels(w)
	for _, m := range n.side.Doc.Members {
		for len(c.Waves) <= level[m.Member] {
			c.Waves = append(c.Waves, nil)
		}
		c.Waves[level[m.Member]] = append(c.Waves[level[m.Member]], m.Member)
		c.Units = append(c.Units, run.Unit{Member: m.Member, Component: m.Member, Phase: "Apply", Step: "terraform-apply", Group: n.group[m.Member]})
	}
	s, err := run.New(c)
	w.must(err)
	return &pass{Note: n, State: s, Gate: under, Cover: cover}
}

// levels are the waves of the members of a note, from 0, the same for all of a group.
func (n *note) levels(w *world) map[string]int {
	level := map[string]int{}
	for _, name := range w.members {
		if _, in := n.effects[name]; !in {
			continue
		}
		for _, from := range w.reads[name] {
			if _, in := n.effects[from]; !in || n.mates(name, from) {
				continue
			}
			for _, mate := range w.members {
				if mate == name || n.mates(mate, name) {
					level[mate] = max(level[mate], level[from]+1)
				}
			}
		}
	}
	return level
}
