// Package model plays a small estate against the engine: pull requests, people who
// approve and revoke, commits that go green, values that move, steps that fail whole or
// half way, groups, holes, rounds and gated waves, and two runners that crash. What a
// person saw and what a step does are kept apart from what the engine decides by, so that
// its decisions can be held to the promise (soundness, "Invariants").
//
// Of the fault points of soundness these are injected: before and after the attempt is
// written, a step is stored, its child starts and ends, and the apply record is written;
// a child that ends unseen; a database that is lost, or restored to an earlier snapshot;
// lines of other tools with other clocks; resume records of older attempts, of other
// commits, and forged. Those of processes, git and a forge are app/soundness's, on the
// real program.
package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/resume"
)

const (
	prod    = "prod"
	staging = "staging"
	gateOf  = "pr-apply"
)

// source is what one member is made from at a commit. hidden is what its plan does
// not tell, such as the command of a provisioner.
type source struct{ shown, hidden int }

// tree is every member's source at a commit.
type tree map[string]source

// standing is what a member's last apply left, and what happened to it since.
type standing struct {
	source

	inputs string // the values it was applied with
	drift  int    // how often somebody else changed it
}

// output is what readers of the member read.
func (s standing) output() string { return fmt.Sprintf("out-%d-%d", s.shown, s.drift) }

// commit is one of the branch's first-parent line.
type commit struct {
	sha  string
	tree tree
}

// pull is an open pull request.
type pull struct {
	number int
	change tree // of the members it touches
	note   *note
	op     string
}

// note is a plan as people are shown it.
type note struct {
	op, gate, env string
	digest        digest.Digest
	side          cover.Side
	effects       map[string]effect
	inputs        map[string]string // what each member was planned with, from outside its group
	reads         map[string][]resume.Read
	group         map[string]string // of the members planned with others, by member
	stood         map[string]standing
	id            int // of the plan
}

// effect is what applying a planned member does.
type effect struct {
	source source
	writes map[string]write // by attribute; none is nothing to do
	hole   bool             // it reads what another plan moves, and nothing is known
}

type write struct{ before, after string }

// act is one person's approval, as it really was.
type act struct {
	note    *note
	revoked bool
}

// merged is a merge record, and the documents it refers to.
type merged struct {
	pr       int
	op       string
	approved *digest.Digest
	side     cover.Side
}

// world is what is there, and the truth about it.
type world struct {
	t *rapid.T

	members []string // dependencies first
	reads   map[string][]string
	hides   map[string]bool // its plan does not tell everything
	alone   map[string]bool // it joins no group
	off     bool            // no groups at all
	gated   bool            // each wave after the first has a gate
	keeps   bool            // whoever applies has what the apply before came to: a server its row, a job its record
	job     bool            // it is a job, and the record is all that it has
	done    map[string]bool // what applied before the plan at hand, so that it joins no group

	live    map[string]standing
	line    []commit // oldest first
	pulls   []*pull
	tags    []green.Tag
	notes   []*note
	acts    []*act
	now     time.Time
	runners []*runner
	holder  *runner // of the lease
	row     *row    // the apply under way, as it was stored
	// children are the steps that run, whoever started them.
	children map[string]*child
	// files is what the disk has of each step that started, by plan and member.
	files map[string]*child
	// journal has the members whose state is in that of a group.
	journal map[string]string
	backup  *row            // an earlier snapshot of the database
	before  *ended          // what is kept of the newest apply that ended
	owed    map[string]debt // which members wait for a round: the truth
	cache   []resume.Record // what stopped applies left, for anybody to hand in

	// On the ledger.
	lines   map[string][]gate.Record
	merges  map[string]merged
	docs    map[string]cover.Side // by digest and hash of sources
	attempt *record.Attempt
	applied *record.Apply

	started int // index of the newest commit a step of which started
	tokens  int // of which the last one is of the newest apply
	plans   int
	planted string // a fault of the runners, "" for none
	steps   int
	calm    bool // no faults any more
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, reads: map[string][]string{}, hides: map[string]bool{}, alone: map[string]bool{}, journal: map[string]string{}, live: map[string]standing{}, now: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		children: map[string]*child{}, files: map[string]*child{}, lines: map[string][]gate.Record{}, merges: map[string]merged{}, docs: map[string]cover.Side{}, owed: map[string]debt{}, started: -1,
	}
	w.off = rapid.IntRange(0, 3).Draw(t, "no groups") == 0
	w.keeps, w.job = rapid.IntRange(0, 3).Draw(t, "keeps") > 0, rapid.IntRange(0, 2).Draw(t, "job") == 0
	w.gated = rapid.IntRange(0, 2).Draw(t, "gated waves") == 0
	first := tree{}
	for i := range rapid.IntRange(1, 4).Draw(t, "members") {
		name := fmt.Sprintf("m%d", i)
		for _, other := range w.members {
			if rapid.Bool().Draw(t, name+" reads "+other) {
				w.reads[name] = append(w.reads[name], other)
			}
		}
		w.hides[name] = rapid.Bool().Draw(t, name+" hides")
		w.alone[name] = rapid.IntRange(0, 7).Draw(t, name+" joins none") == 0
		w.members = append(w.members, name)
		first[name] = source{shown: 1, hidden: 1}
		w.live[name] = standing{source: first[name], inputs: w.inputs(name)}
	}
	w.line = []commit{{sha: sha(0), tree: first}}
	w.applied = &record.Apply{Env: prod, Commit: sha(0)}
	w.runners = []*runner{{w: w, name: "one"}, {w: w, name: "two"}}
	return w
}

func sha(i int) string { return fmt.Sprintf("%040d", i) }

// inputs are the values a member reads, as they stand.
func (w *world) inputs(member string) string {
	var values []string
	for _, from := range w.reads[member] {
		values = append(values, w.live[from].output())
	}
	return strings.Join(values, ",")
}

// effect is what applying a source of a member would do now: two attributes, one
// of which follows from what it reads. What its group makes is not known before.
func (w *world) effect(n *note, member string, s source) effect {
	e := effect{source: s, writes: map[string]write{}}
	now := w.live[member]
	if now.shown != s.shown || now.drift > 0 {
		e.writes["size"] = write{fmt.Sprintf("%d+%d", now.shown, now.drift), fmt.Sprint(s.shown)}
	}
	inputs := w.inputs(member)
	if n.makes(w, member) {
		inputs = unknown
	}
	if now.inputs != inputs {
		e.writes["inputs"] = write{now.inputs, inputs}
	}
	return e
}

// plan plans members of a tree, given dependencies first.
func (w *world) plan(of tree, members []string, op, gateName, env string) *note {
	w.plans++
	n := &note{
		op: op, gate: gateName, env: env, effects: map[string]effect{}, inputs: map[string]string{}, reads: map[string][]resume.Read{},
		group: w.grouping(members, op), stood: map[string]standing{}, id: w.plans,
	}
	for !n.foresees(w, of, members) {
		clear(n.effects)
	}
	n.side = cover.Side{Sources: map[string]string{}, Code: map[string]terraform.RunsCode{}}
	whole := map[string]string{} // what a group does, by its name
	for _, name := range members {
		e := n.effects[name]
		n.inputs[name], n.reads[name], n.stood[name] = n.outside(w, name), n.read(w, name), w.live[name]
		n.side.Sources[name] = fmt.Sprintf("%d/%d", e.source.shown, e.source.hidden)
		code := terraform.RunsCode{}
		if w.hides[name] && len(e.writes) > 0 {
			code.Provisioners = []terraform.Provisioner{{Address: "a.x", Type: "local-exec"}}
		}
		n.side.Code[name] = code
		if g := n.group[name]; g != "" {
			whole[g] += fmt.Sprint(entryOf(name, e))
		}
	}
	parts := make([]changeset.Part, len(members))
	for i, name := range members {
		parts[i] = w.part(entryOf(name, n.effects[name]), whole[n.group[name]])
		if n.effects[name].hole {
			parts[i].Entries, parts[i].Member.Holes = nil, []changeset.Hole{{Address: "up.value", Type: changeset.InputHole, Reason: "inputs from up"}}
		}
	}
	doc, err := changeset.Compose(parts, "")
	w.must(err)
	n.side.Doc, n.digest = doc, doc.Digest
	return n
}

// foresees finds what each member will do. It is false where a group dissolved: a
// member of it reads, from outside, what another plan moves (pr-loop §8.1).
func (n *note) foresees(w *world, of tree, members []string) bool {
	for _, name := range members {
		if n.waits(w, name) {
			if g := n.group[name]; g != "" {
				maps.DeleteFunc(n.group, func(_, of string) bool { return of == g })
				return false
			}
			n.effects[name] = effect{source: of[name], hole: true}
			continue
		}
		n.effects[name] = w.effect(n, name, of[name])
	}
	return true
}

// waits reports that a member reads, from outside its group, what another plan moves.
func (n *note) waits(w *world, member string) bool {
	return slices.ContainsFunc(w.reads[member], func(from string) bool { return !n.mates(member, from) && n.moves(from) })
}

// moves reports that the output of a member is not known to stay as it is.
func (n *note) moves(member string) bool {
	_, resized := n.effects[member].writes["size"]
	return resized || n.effects[member].hole
}

// read is what a member is planned with, as a resume record has it.
func (n *note) read(w *world, member string) []resume.Read {
	out := []resume.Read{}
	for _, from := range w.reads[member] {
		r := resume.Read{From: from, Output: "value", Hash: w.live[from].output()}
		switch {
		case n.mates(member, from):
			r.Hash = resume.Within
		case n.moves(from):
			r.Hash = ""
		}
		out = append(out, r)
	}
	return out
}

func entryOf(name string, e effect) changeset.Entry {
	entry := changeset.Entry{
		Member: name, Lexicon: "terraform", Planner: "terraform", Address: "a.x", Type: "a", Action: changeset.NoOp,
	}
	for _, path := range []string{"inputs", "size"} {
		if v, written := e.writes[path]; written {
			entry.Action, entry.Disruption = changeset.Update, "in-place"
			a := changeset.Attribute{Path: path, Before: digest.StringOf(v.before), After: digest.StringOf(v.after)}
			if v.after == unknown {
				a.After, a.Unknown = digest.Value{}, true
			}
			entry.Attributes = append(entry.Attributes, a)
		}
	}
	return entry
}

// part is a member's part, with what its group does folded into the digest.
func (w *world) part(entry changeset.Entry, whole string) changeset.Part {
	plan, err := digest.Of("model-plan", digest.StringOf(fmt.Sprint(entry.Action, entry.Attributes, whole)))
	if err != nil {
		w.t.Fatal(err)
	}
	return changeset.Part{
		Member: changeset.Member{
			Member: entry.Member, Lexicon: "terraform", Planner: "terraform", Scope: "default", Status: changeset.Planned, PlanDigest: &plan, Holes: []changeset.Hole{},
		},
		Entries: []changeset.Entry{entry},
	}
}

// nothing is what the planner says of members with nothing to do.
func (n *note) nothing() map[string]bool {
	out := map[string]bool{}
	for name, e := range n.effects {
		out[name] = len(e.writes) == 0 && !e.hole
	}
	return out
}

// shas is the branch's line, newest first.
func (w *world) shas() []string {
	out := make([]string, len(w.line))
	for i, c := range w.line {
		out[len(w.line)-1-i] = c.sha
	}
	return out
}

func (w *world) index(sha string) int {
	for i, c := range w.line {
		if c.sha == sha {
			return i
		}
	}
	w.t.Fatalf("%s is not on the branch", sha)
	return -1
}

// selected are the members that differ between a commit and one of those before it, and
// what reads them.
func (w *world) selected(head int, from ...string) []string {
	in := map[string]bool{}
	var out []string
	for _, name := range w.members {
		in[name] = slices.ContainsFunc(from, func(sha string) bool { return w.line[w.index(sha)].tree[name] != w.line[head].tree[name] })
		for _, from := range w.reads[name] {
			in[name] = in[name] || in[from]
		}
		if in[name] {
			out = append(out, name)
		}
	}
	return out
}
