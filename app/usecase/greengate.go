package usecase

import (
	"context"
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// decideGate asks the green commit's own gate for the digest of the whole plan
// and, when it is not open, records that it waits (pr-loop §6.4, step 6).
func (st *Stage) decideGate(ctx context.Context, in ApplyInput, t Target, a *Apply, covered cover.Report) error {
	q, who, err := st.question(ctx, in.Site, a, Opened{Gate: t.Policy.Env.Gate, Digest: a.Report.Digest}, a.Set)
	if err != nil {
		return err
	}
	d, _, warning, err := decideOrWait(ctx, in.Site, t.Prefix, q, who, gate.DefaultTimeout, a.describe())
	if err != nil {
		return err
	}
	if warning != "" {
		a.Warnings = append(a.Warnings, warning)
	}
	if d.Satisfied {
		under := cover.UnderApproval(a.Set.Side(), d.Record.Sources, a.Set.Nothing())
		if !a.withoutHoles(under).Complete() {
			a.refuse(report.NotApproved, a.notUnderApproval(under, d.Record.Sources))
			a.Report.Green.Cover = coverRows(under)
			return nil
		}
		a.Report.Approval = report.Approval{Status: report.Approved, ApprovedBy: d.ApprovedBy}
		a.Report.Green.Cover = coverRows(under)
		if a.State, err = a.machine(a.Set, a.Report.Digest); err != nil {
			return err
		}
		a.allow(record.ViaGate, nil)
		a.Gates = []Opened{{Gate: q.Gate, Digest: q.Digest}}
		return nil
	}
	a.wait(d, covered)
	return nil
}

// greenRule excludes whoever wrote one of the pull requests the commit carries;
// the reviews were each pull request's own business (pr-loop §5.10). Who wrote a
// commit that has no record is not known, and nobody counts until it has one.
func (a *Apply) greenRule() *gate.ReviewRule {
	if !a.Policy.ReviewRules {
		return nil
	}
	var authors []string
	recorded := map[string]bool{}
	for _, m := range a.Merges {
		authors = append(authors, m.Authors...)
		recorded[m.Commit] = true
	}
	rule := authorsRule(authors)
	for _, m := range a.Report.Green.Merges {
		if !recorded[m.Commit] {
			rule.Unrecorded = append(rule.Unrecorded, project.Short(m.Commit))
		}
	}
	return rule
}

// wait says why the gate is shut and what opens it.
func (a *Apply) wait(d gate.Decision, covered cover.Report) {
	op, gateName, now := a.Op, a.Policy.Env.Gate, a.Report.Digest
	a.Report.Green.Approve = report.CommentLine(op, gateName, now)
	a.Report.Approval = report.Approval{Status: report.Pending}
	switch {
	case len(d.Unenforced) > 0:
		a.refuse(report.NotApproved, report.NotEnforcedMessage(d.Unenforced))
	case a.unrecorded() != "":
		a.refuse(report.NotApproved, "No approval counts yet, so nothing was applied: "+a.unrecorded()+". Then run the apply again.")
	case len(d.Refusals) > 0:
		a.refuse(report.NotAReviewer, report.NotAReviewerMessage(d.Refusals))
	case d.Mismatch != nil:
		approved := d.Mismatch.PlanDigest
		a.Report.Approval = report.Approval{Status: report.Changed, Approved: digestOrNil(approved)}
		a.shut = report.PlanChangedReason(approved, now)
		a.refuse(report.PlanChanged, report.PlanChangedMessage(op, gateName, approved, now, false))
	default:
		if a.shut = report.NotCoveredReason(covered); a.Release != nil {
			a.shut = "nobody approved it yet" // no merge's approval deploys anything here
		}
		a.refuse(report.NotApproved, report.NotCoveredMessage(op, gateName, now, covered, false))
	}
}

// unrecorded says of what the review rule lacks the record, "" for nothing.
func (a *Apply) unrecorded() string {
	if rule := a.greenRule(); rule != nil {
		return rule.NotRecorded()
	}
	return ""
}

func (a *Apply) refuse(why report.Refusal, message string) {
	a.Report.Status, a.Report.Refusal, a.Report.Message = report.Refused, why, message
}

func (a *Apply) describe() string {
	names := make([]string, 0, len(a.Report.Members))
	for _, m := range a.Report.Members {
		names = append(names, m.Member)
	}
	return fmt.Sprintf("green commit %s: %s", project.Short(a.Report.Head), strings.Join(names, ", "))
}

// nothingToApply records the commit as applied although nothing had to be.
func (st *Stage) nothingToApply(ctx context.Context, in ApplyInput, t Target, a *Apply) error {
	if err := st.writeApplied(ctx, in.Site, a, t.line, record.ViaNothing); err != nil {
		return err
	}
	a.Report.Status, a.Report.Message = report.Nothing, "nothing to apply"
	return nil
}
