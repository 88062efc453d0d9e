package usecase

import (
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
)

// isHole tells that a member reads what has no value yet. Its plan is never
// applied: it is held, and planned again once what it reads is applied (pr-loop
// §7.5, §8.1).
func (a *Apply) isHole(member string) bool { return len(a.Set.Members[member].Unknown) > 0 }

// withoutHoles leaves holes out of a coverage where something else of the plan
// is due, since that is what gives them their values: the first approval is of
// everything that does not read such an output. Where nothing else is due they
// stay, and wait with their reason.
func (a *Apply) withoutHoles(r cover.Report) cover.Report {
	due := slices.ContainsFunc(r.Members, func(v cover.Verdict) bool {
		return v.Status != cover.NothingToDo && !a.isHole(v.Member)
	})
	if !due {
		return r
	}
	rest := cover.Report{}
	for _, v := range r.Members {
		if !a.isHole(v.Member) {
			rest.Members = append(rest.Members, v)
		}
	}
	return rest
}

// notUnderApproval says why the approval of this plan does not let it apply.
func (a *Apply) notUnderApproval(r cover.Report, sources string) string {
	var reads []string
	for _, v := range r.Uncovered() {
		switch {
		case a.isHole(v.Member):
		case sources == "":
			return "the approval does not say for which sources it was given, so it does not cover what its digest leaves out; approve again in a comment, or on the command line with --from and the plan's report folder"
		default:
			return "the approval was given for other sources than the ones this commit has; approve this plan again"
		}
		for _, read := range a.Set.Members[v.Member].Unknown {
			reads = append(reads, v.Member+" reads "+read.String())
		}
	}
	return "what is read has no value, and nothing in this plan gives it one: " + strings.Join(reads, ", ") + "; correct the output's name, give it a value other than null, or have what it comes from applied: by a change of its files, or with chant run --components"
}

// HolesOf are the members of a document that read what has no value yet, of so many.
func HolesOf(doc *changeset.Document) (holes []string, members int) {
	if doc == nil {
		return nil, 0
	}
	for _, m := range doc.Members {
		if m.ReadsUnknown() {
			holes = append(holes, m.Member)
		}
	}
	return holes, len(doc.Members)
}

// coversAll tells whether an approved document covers every member of a plan. A
// member that waits for a value is none of its business: no approval covers it,
// and it gets one of its own once what it reads is applied (pr-loop §8.1).
func coversAll(approved, fresh cover.Side) bool {
	for _, member := range fresh.Doc.Members {
		if member.ReadsUnknown() {
			continue
		}
		if ok, _ := cover.PlanCoveredBy(approved, fresh, member.Member); !ok {
			return false
		}
	}
	return true
}
