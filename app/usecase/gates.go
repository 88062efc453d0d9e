package usecase

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// Policy is what binds one env's gates, from the trusted declarations (pr-loop
// decision 2).
type Policy struct {
	Env project.Env `json:"env"`
	// ReviewRules: only people who reviewed and did not write the change count.
	ReviewRules bool `json:"reviewRules"`
	// Refuse names settings this version does not enforce; with one, no gate of
	// the env opens.
	Refuse []string `json:"refuse"`
	// Paths are those a pull request is planned for; empty means all.
	Paths []string `json:"paths"`
	// OnlyEnv: no other env declares a gate of this name, so a line without an
	// environment can mean only this one.
	OnlyEnv bool `json:"onlyEnv"`
}

// PolicyOf reads one env's policy from a declaration.
func PolicyOf(d *project.Declaration, env project.Env) Policy {
	same := 0
	var paths []string
	if d.Bot != nil {
		paths = d.Bot.Plan.Paths
		for _, e := range d.Bot.Envs {
			if e.Gate == env.Gate {
				same++
			}
		}
	}
	return Policy{
		Env:         env,
		ReviewRules: d.ReviewRules || env.RequireReview,
		Refuse:      env.Unenforced(d, env.Gate),
		OnlyEnv:     same <= 1,
		Paths:       paths,
	}
}

// Query asks one of the env's gates about one plan.
func (st *Stage) Query(p Policy, op string, d digest.Digest) gate.Query {
	return gate.Query{
		Op: op, Gate: p.Env.Gate, Env: p.Env.Name, Digest: d,
		Now: st.Now(), OnlyEnv: p.OnlyEnv, Refuse: p.Refuse,
	}
}

// GateLines reads the file of one op.
func GateLines(snap *ledger.Snapshot, prefix, op string) ([]gate.Record, error) {
	data, _, err := snap.Read(gate.Path(prefix, op))
	if err != nil {
		return nil, fmt.Errorf("reading gate %s: %w", op, err)
	}
	lines, _ := gate.ParseFile(data)
	return lines, nil
}

// Decide reads a gate on one snapshot and evaluates it with who as the judge of
// approvers. A failed read of the forge is an error, never a "no" or a "yes".
func Decide(ctx context.Context, snap *ledger.Snapshot, prefix string, q gate.Query, who *Approvers) (gate.Decision, []gate.Record, error) {
	lines, err := GateLines(snap, prefix, q.Op)
	if err != nil {
		return gate.Decision{}, nil, err
	}
	if who != nil {
		q.Exclude = who.exclude(ctx)
	}
	d := gate.Evaluate(lines, q)
	if who != nil && who.Err != nil {
		return gate.Decision{}, nil, who.Err
	}
	return d, lines, nil
}

// decideOrWait decides a gate on the ledger as the remote has it and, when it is
// shut, records there that it waits, for as long as timeout says. waits is the
// pending fact it waits under, nil where there is none. warning is for people.
func decideOrWait(ctx context.Context, site *Site, prefix string, q gate.Query, who *Approvers, timeout time.Duration, description string) (d gate.Decision, waits *gate.Record, warning string, err error) {
	written, err := site.Ledger.Update(ctx, "Pending gate record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		var lines []gate.Record
		var err error
		if d, lines, err = Decide(ctx, snap, prefix, q, who); err != nil {
			return nil, err
		}
		if waits = d.Standing; d.Satisfied || !d.NeedsPending {
			return nil, nil
		}
		pending := gate.NewPending(q, lines, timeout, description)
		waits = &pending
		return []ledger.File{{Path: gate.Path(prefix, q.Op), Content: pending.Line(), Append: true}}, nil
	})
	return d, waits, written.Warning, err
}

// approvedSide loads from the ledger what an approval of d was shown: the
// document, and by the hash the approval carries, the sources. Without sources
// coverage treats the source as another one (pr-loop §3.2). Its Doc is nil when
// the document is not there or does not verify.
func approvedSide(snap *ledger.Snapshot, prefix string, d digest.Digest, sourcesHash string) (side cover.Side, err error) {
	data, found, err := snap.Read(record.DocumentPath(prefix, d))
	if err != nil || !found {
		return side, err
	}
	doc, err := changeset.Parse(data)
	if err != nil || !doc.Verify() || !digest.Same(doc.Digest, d) {
		return side, nil //nolint:nilerr // what does not read as d is not there
	}
	side.Doc = doc
	if sourcesHash == "" {
		return side, nil
	}
	shown, found, err := readShown(snap, prefix, sourcesHash)
	if err != nil || !found {
		return side, err
	}
	side.Sources, side.Code = shown.Sources, shown.Code
	return side, nil
}

// ApprovalOf is a gate's answer as a report says it.
func ApprovalOf(d gate.Decision) report.Approval {
	switch {
	case d.Satisfied:
		return report.Approval{Status: report.Approved, ApprovedBy: d.ApprovedBy}
	case d.Mismatch != nil:
		return report.Approval{Status: report.Changed, Approved: digestOrNil(d.Mismatch.PlanDigest)}
	}
	return report.Approval{Status: report.Pending}
}
