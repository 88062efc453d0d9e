// Package queue sets the job queue up on our database: its driver, how often it
// looks for work, and how work that a killed process left behind is taken up
// again. The queue only wakes us; what is to be done stands in the stores. Job
// kinds and workers live elsewhere.
package queue

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/sql/store"
)

// A job waits at most about pollInterval for a free worker. Looking for one costs
// next to nothing (pollDriver); the queue's own defaults add 70 ms to every hop.
const (
	fetchCooldown = 5 * time.Millisecond
	pollInterval  = 5 * time.Millisecond
)

// Config is a queue configuration for SQLite: the caller adds queues, workers
// and periodic jobs. PollOnly because the listener polls more slowly than the
// queue itself.
func Config(log *slog.Logger) *river.Config {
	return &river.Config{
		Logger:            slog.New(warnings{log.Handler()}),
		PollOnly:          true,
		FetchCooldown:     fetchCooldown,
		FetchPollInterval: pollInterval,
	}
}

// warnings keeps the queue's own chatter out of the log: what jobs do is logged
// by those who work them.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// New is a client of the queue in d. Its jobs are inserted with InsertTx beside
// the facts they follow from.
func New(d *store.DB, config *river.Config) (*river.Client[*sql.Tx], error) {
	client, err := river.NewClient(newPollDriver(d), config)
	if err != nil {
		return nil, fmt.Errorf("setting up the job queue: %w", err)
	}
	return client, nil
}

// A job this process finds running was running in a process that is gone: one
// process owns an SQLite database. With attempts left it runs again now;
// without, it is discarded, so that a new job of its kind is not taken for a
// duplicate of it. Values are spelled as the queue's SQLite driver does.
const resumeJobs = `UPDATE river_job SET
	state = CASE WHEN attempt < max_attempts THEN 'available' ELSE 'discarded' END,
	scheduled_at = datetime('now', 'subsec'),
	finalized_at = CASE WHEN attempt < max_attempts THEN NULL ELSE datetime('now', 'subsec') END
WHERE state = 'running'`

// Resume takes up the jobs a killed process left running, and the leadership it
// held. Call it once before the client starts, and only where one process owns
// the database; the queue itself waits an hour. It returns the number of jobs.
func Resume(ctx context.Context, d *store.DB) (int64, error) {
	var jobs int64
	err := d.InTx(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, resumeJobs)
		if err != nil {
			return err
		}
		if jobs, err = done.RowsAffected(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM river_leader`)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("resuming jobs of an earlier process: %w", err)
	}
	return jobs, nil
}

// One job of a kind that waits in a queue.
const waiting = `SELECT 1 FROM river_job WHERE state = 'available' AND queue = $1 AND kind = $2 LIMIT 1`

// Wake returns a function that queues args in queue name within a transaction,
// unless such a job waits there already: a job that has not started sees
// whatever this transaction commits. One that has started is no reason to leave
// it out, which the queue's own unique jobs cannot tell. It relies on SQLite's
// transactions excluding one another.
func Wake(client *river.Client[*sql.Tx], name string, args river.JobArgs) store.Wake {
	job := []river.InsertManyParams{{Args: args, InsertOpts: &river.InsertOpts{Queue: name}}}
	return func(ctx context.Context, tx *sql.Tx) error {
		var one int
		err := tx.QueryRowContext(ctx, waiting, name, args.Kind()).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			_, err = client.InsertManyFastTx(ctx, tx, job)
		}
		if err != nil {
			return fmt.Errorf("waking %s: %w", args.Kind(), err)
		}
		return nil
	}
}
