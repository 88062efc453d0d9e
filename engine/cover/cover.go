// Package cover decides whether an approval given for one plan covers another
// plan of the same member, and which merge's approval covers which member of a
// green commit (pr-loop §5.11, §6.4). It compares plans and what they were made
// from; whether an approval stands is the gate's to say.
package cover

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

// Side is one plan of every member, and what it was made from.
type Side struct {
	Doc *changeset.Document
	// Sources is per member the hash of everything its plan was made from. A
	// member that is missing, or "", equals no source.
	Sources map[string]string
	// Code is per member what its plan executes. A member that is missing is
	// taken to run anything; planners that run no code of the repository give
	// the zero value.
	Code map[string]terraform.RunsCode
}

// Status says whether a member may apply without an approval of its own.
type Status string

// The verdicts on a member.
const (
	Covered     Status = "covered"
	Uncovered   Status = "uncovered"
	NothingToDo Status = "nothing"
)

// Verdict is one member's coverage.
type Verdict struct {
	Member string
	Status Status
	By     *Merge // the merge whose approval covers it; nil unless Covered by one
	Reason string // why it is uncovered, for people; empty otherwise
}

// Report is the coverage of every member of a plan, in the plan's order.
type Report struct{ Members []Verdict }

// Uncovered are the members that need an approval of their own.
func (r Report) Uncovered() []Verdict {
	var out []Verdict
	for _, v := range r.Members {
		if v.Status == Uncovered {
			out = append(out, v)
		}
	}
	return out
}

// Complete reports that every member is covered or has nothing to do.
func (r Report) Complete() bool { return len(r.Uncovered()) == 0 }

// Merge is one merge of the applied range whose plan was approved.
type Merge struct {
	PR       int
	Commit   string
	Op, Gate string
	Digest   digest.Digest // the approved document
	// Revoked: the approval no longer stands. The merge covers nothing and still
	// hides older approvals of the members it planned, so that taking back an
	// approval never covers more (soundness I14).
	Revoked bool
	Side
}

// ByMerges checks each member of the fresh plan against the newest merge whose
// approved document planned it (pr-loop §6.4). merges are newest first and hold
// only those that were recorded approved. nothing names the members of which the
// planner itself says that there is nothing to apply; see Nothing.
func ByMerges(merges []Merge, fresh Side, nothing map[string]bool) Report {
	var report Report
	newest, unread := newestOf(merges)
	for _, m := range fresh.Doc.Members {
		v := Verdict{Member: m.Member, Status: Uncovered}
		by, planned := newest[m.Member]
		switch {
		case Nothing(fresh.Doc, m.Member, nothing[m.Member]):
			v.Status = NothingToDo
		case planned:
			v.Status, v.By, v.Reason = byMerge(by, fresh, m.Member)
		case unread != nil: // whether it planned the member cannot be told
			v.Reason = fmt.Sprintf("the plan approved in #%d cannot be read", unread.PR)
		default:
			v.Reason = "no approved merge since the last apply planned it"
		}
		report.Members = append(report.Members, v)
	}
	return report
}

// newestOf is per member the newest merge that planned it, as far back as the merges
// can be read; unread is the first that cannot.
func newestOf(merges []Merge) (newest map[string]*Merge, unread *Merge) {
	newest = make(map[string]*Merge)
	for i := range merges {
		m := &merges[i]
		if m.Doc == nil {
			return newest, m
		}
		for k := range m.Doc.Members {
			name := m.Doc.Members[k].Member
			if newest[name] == nil {
				newest[name] = m
			}
		}
	}
	return newest, nil
}

func byMerge(m *Merge, fresh Side, member string) (Status, *Merge, string) {
	if m.Revoked {
		return Uncovered, nil, fmt.Sprintf("the approval of #%d, which planned it last, was revoked", m.PR)
	}
	if ok, reason := PlanCoveredBy(m.Side, fresh, member); !ok {
		return Uncovered, nil, reason
	}
	return Covered, m, ""
}

// UnderApproval checks each member of a plan whose own digest was approved while
// shown names the sources shown with it (SourcesHash; "" when the approval does
// not say). Under other sources an equal digest alone covers only what it tells
// completely (pr-loop §3.2, sources).
func UnderApproval(fresh Side, shown string, nothing map[string]bool) Report {
	approved := fresh
	if shown == "" || shown != SourcesHash(fresh.Sources) {
		approved.Sources = nil
	}
	return ByApproved(approved, fresh, nothing)
}

// ByApproved checks each member of a plan against one approved document.
func ByApproved(approved, fresh Side, nothing map[string]bool) Report {
	var report Report
	for _, m := range fresh.Doc.Members {
		v := Verdict{Member: m.Member, Status: NothingToDo}
		if !Nothing(fresh.Doc, m.Member, nothing[m.Member]) {
			ok, reason := PlanCoveredBy(approved, fresh, m.Member)
			v.Status, v.Reason = Uncovered, reason
			if ok {
				v.Status = Covered
			}
		}
		report.Members = append(report.Members, v)
	}
	return report
}

// Nothing reports that there is nothing to apply for a member (decision 15). The
// planner's own word is needed, since a plan may change outputs alone; a caller
// that knows of an unknown input of the member passes false.
func Nothing(doc *changeset.Document, member string, plannerSaysNothing bool) bool {
	m, ok := doc.Member(member)
	if !ok || !plannerSaysNothing || m.Status != changeset.Planned || m.PlanDigest == nil || m.Provisional || len(m.Holes) > 0 {
		return false
	}
	if len(doc.SideEffectsOf(member)) > 0 {
		return false
	}
	return !slices.ContainsFunc(doc.EntriesOf(member), changes)
}

// changes reports that an entry needs an approval: everything but reads and
// no-ops, and those too when they import.
func changes(e changeset.Entry) bool {
	return e.Importing || e.Action != changeset.Read && e.Action != changeset.NoOp
}

// SourcesHash is the hash of a sources map that a resolution carries, "" for an
// empty map, which equals no other.
func SourcesHash(sources map[string]string) string {
	if len(sources) == 0 {
		return ""
	}
	fields := make(map[string]digest.Value, len(sources))
	for member, source := range sources {
		fields[member] = digest.StringOf(source)
	}
	d, err := digest.Of("chant-sources", digest.ObjectOf(fields))
	if err != nil {
		return "" // only numbers can fail, and there are none
	}
	return d.String()
}
