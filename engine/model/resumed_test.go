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
func (w *world) leaves() resume.Record {
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
				of.Reads[name] = slices.Clone(reads)
			}
		}
	}
	for name, was := range w.row.was { // as it was in the first plan
		if passes.Member(name).Status == run.Applied {
			continue
		}
		for i, now := range of.Reads[name] {
			if now.Hash != "" && differ(was[i:i+1], of.Reads[name][i:i+1]) {
				now.Hash = was[i].Hash
				of.Reads[name][i] = now
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
	return w.cache[len(w.cache)-1]
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

// handed is the record that an apply is given, nil for none: a server has that of the
// apply before, and a job what its cache gives it.
func (w *world) handed(next *row) *resume.Record {
	if w.keeps {
		if w.before == nil || w.before.sha != next.sha {
			return nil
		}
		r := w.read(w.before.record)
		return &r
	}
	if len(w.cache) == 0 || rapid.IntRange(0, 3).Draw(w.t, "no record") == 0 {
		return nil
	}
	r := w.read(rapid.SampledFrom(w.cache).Draw(w.t, "record"))
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
func (w *world) taken(next *row, n *note, r *resume.Record) *pass {
	if r != nil && !w.keeps && !w.calm && rapid.IntRange(0, 2).Draw(w.t, "forged") == 0 {
		w.forge(r, next, n)
	}
	next.followRecord(w, r, n)
	if r == nil || r.Empty() {
		return nil
	}
	of := r.PrApply
	if w.planted != "a record is believed" && w.strange(r, next, n) {
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
	if len(w.uncoverHeld(next, covered).Uncovered()) > len(covered.Uncovered()) && w.planted == "" {
		return nil // what moved has its round, also where it reads what it did by now
	}
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

// strange tells that a record is of another apply.
func (w *world) strange(r *resume.Record, next *row, n *note) bool {
	return r.Of(resume.Place{Env: prod, Op: next.op, Gate: gateOf, Head: next.sha, Base: next.base, FanOut: fanOut(w, n)}) != ""
}

func everything(r cover.Report, is cover.Status) bool {
	return !slices.ContainsFunc(r.Members, func(v cover.Verdict) bool { return v.Status != is })
}
