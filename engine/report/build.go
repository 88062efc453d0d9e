package report

import (
	"fmt"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/run"
)

// New is a report of a composed document: its digest, and a row per member as it
// planned. component names each member's component. A nil document is an empty
// one, for a report made before anything planned. The caller adds the rest.
func New(stage Stage, doc *changeset.Document, component map[string]string) (Report, error) {
	r := Report{Schema: Schema, Contract: Contract, Stage: stage, Members: []Member{}}
	if doc == nil {
		empty, err := changeset.Compose(nil, "")
		if err != nil {
			return Report{}, fmt.Errorf("composing an empty change set: %w", err)
		}
		doc = empty
	} else {
		r.Digest = doc.Digest
	}
	r.ChangeSet = doc
	r.Approval.Status = Pending
	counts := countEntries(doc)
	for _, m := range doc.Members {
		row := Member{
			Member: m.Member, Component: component[m.Member], PlanDigest: m.PlanDigest,
			Status: MemberPlanned, Counts: counts[m.Member], Error: m.Error,
		}
		if m.Status != changeset.Planned {
			row.Status = MemberPlanFailed
		}
		r.Members = append(r.Members, row)
	}
	return r, nil
}

func countEntries(doc *changeset.Document) map[string]Counts {
	counts := make(map[string]Counts, len(doc.Members))
	for _, e := range doc.Entries {
		c := counts[e.Member]
		switch e.Action {
		case changeset.Create:
			c.Create++
		case changeset.Update:
			c.Update++
		case changeset.Replace:
			c.Replace++
		case changeset.Delete:
			c.Delete++
		}
		counts[e.Member] = c
	}
	return counts
}

// Take writes how an apply stands into the rows of its members, and, once it is
// done, into the status. Members it does not carry keep theirs.
func (r *Report) Take(p run.Passes) {
	halted := p.Halted()
	for i := range r.Members {
		row := &r.Members[i]
		m := p.Member(row.Member)
		if m == nil {
			continue
		}
		row.Error, row.BlockedBy, row.Moved = m.Error, m.BlockedBy, m.Moved
		switch m.Status {
		case run.Applied, run.NoChanges:
			row.Status = MemberApplied
		case run.Failed, run.Unknown:
			row.Status = MemberFailed
		case run.Held:
			row.Status = MemberHeld
		case run.Blocked:
			row.Status = MemberBlocked
		case run.Pending:
			if halted != "" {
				row.Status, row.Error = MemberBlocked, halted
			}
		}
	}
	if result, done := p.Done(); done && len(p) > 0 {
		r.Status = map[run.Result]Status{
			run.ResultApplied: Applied, run.ResultFailed: Failed, run.ResultWaiting: Waiting, run.ResultNothing: Nothing,
		}[result]
	}
}

// ExitCode is what a command ends with (pr-loop §5.7): 0 done, 1 failed, 3
// refused or waiting. An apply in which every failed member found its target
// moved ends 3 too: a person has to look at a new plan, nothing broke.
func (r Report) ExitCode() int {
	switch r.Status {
	case Planned, Nothing, Applied:
		return 0
	case Refused, Waiting:
		return 3
	case Failed:
		if r.onlyMoved() {
			return 3
		}
	}
	return 1
}

func (r Report) onlyMoved() bool {
	moved := false
	for _, m := range r.Members {
		if m.Status != MemberFailed {
			continue
		}
		if !m.Moved {
			return false
		}
		moved = true
	}
	return moved
}
