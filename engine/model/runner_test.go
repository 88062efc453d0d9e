package model

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/run"
)

// row is an apply as it is stored: what a crash leaves.
type row struct {
	sha, token string
	commit     int
	op         string
	passes     []*pass
	round      int
}

// pass is a set of members planned at one time.
type pass struct {
	Note  *note
	State run.State
	Gate  *note           // the approval it rests on, nil for merges
	Cover map[string]bool // ops of the merges that cover members of it
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
	if w.row == nil {
		return
	}
	for _, p := range w.row.passes { // what is stored is all that is left
		text, err := json.Marshal(p.State)
		if err == nil {
			p.State = run.State{}
			err = json.Unmarshal(text, &p.State)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// resume carries an apply on: once nothing runs any more, what a supervisor saw end
// is settled, and the rest is not known.
func (r *runner) resume() {
	w := r.w
	for _, c := range w.children {
		if c.end == nil {
			w.holder = nil
			r.fresh = true
			return // its lock is held
		}
	}
	s := &w.row.current().State
	for _, name := range s.Order {
		if c := w.children[name]; s.Members[name].Status == run.Running && c == nil {
			w.must(s.NotStarted(name))
		} else if c != nil {
			if c.of.told && s.Members[name].Status == run.Running {
				w.must(s.Settle(name, *c.end))
			}
			w.gone(name)
		}
	}
	s.Recover()
}

// decide finds the commit to apply, plans it and decides under what it may.
func (r *runner) decide() {
	w := r.w
	sha, found := green.Last(w.shas(), w.tags)
	if !found || record.Fence(sha, w.shas(), w.attempt, w.applied, "") != nil || w.applied.Commit == sha {
		w.holder = nil
		return
	}
	at := w.index(sha)
	members := w.selected(w.index(w.applied.Commit), at)
	op := "green-" + sha
	n := w.plan(w.line[at].tree, members, op, gateOf, prod)
	w.tokens++
	next := &row{sha: sha, token: fmt.Sprint(w.tokens), commit: at, op: op}
	if p := w.allowed(next, n); p != nil {
		next.passes = []*pass{p}
		w.attempt = &record.Attempt{Env: prod, Commit: sha, Token: next.token}
		w.row = next
		return
	}
	w.holder = nil
}

// allowed is the main pass, nil where it has to wait for an approval.
func (w *world) allowed(next *row, n *note) *pass {
	c := cover.ByMerges(w.carried(next.commit), n.side, n.nothing())
	if c.Complete() {
		return w.pass(n, n.digest, nil, covering(c))
	}
	if w.gateOpens(n, n.digest) {
		return w.pass(n, n.digest, n, nil)
	}
	w.wait(n, n.digest)
	return nil
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

func covering(c cover.Report) map[string]bool {
	ops := map[string]bool{}
	for _, v := range c.Members {
		if v.By != nil {
			ops[v.By.Op] = true
		}
	}
	return ops
}

// gateOpens asks a gate whether what is planned now was approved, under the sources
// it was shown with.
func (w *world) gateOpens(n *note, d digest.Digest) bool {
	got := gate.Evaluate(w.lines[n.op], gate.Query{Op: n.op, Gate: n.gate, Env: prod, Digest: d, Now: w.now})
	return got.Satisfied && cover.UnderApproval(n.side, got.Record.Sources, n.nothing()).Complete()
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
	w.notes = append(w.notes, &shown)
}

func (w *world) pass(n *note, d digest.Digest, under *note, cover map[string]bool) *pass {
	c := run.Config{Commit: n.op, Env: prod, Digest: d, DependsOn: w.reads}
	level := map[string]int{} // by member, the same for all of a group
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
	for _, m := range n.side.Doc.Members {
		for len(c.Waves) <= level[m.Member] {
			c.Waves = append(c.Waves, nil)
		}
		c.Waves[level[m.Member]] = append(c.Waves[level[m.Member]], m.Member)
		c.Units = append(c.Units, run.Unit{Member: m.Member, Component: m.Member, Phase: "Apply", Step: "terraform-apply", Group: n.group[m.Member]})
	}
	s, err := run.New(c)
	w.must(err)
	p := &pass{Note: n, State: s, Cover: cover}
	if under != nil {
		shown := *under
		shown.digest = d
		p.Gate = &shown
	}
	return p
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
		if p.Note.inputs[mate] != p.Note.outside(w, mate) {
			w.must(p.State.Hold(mate, nil))
			return
		}
	}
	w.must(p.State.Start(name))
	switch {
	case !w.calm && rapid.IntRange(0, 15).Draw(w.t, "dies before the child starts") == 0:
		r.crash()
	case p.Note.moved(w, mates):
		for _, mate := range mates {
			w.must(p.State.Settle(mate, run.Outcome{Moved: true}))
		}
	default:
		if len(mates) > 1 {
			together.Add(1)
		}
		of := &process{ends: map[string]run.Outcome{}}
		for _, mate := range mates {
			w.begins(p, of, mate)
		}
	}
}

// fallen is why a pass starts nothing more, "" while all it rests on stands.
func (w *world) fallen(p *pass) string {
	if err := record.Fence(w.row.sha, w.shas(), w.attempt, w.applied, w.row.token); err != nil {
		if !errors.Is(err, record.ErrTaken) && !errors.Is(err, record.ErrOlder) {
			w.t.Fatal(err)
		}
		return err.Error()
	}
	if p.Gate != nil && !w.gateOpens(p.Gate, p.Gate.digest) {
		return "an approval fell"
	}
	for _, m := range w.carried(w.row.commit) {
		if m.Revoked && p.Cover[m.Op] {
			return "an approval fell"
		}
	}
	return ""
}

// again plans what was held back, against what stands now.
func (r *runner) again() *pass {
	w := r.w
	passes := w.row.states()
	passes.Spread()
	held := passes.Held()
	if len(held) == 0 || passes.Halted() != "" {
		return nil
	}
	n := w.plan(w.line[w.row.commit].tree, held, w.row.op, gateOf, prod)
	var c cover.Report
	first := w.row.passes[0]
	if first.Gate != nil {
		approved := cover.Side{Doc: &changeset.Document{}}
		if got := gate.Evaluate(w.lines[w.row.op], gate.Query{Op: w.row.op, Gate: gateOf, Env: prod, Digest: first.Gate.digest, Now: w.now}); got.Satisfied {
			approved = w.documentOf(first.Gate.digest, got.Record)
		}
		if approved.Doc == nil {
			approved.Doc = &changeset.Document{}
		}
		c = cover.ByApproved(approved, n.side, n.nothing())
	} else {
		c = cover.ByMerges(w.carried(w.row.commit), n.side, n.nothing())
	}
	var names []string
	for _, v := range c.Uncovered() {
		names = append(names, v.Member)
	}
	rest := n.following(passes, names)
	free := slices.DeleteFunc(slices.Clone(held), func(m string) bool { return slices.Contains(rest, m) })
	if len(free) > 0 {
		part := n.only(w, free)
		return w.pass(part, part.digest, first.Gate, covering(c))
	}
	return w.askRound(n)
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

// askRound is the pass of a round whose gate opens, nil where it waits.
func (w *world) askRound(n *note) *pass {
	n.gate = fmt.Sprintf("%s-round-%d", gateOf, w.row.round+2)
	d, err := changeset.WaveDigest(n.side.Doc.Members)
	w.must(err)
	if !w.gateOpens(n, d) {
		w.wait(n, d)
		return nil
	}
	w.row.round++
	return w.pass(n, d, n, nil)
}

// end ends the apply, and records it where all of it was applied.
func (r *runner) end() {
	w := r.w
	if w.row.states().Complete() {
		w.recorded()
		w.applied = &record.Apply{Env: prod, Commit: w.row.sha}
	}
	w.row, w.holder = nil, nil
}

func (w *world) must(err error) {
	if err != nil {
		w.t.Helper()
		w.t.Fatal(err)
	}
}
