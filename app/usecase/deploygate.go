package usecase

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// FanOutOp is the op of the gates of a fan-out.
const FanOutOp = "fan-out"

// GateAnswer is how a gate of a deployment stands.
type GateAnswer struct {
	Op         string        `json:"op"`
	Gate       string        `json:"gate"`
	Env        string        `json:"env"`
	Member     string        `json:"member,omitempty"`
	Digest     digest.Digest `json:"digest"`
	Approved   bool          `json:"approved"`
	ApprovedBy []string      `json:"approvedBy,omitempty"`
	// Other is another digest that is approved at the gate.
	Other     string `json:"otherApproved,omitempty"`
	Reason    string `json:"reason,omitempty"` // why it is shut
	ExpiresAt string `json:"expiresAt,omitempty"`
	Warning   string `json:"warning,omitempty"` // of the ledger
	// Shut: no approval opens it, for the reason given.
	Shut bool `json:"-"`

	earlier digest.Digest // the document approved, where it is another one
}

// question is one gate asked about one digest.
type question struct {
	op, gate string
	digest   digest.Digest
	timeout  time.Duration
	what     string // description, for who approves
	// side is the plan the digest is of, nil where it is of no plan; an approval then
	// has to be given for the sources it was made from (pr-loop §5.11).
	side    *cover.Side
	nothing map[string]bool
}

// ask decides a gate on the ledger and, when it is shut, records that it waits.
func (d *Deployment) ask(ctx context.Context, q question) (GateAnswer, error) {
	answer := GateAnswer{Op: q.op, Gate: q.gate, Env: d.in.Env, Member: d.in.Member, Digest: q.digest}
	policy := d.gatePolicy(q.gate)
	query := d.Query(policy, q.op, q.digest)
	decision, waits, warning, err := decideOrWait(ctx, d.in.Site, project.LedgerPrefix(d.in.Member), query, d.in.Site.Approvers(policy.Env, nil), q.timeout, q.what)
	if err != nil {
		return answer, err
	}
	if waits != nil {
		answer.ExpiresAt = waits.ExpiresAt
	}
	answer.Warning = warning
	answer.take(decision, q)
	return answer, nil
}

// noReviews keeps every gate of a deployment shut under the review rule.
const noReviews = "requireReview, as there is no pull request whose reviews could count"

// gatePolicy is the policy of one gate: the env's approvers, and every rule declared
// for the gate or, of a wave's or a round's, for the gate it is one of.
func (d *Deployment) gatePolicy(name string) Policy {
	p := d.policy
	p.Refuse = p.Env.Unenforced(d.in.Binds, name)
	if p.ReviewRules {
		p.Refuse = append(p.Refuse, noReviews)
	}
	p.Env.Gate, p.Env.WaveGate = name, ""
	return p
}

// take says what a decision comes to.
func (a *GateAnswer) take(d gate.Decision, q question) {
	switch {
	case d.Satisfied && q.uncovered(d.Record.Sources):
		a.Reason = "the approval does not say for which sources it was given, or it was given for others; approve again with --from and the directory this run wrote"
	case d.Satisfied:
		a.Approved, a.ApprovedBy, a.ExpiresAt = true, d.ApprovedBy, ""
	case len(d.Unenforced) > 0:
		a.Reason, a.Shut = report.NotEnforcedMessage(d.Unenforced), true
	case len(d.Refusals) > 0:
		a.Reason = report.NotAReviewerMessage(d.Refusals)
	case d.Mismatch != nil:
		a.Other = d.Mismatch.PlanDigest.String()
		a.Reason = fmt.Sprintf("the plan changed after it was approved: approved %s, planned now %s", d.Mismatch.PlanDigest, q.digest)
	default:
		a.Reason = "nobody approved it yet"
	}
}

// uncovered tells that an approval of the very digest does not say enough about the
// plan to apply it.
func (q question) uncovered(sources string) bool {
	return q.side != nil && !cover.UnderApproval(*q.side, sources, q.nothing).Complete()
}
