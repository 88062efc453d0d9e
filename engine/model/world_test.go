// Package model plays a small estate against the engine: pull requests, people who
// approve and revoke, commits that go green, values that move, steps that fail, and
// two runners that crash. What a person saw and what a step does are kept apart
// from what the engine decides by, so that its decisions can be held to the promise
// (soundness, "Invariants").
package model

import (
	"fmt"
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
	group         map[string]string // of the members planned with others, by member
	stood         map[string]standing
}

// effect is what applying a planned member does.
type effect struct {
	source source
	writes map[string]write // by attribute; none is nothing to do
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
	begun    map[string]bool // steps that started, by run, pass and member
	// journal has the members whose state is in that of a group.
	journal map[string]string

	// On the ledger.
	lines   map[string][]gate.Record
	merges  map[string]merged
	docs    map[string]cover.Side // by digest and hash of sources
	attempt *record.Attempt
	applied *record.Apply

	started int // index of the newest commit a step of which started
	tokens  int
	steps   int
	calm    bool // no faults any more
}

func newWorld(t *rapid.T) *world {
	w := &world{
		t: t, reads: map[string][]string{}, hides: map[string]bool{}, alone: map[string]bool{}, journal: map[string]string{}, live: map[string]standing{}, now: time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC),
		children: map[string]*child{}, begun: map[string]bool{}, lines: map[string][]gate.Record{}, merges: map[string]merged{}, docs: map[string]cover.Side{}, started: -1,
	}
	w.off = rapid.IntRange(0, 3).Draw(t, "no groups") == 0
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
	n := &note{
		op: op, gate: gateName, env: env, effects: map[string]effect{}, inputs: map[string]string{},
		group: w.grouping(members), stood: map[string]standing{},
	}
	n.side = cover.Side{Sources: map[string]string{}, Code: map[string]terraform.RunsCode{}}
	var entries []changeset.Entry
	whole := map[string]string{} // what a group does, by its name
	for _, name := range members {
		e := w.effect(n, name, of[name])
		n.effects[name], n.inputs[name], n.stood[name] = e, n.outside(w, name), w.live[name]
		n.side.Sources[name] = fmt.Sprintf("%d/%d", e.source.shown, e.source.hidden)
		code := terraform.RunsCode{}
		if w.hides[name] && len(e.writes) > 0 {
			code.Provisioners = []terraform.Provisioner{{Address: "a.x", Type: "local-exec"}}
		}
		n.side.Code[name] = code
		entry := entryOf(name, e)
		entries = append(entries, entry)
		if g := n.group[name]; g != "" {
			whole[g] += fmt.Sprint(entry)
		}
	}
	parts := make([]changeset.Part, len(entries))
	for i, entry := range entries {
		parts[i] = w.part(entry, whole[n.group[entry.Member]])
	}
	doc, err := changeset.Compose(parts, "")
	if err != nil {
		w.t.Fatal(err)
	}
	n.side.Doc, n.digest = doc, doc.Digest
	return n
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
		out[name] = len(e.writes) == 0
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

// selected are the members that differ between two commits, and what reads them.
func (w *world) selected(base, head int) []string {
	in := map[string]bool{}
	var out []string
	for _, name := range w.members {
		in[name] = w.line[base].tree[name] != w.line[head].tree[name]
		for _, from := range w.reads[name] {
			in[name] = in[name] || in[from]
		}
		if in[name] {
			out = append(out, name)
		}
	}
	return out
}
