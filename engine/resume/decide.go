package resume

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/record"
)

// Place is the apply that would carry a record on.
type Place struct {
	Env, Op, Gate, Head, Base string
	FanOut                    digest.Digest // of what it selected
	Promote                   bool
}

// Empty tells that nothing applied whole, so that there is nothing to carry over
// and nothing to say.
func (r Record) Empty() bool { return len(r.Completed) == 0 }

// Of is the reason why a record is not one of this apply, "" when it is. It is
// the first look, before anything is asked of the ledger.
func (r Record) Of(p Place) string {
	a := r.Apply()
	switch {
	case p.Promote != (r.Promote != nil):
		return "it is a record of " + map[bool]string{false: "pr-apply", true: "promote"}[r.Promote != nil]
	case a.Env != p.Env:
		return fmt.Sprintf("it is of env %s, and this apply is of %s", a.Env, p.Env)
	case a.Head != p.Head:
		return fmt.Sprintf("it is of commit %.12s, and this apply is of %.12s", a.Head, p.Head)
	case a.Base != p.Base:
		return fmt.Sprintf("it was measured from commit %.12s, and this apply is from %.12s", a.Base, p.Base)
	case a.Op != p.Op:
		return fmt.Sprintf("it is of op %s, and this apply is of %s", a.Op, p.Op)
	case a.Gate != p.Gate:
		return fmt.Sprintf("it is of gate %s, and this apply is of %s", a.Gate, p.Gate)
	case !digest.Same(r.Digest, p.FanOut):
		return "what it selected are not the components selected now"
	}
	return ""
}

// Plan is every member, planned afresh at the commit of the record.
type Plan struct {
	cover.Side

	Nothing   map[string]bool   // as PlanSet of the shell says it (decision 15)
	Component map[string]string // by member
	Reads     map[string][]Read // by member
	// Later are members of gated waves after the first: each is planned again, and
	// decided, when it is reached, so that what covers it now says nothing.
	Later map[string]bool
}

// Approved is what the ledger says now about what the record rests on.
type Approved struct {
	// Stands: an approval of the record's digest stands at the gate. Document is
	// that document from the ledger, with the sources it was approved under; its
	// Doc is nil when the ledger does not have it, or has another.
	Stands   bool
	Document cover.Side
	// Merges are the approved merges of the range, newest first.
	Merges []cover.Merge
	// Gates are the documents of the record's gates that stand, by component.
	Gates map[string]cover.Side
}

// Accept decides about a record that is of this apply. The coverage says for each
// member whether it may apply now; completed ones have nothing to. reason is ""
// when the record is accepted, else the first condition that does not hold.
func (r Record) Accept(p Plan, ledger Approved) (covered cover.Report, reason string) {
	for _, reason := range []string{r.stands(p, ledger), r.CompletedIsDone(p), r.readsAreThose(p)} {
		if reason != "" {
			return cover.Report{}, reason
		}
	}
	nothing := map[string]bool{}
	for _, m := range p.Doc.Members {
		nothing[m.Member] = p.Nothing[m.Member] || r.completed(p, m.Member)
	}
	switch r.Apply().Via {
	case record.ViaMerges:
		covered = cover.ByMerges(ledger.Merges, p.Side, nothing)
	case record.ViaRelease:
		covered = byGates(ledger.Gates, p, nothing)
	default:
		covered = cover.ByApproved(ledger.Document, p.Side, nothing)
	}
	for _, v := range covered.Uncovered() {
		if p.Later[v.Member] {
			continue
		}
		return covered, fmt.Sprintf("%s is not covered by what was approved: %s", v.Member, v.Reason)
	}
	return covered, ""
}

// byGates checks each member against the document approved at a gate of its component,
// as far as one was: any other is asked about, or not, as it starts.
func byGates(approved map[string]cover.Side, p Plan, nothing map[string]bool) cover.Report {
	var report cover.Report
	for _, m := range p.Doc.Members {
		side, gated := approved[p.Component[m.Member]]
		v := cover.Verdict{Member: m.Member, Status: cover.Covered}
		switch {
		case cover.Nothing(p.Doc, m.Member, nothing[m.Member]):
			v.Status = cover.NothingToDo
		case gated:
			if ok, reason := cover.PlanCoveredBy(side, p.Side, m.Member); !ok {
				v.Status, v.Reason = cover.Uncovered, reason
			}
		}
		report.Members = append(report.Members, v)
	}
	return report
}

func (r Record) completed(p Plan, member string) bool {
	return slices.Contains(r.Completed, p.Component[member])
}

// stands: the approvals that it rests on still do (decision 13).
func (r Record) stands(p Plan, ledger Approved) string {
	a := r.Apply()
	if a.Via == record.ViaGate {
		switch {
		case !ledger.Stands:
			return fmt.Sprintf("the approval of %s at %s %s no longer stands", a.Digest.Short(), a.Op, a.Gate)
		case ledger.Document.Doc == nil:
			return fmt.Sprintf("the document approved as %s is not on the ledger; approve in a comment, or with --from and the plan's report folder, and it is", a.Digest.Short())
		case !digest.Same(ledger.Document.Doc.Digest, a.Digest) || !ledger.Document.Doc.Verify():
			return fmt.Sprintf("the document on the ledger is not the one approved as %s", a.Digest.Short())
		}
		return ""
	}
	for _, g := range a.Gates {
		if _, stands := ledger.Gates[g.Op]; !stands && !slices.Contains(r.Completed, g.Op) {
			return fmt.Sprintf("the approval of %s at %s %s no longer stands", g.Digest.Short(), g.Op, g.Gate)
		}
	}
	for _, m := range a.Merges {
		if open := slices.ContainsFunc(m.Members, func(name string) bool { return !r.completed(p, name) }); !open {
			continue
		}
		stands := slices.ContainsFunc(ledger.Merges, func(now cover.Merge) bool {
			return now.PR == m.PR && now.Op == m.Op && now.Gate == m.Gate && digest.Same(now.Digest, m.Digest) && !now.Revoked
		})
		if !stands {
			return fmt.Sprintf("the approval of #%d, which covered what is still to apply, no longer stands", m.PR)
		}
	}
	return ""
}

// CompletedIsDone is why what applied is not there any more, "" when it is: planning it
// again changes nothing.
func (r Record) CompletedIsDone(p Plan) string {
	for _, c := range r.Completed {
		found := false
		for _, m := range p.Doc.Members {
			if p.Component[m.Member] != c {
				continue
			}
			found = true
			// The planner's own word is not asked for: outputs that no plan leaves
			// as they are, such as a time, did apply.
			if !cover.Nothing(p.Doc, m.Member, true) {
				return fmt.Sprintf("%s applied, and planned again it has changes", m.Member)
			}
		}
		if !found {
			return fmt.Sprintf("%s applied, and is not planned any more", c)
		}
	}
	return ""
}

// readsAreThose: every value that a plan was made with is the one the plan of the
// record had. A member whose input applied as another value was approved with a
// value that is not there (pr-loop §7.5). What its group would have passed on has a
// value by now: whether that was approved tells the coverage.
func (r Record) readsAreThose(p Plan) string {
	for _, m := range p.Doc.Members {
		if p.Later[m.Member] {
			continue
		}
		now, then := p.Reads[m.Member], r.Apply().Reads[m.Member]
		for _, read := range now {
			within := Read{From: read.From, Output: read.Output, Hash: Within}
			if !slices.Contains(then, read) && !slices.Contains(then, within) {
				return fmt.Sprintf("%s reads %s.%s, which has another value than in its approved plan", m.Member, read.From, read.Output)
			}
		}
		if len(now) != len(then) {
			return fmt.Sprintf("%s reads other outputs than in its approved plan", m.Member)
		}
	}
	return ""
}
