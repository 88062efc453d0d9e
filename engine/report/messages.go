package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
)

// The sentences a report's message holds (pr-loop §5.7). Each says what was
// refused, why, and the one thing to do next. They carry text of others
// (reasons, names) as it is: whoever renders them makes it inert.

// CommentLine approves a plan from a comment or a review.
func CommentLine(op, gateName string, d digest.Digest) string {
	return fmt.Sprintf("chant approve %s %s --plan %s", op, gateName, d)
}

// CommandLine approves a plan from a shell. An empty principal stands as a
// placeholder; sign where the gate counts only sealed approvals.
func CommandLine(op, gateName string, d digest.Digest, principal string, sign bool) string {
	if principal == "" {
		principal = "<you>"
	}
	line := CommentLine(op, gateName, d) + " --approver " + principal
	if sign {
		line += " --sign"
	}
	return line
}

// PlanChangedMessage: an approval stands for another plan than the one made now.
func PlanChangedMessage(op, gateName string, approved, now digest.Digest, sign bool) string {
	return PlanChangedReason(approved, now) + " Read the new plan, and if it is right, approve it: " +
		CommandLine(op, gateName, now, "", sign) + "; then run the apply again."
}

// PlanChangedReason is the same without the line that approves, for who gives another.
func PlanChangedReason(approved, now digest.Digest) string {
	return fmt.Sprintf("The plan changed after review, so nothing was applied. approved: %s; planned now: %s.", shownDigest(approved), now)
}

// shownDigest names a digest, also the one an approval without a plan has.
func shownDigest(d digest.Digest) string {
	if d.IsZero() {
		return "(none: the approval names no plan)"
	}
	return d.String()
}

// NotEnforcedMessage: the gate asks for something this version cannot check.
func NotEnforcedMessage(unenforced []string) string {
	return fmt.Sprintf("Nothing was applied, since this version does not enforce: %s. Take the setting out, or use a version that enforces it.",
		strings.Join(unenforced, "; "))
}

// NotCoveredMessage: members of a green commit that no merge's approval covers.
func NotCoveredMessage(op, gateName string, now digest.Digest, c cover.Report, sign bool) string {
	return NotCoveredReason(c) + " Read the plan, and if it is right, approve all of it: " +
		CommandLine(op, gateName, now, "", sign) + "; then run the apply again."
}

// NotCoveredReason is the same without the line that approves, for who gives another.
func NotCoveredReason(c cover.Report) string {
	uncovered := c.Uncovered()
	reasons := make([]string, len(uncovered))
	for i, v := range uncovered {
		reasons[i] = v.Member + ": " + v.Reason
	}
	due := len(c.Members) // as the status counts them
	for _, v := range c.Members {
		if v.Status == cover.NothingToDo {
			due--
		}
	}
	return fmt.Sprintf("%d of %d members with changes are not covered by the approvals of the merges, so nothing was applied. %s.",
		len(uncovered), due, strings.Join(reasons, "; "))
}

// NotAReviewerMessage: the plan was approved, by people who do not count. One reason
// may hold for several approvals, and is said once.
func NotAReviewerMessage(refusals []gate.Refusal) string {
	var reasons []string
	for _, r := range refusals {
		if !slices.Contains(reasons, r.Reason) {
			reasons = append(reasons, r.Reason)
		}
	}
	return "The plan is approved, and no approval counts, so nothing was applied: " + strings.Join(reasons, "; ") + ". " + SomebodyElse
}

// SomebodyElse is the next step where an approval does not count.
const SomebodyElse = "Somebody whose approval counts has to approve the same plan."

// NotGreenMessage: the commit has no counting ci/green tag; why says more, such as
// that it was revoked.
func NotGreenMessage(commit, why string) string {
	return fmt.Sprintf("%s is not green, so nothing was applied: %s.", commit, why)
}

// PlanFailedMessage: members that failed to plan, so nothing was applied.
func PlanFailedMessage(members []Member) string {
	var names []string
	for _, m := range members {
		if m.Status == MemberPlanFailed {
			names = append(names, m.Member)
		}
	}
	return fmt.Sprintf("%s failed to plan, so nothing was applied.", strings.Join(names, ", "))
}
