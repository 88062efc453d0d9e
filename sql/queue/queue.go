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
	"maps"
	"slices"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"

	"github.com/chant-bot/chant/sql/store"
)

// A commit of this process wakes the queue (wakes), and PostgreSQL tells of those
// of others. What neither tells of is found by a poll: jobs that were put off, and
// a word that got lost.
const (
	fetchCooldown  = 5 * time.Millisecond
	pollInterval   = lookAnyway
	sharedInterval = 100 * time.Millisecond
)

// Config is a queue configuration: the caller adds queues, workers and periodic
// jobs.
func Config(log *slog.Logger) *river.Config {
	return &river.Config{Logger: slog.New(warnings{log.Handler()}), FetchCooldown: fetchCooldown}
}

// warnings keeps the queue's own chatter out of the log: what jobs do is logged
// by those who work them.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// New is a client of the queue in a replica's database. Its jobs are inserted
// with InsertTx beside the facts they follow from.
func New(r *Replica, config *river.Config) (*river.Client[*sql.Tx], error) {
	var client *river.Client[*sql.Tx]
	var err error
	config.ID = r.id
	if r.db.Postgres == nil {
		config.FetchPollInterval = pollInterval
		client, err = river.NewClient(newPollDriver(r.db, slices.Collect(maps.Keys(config.Queues))), config)
	} else {
		config.Middleware = append(config.Middleware, &attended{replica: r})
		config.FetchPollInterval = sharedInterval
		client, err = river.NewClient(riverdatabasesql.NewWithPgxListener(r.db.Write, r.db.Postgres), config)
	}
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

// resume takes up the jobs a killed process left running in an SQLite database,
// and the leadership it held; the queue itself waits an hour. It returns the
// number of jobs.
func resume(ctx context.Context, d *store.DB) (int64, error) {
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

// One job of a kind that waits in a queue. Where transactions run side by side it
// is kept from being taken until this one commits; one that is being taken does
// not count.
const (
	waiting       = `SELECT 1 FROM river_job WHERE state = 'available' AND queue = $1 AND kind = $2 LIMIT 1`
	waitingShared = waiting + ` FOR SHARE SKIP LOCKED`
)

// Wake returns a function that queues args in queue name within a transaction,
// unless such a job waits there already: a job that has not started sees
// whatever this transaction commits. One that has started is no reason to leave
// it out, which the queue's own unique jobs cannot tell.
func Wake(d *store.DB, client *river.Client[*sql.Tx], name string, args river.JobArgs) store.Wake {
	job := []river.InsertManyParams{{Args: args, InsertOpts: &river.InsertOpts{Queue: name}}}
	query := waiting
	if d.Postgres != nil {
		query = waitingShared
	}
	return func(ctx context.Context, tx *sql.Tx) (queued bool, err error) {
		var one int
		err = tx.QueryRowContext(ctx, query, name, args.Kind()).Scan(&one)
		if errors.Is(err, sql.ErrNoRows) {
			queued = true
			_, err = client.InsertManyFastTx(ctx, tx, job)
		}
		if err != nil {
			return false, fmt.Errorf("waking %s: %w", args.Kind(), err)
		}
		return queued, nil
	}
}

// Depth is how many jobs of a kind are in a state and not over.
type Depth struct {
	Kind, State string
	Jobs        int64
}

// PostgreSQL has a type of its own for states.
const depths = `SELECT kind, CAST(state AS TEXT), count(*) FROM river_job
WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
GROUP BY kind, state ORDER BY kind, state`

// Depths counts what is in the queue of a database, by kind and state.
func Depths(ctx context.Context, d *store.DB) ([]Depth, error) {
	rows, err := d.Read.QueryContext(ctx, depths)
	if err != nil {
		return nil, fmt.Errorf("counting jobs: %w", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err says what went wrong
	var out []Depth
	for rows.Next() {
		var depth Depth
		if err := rows.Scan(&depth.Kind, &depth.State, &depth.Jobs); err != nil {
			return nil, fmt.Errorf("counting jobs: %w", err)
		}
		out = append(out, depth)
	}
	return out, rows.Err()
}
