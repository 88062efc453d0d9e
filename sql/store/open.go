// Package store keeps what the server must remember beyond the ledger:
// deliveries, repositories, what is to be settled, plans, runs, and what was
// said to whom. It maps rows and owns transactions; it decides nothing, starts
// no job and knows no worker. Losing this database loses no approval.
//
// The database is SQLite, in one file that one process owns, or PostgreSQL,
// which several processes share. Every query is written once for both.
//
// Every write takes the connection it runs on: a transaction of DB.InTx or
// DB.InLazyTx, so that a fact and the job that follows from it commit together,
// or DB.Write, which is lazy. Inside a transaction nothing may use DB.Write: on
// SQLite it is the one connection the transaction holds. Reads go to DB.Read and
// see what is committed.
//
// Transactions exclude one another on SQLite and run side by side on PostgreSQL
// (read committed). So what a transaction decides may rest on what it wrote or
// locked itself and on constraints, not on what it merely read.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chant-bot/chant/sql/db"
)

// ErrNotFound: no such row.
var ErrNotFound = errors.New("not found in the store")

// Conn is where a write runs: a transaction or DB.Write.
type Conn = db.DBTX

// DB is one open database.
type DB struct {
	// Write has a single connection on SQLite, which has one writer: waiting in
	// this process is fair where waiting on SQLite's lock is polling.
	Write *sql.DB
	// Read serves committed data while Write is busy. It refuses writes.
	Read *sql.DB
	// Postgres gives connections for what database/sql has no word for: LISTEN
	// and COPY. Nil on SQLite.
	Postgres *pgxpool.Pool

	log         *logSync      // nil on PostgreSQL
	checkpoints *checkpointer // nil on PostgreSQL
	commits     atomic.Int64
	queued      atomic.Int64  // commits that may have queued a job
	wake        chan struct{} // holds one where there was such a commit since it was taken
}

// riverVersion is the queue schema this program was built against.
const riverVersion = 8

// IsURL tells whether a data source is the URL of a PostgreSQL database rather
// than the path of an SQLite one.
func IsURL(source string) bool {
	return strings.HasPrefix(source, "postgres://") || strings.HasPrefix(source, "postgresql://")
}

// Open opens the database and brings its schema up to date. source is the path
// of an SQLite database, which is created if absent, or the URL of a PostgreSQL
// database, which must exist.
func Open(ctx context.Context, source string) (*DB, error) {
	if IsURL(source) {
		return openPostgres(ctx, source)
	}
	return openSQLite(ctx, source)
}

// InTx runs do in one write transaction and commits it unless do fails. When it
// returns the transaction is on the disk: for facts that somebody is told of,
// and for what must be known before a step starts. When the disk fails the
// error says so although the transaction may be there.
func (d *DB) InTx(ctx context.Context, do func(*sql.Tx) error) error {
	if err := d.InLazyTx(ctx, do); err != nil {
		return err
	}
	return d.log.wait()
}

// InLazyTx is InTx without waiting for the disk: for what can be derived again
// from durable facts, such as having worked a delivery off. No kill or crash of
// the process loses it. After a power cut it is there, or it and everything
// committed after it is not; a durable commit takes it to the disk with it. The
// queue's own bookkeeping is lazy too. On PostgreSQL, whose commits do not hold
// one another up, it waits all the same.
func (d *DB) InLazyTx(ctx context.Context, do func(*sql.Tx) error) error {
	err := d.lazyTx(ctx, do)
	if err == nil {
		d.mayHaveQueued()
	}
	return err
}

// lazyTx is InLazyTx for a transaction that says itself whether it queued a job.
func (d *DB) lazyTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, rollback(tx))
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	d.commits.Add(1)
	d.checkpoints.committed()
	return nil
}

// rollback ends a transaction that failed. One whose connection is gone or whose
// context ended is rolled back already.
func rollback(tx *sql.Tx) error {
	if err := tx.Rollback(); !errors.Is(err, sql.ErrTxDone) {
		return err
	}
	return nil
}

// Commits counts the transactions this process committed so far, but for those
// that certainly queued no job. What is read after asking sees them all.
func (d *DB) Commits() int64 { return d.queued.Load() }

// Committed tells of commits that may have queued a job, as Commits counts them:
// several at once where nobody listens.
func (d *DB) Committed() <-chan struct{} { return d.wake }

func (d *DB) mayHaveQueued() {
	d.queued.Add(1)
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Close closes the database. Whatever was committed stays.
func (d *DB) Close() error {
	errs := []error{d.checkpoints.close(), d.log.close()}
	for _, pool := range []*sql.DB{d.Read, d.Write} {
		if pool != nil {
			errs = append(errs, pool.Close())
		}
	}
	if d.Postgres != nil {
		d.Postgres.Close()
	}
	return errors.Join(errs...)
}
