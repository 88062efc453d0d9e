package usecase

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// finish records the end. A commit is recorded as applied only when every
// member ended applied or without changes (soundness I10).
func (ex *execution) finish(ctx context.Context) error {
	a := ex.apply
	ctx = context.WithoutCancel(ctx)
	if err := ex.keepRounds(ctx); err != nil {
		return err
	}
	open, err := ex.lastGates(ctx)
	if err != nil {
		return err
	}
	if open && a.Passes().Complete() {
		if err := ex.writeApplied(ctx, ex.in.Site, a, ex.line, a.State.Via); err != nil {
			return err
		}
	}
	a.conclude()
	return ex.in.Journal.Save(ctx, a)
}

// conclude turns the states into the report's words.
func (a *Apply) conclude() {
	a.stand()
	passes := a.Passes()
	if a.Report.Message = passes.Halted(); a.Report.Message == "" {
		a.Report.Message = a.Waits
	}
	a.Fresh = a.Report.Status == report.Waiting && passes.Halted() != "" || a.hasUnknown()
	if a.Fresh && a.Again >= len(a.State.Members) {
		a.Fresh = false
		a.Report.Message = a.whyEndless()
	}
}

// stand writes into the report how everything that was planned stands.
func (a *Apply) stand() {
	a.Report.Take(a.Passes())
	a.reportGroups()
	a.endRounds()
	a.Report.Waves = a.waveRows()
}

// SoFar is the report of an apply that goes on, as it stands now.
func (a *Apply) SoFar() report.Report {
	now := *a
	now.Report.Members, now.Report.Rounds = slices.Clone(a.Report.Members), slices.Clone(a.Report.Rounds)
	now.stand()
	now.Report.Status = a.Report.Status
	return now.Report
}

// whyEndless says why no fresh apply follows by itself any more: one that ended in
// the same way as often as there are members is not going to end in another.
func (a *Apply) whyEndless() string {
	var why []string
	passes := a.Passes()
	for _, name := range a.State.Order {
		if passes.Member(name).Status == run.Unknown {
			why = append(why, fmt.Sprintf("how the apply of %s ended was not seen", name))
		}
	}
	if halted := passes.Halted(); halted != "" {
		why = append(why, halted)
	}
	return fmt.Sprintf("stopped after %d applies one after another: %s. Comment `chant apply`, or run this again, to start over",
		a.Again+1, strings.Join(why, "; "))
}

func (a *Apply) hasUnknown() bool {
	passes := a.Passes()
	for name := range a.State.Members {
		if passes.Member(name).Status == run.Unknown {
			return true
		}
	}
	return false
}

// writeApplied writes the record that the commit was applied, the document
// beside it, and nothing when it stands already.
func (st *Stage) writeApplied(ctx context.Context, site *Site, a *Apply, line []git.Commit, via string) error {
	done := record.Apply{
		Env: a.Policy.Env.Name, Commit: a.Report.Head, Base: a.Report.Base, Digest: a.Report.Digest,
		ApprovedBy: a.approvers(), Via: via, Timestamp: gate.Timestamp(st.Now()),
	}
	if approved := a.Report.Approval.Approved; approved != nil && via == record.ViaGate {
		done.Digest = *approved
	}
	written, err := site.Ledger.Update(ctx, "Apply record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		attempt, applied, err := readProgress(snap, a.Prefix, done.Env)
		if err != nil {
			return nil, err
		}
		if applied != nil && applied.Commit == done.Commit {
			return nil, nil
		}
		token := a.Token
		if via == record.ViaNothing {
			token = ""
		}
		if err := record.Fence(done.Commit, shas(line), attempt, applied, token); err != nil {
			return nil, &Refusal{Message: err.Error()}
		}
		files := []ledger.File{
			{Path: record.GreenApplyPath(a.Prefix, done.Env), Content: done.JSON()},
			{Path: record.AppliesPath(a.Prefix, done.Env, done.Commit), Content: done.JSON()},
		}
		if len(a.Report.Members) > 0 && via != record.ViaNothing {
			more, _, err := ApprovalFiles(a.Prefix, a.Set.Document, a.Set.Shown())
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
		return files, nil
	})
	return landed(written, err)
}
