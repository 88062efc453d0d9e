package gate

import (
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/digest"
)

// Query is one question to a gate: does an approval of this plan stand?
type Query struct {
	Op, Gate, Env string
	Digest        digest.Digest
	Now           time.Time

	// AnyPlan asks a gate that binds no plan: the newest approval opens it. With
	// a zero Digest and no AnyPlan nothing opens the gate, so that a digest left
	// out by mistake is no approval.
	AnyPlan bool
	// OnlyEnv: this op and gate can belong to Env alone, so a resolution that
	// names no environment counts too.
	OnlyEnv bool
	// Refuse are settings that bind this gate and this version does not enforce;
	// while there is one, nothing opens the gate.
	Refuse []string
	// Exclude says why a resolution is not counted, "" when it counts: the
	// review rule, authors, approvers, a permission read again. Nil counts all.
	Exclude func(Record) string
}

// Refusal is an approval of the plan asked about that was not counted.
type Refusal struct {
	Reason string // for people
}

// Decision is a gate's answer and the facts it rests on.
type Decision struct {
	Satisfied  bool
	ApprovedBy []string // the newest counting approver of the digest
	Record     *Record  // the approval that satisfies
	// Mismatch is the newest counting approval of another plan, or of none; set
	// only when the gate is not satisfied.
	Mismatch *Record
	// Standing is the newest pending fact, expired or not.
	Standing *Record
	// NeedsPending: no pending fact stands for this plan, so one is to be
	// recorded before anyone waits (pr-loop §3.4, step 7).
	NeedsPending bool
	// Refusals are approvals of this plan that stand and were not counted.
	Refusals []Refusal
	// Unenforced names the settings and blocks that keep the gate shut whatever
	// is approved.
	Unenforced []string
}

// Evaluate decides a gate from the lines of its op's file, in file order
// (pr-loop §3.4). Only a person's approval counts (soundness I1), and only one
// that stands below the last pending fact and is not stamped before any of them
// (soundness I3).
func Evaluate(lines []Record, q Query) Decision {
	standing, since := standingFact(lines, q.Op, q.Gate, q.Env)
	d := Decision{Unenforced: append([]string(nil), q.Refuse...)}
	if standing >= 0 {
		d.Standing = &lines[standing]
	}
	foreignBlock := d.Standing != nil && !d.Standing.Approval.IsNull()
	if foreignBlock {
		d.Unenforced = append(d.Unenforced, "approval (quorum or policy) of the standing pending fact")
	}
	for i := len(lines) - 1; i > standing; i-- {
		r := &lines[i]
		if !r.IsResolution() || !q.concerns(*r) || !stampedSince(*r, since) {
			continue
		}
		q.weigh(r, &d)
	}
	if d.Satisfied {
		d.Mismatch = nil
		return d
	}
	// A new fact would replace the block that asks for more than one approval,
	// and the next run would no longer see it.
	d.NeedsPending = !foreignBlock && !waitsFor(d.Standing, q)
	return d
}

// weigh takes one standing resolution into the decision. Resolutions come newest
// first, so the first of each sort is kept.
func (q Query) weigh(r *Record, d *Decision) {
	same := q.AnyPlan && q.Digest.IsZero() || !q.Digest.IsZero() && digest.Same(r.PlanDigest, q.Digest)
	reason := q.refuses(*r)
	switch {
	case same && reason != "":
		d.Refusals = append(d.Refusals, Refusal{Reason: reason})
	case same && len(d.Unenforced) == 0 && d.Record == nil:
		d.Satisfied, d.Record, d.ApprovedBy = true, r, []string{r.ResolvedBy}
	case !same && reason == "" && d.Mismatch == nil:
		d.Mismatch = r
	}
}

func (q Query) refuses(r Record) string {
	switch {
	case r.ResolvedBy == "":
		return "it names nobody"
	case r.ByAgent():
		return fmt.Sprintf("%s approved as an agent; a person has to", r.ResolvedBy)
	case q.Exclude != nil:
		return q.Exclude(r)
	}
	return ""
}

// concerns keeps the resolutions of this gate and environment.
func (q Query) concerns(r Record) bool {
	if r.Op != q.Op || r.Gate != q.Gate {
		return false
	}
	return r.Environment == q.Env || r.Environment == "" && q.OnlyEnv
}

// standingFact is the index of the last fact of the gate that voids approvals,
// -1 when there is none, and the newest stamp of any of them. File order and
// stamps agree when every writer follows Stamp; where they do not, both must be
// passed. A fact that names no environment voids in every one.
func standingFact(lines []Record, op, gate, env string) (int, time.Time) {
	standing, since := -1, time.Time{}
	for i, r := range lines {
		if r.IsResolution() || r.Op != op || r.Gate != gate || r.Environment != "" && r.Environment != env {
			continue
		}
		standing = i
		if t, ok := r.Time(); ok && t.After(since) {
			since = t
		}
	}
	return standing, since
}

func stampedSince(r Record, since time.Time) bool {
	t, ok := r.Time()
	return ok && !t.Before(since)
}

// waitsFor reports that the standing fact already says that this plan waits.
func waitsFor(standing *Record, q Query) bool {
	if standing == nil || standing.Kind != KindPending || standing.OtherDigest != "" || !digest.Same(standing.PlanDigest, q.Digest) {
		return false
	}
	expires, ok := parseTime(standing.ExpiresAt)
	return ok && expires.After(q.Now)
}

// Waiting is the pending facts that stand unexpired with no approval of their
// plan, in file order, for `chant gates`.
func Waiting(lines []Record, now time.Time) []Record {
	var out []Record
	for i, r := range lines {
		if r.Kind != KindPending {
			continue
		}
		standing, _ := standingFact(lines, r.Op, r.Gate, r.Environment)
		q := Query{Op: r.Op, Gate: r.Gate, Env: r.Environment, Digest: r.PlanDigest, Now: now, AnyPlan: true, OnlyEnv: true}
		if standing == i && waitsFor(&r, q) && !Evaluate(lines, q).Satisfied {
			out = append(out, r)
		}
	}
	return out
}

// revokes reports that a line takes back the approvals of the gate in this
// environment.
func (r Record) revokes(op, gate, env string) bool {
	return !r.IsResolution() && r.RevokedBy != "" && r.Op == op && r.Gate == gate && (r.Environment == "" || r.Environment == env)
}

// clockOffset is how far apart two machines' clocks may be (soundness I3).
const clockOffset = time.Hour

// RevokedSince is the newest revocation of the gate in this environment that may
// have been made after an act at a time of the forge's, nil when there is none:
// an approval made before it is not recorded (decision 7, soundness I3). Times of
// the forge's are compared where the revocation has one, so that no offset of the
// writers' clocks counts. One without was made on some machine's command line,
// whose stamp may lie that offset in the past. A revocation whose time can't be
// read is newer than anything; a zero act is older than any.
func RevokedSince(lines []Record, op, gate, env string, act time.Time) *Record {
	for i := len(lines) - 1; i >= 0; i-- {
		r := &lines[i]
		if !r.revokes(op, gate, env) {
			continue
		}
		if latest, ok := r.RevokedBefore(); !ok || !act.After(latest) {
			return r
		}
	}
	return nil
}

// RevokedBefore is the latest time, by the forge's clock, that a revocation can
// have been made; ok is false where its time can't be read.
func (r Record) RevokedBefore() (latest time.Time, ok bool) {
	if r.ActedAt != "" {
		return parseTime(r.ActedAt)
	}
	latest, ok = r.Time()
	return latest.Add(clockOffset), ok
}

// Revoked reports that this very act, known by its address, was written before.
func Revoked(lines []Record, act Act) bool {
	for _, r := range lines {
		if act.URL != "" && r.URL == act.URL && r.revokes(act.Op, act.Gate, act.Env) {
			return true
		}
	}
	return false
}
