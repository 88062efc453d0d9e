package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/report"
)

// WeightOf counts a change set; nil counts as empty.
func WeightOf(doc *changeset.Document) Weight {
	t := changes.Count(doc)
	return Weight{Destroy: t.Delete, Replace: t.Replace, Forget: t.Forget, Create: t.Create, Update: t.Update, Import: t.Import}
}

// MembersOf are the rows of a report's members, by wave and name.
func MembersOf(r report.Report) []Member {
	wave := map[string]int{}
	for i, components := range r.Selection.Waves {
		for _, c := range components {
			wave[c] = i + 1
		}
	}
	rows := make([]Member, 0, len(r.Members))
	for _, m := range r.Members {
		row := Member{Wave: wave[m.Component], Name: m.Member, Component: m.Component, Status: string(m.Status), Unknown: len(m.UnknownInputs) > 0,
			Create: m.Counts.Create, Update: m.Counts.Update, Replace: m.Counts.Replace, Delete: m.Counts.Delete, Error: m.Error}
		row.Remark = remark(r, m)
		rows = append(rows, row)
	}
	slices.SortStableFunc(rows, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Wave, b.Wave), cmp.Compare(a.Name, b.Name))
	})
	return rows
}

// by says what became of a member through another (pr-loop §7.3).
func by(status, root string) string {
	switch {
	case root == "":
		return status
	case status == string(report.MemberBlocked):
		return "blocked by " + root + ", not run"
	}
	return status + " by " + root
}

func remark(r report.Report, m report.Member) string {
	var parts []string
	later, asked := r.LaterOf(m)
	switch {
	case asked && later.Status == report.WaveWaiting:
		parts = append(parts, "waits at "+later.Gate)
	case asked:
		parts = append(parts, later.Name+", approved by "+strings.Join(later.ApprovedBy, ", "))
	default:
		parts = append(parts, covered(r, m)...)
	}
	if m.BlockedBy != "" && (!asked || m.Status != report.MemberHeld) {
		parts = append(parts, by(string(m.Status), m.BlockedBy))
	}
	if m.Moved {
		parts = append(parts, "its target moved since the plan, nothing applied")
	}
	if !asked { // it is planned again by then
		for _, u := range m.UnknownInputs {
			parts = append(parts, "inputs from "+u.From+"; re-checked on apply ("+u.From+"."+u.Output+")")
		}
	}
	return strings.Join(parts, "; ")
}

// covered says which approval covers a member, or why none does.
func covered(r report.Report, m report.Member) []string {
	if r.Green == nil {
		return nil
	}
	for _, c := range r.Green.Cover {
		switch {
		case c.Member != m.Member:
		case c.Status == report.Uncovered:
			return []string{"not covered: " + c.Reason}
		case c.Status == report.NothingDue:
			return []string{"nothing to apply"}
		case c.By != nil:
			return []string{fmt.Sprintf("covered by #%d", c.By.PR)}
		}
	}
	return nil
}

// ApprovalsOf are the merges of a green apply and the members each covers.
func ApprovalsOf(r report.Report, prURL func(pr int) string) []Approval {
	if r.Green == nil {
		return nil
	}
	var out []Approval
	for _, m := range r.Green.Merges {
		a := Approval{Commit: m.Commit, ApprovedBy: m.ApprovedBy}
		if m.PR != nil {
			a.PR, a.PRURL = *m.PR, prURL(*m.PR)
			for _, c := range r.Green.Cover {
				if c.By != nil && c.By.PR == *m.PR {
					a.Covers = append(a.Covers, c.Member)
				}
			}
		}
		if m.Approved != nil {
			a.Digest = m.Approved.String()
		}
		out = append(out, a)
	}
	return out
}

// NamedOf lists what a report's plan destroys, replaces or forgets, and what runs
// code.
func NamedOf(r report.Report) []Named { return NamedIn(r.ChangeSet, r.RunsCode) }

// NamedIn is NamedOf of one document; runs is by member.
func NamedIn(doc *changeset.Document, runs map[string]report.RunsCode) []Named {
	var out []Named
	if doc != nil {
		for _, e := range doc.Entries {
			switch e.Action {
			case changeset.Delete:
				out = append(out, Named{What: "destroy", Name: changes.Name(e), Member: e.Member})
			case changeset.Replace:
				out = append(out, Named{What: "replace", Name: changes.Name(e), Member: e.Member, Extra: forced(e)})
			case changeset.Forget:
				out = append(out, Named{What: "forget", Name: changes.Name(e), Member: e.Member})
			}
		}
	}
	for _, member := range slices.Sorted(maps.Keys(runs)) {
		c := runs[member]
		for _, p := range c.Provisioners {
			out = append(out, Named{What: "runs code", Name: p.Address, Member: member, Extra: "provisioner " + p.Type})
		}
		for _, address := range c.External {
			out = append(out, Named{What: "runs code", Name: address, Member: member, Extra: "external data source"})
		}
		if c.ProviderConfigChanged {
			out = append(out, Named{What: "changed", Name: "provider configuration", Member: member})
		}
		if c.BackendChanged {
			out = append(out, Named{What: "changed", Name: "backend", Member: member})
		}
	}
	return out
}

func forced(e changeset.Entry) string {
	if paths := changes.Forcing(e); len(paths) > 0 {
		return strings.Join(paths, ", ") + " forces it"
	}
	return ""
}

// maxChanges keeps a page of a very large plan readable; the filter finds the
// rest.
const maxChanges = 1000

// PlanOf shows a change set by member, in document order. With a query only
// changes whose name, type, action or attribute paths hold it, whatever the
// case, and of the members only those with one. It returns how many changes match
// and how many there are; the first 1000 that match are in members.
func PlanOf(doc *changeset.Document, query string) (members []PlanMember, found, total int) {
	if doc == nil {
		return nil, 0, 0
	}
	query = strings.ToLower(strings.TrimSpace(query))
	index := map[string]int{}
	for _, m := range doc.Members {
		index[m.Member] = len(members)
		pm := PlanMember{Name: m.Member, Status: string(m.Status), Error: m.Error}
		if m.PlanDigest != nil {
			pm.Digest = m.PlanDigest.String()
		}
		for _, h := range m.Holes {
			pm.Holes = append(pm.Holes, Hole{Address: h.Address, Reason: h.Reason})
		}
		members = append(members, pm)
	}
	for _, s := range doc.SideEffects {
		if i, ok := index[s.Member]; ok {
			members[i].SideEffects = append(members[i].SideEffects, Named{What: "triggers", Name: s.Address, Extra: s.Trigger})
		}
	}
	for _, e := range doc.Entries {
		i, ok := index[e.Member]
		if !ok || !changes.Changing(e) {
			continue
		}
		total++
		if !matches(e, query) {
			continue
		}
		if found++; found > maxChanges {
			continue
		}
		members[i].Changes = append(members[i].Changes, changeOf(e))
	}
	if query != "" {
		members = keepFound(members)
	}
	return members, found, total
}

func changeOf(e changeset.Entry) Change {
	c := Change{Action: string(e.Action), Symbol: changes.Symbol(e), Name: changes.Name(e), Import: e.Importing}
	for _, a := range e.Attributes {
		c.Lines = append(c.Lines, changes.Attribute(a)...)
	}
	return c
}

func matches(e changeset.Entry, query string) bool {
	if query == "" {
		return true
	}
	words := []string{e.Member, changes.Name(e), e.Type, string(e.Action)}
	for _, a := range e.Attributes {
		words = append(words, a.Path)
	}
	for _, w := range words {
		if strings.Contains(strings.ToLower(w), query) {
			return true
		}
	}
	return false
}

func keepFound(members []PlanMember) []PlanMember {
	var kept []PlanMember
	for _, m := range members {
		if len(m.Changes) > 0 {
			kept = append(kept, m)
		}
	}
	return kept
}
