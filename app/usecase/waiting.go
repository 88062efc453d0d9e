package usecase

import (
	"context"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/report"
)

// Ask decides a gate of the apply's op on a snapshot, for a set.
func (st *Stage) Ask(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, g Opened, set *PlanSet) (gate.Decision, error) {
	q, who, err := st.question(ctx, site, a, g, set)
	if err != nil {
		return gate.Decision{}, err
	}
	d, _, err := Decide(ctx, snap, a.Prefix, q, who)
	return d, err
}

// approvedAt decides a gate of the apply's op, and reads from the ledger what was
// approved there: a side without a Doc where no approval stands, or the ledger does not
// have what it is of.
func (st *Stage) approvedAt(ctx context.Context, site *Site, snap *ledger.Snapshot, a *Apply, g Opened, set *PlanSet) (d gate.Decision, approved cover.Side, err error) {
	if d, err = st.Ask(ctx, site, snap, a, g, set); err != nil || !d.Satisfied {
		return d, approved, err
	}
	approved, err = approvedSide(snap, a.Prefix, g.Digest, d.Record.Sources)
	return d, approved, err
}

// question is what a gate of the apply's op is asked, and who judges its approvers.
func (st *Stage) question(ctx context.Context, site *Site, a *Apply, g Opened, set *PlanSet) (gate.Query, *Approvers, error) {
	if a.Release != nil {
		q, who := a.Release.question(st, site, a, g)
		return q, who, nil
	}
	q := st.Query(a.Policy, a.Op, g.Digest)
	q.Gate, q.OnlyEnv = g.Gate, q.OnlyEnv && g.Gate == a.Policy.Env.Gate
	rule, err := st.RuleAt(ctx, site, a, g.Gate, set.Document)
	return q, site.Approvers(a.Policy.Env, rule), err
}

// RuleAt is the review rule of one of the apply's gates. At a round the approver
// also needs a standing approving review on a pull request of the range that
// changed one of the round's members (pr-loop §5.10), as its document names them; nil
// where they are not known, and then any pull request of the range will do.
func (st *Stage) RuleAt(ctx context.Context, site *Site, a *Apply, gateName string, doc *changeset.Document) (*gate.ReviewRule, error) {
	rule := a.greenRule()
	if rule == nil || gateName == a.Policy.Env.Gate {
		return rule, nil
	}
	if site.Forge == nil {
		return nil, ErrNoReviews
	}
	rule.NeedReview = true
	for _, m := range a.Merges {
		if m.PR == nil || doc != nil && !slices.ContainsFunc(doc.Members, func(c changeset.Member) bool { return m.Sources[c.Member] != "" }) {
			continue
		}
		reviewers, err := site.standingReviewers(ctx, *m.PR)
		if err != nil {
			return nil, err
		}
		rule.Reviewers = append(rule.Reviewers, reviewers...)
	}
	return rule, nil
}

// Opens tells whether a decision lets a pass apply: there is an approval, and it was
// given for the sources that the plans are made from (pr-loop §3.2).
func (a *Apply) Opens(p *Pass, d gate.Decision) bool {
	return d.Satisfied && a.withoutHoles(cover.UnderApproval(p.Set.Side(), d.Record.Sources, p.Set.Nothing())).Complete()
}

// Waiting is the gate the apply waits at, with the pass that it would open; ok is
// false where no approval makes it go on.
func (a *Apply) Waiting() (at Opened, p *Pass, ok bool) {
	if a.Report.Status == report.Refused && a.Report.Refusal != report.NotGreen && a.Set != nil && !a.Report.Digest.IsZero() {
		return Opened{Gate: a.Policy.Env.Gate, Digest: a.Report.Digest}, &a.Pass, true
	}
	if p := a.current(); p.waits() {
		return *p.Asked, p, true
	}
	return at, nil, false
}

// whyShut says why an approval does not open the gate of a round, "" where there is
// none yet.
func whyShut(d gate.Decision, q gate.Query) string {
	switch {
	case d.Satisfied:
		return fmt.Sprintf("the approval at %s was given for other sources than the ones this commit has, or does not say for which; approve again in a comment", q.Gate)
	case len(d.Unenforced) > 0:
		return report.NotEnforcedMessage(d.Unenforced)
	case len(d.Refusals) > 0:
		return report.NotAReviewerMessage(d.Refusals)
	case d.Mismatch != nil:
		return report.PlanChangedMessage(q.Op, q.Gate, d.Mismatch.PlanDigest, q.Digest, false)
	}
	return ""
}
