package store

import (
	"context"
	"database/sql/driver"
	"errors"
)

// connector opens connections that keep the statements they have parsed. The
// stores and the job queue send the same few texts for ever, and parsing one
// costs more than most of them do.
type connector struct{ driver.Connector }

// maxKept bounds the statements of a connection; texts made up on the way are
// not worth keeping.
const maxKept = 256

// sqliteConn is what the SQLite driver's connections can do and database/sql
// makes use of.
type sqliteConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	opened, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := opened.(sqliteConn)
	if !ok {
		return nil, errors.Join(errors.New("the SQLite driver lacks what this program needs of it"), opened.Close())
	}
	return &conn{sqliteConn: full, kept: map[string]*keptStmt{}}, nil
}

// conn is used by one goroutine at a time, as database/sql promises a driver.
type conn struct {
	sqliteConn
	kept map[string]*keptStmt
}

// keptStmt is a parsed statement. While rows of it are being read it must not
// be run again.
type keptStmt struct {
	driver.Stmt
	run interface {
		driver.StmtExecContext
		driver.StmtQueryContext
	}
	reading bool
}

// statement is the kept statement of a text, nil when the text must be run
// without one.
func (c *conn) statement(ctx context.Context, query string) (*keptStmt, error) {
	if kept, ok := c.kept[query]; ok {
		if kept.reading {
			return nil, nil
		}
		return kept, nil
	}
	if len(c.kept) >= maxKept {
		return nil, nil
	}
	parsed, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	run, ok := parsed.(interface {
		driver.StmtExecContext
		driver.StmtQueryContext
	})
	if !ok {
		return nil, parsed.Close()
	}
	c.kept[query] = &keptStmt{Stmt: parsed, run: run}
	return c.kept[query], nil
}

// ExecContext implements driver.ExecerContext. A text without arguments may be
// a script, which must be parsed as it runs.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	stmt, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return c.sqliteConn.ExecContext(ctx, query, args)
	}
	return stmt.run.ExecContext(ctx, args)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	stmt, err := c.statement(ctx, query)
	if err != nil {
		return nil, err
	}
	if stmt == nil {
		return c.sqliteConn.QueryContext(ctx, query, args)
	}
	rows, err := stmt.run.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	stmt.reading = true
	return &keptRows{Rows: rows, stmt: stmt}, nil
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	var errs []error
	for _, stmt := range c.kept {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, c.sqliteConn.Close())...)
}

type keptRows struct {
	driver.Rows
	stmt *keptStmt
}

// Close implements driver.Rows.
func (r *keptRows) Close() error {
	r.stmt.reading = false
	return r.Rows.Close()
}
