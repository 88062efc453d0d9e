package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// begins starts the step of a member, in a process, and holds it to the promise.
func (w *world) begins(p *pass, of *process, name string) {
	e := p.Note.effects[name]
	if c := w.children[name]; c != nil {
		w.broken("I4", "%s starts while its step runs", name)
	}
	if w.row.commit < w.started {
		w.broken("I5", "a step of commit %d starts after one of %d", w.row.commit, w.started)
	}
	w.started = w.row.commit
	if !w.isGreen(w.row.sha) {
		w.broken("decision 5", "%s starts at a commit that is not green", name)
	}
	if w.line[w.row.commit].tree[name] != e.source {
		w.broken("I7, source", "%s is applied from another source than the commit's", name)
	}
	if planned, now := p.Note.inputs[name], p.Note.outside(w, name); planned != now {
		w.broken("I7, inputs", "%s was planned with %q, and %q stands", name, planned, now)
	}
	if len(e.writes) > 0 && !w.seen(name, e) {
		w.broken("I1", "nobody whose approval stands saw %s do %+v", name, e)
	}
	if w.files[p.Note.file(name)] != nil {
		w.broken("I6", "%s starts a second time from one plan", name)
	}
	if w.row.token != fmt.Sprint(w.tokens) {
		w.broken("decision 18", "%s starts in an apply that a newer one took over", name)
	}
	if len(e.writes) > 0 && w.needsRound(p, name) {
		w.broken("§7.5", "%s was planned with another value in this apply, and starts without a round", name)
	}
	if len(e.writes) > 0 && w.owesRound(p, name) {
		w.broken("§7.5, before", "%s moved in an earlier apply of the commit, and starts without a round", name)
	}
	count.begun.Add(1)
	w.children[name] = &child{note: p.Note, of: of, effect: e, outside: w.inputs(name)}
	w.files[p.Note.file(name)] = w.children[name]
	if p.Note.group[name] != "" {
		w.joins(p.Note, name)
	}
}

// isGreen reports that somebody tagged a commit itself green, and nobody revoked it.
func (w *world) isGreen(sha string) bool {
	tagged := false
	for _, t := range w.tags {
		switch t.Name {
		case green.RevokedPrefix + sha:
			return false
		case green.GreenPrefix + sha:
			tagged = t.Commit == sha
		}
	}
	return tagged
}

// file is where a plan's apply of a member leaves how it ended.
func (n *note) file(member string) string { return fmt.Sprint(n.id, " ", member) }

// needsRound reports that an earlier plan of the same apply was made with another known
// value, or with none, and no gate of its own opened for this one. Gated waves have no
// rounds.
func (w *world) needsRound(p *pass, name string) bool {
	if w.gated || p.Gate != nil && isOwn(p.Gate.gate) {
		return false
	}
	now := strings.Split(p.Note.inputs[name], ",")
	for _, earlier := range w.row.passes {
		e, planned := earlier.Note.effects[name]
		if !planned || earlier == p {
			continue
		}
		if e.hole {
			return true
		}
		for i, then := range strings.Split(earlier.Note.inputs[name], ",") {
			if then != now[i] && !strings.HasPrefix(then, "@") && !strings.HasPrefix(now[i], "@") {
				return true
			}
		}
	}
	return false
}

// seen tells whether a person, in an approval of prod that was not taken back, saw
// a member do all of this: each write, and what its plan hides.
func (w *world) seen(name string, e effect) bool {
	for _, a := range w.acts {
		saw, there := a.note.effects[name]
		if !there || a.revoked || a.note.env != prod {
			continue
		}
		if w.hides[name] && saw.source.hidden != e.source.hidden {
			continue
		}
		all := true
		for path, does := range e.writes {
			said := saw.writes[path]
			// Whoever saw that a group makes the value saw every value it makes.
			all = all && (said == does || saw.source == e.source && said == write{does.before, unknown})
		}
		if all {
			return true
		}
	}
	return false
}

// ends ends a step that runs, that of what a member of a group reads before its own.
func (w *world) ends(name string) {
	name = w.first(name)
	c := w.children[name]
	o := run.Outcome{}
	switch {
	case w.unreached(name):
		o.NotReached = true
	case !w.calm && rapid.IntRange(0, 5).Draw(w.t, "fails") == 0:
		o.Error = "boom"
	}
	if len(c.of.ends) == 0 { // one process, and one supervisor, for all of a group
		c.of.told = w.calm || rapid.IntRange(0, 3).Draw(w.t, "told") > 0
	}
	c.end, c.of.ends[name] = &o, o
	if o.NotReached {
		return
	}
	if o == (run.Outcome{}) {
		delete(w.owed, name)
	}
	now := w.live[name]
	done := func(what string) bool {
		return o == (run.Outcome{}) || rapid.IntRange(0, 2).Draw(w.t, what) == 0
	}
	if done("sized before it failed") {
		now.source, now.drift = c.effect.source, 0
	}
	if done("wired before it failed") {
		now.inputs = w.inputsOf(name)
	}
	if !w.calm && rapid.IntRange(0, 9).Draw(w.t, "makes another value than its plan says") == 0 {
		now.drift++
	}
	w.live[name] = now
}

// recorded holds a commit that is about to be recorded as applied to what stands.
func (w *world) recorded() {
	for _, name := range w.members {
		if now, want := w.live[name], w.line[w.row.commit].tree[name]; now.shown != want.shown {
			w.broken("I10", "%s stands at %+v, and the commit that is recorded as applied has %+v", name, now.source, want)
		}
	}
}

// only is the part of a note about some members.
func (n *note) only(w *world, members []string) *note {
	doc, err := n.side.Doc.Only(members...)
	w.must(err)
	part := *n
	part.side.Doc, part.digest = doc, doc.Digest
	part.effects = maps.Clone(n.effects)
	maps.DeleteFunc(part.effects, func(name string, _ effect) bool { return !slices.Contains(members, name) })
	part.reads = maps.Clone(n.reads)
	maps.DeleteFunc(part.reads, func(name string, _ []resume.Read) bool { return !slices.Contains(members, name) })
	return &part
}

// rests tells whether nothing is left to apply: the newest green commit was applied,
// or a newer one was, or it is behind one of which a step started.
func (w *world) rests() bool {
	sha, found := green.Last(w.shas(), w.tags)
	return !found || w.applied.Commit == sha || record.Fence(sha, w.shas(), w.attempt, w.applied, "") != nil
}
