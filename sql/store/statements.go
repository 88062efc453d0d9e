package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// statements are queries prepared once for a writer that runs them all day:
// parsing costs about as much as inserting a small row.
type statements map[string]*sql.Stmt

func prepare(ctx context.Context, on *sql.DB, queries ...string) (statements, error) {
	s := make(statements, len(queries))
	for _, query := range queries {
		stmt, err := on.PrepareContext(ctx, query)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("preparing: %w", err), s.close())
		}
		s[query] = stmt
	}
	return s, nil
}

// in lets generated code run in tx, through the prepared statement where there
// is one.
func (s statements) in(ctx context.Context, tx *sql.Tx) Conn {
	bound := make(map[string]*sql.Stmt, len(s))
	for query, stmt := range s {
		bound[query] = tx.StmtContext(ctx, stmt)
	}
	return preparedTx{Tx: tx, bound: bound}
}

func (s statements) close() error {
	var errs []error
	for _, stmt := range s {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(errs...)
}

type preparedTx struct {
	*sql.Tx
	bound map[string]*sql.Stmt
}

func (p preparedTx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt, ok := p.bound[query]; ok {
		return stmt.ExecContext(ctx, args...)
	}
	return p.Tx.ExecContext(ctx, query, args...)
}

func (p preparedTx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt, ok := p.bound[query]; ok {
		return stmt.QueryContext(ctx, args...)
	}
	return p.Tx.QueryContext(ctx, query, args...)
}
