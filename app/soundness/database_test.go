package soundness_test

import (
	"database/sql"
	"path/filepath"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/chant-bot/chant/engine/changeset"
)

// database opens the server's database to look at, beside the server.
func (w *world) database() *sql.DB {
	w.t.Helper()
	if w.source != "" {
		return must(sql.Open("pgx", w.source))(w.t)
	}
	return must(sql.Open("sqlite", "file:"+filepath.Join(w.Dir, "server", "chant.db")+"?mode=ro"))(w.t)
}

// plans are the documents planned for one head.
func (w *world) plans(head string) []*changeset.Document {
	w.t.Helper()
	db := w.database()
	defer db.Close()
	rows, err := db.QueryContext(w.ctx, `SELECT document FROM plans WHERE head = $1`, head)
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	var out []*changeset.Document
	for rows.Next() {
		var text []byte
		if err := rows.Scan(&text); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, must(changeset.Parse(text))(w.t))
	}
	if err := rows.Err(); err != nil {
		w.t.Fatal(err)
	}
	return out
}

// count answers a query for a number.
func (w *world) count(query string) int {
	w.t.Helper()
	db := w.database()
	defer db.Close()
	var n int
	if err := db.QueryRowContext(w.ctx, query).Scan(&n); err != nil {
		w.t.Fatal(err)
	}
	return n
}
