package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// Table is a table and how many rows of it were moved.
type Table struct {
	Name string
	Rows int64
}

// moved are the tables of ours that a move takes along. Those with an id of their
// own keep it: others refer to it, and addresses that people kept do.
func moved() []string {
	return []string{
		"deliveries", "delivery_contents", "repos", "subjects", "plans", "runs", "run_events", "run_merges",
		"posts", "comments", "audit", "settings", "reports",
	}
}

// numbered are those of them that number their rows.
func numbered() []string { return []string{"deliveries", "plans", "runs", "audit", "reports"} }

// OccupiedError says that the target of a move holds rows already.
type OccupiedError struct{ Tables []string }

func (e *OccupiedError) Error() string {
	return "the target holds rows already, in " + strings.Join(e.Tables, ", ") + "; nothing was moved: give an empty database"
}

// Move copies everything in from, an SQLite database that no server uses, into
// to, an empty PostgreSQL database, in one transaction: all of it or nothing. more
// adds to the transaction what is not ours. It returns what was copied, table by
// table, and *OccupiedError when to is not empty.
func Move(ctx context.Context, from, to *DB, more func(context.Context, pgx.Tx) (Table, error)) ([]Table, error) {
	source, err := from.Read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("reading the old database: %w", err)
	}
	defer func() { _ = source.Rollback() }() // it only reads
	var tables []Table
	err = pgx.BeginFunc(ctx, to.Postgres, func(target pgx.Tx) error {
		if err := vacant(ctx, target); err != nil {
			return err
		}
		for _, name := range moved() {
			rows, err := copyTable(ctx, source, target, name)
			if err != nil {
				return fmt.Errorf("moving %s: %w", name, err)
			}
			tables = append(tables, Table{name, rows})
		}
		for _, name := range numbered() {
			next := fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', 'id'), max(id)) FROM %s`, name, name)
			if _, err := target.Exec(ctx, next); err != nil {
				return fmt.Errorf("numbering %s: %w", name, err)
			}
		}
		other, err := more(ctx, target)
		tables = append(tables, other)
		return err
	})
	if err != nil {
		return nil, err
	}
	return tables, nil
}

// vacant takes an empty target for this transaction alone.
func vacant(ctx context.Context, target pgx.Tx) error {
	names := append(moved(), "replicas", "river_job")
	if _, err := target.Exec(ctx, `LOCK TABLE `+strings.Join(names, ", ")+` IN EXCLUSIVE MODE`); err != nil {
		return fmt.Errorf("taking the target: %w", err)
	}
	var full []string
	for _, name := range names {
		var some bool
		if err := target.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM `+name+`)`).Scan(&some); err != nil {
			return fmt.Errorf("looking into %s: %w", name, err)
		}
		if some {
			full = append(full, name)
		}
	}
	if full != nil {
		return &OccupiedError{Tables: full}
	}
	return nil
}

func copyTable(ctx context.Context, source *sql.Tx, target pgx.Tx, name string) (int64, error) {
	empty, err := target.Query(ctx, `TABLE `+name+` LIMIT 0`)
	if err != nil {
		return 0, err
	}
	columns := empty.FieldDescriptions()
	empty.Close()
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	rows, err := source.QueryContext(ctx, `SELECT `+strings.Join(names, ", ")+` FROM `+name) //nolint:gosec // names of ours
	if err != nil {
		return 0, err
	}
	defer func() { _ = rows.Close() }() // rows.Err tells
	next := func() ([]any, error) {
		if !rows.Next() {
			return nil, rows.Err() // nil ends the copy
		}
		return postgresRow(rows, columns)
	}
	copied, err := target.CopyFrom(ctx, pgx.Identifier{name}, names, pgx.CopyFromFunc(next))
	return copied, errors.Join(err, rows.Err())
}

// postgresRow reads a row of SQLite, which has no truth values and takes any
// text, for columns of PostgreSQL.
func postgresRow(rows *sql.Rows, columns []pgconn.FieldDescription) ([]any, error) {
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	if err := rows.Scan(into...); err != nil {
		return nil, err
	}
	for i, v := range row {
		switch v := v.(type) {
		case string:
			row[i] = plainText(v)
		case nil:
			row[i] = []byte{} // what the driver makes of it; no column holds null
		case []byte:
			row[i] = blob(v)
		case int64:
			if columns[i].DataTypeOID == pgtype.BoolOID {
				row[i] = v != 0
			}
		}
	}
	return row, nil
}
