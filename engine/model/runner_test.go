package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// row is an apply as it is stored: what a crash leaves.
type row struct {
	sha, token string
	commit     int
	base       string // the commit that was applied last
	op         string
	passes     []*pass
	round      int
	was        map[string][]resume.Read // what members were planned with that read another value by now
	before     []string                 // what applied before, by the record that is carried on
	restored   bool                     // from a backup: it may not know of a step that started
	// Of applies of the commit before: what waits for a round, and whether its own input
	// moved, what applied, and under what the main pass did.
	held, done map[string]bool
	gate       *note
	covered    []resume.Merge
}

// pass is a set of members planned at one time.
type pass struct {
	Note  *note
	State run.State
	Gate  *note          // the approval it rests on, nil for merges
	Cover []resume.Merge // that cover members of it
}

// child is a step that runs. It outlives the runner that started it.
type child struct {
	note    *note // what it was planned as
	of      *process
	effect  effect
	outside string // the values it reads, as they stood when it started
	// end is how it ended, nil while it runs.
	end *run.Outcome
}

// process is what runs one member, or all of a group.
type process struct {
	// told: a supervisor wrote down how it ended.
	told bool
	ends map[string]run.Outcome // by member
}

// runner is one server that applies.
type runner struct {
	w    *world
	name string
	// fresh: it has not looked at what it holds since it last started.
	fresh bool
}

func (r *row) states() run.Passes {
	var out run.Passes
	for _, p := range r.passes {
		out = append(out, &p.State)
	}
	return out
}

func (r *row) current() *pass { return r.passes[len(r.passes)-1] }

// step lets a runner do the next thing it has to.
func (r *runner) step() {
	w := r.w
	switch {
	case w.holder != nil && w.holder != r:
	case w.row == nil:
		w.holder = r
		r.decide()
	case w.holder == nil || r.fresh:
		w.holder, r.fresh = r, false
		r.resume()
	default:
		r.goOn()
	}
}

// crash loses a runner. What it had written stands, and what it started runs on.
func (r *runner) crash() {
	w := r.w
	r.fresh = true
	if w.holder != r {
		return
	}
	w.holder = nil // its lease runs out
	w.row = w.stored()
}

// stored is the apply under way as the database keeps it, nil for none.
func (w *world) stored() *row {
	if w.row == nil {
		return nil
	}
	out := *w.row
	out.was, out.passes = maps.Clone(w.row.was), nil
	for _, p := range w.row.passes {
		kept := *p
		text, err := json.Marshal(p.State)
		w.must(err)
		kept.State = run.State{}
		w.must(json.Unmarshal(text, &kept.State))
		out.passes = append(out.passes, &kept)
	}
	return &out
}

// restores has the database back as it was at a backup, or empty: every server starts
// anew.
func (w *world) restores(to *row) {
	for _, r := range w.runners {
		r.fresh = true
	}
	w.holder, w.row, w.before = nil, to, nil
	clear(w.owed) // nobody knows any more
	if to != nil {
		w.row = w.stored()
		w.row.restored = true
	}
}

// resume carries an apply on: once nothing runs any more, what a supervisor saw end
// is settled, and the rest is not known.
func (r *runner) resume() {
	w := r.w
	if w.runs() && w.planted != "two at once" {
		w.holder, r.fresh = nil, true
		return
	}
	w.rids()
	p := w.row.current()
	s := &p.State
	for _, name := range s.Order {
		if s.Members[name].Status != run.Running {
			continue
		}
		switch c := w.files[p.Note.file(name)]; {
		case c == nil:
			w.must(s.NotStarted(name))
		case c.of.told:
			w.must(s.Settle(name, *c.end))
		}
	}
	if w.planted != "unknown starts again" {
		s.Recover()
		return
	}
	for _, m := range s.Members {
		if m.Status == run.Running {
			m.Status = run.Pending
		}
	}
}

// rids takes the children away that ended: a group's states go back.
func (w *world) rids() {
	for _, name := range w.members {
		if c := w.children[name]; c != nil && c.end != nil {
			w.gone(name)
		}
	}
}

// runs reports that a child of anybody lives: it has the lock of its state.
func (w *world) runs() bool {
	for _, c := range w.children {
		if c.end == nil {
			return true
		}
	}
	return false
}

// decide finds the commit to apply, plans it and decides under what it may.
func (r *runner) decide() {
	w := r.w
	sha, found := w.newest()
	if !found || w.runs() && w.planted != "two at once" || w.fenced(sha, "") || w.applied.Commit == sha {
		w.holder = nil
		return
	}
	w.rids()
	at := w.index(sha)
	w.tokens++
	next := &row{
		sha: sha, token: fmt.Sprint(w.tokens), commit: at, base: w.applied.Commit, op: "green-" + sha,
		was: map[string][]resume.Read{}, held: map[string]bool{}, done: map[string]bool{},
	}
	if !w.job {
		next.follow(w.before)
	}
	handed := w.handed(next)
	w.done = maps.Clone(next.done)
	if handed != nil && handed.PrApply.Head == sha {
		for _, name := range handed.Completed {
			w.done[name] = true
		}
	}
	tried := record.Unfinished(sha, w.shas(), w.attempt, w.applied)
	n := w.plan(w.tree(at), w.selected(at, append(tried, w.applied.Commit)...), next.op, gateOf, prod)
	w.done = nil
	if p := w.mainPass(next, n, handed); p != nil {
		next.passes = []*pass{p}
		w.attempt = &record.Attempt{Env: prod, Commit: sha, Token: next.token, Started: tried}
		w.row = next
		if rapid.IntRange(0, 2).Draw(w.t, "backed up") == 0 {
			w.backup = w.stored()
		}
		if w.rarely("dies before the apply is stored") {
			r.crash()
			w.row = nil
			return
		}
		for _, name := range n.holes() {
			w.owes(name, n.reads[name])
		}
		return
	}
	w.tokens-- // nobody knows of it
	w.holder = nil
}

// tree is what a commit is planned from.
func (w *world) tree(at int) tree {
	if w.planted == "another source" {
		at = len(w.line) - 1
	}
	return w.line[at].tree
}

// newest is the newest green commit.
func (w *world) newest() (sha string, found bool) {
	if w.planted == "tags are not looked at" {
		return w.line[len(w.line)-1].sha, true
	}
	return green.Last(w.shas(), w.tags)
}

// fenced reports that a commit may not be applied, or not by the run of a token.
func (w *world) fenced(sha, token string) bool {
	err := record.Fence(sha, w.shas(), w.attempt, w.applied, token)
	if w.planted == "an attempt of another run counts" && errors.Is(err, record.ErrTaken) {
		return false
	}
	return err != nil && w.planted != "no fence"
}

// rarely draws a fault, none while all is calm.
func (w *world) rarely(what string) bool {
	return !w.calm && rapid.IntRange(0, 15).Draw(w.t, what) == 0
}

// goOn starts one member, sees one end, plans the next pass or ends the apply.
func (r *runner) goOn() {
	w := r.w
	p := w.row.current()
	var ended []string
	for name, c := range w.children {
		if c.end != nil {
			ended = append(ended, name)
		}
	}
	slices.Sort(ended)
	if len(ended) > 0 {
		name := ended[0]
		w.must(p.State.Settle(name, *w.children[name].end))
		w.gone(name)
		return
	}
	if next := p.State.Next(); len(next) > 0 {
		r.start(p, rapid.SampledFrom(next).Draw(w.t, "starts"))
		return
	}
	if len(w.children) > 0 {
		return
	}
	if again := r.again(); again != nil {
		w.row.passes = append(w.row.passes, again)
		return
	}
	r.end()
}

// start starts a member, and what it is applied with, if all they rest on stands.
func (r *runner) start(p *pass, name string) {
	w := r.w
	if reason := w.fallen(p); reason != "" {
		p.State.Halt(reason)
		return
	}
	mates := p.State.Group(name)
	for _, mate := range mates {
		if p.Note.inputs[mate] != p.Note.outside(w, mate) && w.planted != "inputs are not read again" {
			w.must(p.State.Hold(mate, nil))
			if w.row.was[mate] == nil {
				w.row.was[mate] = p.Note.reads[mate]
			}
			w.owes(mate, p.Note.reads[mate])
			return
		}
	}
	w.must(p.State.Start(name))
	switch {
	case w.rarely("dies before the child starts"):
		r.crash()
	case w.row.restored && slices.ContainsFunc(mates, func(mate string) bool { return w.files[p.Note.file(mate)] != nil }):
		for _, mate := range mates { // the disk knows: a plan is applied once
			w.must(p.State.Settle(mate, run.Outcome{Error: "this plan was applied before"}))
		}
	case p.Note.moved(w, mates):
		for _, mate := range mates {
			w.must(p.State.Settle(mate, run.Outcome{Moved: true}))
		}
	default:
		if len(mates) > 1 {
			count.groups.Add(1)
		}
		of := &process{ends: map[string]run.Outcome{}}
		for _, mate := range mates {
			w.begins(p, of, mate)
		}
	}
}

// fallen is why a pass starts nothing more, "" while all it rests on stands.
func (w *world) fallen(p *pass) string {
	if w.fenced(w.row.sha, w.row.token) {
		return "fenced off"
	}
	if !green.Count(w.tags, w.shas()).Green[w.row.sha] && w.planted != "tags are not looked at" {
		return "not green"
	}
	if w.planted == "approvals are not read again" {
		return ""
	}
	if p.Gate != nil && !w.stands(p.Gate, p.Gate.digest).Satisfied {
		return "an approval fell"
	}
	for _, m := range w.carried(w.row.commit) {
		if m.Revoked && p.covers(m.Op) {
			return "an approval fell"
		}
	}
	return ""
}

func (p *pass) covers(op string) bool {
	return slices.ContainsFunc(p.Cover, func(m resume.Merge) bool { return m.Op == op })
}

// end ends the apply, and records it where all of it was applied.
func (r *runner) end() {
	w := r.w
	switch {
	case w.fenced(w.row.sha, w.row.token): // another run's word counts
	case w.row.states().Complete() || w.planted == "recorded early":
		w.recorded()
		w.before = nil
		w.applied = &record.Apply{Env: prod, Commit: w.row.sha}
		if w.rarely("dies before it knows that this was recorded") {
			r.crash()
			return
		}
	default:
		w.keep(w.leaves())
	}
	w.row, w.holder = nil, nil
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.broken("an error", "%v", err)
	}
}
