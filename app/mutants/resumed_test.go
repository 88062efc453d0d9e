package mutants

// resumed break what a resume record is held to (pr-loop §5.12, decision 13), and the
// seal on its file.
var resumed = []mutant{
	{name: "resume: of another env", file: "engine/resume/decide.go", old: "case a.Env != p.Env:", new: "case false:", killers: "./engine/resume"},
	{name: "resume: of another commit", file: "engine/resume/decide.go", old: "case a.Head != p.Head:", new: "case false:", killers: "./engine/resume"},
	{name: "resume: from another base", file: "engine/resume/decide.go", old: "case a.Base != p.Base:", new: "case false:", killers: "./engine/resume"},
	{name: "resume: of another op", file: "engine/resume/decide.go", old: "case a.Op != p.Op:", new: "case false:", killers: "./engine/resume"},
	{name: "resume: of another gate", file: "engine/resume/decide.go", old: "case a.Gate != p.Gate:", new: "case false:", killers: "./engine/resume"},
	{name: "resume: of another selection", file: "engine/resume/decide.go", old: "case !digest.Same(r.Digest, p.FanOut):", new: "case false:", killers: "./engine/resume"},
	{name: "resume: under an approval that fell", file: "engine/resume/decide.go", old: "case !ledger.Stands:", new: "case false:", killers: "./engine/resume"},
	{
		name: "resume: under another document", file: "engine/resume/decide.go",
		old: "!digest.Same(ledger.Document.Doc.Digest, a.Digest) ||", new: "", killers: "./engine/resume",
	},
	{
		name: "resume: under a document that does not verify", file: "engine/resume/decide.go",
		old: "|| !ledger.Document.Doc.Verify()", new: "", killers: "./engine/resume",
	},
	{name: "resume: under a merge that was revoked", file: "engine/resume/decide.go", old: "&& !now.Revoked", new: "", killers: "./engine/resume"},
	{
		name: "resume: under a merge of another document", file: "engine/resume/decide.go",
		old: "&& digest.Same(now.Digest, m.Digest) &&", new: "&&", killers: "./engine/resume",
	},
	{
		name: "resume: under a document that another merge was approved with", file: "engine/resume/decide.go",
		old: "now.PR == m.PR && now.Op == m.Op && now.Gate == m.Gate && ", new: "", killers: "./engine/resume",
	},
	{name: "resume: a promote under a gate that fell", file: "engine/resume/decide.go", old: "if _, stands := ledger.Gates[g.Op]; !stands &&", new: "if _, stands := ledger.Gates[g.Op]; !stands && false &&", killers: "./engine/resume"},
	{name: "resume: of promote by pr-apply", file: "engine/resume/decide.go", old: "case p.Promote != (r.Promote != nil):", new: "case false:", killers: "./engine/resume"},
	{
		name: "resume: what applied is not planned any more", file: "engine/resume/decide.go",
		old: "if !found {", new: "if false && !found {", killers: "./engine/resume",
	},
	{
		name: "resume: other outputs are read", file: "engine/resume/decide.go",
		old: "if len(now) != len(then) {", new: "if false {", killers: "./engine/resume",
	},
	{
		name: "resume: what applied is there, unseen", file: "engine/resume/decide.go",
		old: "if !cover.Nothing(p.Doc, m.Member, true) {", new: "if false {", killers: "./engine/resume",
	},
	{
		name: "resume: outputs taken from the record", file: "engine/resume/decide.go",
		old: "!slices.Contains(then, read) && !slices.Contains(then, within)", new: "within == read", killers: "./engine/resume",
	},
	{
		name: "resume: what failed carries over", file: "engine/resume/decide.go",
		old: "return slices.Contains(r.Completed, p.Component[member])",
		new: "return slices.Contains(append(r.Completed, r.Failed...), p.Component[member])", killers: "./engine/resume",
	},
	{
		name: "resume: what is left need not be covered", file: "engine/resume/decide.go",
		old: "range covered.Uncovered() {", new: "range covered.Uncovered()[:0] {", killers: "./engine/resume",
	},
	{name: "resume: a field of another version", file: "engine/resume/record.go", old: "in.DisallowUnknownFields()", new: "", killers: "./engine/resume"},
	{
		name: "resume: a record forgets what moved", file: "app/usecase/takeup.go",
		old: "a.holdMoved(name, m.movedSince(plannedWith(then)))", new: "_ = then", killers: "./app/usecase", run: "TestWhatMovedWaits",
	},
	{
		name: "resume: a record knows what moved as it is now", file: "app/usecase/takeup.go",
		old: "out[name][i].Hash = was.Hash", new: "_ = i", killers: "./app/usecase", run: "TestWhatMovedWaits",
	},
	{
		name: "resume: what moved and failed is forgotten", file: "app/usecase/before.go",
		old: "len(moved[m.Member]) > 0 ||", new: "", killers: "./app/usecase", run: "TestWhatMovedWaits",
	},
	{
		name: "resume: a value that is back spares its round", file: "app/usecase/takeup.go",
		old: "v.Status == cover.Covered && len(moved[v.Member]) > 0", new: "v.Status == cover.Covered && false && moved != nil", killers: "./app/usecase", run: "TestARecordSparesNoRound",
	},
	{name: "seal: for another purpose", file: "engine/drivers/sealed/sealed.go", old: "case h.purpose != purpose:", new: "case false:", killers: "./engine/drivers/sealed"},
	{
		name: "seal: over the content alone", file: "engine/drivers/sealed/sealed.go",
		old: "return aead.Seal(bytes.Clone(head), nil, content, head), nil", new: "return aead.Seal(bytes.Clone(head), nil, content, nil), nil",
		killers: "./engine/drivers/sealed",
	},
}
