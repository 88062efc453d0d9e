package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"

	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/chant-bot/chant/sql/migrations"
)

// readers is the number of concurrent reads.
const readers = 4

func openSQLite(ctx context.Context, path string) (*DB, error) {
	write, err := open(path, url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "synchronous(NORMAL)", writerCheckpoint},
	})
	if err != nil {
		return nil, fmt.Errorf("opening database %s: %w", path, err)
	}
	write.SetMaxOpenConns(1)
	if err := migrateSQLite(ctx, write); err != nil {
		return nil, errors.Join(fmt.Errorf("migrating database %s: %w", path, mendable(err)), write.Close())
	}
	d := &DB{Write: write, wake: make(chan struct{}, 1)}
	if err := d.openBeside(ctx, path); err != nil {
		return nil, errors.Join(fmt.Errorf("opening database %s: %w", path, err), write.Close())
	}
	return d, nil
}

// mendable says what to do about a file that is damaged, no database at all, or
// can't be made.
func mendable(err error) error {
	found, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch found.Code() & 0xff {
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return fmt.Errorf("%w; put a copy of it back, or move it away and start without: approvals and what was applied are in the ledger", err)
	case sqlite3.SQLITE_CANTOPEN:
		return fmt.Errorf("%w; make its directory, and let the user that chant runs as write there", err)
	}
	return err
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
	d.checkpoints = startCheckpoints(ctx, copier, d.Write, d.commits.Load)
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

// migrateSQLite runs our migrations and, as one of them, the queue's.
func migrateSQLite(ctx context.Context, conn *sql.DB) error {
	queue := goose.NewGoMigration(migrations.QueueVersion, &goose.GoFunc{RunTx: sqliteQueueUp}, nil)
	provider, err := goose.NewProvider(goose.DialectSQLite3, conn, migrations.SQLite(),
		goose.WithGoMigrations(queue), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func sqliteQueueUp(ctx context.Context, tx *sql.Tx) error {
	migrator, err := rivermigrate.New(riversqlite.New(nil), nil)
	if err != nil {
		return err
	}
	//nolint:staticcheck // deprecated for PostgreSQL's sake, where some migrations can't share a transaction; in SQLite all can
	_, err = migrator.MigrateTx(ctx, tx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
	return err
}
