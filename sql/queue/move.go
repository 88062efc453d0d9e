package queue

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/chant-bot/chant/sql/store"
)

// Jobs that have not ended, as SQLite keeps them.
const unendedJobs = `SELECT kind, queue, json(args), priority, max_attempts, unique_key, unique_states FROM river_job
	WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled') ORDER BY id`

// One of them, to run now. What makes it unique is counted alike in both.
const insertJob = `INSERT INTO river_job (kind, queue, args, priority, max_attempts, unique_key, unique_states, state)
	VALUES ($1, $2, $3, $4, $5, $6, $7::int::bit(8), 'available')`

// Move returns what store.Move adds to its transaction: the jobs that have not
// ended, in from, an SQLite database.
func Move(from *store.DB) func(context.Context, pgx.Tx) (store.Table, error) {
	return func(ctx context.Context, target pgx.Tx) (store.Table, error) {
		jobs := store.Table{Name: "jobs"}
		rows, err := from.Read.QueryContext(ctx, unendedJobs)
		if err != nil {
			return jobs, fmt.Errorf("reading the jobs: %w", err)
		}
		defer func() { _ = rows.Close() }() // rows.Err tells
		for ; rows.Next(); jobs.Rows++ {
			var kind, name, args string
			var priority, attempts int
			var key []byte
			var states *int
			if err := rows.Scan(&kind, &name, &args, &priority, &attempts, &key, &states); err != nil {
				return jobs, fmt.Errorf("reading a job: %w", err)
			}
			if _, err := target.Exec(ctx, insertJob, kind, name, args, priority, attempts, key, states); err != nil {
				return jobs, fmt.Errorf("moving a job of kind %s: %w", kind, err)
			}
		}
		if err := rows.Err(); err != nil {
			return jobs, fmt.Errorf("reading the jobs: %w", err)
		}
		return jobs, nil
	}
}
