package note

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/comments/redact"
	"github.com/chant-bot/chant/engine/report"
)

// The states of a commit status, as GitHub spells them.
const (
	Pending = "pending"
	Success = "success"
	Failure = "failure"
)

// Lengths a commit status may have, in code points.
const (
	MaxDescription = 140
	MaxContext     = 255
)

// Status is the commit status of a report (pr-loop §5.8): the decision stands
// in the first 60 characters, and the description has at most MaxDescription.
// A report that says neither done, refused nor waiting is pending.
func Status(r report.Report) (state, description string) {
	state, description = decide(r)
	return state, cut(description)
}

// BlockingStatus is the status of a plan whose env declares blockMerge: pending
// until an approval stands for its digest. nothingDue as in Input.
func BlockingStatus(r report.Report, nothingDue bool) (state, description string) {
	if r.Stage != report.Plan || r.Status != report.Planned || r.Approval.Status == report.Approved || nothingDue {
		return Status(r)
	}
	return Pending, cut("waits for approval of plan " + r.Digest.Short() + ": " + weight(r))
}

// PendingStatus is the status before there is a report: verb is "plan" or
// "apply", awaited the members still to come.
func PendingStatus(verb string, awaited []string) (state, description string) {
	if len(awaited) == 0 {
		return Pending, cut(verb + " is queued")
	}
	return Pending, cut(fmt.Sprintf("waits: %s still to %s: %s", plural(len(awaited), "member"), verb, strings.Join(awaited, ", ")))
}

func decide(r report.Report) (state, description string) {
	switch r.Status {
	case report.Planned:
		return Success, "planned: " + weight(r)
	case report.Nothing:
		if r.Stage == report.Apply {
			return Success, "nothing to apply"
		}
		return Success, "nothing to plan: no component is touched"
	case report.Applied:
		if len(r.Members) == 0 {
			return Success, "nothing to apply"
		}
		return Success, "applied: " + weight(r)
	case report.PlanFailed:
		return Failure, failedNames(r, "did not plan", report.MemberPlanFailed)
	case report.Failed:
		return Failure, failedNames(r, "failed", report.MemberFailed, report.MemberPlanFailed)
	case report.Refused:
		return refusedStatus(r)
	case report.Waiting:
		return Pending, waitingStatus(r)
	}
	var awaited []string
	for _, m := range r.Members {
		if m.Status == report.MemberPlanned || m.Status == "" {
			awaited = append(awaited, m.Member)
		}
	}
	return PendingStatus(stageWord(r.Stage), awaited)
}

// weight is what a plan does: members, changes, and what is lost.
func weight(r report.Report) string {
	t := changes.Count(r.ChangeSet)
	s := fmt.Sprintf("%s, %d to change, %d to destroy or replace", plural(len(r.Members), "member"), t.Create+t.Update+t.Replace, t.Delete+t.Replace)
	if r.Status == report.Applied {
		s = fmt.Sprintf("%s, %d changed, %d destroyed or replaced", plural(len(r.Members), "member"), t.Create+t.Update+t.Replace, t.Delete+t.Replace)
	}
	if n := waitingMembers(r); n > 0 {
		s += fmt.Sprintf(", %d %s", n, waits(n))
	}
	return s + planSuffix(r)
}

func planSuffix(r report.Report) string {
	if r.Digest.IsZero() {
		return ""
	}
	return ", plan " + r.Digest.Short()
}

func failedNames(r report.Report, how string, statuses ...report.MemberStatus) string {
	var names []string
	for _, m := range r.Members {
		if slices.Contains(statuses, m.Status) {
			names = append(names, m.Member)
		}
	}
	if len(names) == 0 {
		return "failed: " + oneLineOf(r.Message)
	}
	s := fmt.Sprintf("failed: %d of %s %s: %s", len(names), plural(len(r.Members), "member"), how, strings.Join(names, ", "))
	if n := count(r, report.MemberBlocked); n > 0 {
		s += fmt.Sprintf("; %d blocked", n)
	}
	return s + planSuffix(r)
}

func refusedStatus(r report.Report) (state, description string) {
	switch r.Refusal {
	case report.NotApproved:
		if r.Green == nil {
			return Pending, "waits for approval of plan " + r.Digest.Short() + " at " + r.Op
		}
		uncovered, due := 0, 0
		for _, c := range r.Green.Cover {
			uncovered += one(c.Status == report.Uncovered)
			due += one(c.Status != report.NothingDue)
		}
		return Pending, fmt.Sprintf("waits: %d of %s not covered, approval at %s%s", uncovered, plural(due, "member"), r.Op, planSuffix(r))
	case report.PlanChanged:
		s := "refused: the plan changed after review"
		if r.Approval.Approved != nil {
			s += ", approved " + r.Approval.Approved.Short()
		}
		return Failure, s + ", now " + r.Digest.Short()
	case report.NotAReviewer:
		return Failure, "refused: the approval does not count" + planSuffix(r)
	case report.NoPullRequest:
		return Failure, "refused: no pull request merged this commit"
	case report.NotGreen:
		return Failure, "refused: the commit is not green"
	}
	return Failure, "refused: " + oneLineOf(r.Message)
}

func waitingStatus(r report.Report) string {
	for _, w := range r.Waves {
		if w.Status == report.WaveWaiting {
			return fmt.Sprintf("waits: wave %d needs approval at %s, plan %s", w.Wave, w.Gate, w.Digest.Short())
		}
	}
	for _, round := range r.Rounds {
		if round.Status == report.WaveWaiting {
			return fmt.Sprintf("waits: %s held back, approval at %s, plan %s", plural(len(round.Members), "member"), round.Gate, round.Digest.Short())
		}
	}
	if r.Message != "" {
		return "waits: " + oneLineOf(r.Message)
	}
	return "waits for approval at " + r.Gate + planSuffix(r)
}

// WithHint ends a description in what to do about it, which is never cut off.
func WithHint(description, hint string) string {
	hint = "; " + hint
	s, room := []rune(oneLineOf(description)), MaxDescription-utf8.RuneCountInString(hint)
	if len(s) > room {
		s = append(s[:max(0, room-3)], []rune("...")...)
	}
	return cut(string(s) + hint)
}

func oneLineOf(s string) string { return strings.Join(strings.Fields(visible(redact.Text(s))), " ") }

// Description makes any text the description of a status: one inert line of at
// most MaxDescription code points.
func Description(s string) string { return cut(s) }

// cut makes a description one line of at most MaxDescription code points, never
// ending inside one.
func cut(s string) string {
	s = oneLineOf(s)
	if utf8.RuneCountInString(s) <= MaxDescription {
		return s
	}
	return string([]rune(s)[:MaxDescription-3]) + "..."
}

// Context cuts a status context to MaxContext code points. A cut one ends in a
// hash of the whole, so that two long names stay apart and a name is always cut
// the same way.
func Context(s string) string {
	if utf8.RuneCountInString(s) <= MaxContext {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	suffix := "-" + hex.EncodeToString(sum[:])[:12]
	return string([]rune(s)[:MaxContext-len(suffix)]) + suffix
}
