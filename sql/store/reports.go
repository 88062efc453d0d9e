package store

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-bot/chant/sql/db"
)

// Report is a run that went on elsewhere, as it was reported from there last.
type Report struct {
	ID       int64 // set by the store
	Repo     string
	RunID    string // of the run, where it ran; one a repository
	Progress int64  // grows with what the body tells
	Body     []byte // JSON, as its reader encodes it
	Received time.Time
	Updated  time.Time
}

// Reports keeps them, one a run.
type Reports struct{ db *DB }

// NewReports is the store of reports in d.
func NewReports(d *DB) Reports { return Reports{d} }

// Put stores a report, unless one of the same run is stored that tells as much or
// more. It sets aside ID and times.
func (s Reports) Put(ctx context.Context, on Conn, r Report, at time.Time) error {
	_, err := new(db.Queries).PutReport(ctx, on, db.PutReportParams{
		Repo: r.Repo, RunID: r.RunID, Progress: r.Progress, ReceivedAt: millis(at), Body: blob(r.Body),
	})
	if err != nil {
		return fmt.Errorf("storing the report of run %s: %w", r.RunID, err)
	}
	return nil
}

// Get reads one; ErrNotFound.
func (s Reports) Get(ctx context.Context, id int64) (Report, error) {
	row, err := new(db.Queries).GetReport(ctx, s.db.Read, id)
	if err != nil {
		return Report{}, notFound(err, "reading report %d", id)
	}
	return reported(row), nil
}

// List is the newest, newest first.
func (s Reports) List(ctx context.Context, limit int) ([]Report, error) {
	rows, err := new(db.Queries).ListReports(ctx, s.db.Read, clampLimit(limit))
	if err != nil {
		return nil, fmt.Errorf("listing reports: %w", err)
	}
	out := make([]Report, len(rows))
	for i, row := range rows {
		out[i] = reported(row)
	}
	return out, nil
}

func reported(row db.Report) Report {
	return Report{
		ID: row.ID, Repo: row.Repo, RunID: row.RunID, Progress: row.Progress, Body: row.Body,
		Received: fromMillis(row.ReceivedAt), Updated: fromMillis(row.UpdatedAt),
	}
}
