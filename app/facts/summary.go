package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/store"
)

// RunSummary is what a list shows of an apply. It is stored beside the state, which
// holds every plan, so that no list reads that.
type RunSummary struct {
	Branch string `json:"branch"`
	// Status is the report's word, "running" while there is none, and "waiting" where
	// only an approval is missing.
	Status  string `json:"status"`
	Verdict string `json:"verdict"`
	// Waits tells that it ended at gates that somebody may open.
	Waits bool `json:"waits"`
}

const running = "running"

// Summary is that of a kept apply.
func Summary(k settle.KeptRun) RunSummary {
	rep := k.Apply.Report
	s := RunSummary{Branch: k.Apply.Branch, Status: string(rep.Status)}
	_, s.Verdict = note.Status(rep)
	switch {
	case k.Status == settle.RunRunning:
		s.Status = running
		return s
	case rep.Refusal == report.NotApproved:
		s.Status = "waiting"
	}
	s.Waits = rep.Status == report.Refused ||
		slices.ContainsFunc(rep.Rounds, func(r report.Round) bool { return r.Status == report.WaveWaiting }) ||
		slices.ContainsFunc(rep.Waves, func(w report.Wave) bool { return w.Status == report.WaveWaiting })
	return s
}

// ListedRun is a run as lists show it.
type ListedRun struct {
	store.ListedRun
	RunSummary
}

// ListRuns pages through applies, newest first; before is the ID to go on from, 0 for
// the newest.
func (f *Facts) ListRuns(ctx context.Context, before int64, limit int) ([]ListedRun, error) {
	rows, err := f.Runs.List(ctx, before, limit)
	return f.summed(ctx, rows, err)
}

// NewestRuns are the newest apply of each repository, env and project.
func (f *Facts) NewestRuns(ctx context.Context, limit int) ([]ListedRun, error) {
	rows, err := f.Runs.NewestOfEach(ctx, limit)
	return f.summed(ctx, rows, err)
}

func (f *Facts) summed(ctx context.Context, rows []store.ListedRun, err error) ([]ListedRun, error) {
	if err != nil {
		return nil, err
	}
	out := make([]ListedRun, len(rows))
	for i, row := range rows {
		out[i].ListedRun = row
		if out[i].RunSummary, err = f.summaryOf(ctx, row.Run); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (f *Facts) summaryOf(ctx context.Context, row store.Run) (s RunSummary, err error) {
	if row.Summary != "" {
		if err := json.Unmarshal([]byte(row.Summary), &s); err != nil {
			return s, fmt.Errorf("summary of run %d: %w", row.ID, err)
		}
		if (s.Status == running) == (row.Status == string(settle.RunRunning)) {
			return s, nil
		}
	}
	k, err := f.Run(ctx, row.ID) // a server of an earlier version saved it last
	if err != nil {
		return s, err
	}
	return Summary(k), nil
}
