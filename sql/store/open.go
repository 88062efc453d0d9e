// Package store keeps what the server must remember beyond the ledger:
// deliveries, repositories, what is to be settled, plans, runs, and what was
// said to whom. It maps rows and owns transactions; it decides nothing, starts
// no job and knows no worker. Losing this database loses no approval.
//
// Every write takes the connection it runs on: a transaction of DB.InTx or
// DB.InLazyTx, so that a fact and the job that follows from it commit together,
// or DB.Write, which is lazy. Inside a transaction nothing may use DB.Write: it
// is the one connection the transaction holds. Reads go to DB.Read and see what
// is committed.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync/atomic"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"modernc.org/sqlite"

	"github.com/chant-bot/chant/sql/db"
	"github.com/chant-bot/chant/sql/migrations"
)

// ErrNotFound: no such row.
var ErrNotFound = errors.New("not found in the store")

// Conn is where a write runs: a transaction or DB.Write.
type Conn = db.DBTX

// DB is one open database.
type DB struct {
	// Write is a single connection: SQLite has one writer, and waiting in this
	// process is fair where waiting on SQLite's lock is polling.
	Write *sql.DB
	// Read serves committed data while Write is busy. It refuses writes.
	Read *sql.DB

	log         *logSync
	checkpoints *checkpointer
	commits     atomic.Int64
}

// readers is the number of concurrent reads.
const readers = 4

// riverVersion is the queue schema this program was built against.
const riverVersion = 8

// Open opens or creates the SQLite database at path and brings its schema up to
// date.
func Open(ctx context.Context, path string) (*DB, error) {
	write, err := open(path, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", writerCheckpoint},
	})
	if err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	if err := migrate(ctx, write); err != nil {
		return nil, errors.Join(fmt.Errorf("migrating database %s: %w", path, err), write.Close())
	}
	d := &DB{Write: write}
	if err := d.openBeside(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening database %s: %w", path, err), write.Close())
	}
	return d, nil
}

// openBeside opens what works beside the writer.
func (d *DB) openBeside(ctx context.Context, path string) (err error) {
	if d.Read, err = open(path, url.Values{"_pragma": {"busy_timeout(10000)", "query_only(1)"}}); err != nil {
		return err
	}
	d.Read.SetMaxOpenConns(readers)
	d.Read.SetMaxIdleConns(readers)
	copier, err := open(path, url.Values{"_pragma": {"busy_timeout(10000)", "synchronous(NORMAL)"}})
	if err != nil {
		return err
	}
	copier.SetMaxOpenConns(1)
	if d.log, err = openLogSync(path); err != nil {
		return err
	}
	d.checkpoints = startCheckpoints(ctx, copier)
	return nil
}

func open(path string, options url.Values) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: path, RawQuery: options.Encode()}
	driver, err := sqlite.NewConnector(name.String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector{driver}), nil
}

// migrate runs our migrations and, as one of them, the queue's.
func migrate(ctx context.Context, conn *sql.DB) error {
	queue := goose.NewGoMigration(migrations.QueueVersion, &goose.GoFunc{RunTx: queueUp}, nil)
	provider, err := goose.NewProvider(goose.DialectSQLite3, conn, migrations.SQLite(),
		goose.WithGoMigrations(queue), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func queueUp(ctx context.Context, tx *sql.Tx) error {
	migrator, err := rivermigrate.New(riversqlite.New(nil), nil)
	if err != nil {
		return err
	}
	//nolint:staticcheck // deprecated for PostgreSQL's sake, where some migrations can't share a transaction; in SQLite all can
	_, err = migrator.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
	return err
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
// queue's own bookkeeping is lazy too.
func (d *DB) InLazyTx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := d.Write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("beginning a transaction: %w", err)
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	d.commits.Add(1)
	d.checkpoints.committed()
	return nil
}

// Commits counts the transactions committed so far. What is read after asking
// sees them all.
func (d *DB) Commits() int64 { return d.commits.Load() }

// Close closes the database. Whatever was committed stays.
func (d *DB) Close() error {
	return errors.Join(d.checkpoints.close(), d.log.close(), d.Read.Close(), d.Write.Close())
}
