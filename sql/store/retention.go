package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/chant-bot/chant/sql/db"
)

// forgotten is how many rows of a kind go at a time.
const forgotten = 200

// Retention forgets what is old and nothing looks at any more.
type Retention struct{}

// Runs forgets runs in the status ended that were saved last before t, with their
// events, and plans made before it: a batch at most, in one transaction. The
// newest run of a target stays, and the plans of a pull request that is open or
// not settled yet.
func (Retention) Runs(ctx context.Context, tx *sql.Tx, ended string, t time.Time) error {
	q := new(db.Queries)
	ids, err := q.OldRuns(ctx, tx, db.OldRunsParams{Before: millis(t), Ended: ended, Count: forgotten})
	if err != nil {
		return fmt.Errorf("listing old runs: %w", err)
	}
	for _, id := range ids {
		for _, forget := range []func(context.Context, db.DBTX, int64) error{q.DeleteRunEvents, q.DeleteRunMerges, q.DeleteRun} {
			if err := forget(ctx, tx, id); err != nil {
				return fmt.Errorf("forgetting run %d: %w", id, err)
			}
		}
	}
	if _, err := q.DeleteOldPlans(ctx, tx, db.DeleteOldPlansParams{CreatedAt: millis(t), Limit: forgotten}); err != nil {
		return fmt.Errorf("forgetting old plans: %w", err)
	}
	return nil
}

// Audit forgets what was decided before t: a batch at most.
func (Retention) Audit(ctx context.Context, on Conn, t time.Time) error {
	if _, err := new(db.Queries).DeleteOldAudit(ctx, on, db.DeleteOldAuditParams{At: millis(t), Limit: forgotten}); err != nil {
		return fmt.Errorf("forgetting the old part of the audit trail: %w", err)
	}
	return nil
}

// Reports forgets what was reported last before t: a batch at most.
func (Retention) Reports(ctx context.Context, on Conn, t time.Time) error {
	if _, err := new(db.Queries).DeleteOldReports(ctx, on, db.DeleteOldReportsParams{UpdatedAt: millis(t), Limit: forgotten}); err != nil {
		return fmt.Errorf("forgetting old reports: %w", err)
	}
	return nil
}
