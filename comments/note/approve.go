package note

import (
	"fmt"
	"slices"
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

// AskedFor is what the note asks an approval of: the plan, or the round or wave that
// waits; false for nothing, and where no approval would count.
func AskedFor(in Input) (op, gate string, d digest.Digest, ok bool) {
	r := in.Report
	if in.Ask.shut() != "" {
		return "", "", d, false
	}
	if needsApproval(in) {
		return r.Op, r.Gate, r.Digest, true
	}
	a, ok := waitingAt(r)
	return a.op, a.gate, a.digest, ok
}

// needsApproval reports whether the report's own digest is to be approved.
func needsApproval(in Input) bool {
	r := in.Report
	switch r.Status {
	case report.Planned:
		return !in.NothingDue && missing(in) > 0
	case report.Refused:
		return r.Refusal == report.NotApproved || r.Refusal == report.PlanChanged || r.Refusal == report.NotAReviewer
	}
	return false
}

// approveBlock is the line to copy, who may and did approve, and what follows.
func approveBlock(in Input) string {
	r := in.Report
	var b strings.Builder
	if needsApproval(in) && !r.Digest.IsZero() {
		b.WriteString(in.toApprove(exactly, ApproveLine(r.Op, r.Gate, r.Digest)))
		if in.Ask.shut() == "" {
			b.WriteString(CoversNothing(holesOf(r)))
		}
		if r.Approval.Status == report.Approved && len(r.Approval.ApprovedBy) > 0 {
			fmt.Fprintf(&b, "Approved by %s; %s missing.\n", nameList(people(r.Approval.ApprovedBy), 10), plural(missing(in), "approval"))
		}
		if r.Approval.Status == report.Changed && r.Approval.Approved != nil {
			fmt.Fprintf(&b, "Another plan was approved before: %s. That approval does not count for this one.\n", shortDigest(r.Approval.Approved.Short()))
		}
	} else if r.Approval.Status == report.Approved && len(r.Approval.ApprovedBy) > 0 && r.Status == report.Planned {
		fmt.Fprintf(&b, "Approved by %s. To take it back, comment %s.\n", nameList(people(r.Approval.ApprovedBy), 10), Inline(strings.TrimSpace("chant revoke "+r.Op+" "+r.Gate)))
	}
	if r.Stage == report.Plan && r.Status == report.Planned && !in.NothingDue && in.Ask.shut() == "" {
		b.WriteString("\n" + follows(in) + "\n")
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	return b.String()
}

// exactly is what the line of the whole plan approves.
const exactly = "exactly this plan"

// toApprove is the line to copy, who may and what follows; nothing where nobody can.
func (in Input) toApprove(what, line string) string {
	if in.Ask.shut() != "" {
		return ""
	}
	then := ""
	if in.Then != "" {
		then = " " + Text(in.Then)
	}
	return "To approve " + what + ", comment or review with:\n\n" + Fence("", line) + "\n" + needs(in.Ask) + then + "\n"
}

// shut says why no approval can open the gate as things are, and what makes it one
// that opens; "" where somebody can.
func (a Ask) shut() string {
	if len(a.Unenforced) > 0 {
		return "Nothing can be approved here, as the declaration asks for what this version does not enforce: " + nameList(a.Unenforced, 20) + ". Use a version that does, or take it out of the declaration on the base branch."
	}
	for _, who := range a.Approvers {
		if strings.Contains(who, "/") || !slices.Contains(a.Excluded, who) { // of a team nobody is looked up
			return ""
		}
	}
	if len(a.Approvers) == 0 {
		return ""
	}
	return "Nobody can approve this: only " + nameList(handles(a.Approvers), 10) + " may here, and wrote the change. Name one more approver in the declaration on the base branch."
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

// holesOf are the members that read what has no value yet, of so many.
func holesOf(r report.Report) (holes []string, members int) {
	for _, m := range r.Members {
		if len(m.UnknownInputs) > 0 {
			holes = append(holes, m.Member)
		}
	}
	return holes, len(r.Members)
}

// CoversNothing says of which members an approval of the plan covers nothing, "" for
// none: a later plan of a hole is never covered (pr-loop §8.1).
func CoversNothing(holes []string, members int) string {
	if len(holes) == 0 {
		return ""
	}
	alone := ""
	if len(holes) == members {
		alone = ", so it lets nothing apply"
	}
	return "An approval of this plan covers nothing of " + nameList(holes, 10) + alone +
		": what reads a value that is not there yet is planned once it is, and needs an approval of its own then.\n"
}

func follows(in Input) string {
	if in.ApplyOnMerge {
		return "Merging deploys nothing; once the merge is green it applies if this approval covers what is planned then."
	}
	return "Merging deploys nothing; it records the plan and this approval for a release."
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
