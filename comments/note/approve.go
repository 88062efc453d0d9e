package note

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/report"
)

// ApproveLine is the line to copy that approves exactly one digest at one gate.
// It is empty without a digest.
func ApproveLine(op, gate string, d digest.Digest) string {
	if d.IsZero() {
		return ""
	}
	return report.CommentLine(op, gate, d)
}

func approveLine(in Input) string {
	line := ApproveLine(in.Report.Op, in.Report.Gate, in.Report.Digest)
	if line != "" && in.Ask.Sealed {
		line += " --sign"
	}
	return line
}

// needsApproval reports whether somebody can approve the report's own digest now.
func needsApproval(in Input) bool {
	r := in.Report
	if len(in.Ask.Unenforced) > 0 {
		return false
	}
	switch r.Status {
	case report.Planned:
		return !in.NothingDue && missing(in) > 0
	case report.Refused:
		return r.Refusal == report.NotApproved || r.Refusal == report.PlanChanged || r.Refusal == report.NotAReviewer
	}
	return false
}

// approveBlock is the line to copy, who may and did approve, what follows, and
// the same for every wave and round that waits.
func approveBlock(in Input) string {
	r := in.Report
	var b strings.Builder
	if needsApproval(in) && !r.Digest.IsZero() {
		b.WriteString(copyBlock("exactly this plan", approveLine(in), in.Ask.Sealed))
		b.WriteString(needs(in.Ask) + "\n")
		if r.Approval.Status == report.Approved && len(r.Approval.ApprovedBy) > 0 {
			fmt.Fprintf(&b, "Approved by %s; %s missing.\n", nameList(people(r.Approval.ApprovedBy), 10), plural(missing(in), "approval"))
		}
		if r.Approval.Status == report.Changed && r.Approval.Approved != nil {
			fmt.Fprintf(&b, "Another plan was approved before: %s. That approval does not count for this one.\n", shortDigest(r.Approval.Approved.Short()))
		}
	} else if r.Approval.Status == report.Approved && len(r.Approval.ApprovedBy) > 0 && r.Status == report.Planned {
		fmt.Fprintf(&b, "Approved by %s. To take it back, comment %s.\n", nameList(people(r.Approval.ApprovedBy), 10), Inline(strings.TrimSpace("chant revoke "+r.Op+" "+r.Gate)))
	}
	if r.Stage == report.Plan && r.Status == report.Planned && !in.NothingDue {
		b.WriteString("\n" + follows(in) + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String() + waves(in) + rounds(in)
}

func copyBlock(what, line string, sealed bool) string {
	if sealed {
		return "Only a signed approval counts at this gate. To approve " + what + ", run:\n\n" + Fence("", line) + "\n"
	}
	return "To approve " + what + ", comment or review with:\n\n" + Fence("", line) + "\n"
}

// needs says who may approve and who may not.
func needs(a Ask) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Needs %d", max(1, a.MinApprovals))
	if len(a.Approvers) > 0 {
		b.WriteString(" of " + nameList(handles(a.Approvers), 10))
	} else {
		b.WriteString(" of everyone with write permission")
	}
	if a.Review {
		b.WriteString(", with an approving review")
	}
	if len(a.Excluded) > 0 {
		b.WriteString(", not " + nameList(handles(a.Excluded), 10) + " (wrote the change)")
	}
	return b.String() + "."
}

func follows(in Input) string {
	if in.ApplyOnMerge {
		return "Merging deploys nothing; once the merge is green it applies if this approval covers what is planned then."
	}
	return "Merging deploys nothing; it records the plan and this approval for a release."
}

// waves is a row for each gated wave, and the line to copy for each that waits.
func waves(in Input) string {
	r := in.Report
	if len(r.Waves) == 0 {
		return ""
	}
	table := rowSet{noun: "wave", runURL: in.RunURL, header: "| wave | gate | status | approved by | plan |\n|---:|---|---|---|---|\n"}
	lines := ""
	for _, w := range r.Waves {
		under := nameList(people(w.ApprovedBy), 3)
		if under == "" && w.Via != "" {
			under = "the " + string(w.Via)
			if w.Via == report.ViaCoverage {
				under = "the approved plan, which covers it"
			}
		}
		table.rows = append(table.rows, fmt.Sprintf("| %d | %s | %s | %s | %s |\n", w.Wave, Inline(w.Gate), Text(string(w.Status)), under, digestCell(w.Digest)))
		if w.Status == report.WaveWaiting && length(lines) < 3000 {
			lines += copyBlock(fmt.Sprintf("wave %d", w.Wave), ApproveLine(w.Op, w.Gate, w.Digest), in.Ask.Sealed)
		}
	}
	return table.render(3000) + lines
}

func digestCell(d digest.Digest) string {
	if d.IsZero() {
		return "–"
	}
	return Inline(d.Short())
}

// rounds tells which members were held back and why, and how to approve their
// new plan.
func rounds(in Input) string {
	var b strings.Builder
	for _, r := range in.Report.Rounds[:min(len(in.Report.Rounds), 8)] {
		fmt.Fprintf(&b, "**Round %d** at %s, %s: held back, because what they read is not what they were planned with.\n\n", r.Round, Inline(r.Gate), Text(string(r.Status)))
		b.WriteString(reads(r))
		switch {
		case r.Status == report.WaveWaiting && !r.Digest.IsZero():
			b.WriteString("\n" + copyBlock(fmt.Sprintf("round %d", r.Round), ApproveLine(r.Op, r.Gate, r.Digest), in.Ask.Sealed))
		case len(r.ApprovedBy) > 0:
			b.WriteString("\nApproved by " + nameList(people(r.ApprovedBy), 10) + ".\n\n")
		default:
			b.WriteString("\n")
		}
	}
	if rest := len(in.Report.Rounds) - 8; rest > 0 {
		fmt.Fprintf(&b, "and %s more, on the run page.\n\n", plural(rest, "round"))
	}
	return b.String()
}

func reads(r report.Round) string {
	const shown = 5
	var b strings.Builder
	n := 0
	for _, m := range r.Members {
		if len(m.Reads) == 0 {
			if n++; n <= shown {
				fmt.Fprintf(&b, "- %s waits for one of them\n", Inline(m.Member))
			}
		}
		for _, read := range m.Reads {
			if n++; n <= shown {
				fmt.Fprintf(&b, "- %s reads %s: planned with %s, now %s\n", Inline(m.Member), Inline(read.From+"."+read.Output),
					known(read.Planned), known(read.Now))
			}
		}
	}
	if n > shown {
		fmt.Fprintf(&b, "- and %d more\n", n-shown)
	}
	return b.String()
}

func known(value string) string {
	if value == "" {
		return "a value not known yet"
	}
	return Inline(shorten(value, 80))
}

func unclaimed(r report.Report) string {
	var b strings.Builder
	if n := r.Selection.Unclaimed; len(n) > 0 {
		b.WriteString("Changed, and in no component, so not planned: " + nameList(n, 10) + ".\n\n")
	}
	if n := r.Selection.Indeterminate; len(n) > 0 {
		b.WriteString("Cannot be judged from the diff, so not planned: " + nameList(n, 10) + ".\n\n")
	}
	return b.String()
}

func footer(in Input) string {
	if !in.NotIsolated {
		return ""
	}
	return "\n**Not isolated**: this server runs plans without a wall around them; code of a pull request can reach what the server can.\n"
}
