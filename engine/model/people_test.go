package model

import (
	"fmt"
	"maps"
	"time"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/green"
)

// propose opens a pull request that changes members, shown or hidden, forward or
// back, and shows its plan against the branch's tip.
func (w *world) propose() {
	p := &pull{number: len(w.merges) + len(w.pulls) + 1, change: tree{}}
	p.op = fmt.Sprintf("pr-%d-%d", p.number, w.steps)
	tip := w.line[len(w.line)-1].tree
	for _, name := range w.members {
		s := tip[name]
		switch rapid.IntRange(0, 4).Draw(w.t, "change of "+name) {
		case 0:
			s.shown = rapid.IntRange(1, 3).Draw(w.t, "shown")
		case 1:
			s.hidden = rapid.IntRange(1, 3).Draw(w.t, "hidden")
		default:
			continue
		}
		p.change[name] = s
	}
	w.pulls = append(w.pulls, p)
	w.show(p)
}

// show plans a pull request as it would be merged now.
func (w *world) show(p *pull) {
	merge := maps.Clone(w.line[len(w.line)-1].tree)
	maps.Copy(merge, p.change)
	var members []string
	changed := map[string]bool{}
	for _, name := range w.members {
		_, changed[name] = p.change[name]
		for _, from := range w.reads[name] {
			changed[name] = changed[name] || changed[from]
		}
		if changed[name] {
			members = append(members, name)
		}
	}
	env := prod
	if rapid.IntRange(0, 5).Draw(w.t, "env") == 0 {
		env = staging
	}
	p.note = w.plan(merge, members, p.op, gateOf, env)
	w.notes = append(w.notes, p.note)
}

// approve writes the line of a person who approves a plan that was shown at any
// time, as whatever machine's clock stamps it.
func (w *world) approve(n *note) {
	if len(n.effects) == 0 {
		return
	}
	a := gate.Approval{
		Act: gate.Act{Op: n.op, Gate: n.gate, Env: n.env, By: "github:alice", Origin: "forge"}, Digest: n.digest, Sources: cover.SourcesHash(n.side.Sources),
	}
	line, err := gate.NewResolution(a, w.lines[n.op], w.stamp())
	if err != nil {
		return // another machine's clock runs ahead
	}
	w.otherTool(&line)
	w.lines[n.op] = append(w.lines[n.op], line)
	w.docs[n.digest.String()+a.Sources] = n.side
	w.acts = append(w.acts, &act{note: n})
}

// revoke takes back every approval of an op's gate, for good.
func (w *world) revoke(n *note) {
	line, err := gate.NewRevocation(gate.Act{Op: n.op, Gate: n.gate, Env: n.env, By: "github:bob", Origin: "forge"}, w.lines[n.op], w.stamp())
	w.must(err)
	w.otherTool(&line)
	w.lines[n.op] = append(w.lines[n.op], line)
	for _, a := range w.acts {
		if a.note.op == n.op && a.note.gate == n.gate && a.note.env == n.env {
			a.revoked = true
		}
	}
}

// otherTool has a line written by another program, which stamps it by its clock alone.
func (w *world) otherTool(line *gate.Record) {
	if w.rarely("another tool writes") {
		line.Timestamp = gate.Timestamp(w.stamp())
	}
}

// stamp is the time on the machine that writes, up to an hour off.
func (w *world) stamp() time.Time {
	w.now = w.now.Add(time.Duration(rapid.IntRange(0, 1).Draw(w.t, "time passes")) * time.Second)
	if w.calm {
		w.now = w.now.Add(3 * time.Hour)
		return w.now
	}
	return w.now.Add(time.Duration(rapid.IntRange(-2, 2).Draw(w.t, "clock")) * 30 * time.Minute)
}

// merge merges a pull request and records it with the approval that stands.
func (w *world) merge(i int) {
	p := w.pulls[i]
	w.pulls = append(w.pulls[:i:i], w.pulls[i+1:]...)
	to := maps.Clone(w.line[len(w.line)-1].tree)
	maps.Copy(to, p.change)
	c := commit{sha: sha(len(w.line)), tree: to}
	w.line = append(w.line, c)
	m := merged{pr: p.number, op: p.op}
	if n := p.note; n.env == prod && len(n.effects) > 0 {
		d := gate.Evaluate(w.lines[p.op], gate.Query{Op: p.op, Gate: gateOf, Env: prod, Digest: n.digest, Now: w.now})
		if d.Satisfied {
			m.approved, m.side = &n.digest, w.documentOf(n.digest, d.Record)
		}
	}
	w.merges[c.sha] = m
}

// documentOf is an approved document, and what was shown with it, as the ledger
// has it.
func (w *world) documentOf(d digest.Digest, r *gate.Record) cover.Side {
	return w.docs[d.String()+r.Sources]
}

// push puts a commit on the branch that no pull request brought.
func (w *world) push() {
	to := maps.Clone(w.line[len(w.line)-1].tree)
	name := rapid.SampledFrom(w.members).Draw(w.t, "pushed")
	s := to[name]
	if s.hidden = rapid.IntRange(1, 3).Draw(w.t, "hidden"); rapid.Bool().Draw(w.t, "shown too") {
		s.shown = rapid.IntRange(1, 3).Draw(w.t, "shown")
	}
	to[name] = s
	w.line = append(w.line, commit{sha: sha(len(w.line)), tree: to})
}

// tag puts a tag on a commit, sometimes one that lies about it.
func (w *world) tag() {
	c := rapid.SampledFrom(w.line).Draw(w.t, "tagged")
	peels := c.sha
	if rapid.IntRange(0, 9).Draw(w.t, "lies") == 0 {
		peels = sha(999)
	}
	name := green.GreenPrefix + c.sha
	if rapid.IntRange(0, 9).Draw(w.t, "revoked") == 0 {
		name = green.RevokedPrefix + c.sha
	}
	for _, t := range w.tags {
		if t.Name == name {
			return // never moved
		}
	}
	w.tags = append(w.tags, green.Tag{Name: name, Commit: peels})
}

// drift changes what stands, behind everybody's back.
func (w *world) drift() {
	name := rapid.SampledFrom(w.members).Draw(w.t, "drifts")
	s := w.live[name]
	s.drift++
	w.live[name] = s
}
