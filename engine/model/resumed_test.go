package model

import (
	"slices"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// Resume records (pr-loop §5.12, decision 13): what stopped applies left, whole, of an
// older attempt, of another commit, or forged by whoever writes into the cache.

// leaves keeps the record of an apply that stopped part way.
func (w *world) leaves() {
	first := w.row.passes[0]
	of := &resume.Apply{
		Env: prod, Op: w.row.op, Gate: gateOf, Head: w.row.sha, Base: w.row.base, Digest: first.State.Digest, Via: record.ViaMerges,
		Merges: first.Cover, Reads: map[string][]resume.Read{},
	}
	if first.Gate != nil {
		of.Via, of.Merges = record.ViaGate, nil
	}
	r := resume.Record{Digest: fanOut(w, first.Note), PrApply: of}
	passes := w.row.states()
	for _, p := range w.row.passes {
		for name, reads := range p.Note.reads {
			if p == first || p.State.Members[name].Status == run.Applied {
				of.Reads[name] = reads
			}
		}
	}
	for _, name := range first.State.Order {
		switch status := passes.Member(name).Status; {
		case status == run.Applied || status == run.NoChanges && slices.Contains(w.row.before, name):
			r.Completed = append(r.Completed, name)
		case status == run.Failed || status == run.Unknown:
			r.Failed = append(r.Failed, name)
		}
	}
	w.cache = append(w.cache, w.read(r))
}

// fanOut is the digest of what an apply selected.
func fanOut(w *world, n *note) digest.Digest {
	var names []digest.Value
	for _, m := range n.side.Doc.Members {
		names = append(names, digest.StringOf(m.Member))
	}
	d, err := digest.Of("component-fan-out", digest.ArrayOf(names...))
	w.must(err)
	return d
}

// read is a record as its file gives it back.
func (w *world) read(r resume.Record) resume.Record {
	text, err := r.JSON()
	w.must(err)
	back, err := resume.Parse(text)
	w.must(err)
	return back
}

// handed is the record that an apply is given, nil for none.
func (w *world) handed(next *row, n *note) *resume.Record {
	if len(w.cache) == 0 || rapid.IntRange(0, 3).Draw(w.t, "no record") == 0 {
		return nil
	}
	r := w.read(rapid.SampledFrom(w.cache).Draw(w.t, "record"))
	if !w.calm && rapid.IntRange(0, 2).Draw(w.t, "forged") == 0 {
		w.forge(&r, next, n)
	}
	return &r
}

// forge makes a record look like one of this apply, and has it say what would help.
func (w *world) forge(r *resume.Record, next *row, n *note) {
	of := r.PrApply
	r.Digest, of.Op, of.Head, of.Base, of.Reads = fanOut(w, n), next.op, next.sha, next.base, n.reads
	if rapid.Bool().Draw(w.t, "says that it applied") {
		r.Completed, r.Failed = rapid.SliceOfDistinct(rapid.SampledFrom(w.members), func(name string) string { return name }).Draw(w.t, "completed"), []string{}
	}
	if len(w.notes) > 0 && rapid.Bool().Draw(w.t, "says another approval") {
		of.Digest = rapid.SampledFrom(w.notes).Draw(w.t, "approved").digest
	}
	if rapid.Bool().Draw(w.t, "says merges") {
		of.Via, of.Merges = record.ViaMerges, nil
	}
}

// taken is the main pass under a record that was handed in and is accepted, else nil:
// then it changes nothing.
func (w *world) taken(next *row, n *note) *pass {
	r := w.handed(next, n)
	if r == nil || r.Empty() {
		return nil
	}
	of := r.PrApply
	if w.planted != "a record is believed" && r.Of(resume.Place{Env: prod, Op: next.op, Gate: gateOf, Head: next.sha, Base: next.base, FanOut: fanOut(w, n)}) != "" {
		return nil
	}
	plan := resume.Plan{Side: n.side, Nothing: n.nothing(), Component: map[string]string{}, Reads: n.reads, Later: map[string]bool{}}
	level := n.levels(w)
	for name, e := range n.effects {
		plan.Component[name], plan.Later[name] = name, e.hole || w.gated && level[name] > 0
	}
	at := &note{op: next.op, gate: gateOf, env: prod, digest: of.Digest}
	approved := resume.Approved{Merges: w.carried(next.commit)}
	if d := w.stands(at, of.Digest); of.Via == record.ViaGate && d.Satisfied {
		approved.Stands, approved.Document = true, w.documentOf(of.Digest, d.Record)
	}
	covered, reason := r.Accept(plan, approved)
	if reason != "" && w.planted != "a record is believed" || everything(covered, cover.NothingToDo) {
		return nil
	}
	count.resumed.Add(1)
	next.before = r.Completed
	if of.Via == record.ViaGate {
		return w.pass(n, of.Digest, at, nil)
	}
	return w.pass(n, n.digest, nil, w.covering(next, covered))
}

func everything(r cover.Report, is cover.Status) bool {
	return !slices.ContainsFunc(r.Members, func(v cover.Verdict) bool { return v.Status != is })
}
