package queue

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/chant-bot/chant/sql/store"
)

// A replica says every beatEvery that it lives. One that was silent for deadAfter, by
// the clock of the database, counts as dead: others take up its jobs and locks.
// So it must know before: silentAfter its last word it ends its own work, which
// has the rest of the time to end in.
const (
	beatEvery   = 3 * time.Second
	beatTime    = 5 * time.Second // one may take
	silentAfter = 15 * time.Second
	deadAfter   = 30 * time.Second
	// forgottenAfter is how long a dead replica is still listed.
	forgottenAfter = time.Hour
	// endedAfter is how long the queue may take to store that a job ended. It gives
	// up sooner when the database is gone; the job runs again then.
	endedAfter = time.Minute
)

// ErrSilent ends the work of a process that could not reach its database for so
// long that others may take it for dead.
var ErrSilent = errors.New("the database was not reached for so long that other replicas may have taken this work over")

// Replica is this process among those that share a PostgreSQL database. Alone on
// an SQLite database it needs no table: its locks are in memory.
type Replica struct {
	db      *store.DB
	log     *slog.Logger
	id      string
	lasting []string

	mu     sync.Mutex
	held   map[string]bool // locks, by name
	owed   map[string]bool // given up here, and perhaps still in the database
	jobs   map[int64]time.Time
	silent chan struct{} // closed when others may take this process for dead

	stop    context.CancelFunc
	stopped chan struct{}
}

// NewReplica is this process in a database. Jobs of a lasting kind are not ended
// when the database is silent: what else may do their work is told by something
// better than the database.
func NewReplica(d *store.DB, log *slog.Logger, lasting ...string) (*Replica, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	var own [6]byte
	if _, err := rand.Read(own[:]); err != nil {
		return nil, fmt.Errorf("naming this process: %w", err)
	}
	r := &Replica{
		db: d, log: log, lasting: lasting, id: fmt.Sprintf("%.60s:%d:%s", host, os.Getpid(), hex.EncodeToString(own[:])),
		held: map[string]bool{}, owed: map[string]bool{}, jobs: map[int64]time.Time{},
		silent: make(chan struct{}), stop: func() {}, stopped: make(chan struct{}),
	}
	return r, nil
}

// Start takes up jobs that dead processes left running, and says from then on
// that this one lives. Call it once, before the queue's client starts. It returns
// the number of jobs taken up.
func (r *Replica) Start(ctx context.Context) (int64, error) {
	if r.db.Postgres == nil {
		close(r.stopped)
		return resume(ctx, r.db)
	}
	said := time.Now()
	if err := r.say(ctx); err != nil {
		return 0, err
	}
	resumed, err := r.takeOver(ctx)
	if err != nil {
		return 0, fmt.Errorf("taking over from replicas that are gone: %w", err)
	}
	ctx, r.stop = context.WithCancel(context.WithoutCancel(ctx))
	go r.run(ctx, said)
	return resumed, nil
}

// Stop says that this process is gone. Call it once, after the queue's client
// stopped.
func (r *Replica) Stop(ctx context.Context) error {
	r.stop()
	<-r.stopped
	if r.db.Postgres == nil {
		return nil
	}
	return r.db.InTx(ctx, func(tx *sql.Tx) error {
		for _, leave := range []string{`DELETE FROM job_locks WHERE replica_id = $1`, `DELETE FROM replicas WHERE id = $1`} {
			if _, err := tx.ExecContext(ctx, leave, r.id); err != nil {
				return fmt.Errorf("leaving the database: %w", err)
			}
		}
		return nil
	})
}

// run beats until ctx ends. said is when this process last said that it lives:
// the moment before it did, so that it counts less time than the others.
func (r *Replica) run(ctx context.Context, said time.Time) {
	defer close(r.stopped)
	again := time.NewTicker(beatEvery)
	defer again.Stop()
	for {
		select {
		case <-again.C:
		case <-ctx.Done():
			return
		}
		said = r.beat(ctx, said)
	}
}

// beat says that this process lives, and returns when it last did. What it worked
// on ends first if it was silent, be it that it was not let run.
func (r *Replica) beat(ctx context.Context, said time.Time) time.Time {
	now := time.Now()
	if now.Sub(said) > silentAfter {
		r.silence()
	}
	err := r.once(ctx)
	if err == nil {
		return now
	}
	if ctx.Err() == nil {
		r.log.Warn("the database does not answer", "error", err, "silent", time.Since(said).Round(time.Second))
	}
	if time.Since(said) > silentAfter {
		r.silence()
	}
	return said
}

// once is one try of a beat.
func (r *Replica) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	if err := r.say(ctx); err != nil {
		return err
	}
	resumed, err := r.takeOver(ctx)
	if resumed > 0 {
		r.log.Info("took over jobs of a replica that is gone", "jobs", resumed)
	}
	if err != nil { // others try too, and this one again
		r.log.Warn("taking over from replicas that are gone", "error", err)
	}
	r.pay(ctx)
	return nil
}

// now is the database's clock in Unix milliseconds.
const now = `(extract(epoch FROM clock_timestamp()) * 1000)::bigint`

const (
	sayAlive = `INSERT INTO replicas (id, seen_at) VALUES ($1, ` + now + `)
		ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at`
	// living is a condition on a replica r; its argument is deadAfter.
	living = `r.seen_at > ` + now + ` - $1`
)

// say writes that this process lives, and lets it work again when it was silent.
func (r *Replica) say(ctx context.Context) error {
	if _, err := r.db.Write.ExecContext(ctx, sayAlive, r.id); err != nil {
		return fmt.Errorf("saying that this process lives: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if isClosed(r.silent) {
		r.silent = make(chan struct{})
	}
	return nil
}

// silence ends the work of this process.
func (r *Replica) silence() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !isClosed(r.silent) {
		close(r.silent)
	}
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// What dead replicas leave. Of jobs, those that run in a process that is dead
// and those that run nowhere in this one, whose end could not be stored.
const (
	dropLocks = `DELETE FROM job_locks l
		WHERE NOT EXISTS (SELECT 1 FROM replicas r WHERE r.id = l.replica_id AND ` + living + `)`
	takeJobs = `UPDATE river_job SET
			state = (CASE WHEN attempt < max_attempts THEN 'available' ELSE 'discarded' END)::river_job_state,
			scheduled_at = now(),
			finalized_at = CASE WHEN attempt < max_attempts THEN NULL ELSE now() END
		WHERE state = 'running' AND (
			NOT EXISTS (SELECT 1 FROM replicas r WHERE r.id = attempted_by[cardinality(attempted_by)] AND ` + living + `)
			OR attempted_by[cardinality(attempted_by)] = $2 AND id <> ALL ($3::bigint[])
				AND attempted_at < now() - $4 * interval '1 millisecond')`
	dropReplicas = `DELETE FROM replicas r WHERE NOT (` + living + `)`
)

// takingOver is the advisory lock under which one replica at a time takes over.
const takingOver = 7_310_579_234

// takeOver gives what dead replicas held to whoever asks for it first.
func (r *Replica) takeOver(ctx context.Context) (jobs int64, err error) {
	err = r.db.InLazyTx(ctx, func(tx *sql.Tx) error {
		var mine bool
		if err := tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)`, int64(takingOver)).Scan(&mine); err != nil || !mine {
			return err
		}
		dead := deadAfter.Milliseconds()
		if _, err := tx.ExecContext(ctx, dropLocks, dead); err != nil {
			return err
		}
		done, err := tx.ExecContext(ctx, takeJobs, dead, r.id, r.working(), endedAfter.Milliseconds())
		if err != nil {
			return err
		}
		if jobs, err = done.RowsAffected(); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, dropReplicas, forgottenAfter.Milliseconds())
		return err
	})
	return jobs, err
}

// working are the jobs that are worked here, or whose end the queue may still be
// storing.
func (r *Replica) working() []int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := []int64{}
	for id, ended := range r.jobs {
		if !ended.IsZero() && time.Since(ended) > endedAfter {
			delete(r.jobs, id)
			continue
		}
		ids = append(ids, id)
	}
	return ids
}

// attended notes which jobs are worked here, and ends them when others may take
// them over.
type attended struct {
	river.MiddlewareDefaults
	replica *Replica
}

// Work implements rivertype.WorkerMiddleware.
func (a *attended) Work(ctx context.Context, job *rivertype.JobRow, do func(context.Context) error) error {
	r := a.replica
	r.mu.Lock()
	silent := r.silent
	r.jobs[job.ID] = time.Time{}
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.jobs[job.ID] = time.Now()
	}()
	if slices.Contains(r.lasting, job.Kind) {
		return do(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-silent:
			cancel(ErrSilent)
		case <-ctx.Done():
		}
	}()
	err := do(ctx)
	if err != nil && isClosed(silent) {
		return errors.Join(err, ErrSilent)
	}
	return err
}
