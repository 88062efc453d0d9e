package note

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/report"
)

// head is everything above the names: heading, counts, where the plan was made
// and what has to be said before anything else.
func head(in Input) string {
	r := in.Report
	var b strings.Builder
	fmt.Fprintf(&b, "### %s\n\n%s%s\n", heading(in), weightLine(in), placeLine(in))
	for _, n := range notices(in) {
		b.WriteString("\n> " + n + "\n")
	}
	if r.Resumed != nil && len(r.Resumed.Applied) > 0 {
		b.WriteString("\nAn earlier attempt applied " + nameList(r.Resumed.Applied, 20) + "; only the rest ran.\n")
	}
	b.WriteString(errorBlocks(r))
	if r.Status == report.PlanFailed && in.Again != "" {
		b.WriteString("\n> " + Text(in.Again) + "\n")
	}
	b.WriteString("\n")
	if a, ok := waitingAt(r); ok {
		b.WriteString(a.block(in) + "**The apply as first planned**: " + countsLine(r) + "\n\n")
	}
	return b.String()
}

// heading is the verdict and who must act next, in one line.
func heading(in Input) string {
	r := in.Report
	where := " for " + Inline(r.Env)
	if r.Member != "" {
		where += " in member " + Inline(r.Member)
	}
	return fmt.Sprintf("chant %s%s: %s", stageWord(r.Stage), where, verdict(in))
}

func stageWord(s report.Stage) string {
	if s == report.Apply {
		return "apply"
	}
	return "plan"
}

func verdict(in Input) string {
	r := in.Report
	switch r.Status {
	case report.Planned:
		return plannedVerdict(in)
	case report.PlanFailed:
		if n := count(r, report.MemberPlanFailed); n > 0 {
			return fmt.Sprintf("%d of %s did not plan", n, plural(len(r.Members), "member"))
		}
		return "could not be planned"
	case report.Nothing:
		if len(r.Members) == 0 {
			return "nothing to " + stageWord(r.Stage)
		}
		return "nothing to apply"
	case report.Applied:
		return "applied" + under(r)
	case report.Failed:
		return fmt.Sprintf("%d of %s failed", count(r, report.MemberFailed)+count(r, report.MemberPlanFailed), plural(len(r.Members), "member"))
	case report.Waiting:
		return waitsAt(in)
	case report.Refused:
		return refusedVerdict(in)
	}
	return "in progress"
}

func plannedVerdict(in Input) string {
	switch {
	case in.NothingDue:
		return "nothing to apply, no approval needed"
	case in.Report.Approval.Status == report.Approved && missing(in) == 0:
		return "approved" + by(in)
	case in.Report.Approval.Status == report.Changed:
		return "the plan changed after review, " + wanted(in)
	}
	return wanted(in)
}

func refusedVerdict(in Input) string {
	r := in.Report
	switch r.Refusal {
	case report.NotApproved:
		return wanted(in) + " at " + Inline(r.Op)
	case report.PlanChanged:
		return "the plan changed after review, " + wanted(in)
	case report.NotAReviewer:
		return "the approval does not count, " + wanted(in)
	case report.NoPullRequest:
		return "refused, no pull request merged this commit"
	case report.NotGreen:
		return "refused, the commit is not green"
	}
	return "refused"
}

// waitsAt names the first gate a started apply waits at.
func waitsAt(in Input) string {
	if a, ok := waitingAt(in.Report); ok {
		return a.name + " " + wanted(in) + " at " + Inline(a.gate)
	}
	return wanted(in)
}

// wanted says how many approvals are missing, and from whom.
func wanted(in Input) string {
	if in.Ask.shut() != "" {
		return "cannot be approved yet"
	}
	s := "waits for " + plural(max(1, missing(in)), "approval")
	if len(in.Ask.Approvers) > 0 {
		s += " from " + nameList(handles(in.Ask.Approvers), 3)
	}
	return s
}

func missing(in Input) int {
	if in.Report.Approval.Status != report.Approved {
		return max(1, in.Ask.MinApprovals)
	}
	return max(0, max(1, in.Ask.MinApprovals)-len(in.Report.Approval.ApprovedBy))
}

func by(in Input) string {
	if who := approvers(in.Report); len(who) > 0 {
		return " by " + nameList(people(who), 3)
	}
	return ""
}

// under says whose approvals an apply ran under.
func under(r report.Report) string {
	switch who := approvers(r); {
	case len(who) > 0:
		return ", approved by " + nameList(people(who), 3)
	case r.Green != nil:
		return " under the merges' approvals"
	}
	return ""
}

// approvers are who approved the plan, a round of its apply or a wave.
func approvers(r report.Report) []string {
	who := slices.Clone(r.Approval.ApprovedBy)
	for _, round := range r.Rounds {
		who = append(who, round.ApprovedBy...)
	}
	for _, w := range r.Waves {
		who = append(who, w.ApprovedBy...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(who, func(principal string) bool {
		twice := seen[principal]
		seen[principal] = true
		return twice
	})
}

// weightLine is the weight of what is asked for: of the round or wave that waits, else
// of the whole plan; "" where there is nothing to weigh.
func weightLine(in Input) string {
	a, ok := waitingAt(in.Report)
	if !ok {
		if len(in.Report.Members) == 0 {
			return ""
		}
		return countsLine(in.Report) + "\n"
	}
	plan, known := in.askedAt(a.gate, a.digest)
	if !known {
		return "plan " + Inline(a.digest.Short()) + "\n"
	}
	return countsLine(plan) + "\n"
}

// countsLine is the weight of a plan on one line; destroys and replacements
// are always named, also when there are none.
func countsLine(r report.Report) string {
	t := changes.Count(r.ChangeSet)
	tense := []string{"to destroy", "to replace", "to forget", "to create", "to update", "to import"}
	if r.Status == report.Applied {
		tense = []string{"destroyed", "replaced", "forgotten", "created", "updated", "imported"}
	}
	var parts []string
	waiting := waitingMembers(r)
	heavy := "nothing " + tense[0] + " or " + strings.TrimPrefix(tense[1], "to ")
	if waiting > 0 {
		heavy = "nothing known to destroy or replace"
	}
	if t.Delete+t.Replace > 0 {
		heavy = fmt.Sprintf("**%d %s, %d %s**", t.Delete, tense[0], t.Replace, tense[1])
	}
	parts = append(parts, heavy)
	if t.Forget > 0 {
		parts = append(parts, fmt.Sprintf("**%d %s**", t.Forget, tense[2]))
	}
	if t == (changes.Totals{}) {
		parts = append(parts, "no change in "+plural(len(r.Members), "member"))
	} else {
		parts = append(parts, fmt.Sprintf("%d %s, %d %s in %s", t.Create, tense[3], t.Update, tense[4], changed(r)))
	}
	if t.Import > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", t.Import, tense[5]))
	}
	if waiting > 0 && waiting == len(r.Members) {
		parts = []string{"nothing planned yet"}
	}
	if waiting > 0 {
		parts = append(parts, plural(waiting, "member")+" "+waits(waiting))
	}
	if code := codeSummary(r); code != "" {
		parts = append(parts, "runs code: "+code)
	}
	if !r.Digest.IsZero() {
		parts = append(parts, "plan "+Inline(r.Digest.Short()))
	}
	return strings.Join(parts, " · ")
}

// changed says in how many of the members anything changes.
func changed(r report.Report) string {
	if r.ChangeSet == nil {
		return plural(len(r.Members), "member")
	}
	with := map[string]bool{}
	for _, e := range r.ChangeSet.Entries {
		if changes.Changing(e) {
			with[e.Member] = true
		}
	}
	if len(with) >= len(r.Members) {
		return plural(len(r.Members), "member")
	}
	return fmt.Sprintf("%d of %s", len(with), plural(len(r.Members), "member"))
}

// waits is said of so many members that read what is not there yet.
func waits(members int) string {
	if members == 1 {
		return "waits for a value"
	}
	return "wait for a value"
}

func placeLine(in Input) string {
	r := in.Report
	var b strings.Builder
	if r.Stage == report.Apply && r.Green != nil {
		fmt.Fprintf(&b, "Green commit %s, with all that came since %s", sha(r.Head), sha(r.Base))
	} else {
		fmt.Fprintf(&b, "Head %s", sha(r.Head))
		switch {
		case in.BaseTip != "" && in.BaseBranch != "":
			fmt.Fprintf(&b, " merged into %s at %s", Inline(in.BaseBranch), sha(in.BaseTip))
		case r.Base != "":
			fmt.Fprintf(&b, ", base %s", sha(r.Base))
		}
	}
	if !in.At.IsZero() {
		fmt.Fprintf(&b, ", %s %s UTC", pastStage(r), in.At.UTC().Format("2006-01-02 15:04"))
	}
	if l := link("run page", in.RunURL); l != "" {
		b.WriteString(" · " + l)
	}
	return b.String()
}

func pastStage(r report.Report) string {
	if r.Stage == report.Apply && (r.Status == report.Applied || r.Status == report.Failed || r.Status == report.Waiting) {
		return "applied"
	}
	return "planned"
}

// notices are sentences that change how the rest is to be read, one each.
func notices(in Input) []string {
	r := in.Report
	var out []string
	// A refusal for want of approval says nothing that the verdict, the table
	// and the line to copy do not, nor one for a rule that is not enforced.
	if r.Message != "" && r.Refusal != report.NotApproved && r.Message != report.NotEnforcedMessage(in.Ask.Unenforced) {
		out = append(out, shortenText(r.Message, 1500))
	}
	if in.BaseMoved != "" {
		out = append(out, fmt.Sprintf("%s moved to %s since. This plan still counts; comment %s for a new one. The apply plans again in any case.",
			Inline(in.BaseBranch), sha(in.BaseMoved), Inline("chant plan")))
	}
	if len(in.TrustChanged) > 0 {
		out = append(out, "This pull request changes who decides: "+nameList(in.TrustChanged, 20)+". It was planned and is approved under the rules of the base branch; the change counts once it merged.")
	}
	if g := r.Green; g != nil && r.Stage == report.Apply {
		out = append(out, coverage(r), carries(g))
	}
	if _, later := waitingAt(r); later || needsApproval(in) {
		if why := in.Ask.shut(); why != "" {
			out = append(out, why)
		}
	}
	for _, w := range in.Warnings[:min(len(in.Warnings), 10)] {
		out = append(out, "Warning: "+shortenText(w, 500))
	}
	return out
}

// coverage counts the members with changes by what let them apply: the merges'
// approvals, the gate of the commit, or a round or wave of theirs.
func coverage(r report.Report) string {
	var later tally
	decided := map[string]bool{}
	for _, m := range r.Members {
		if l, asked := r.LaterOf(m); asked && l.Status != report.WaveWaiting {
			later.add(l.Name, m.Member)
			decided[m.Member] = true
		}
	}
	merges, gate, due := 0, 0, 0
	for _, c := range r.Green.Cover {
		due += one(c.Status != report.NothingDue)
		if c.Status == report.Covered && !decided[c.Member] {
			merges += one(c.By != nil || len(r.Approval.ApprovedBy) == 0)
			gate += one(c.By == nil && len(r.Approval.ApprovedBy) > 0)
		}
	}
	s := fmt.Sprintf("%d of %s with changes covered by the merges' approvals", merges, plural(due, "member"))
	if gate > 0 {
		s = fmt.Sprintf("%d of %s with changes approved at %s", gate, plural(due, "member"), Inline(r.Op))
	}
	for _, name := range later.words {
		s += fmt.Sprintf(", %d approved at %s", len(later.names[name]), name)
	}
	return s + "."
}

func carries(g *report.Green) string {
	const shown = 20
	var parts []string
	for _, m := range g.Merges[:min(len(g.Merges), shown)] {
		name := sha(m.Commit)
		if m.PR != nil {
			name = prName(*m.PR)
		}
		switch {
		case m.PR == nil:
			name += " (no pull request)"
		case m.Approved == nil:
			name += " (not approved)"
		default:
			name += " (approved by " + nameList(people(m.ApprovedBy), 3) + ")"
		}
		parts = append(parts, name)
	}
	if rest := len(g.Merges) - shown; rest > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", rest))
	}
	if len(parts) == 0 {
		return "Carries no merges since the last apply."
	}
	return "Carries " + strings.Join(parts, ", ") + "."
}

// errorBlocks shows why members failed: unfolded, the first few in full.
func errorBlocks(r report.Report) string {
	const shown, longest = 5, 1500
	var b strings.Builder
	n := 0
	for _, m := range r.Members {
		if m.Error == "" {
			continue
		}
		if n++; n > shown {
			continue
		}
		fmt.Fprintf(&b, "\n%s failed:\n\n%s", Inline(m.Member), Fence("", shorten(visible(m.Error), longest)))
	}
	if n > shown {
		fmt.Fprintf(&b, "\nand %s more, on the run page.\n", plural(n-shown, "error"))
	}
	return b.String()
}
