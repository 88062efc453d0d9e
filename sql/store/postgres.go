package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/chant-bot/chant/sql/migrations"
)

// Connections of one process: four replicas fit into the hundred that PostgreSQL
// allows by default. The rest are one that listens, and one for bulk copies.
const (
	postgresWriters = 14
	postgresReaders = 6
	postgresOthers  = 2
)

// connectTime is how long one connection may take to be made, unless the URL
// says otherwise.
const connectTime = 10 * time.Second

// Whoever waits for another process to migrate asks again so many seconds apart,
// and gives up after so many times.
const (
	lockEvery = 1
	lockTries = 300
)

func openPostgres(ctx context.Context, source string) (*DB, error) {
	d := &DB{wake: make(chan struct{}, 1)}
	if err := d.connect(ctx, source); err != nil {
		return nil, errors.Join(fmt.Errorf("opening database %s: %w", shown(source), err), d.Close())
	}
	return d, nil
}

func (d *DB) connect(ctx context.Context, source string) error {
	config, err := pgxpool.ParseConfig(source)
	if err != nil {
		return err // without the password
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = connectTime
	}
	config.MinConns, config.MaxConns = 0, postgresOthers
	if d.Postgres, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return err
	}
	d.Write = poolOf(*config.ConnConfig, postgresWriters)
	d.Read = poolOf(*readOnly(config.ConnConfig), postgresReaders)
	return migratePostgres(ctx, d.Write)
}

func poolOf(config pgx.ConnConfig, conns int) *sql.DB {
	pool := sql.OpenDB(textConnector{stdlib.GetConnector(config)})
	pool.SetMaxOpenConns(conns)
	pool.SetMaxIdleConns(conns)
	return pool
}

// textConnector opens connections that take every text. What people and tools say
// may hold a NUL or bytes that are no UTF-8, which PostgreSQL refuses and which
// nobody reads.
type textConnector struct{ driver.Connector }

func (c textConnector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := opened.(*stdlib.Conn)
	if !ok {
		return nil, errors.Join(errors.New("the PostgreSQL driver is not the one this program needs"), opened.Close())
	}
	return textConn{full}, nil
}

type textConn struct{ *stdlib.Conn }

// CheckNamedValue implements driver.NamedValueChecker. What is no text is for the
// driver to convert.
func (textConn) CheckNamedValue(v *driver.NamedValue) error {
	if text, ok := v.Value.(string); ok {
		v.Value = plainText(text)
	}
	return nil
}

func plainText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func readOnly(config *pgx.ConnConfig) *pgx.ConnConfig {
	config = config.Copy()
	config.RuntimeParams["default_transaction_read_only"] = "on"
	return config
}

// shown is the URL of a database without its password.
func shown(source string) string {
	u, err := url.Parse(source)
	if err != nil { // whose text quotes the URL
		return "of this URL"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	u.RawQuery = "" // a password may be among the parameters too
	return u.String()
}

// migratePostgres runs our migrations and, as one of them, the queue's. Of
// several processes that start at once one does and the others wait for it.
func migratePostgres(ctx context.Context, conn *sql.DB) error {
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(lockEvery, lockTries))
	if err != nil {
		return err
	}
	// Not in one transaction: a value added to an enum is of no use in its own.
	queue := goose.NewGoMigration(migrations.QueueVersion, &goose.GoFunc{RunDB: postgresQueueUp}, nil)
	provider, err := goose.NewProvider(goose.DialectPostgres, conn, migrations.Postgres(),
		goose.WithGoMigrations(queue), goose.WithDisableGlobalRegistry(true), goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

func postgresQueueUp(ctx context.Context, conn *sql.DB) error {
	migrator, err := rivermigrate.New(riverdatabasesql.New(conn), nil)
	if err != nil {
		return err
	}
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, &rivermigrate.MigrateOpts{TargetVersion: riverVersion})
	return err
}
