package note

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
)

// rowSet is a table whose rows may be left out from the end.
type rowSet struct {
	header, noun, runURL string
	rows                 []string
}

// render keeps as many rows as fit and counts the rest. With no room at all it
// is one sentence.
func (s rowSet) render(budget int) string {
	if len(s.rows) == 0 {
		return ""
	}
	all := length(s.header) + 1
	for _, r := range s.rows {
		all += length(r)
	}
	if all <= budget {
		return s.header + strings.Join(s.rows, "") + "\n"
	}
	where := ""
	if l := link("run page", s.runURL); l != "" {
		where = ", on the " + l
	}
	closing := func(rest int) string {
		return fmt.Sprintf("\nand %s more%s\n\n", plural(rest, s.noun), where)
	}
	budget -= length(s.header) + length(closing(len(s.rows)))
	kept := 0
	for kept < len(s.rows) && length(s.rows[kept]) <= budget {
		budget -= length(s.rows[kept])
		kept++
	}
	if kept == 0 {
		return plural(len(s.rows), s.noun) + where + "\n\n"
	}
	return s.header + strings.Join(s.rows[:kept], "") + closing(len(s.rows)-kept)
}

// manyIdle is from how many on members without a change are folded away: of an estate
// of hundreds a change reaches, few change.
const manyIdle = 6

// memberRows is a row for each member; idle are those without a change, where they are
// many.
func memberRows(in Input) (set rowSet, idle foldedPart) {
	r := in.Report
	set = rowSet{noun: "member", runURL: in.RunURL}
	apply := r.Stage == report.Apply
	set.header = "| wave | member | create | update | replace | destroy | |\n|---:|---|---:|---:|---:|---:|---|\n"
	if apply {
		set.header = "| wave | member | status | create | update | replace | destroy | covered by |\n|---:|---|---|---:|---:|---:|---:|---|\n"
	}
	wave := map[string]int{}
	for i, components := range r.Selection.Waves {
		for _, c := range components {
			wave[c] = i + 1
		}
	}
	members := slices.Clone(r.Members)
	slices.SortStableFunc(members, func(a, b report.Member) int {
		return cmp.Or(cmp.Compare(wave[a.Component], wave[b.Component]), cmp.Compare(a.Member, b.Member))
	})
	without := slices.DeleteFunc(slices.Clone(members), func(m report.Member) bool { return !isIdle(r, m) })
	if len(without) < manyIdle {
		without = nil
	}
	for _, m := range members {
		if len(without) > 0 && isIdle(r, m) {
			continue
		}
		number := "–"
		if w := wave[m.Component]; w > 0 {
			number = fmt.Sprint(w)
		}
		status := ""
		if apply {
			status = " " + statusOf(r, m) + " |"
		}
		set.rows = append(set.rows, fmt.Sprintf("| %s | %s |%s %s | %s |\n", number, Inline(m.Member), status, countCells(in, m), remarks(in, m)))
	}
	return set, idlePart(without)
}

// isIdle tells that nothing of a member changes, and nothing is to be said of it.
func isIdle(r report.Report, m report.Member) bool {
	if m.PlanDigest == nil || m.Counts != (report.Counts{}) || len(m.UnknownInputs) > 0 || holeRemark(r, m) != "" {
		return false
	}
	if m.Status != report.MemberPlanned && m.Status != report.MemberApplied {
		return false
	}
	if _, asked := r.LaterOf(m); asked {
		return false
	}
	if c, ok := coverOf(r, m); ok && c.Status != report.NothingDue {
		return false
	}
	return r.ChangeSet == nil || !slices.ContainsFunc(r.ChangeSet.EntriesOf(m.Member), changes.Changing)
}

func idlePart(idle []report.Member) foldedPart {
	const perBlock = 50
	blocks := slices.Collect(slices.Chunk(memberNames(idle), perBlock))
	return foldedPart{
		summary: plural(len(idle), "member") + " without a change",
		noun:    "list of members without a change",
		n:       len(blocks),
		block:   func(i int) string { return nameList(blocks[i], perBlock) + "\n" },
	}
}

// statusOf is a member's status in an apply; one that had nothing to apply was not
// changed by it.
func statusOf(r report.Report, m report.Member) string {
	if c, ok := coverOf(r, m); ok && c.Status == report.NothingDue && m.Status == report.MemberApplied {
		return "unchanged"
	}
	return statusWord(m.Status)
}

// countCells shows "?" where inputs were unknown: the counts would be a guess. What was
// planned again for a round or a wave has the counts of that.
func countCells(in Input, m report.Member) string {
	if later, asked := in.Report.LaterOf(m); asked {
		if plan, ok := in.askedAt(later.Gate, digest.Digest{}); ok {
			t := changes.Count(&changeset.Document{Entries: plan.ChangeSet.EntriesOf(m.Member)})
			return fmt.Sprintf("%d | %d | %d | %d", t.Create, t.Update, t.Replace, t.Delete)
		}
	}
	if len(m.UnknownInputs) > 0 {
		return "? | ? | ? | ?"
	}
	if m.PlanDigest == nil {
		return "– | – | – | –"
	}
	return fmt.Sprintf("%d | %d | %d | %d", m.Counts.Create, m.Counts.Update, m.Counts.Replace, m.Counts.Delete)
}

func statusWord(s report.MemberStatus) string {
	switch s {
	case report.MemberPlanned, report.MemberApplied, report.MemberFailed, report.MemberBlocked:
		return string(s)
	case report.MemberHeld:
		return "held back"
	case report.MemberPlanFailed:
		return "did not plan"
	}
	return Inline(string(s))
}

// remarks is the last cell of a member's row: coverage or why not, failures, what
// holds it, unknown inputs, holes and its group.
func remarks(in Input, m report.Member) string {
	r := in.Report
	_, asked := r.LaterOf(m)
	parts := []string{decidedRemark(r, m)}
	switch m.Status {
	case report.MemberPlanFailed:
		if r.Stage == report.Plan { // else its status says so
			parts = append(parts, "did not plan")
		}
	case report.MemberFailed:
		if m.Moved {
			parts = append(parts, "its target moved since the plan, nothing applied")
		}
	case report.MemberBlocked:
		if m.BlockedBy != "" {
			parts = append(parts, "blocked by "+Inline(m.BlockedBy)+", not run")
		}
	case report.MemberHeld:
		if m.BlockedBy != "" && !asked {
			parts = append(parts, "held back with "+Inline(m.BlockedBy))
		}
	}
	if !asked { // else it is planned again by then
		parts = append(parts, inputRemark(m))
	}
	parts = append(parts, holeRemark(r, m), groupRemark(r, m))
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// decidedRemark says who let a member apply, or why nobody did: its round or wave,
// else the coverage.
func decidedRemark(r report.Report, m report.Member) string {
	if later, asked := r.LaterOf(m); asked {
		if later.Status == report.WaveWaiting {
			return "waits at " + Inline(later.Gate)
		}
		return strings.TrimSuffix(later.Name+", "+nameList(people(later.ApprovedBy), 3), ", ")
	}
	if c, ok := coverOf(r, m); ok {
		return coverRemark(r, c)
	}
	return ""
}

func coverOf(r report.Report, m report.Member) (report.Cover, bool) {
	if r.Green == nil {
		return report.Cover{}, false
	}
	i := slices.IndexFunc(r.Green.Cover, func(c report.Cover) bool { return c.Member == m.Member })
	if i < 0 {
		return report.Cover{}, false
	}
	return r.Green.Cover[i], true
}

func coverRemark(r report.Report, c report.Cover) string {
	switch {
	case c.Status == report.NothingDue:
		return "nothing to apply"
	case c.Status == report.Uncovered:
		return "not covered: " + shortenText(c.Reason, 300)
	case c.By == nil && len(r.Approval.ApprovedBy) > 0:
		return Inline(r.Op) + ", " + nameList(people(r.Approval.ApprovedBy), 3)
	case c.By == nil:
		return "covered"
	}
	for _, m := range r.Green.Merges {
		if m.PR != nil && *m.PR == c.By.PR && len(m.ApprovedBy) > 0 {
			return prName(c.By.PR) + ", " + nameList(people(m.ApprovedBy), 3)
		}
	}
	return prName(c.By.PR)
}

// inputRemark says where unknown inputs come from, in the words of pr-loop §8.1.
func inputRemark(m report.Member) string {
	if len(m.UnknownInputs) == 0 {
		return ""
	}
	var from, outputs []string
	for _, u := range m.UnknownInputs {
		if !slices.Contains(from, u.From) {
			from = append(from, u.From)
		}
		outputs = append(outputs, u.From+"."+u.Output)
	}
	return fmt.Sprintf("inputs from %s; re-checked on apply (%s), needs its own approval then", nameList(from, 5), nameList(outputs, 5))
}

// holeRemark counts what the planner could not decide beside unknown inputs.
func holeRemark(r report.Report, m report.Member) string {
	if r.ChangeSet == nil {
		return ""
	}
	doc, ok := r.ChangeSet.Member(m.Member)
	if !ok {
		return ""
	}
	var parts []string
	for _, h := range doc.Holes {
		if h.Type != changeset.InputHole {
			parts = append(parts, Inline(h.Address)+" ("+shortenText(h.Reason, 120)+")")
		}
	}
	if len(parts) == 0 {
		return ""
	}
	const shown = 3
	n := len(parts)
	if n > shown {
		parts = append(parts[:shown:shown], fmt.Sprintf("and %d more", n-shown))
	}
	return fmt.Sprintf("%s not planned: %s", plural(n, "part"), strings.Join(parts, ", "))
}

// groupRemark names the few that a member is planned with; the groups' own rows name
// many.
func groupRemark(r report.Report, m report.Member) string {
	const few = 3
	for _, g := range r.Groups {
		if !slices.Contains(g.Members, m.Member) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(g.Members), func(other string) bool { return other == m.Member })
		if len(others) > few {
			return "in group " + Inline(g.Group)
		}
		if len(others) > 0 {
			return "planned with " + nameList(others, few) + " as one group"
		}
	}
	return ""
}
