// Package sqltest gives each test a database of its own: of SQLite, or of a
// PostgreSQL server that runs as long as the tests of one package.
package sqltest

import (
	"path/filepath"
	"testing"

	"github.com/chant-bot/chant/sql/store"
)

// Each runs a test twice, over a new SQLite database and over a new PostgreSQL
// database. The package's TestMain calls Main.
func Each(t *testing.T, test func(t *testing.T, d *store.DB)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, Open(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, OpenAt(t, Postgres(t)))
	})
}

// Open is a new, migrated SQLite database that ends with the test.
func Open(tb testing.TB) *store.DB {
	tb.Helper()
	return OpenAt(tb, filepath.Join(tb.TempDir(), "chant.db"))
}

// OpenAt opens the database at a path or URL, for a test that opens it twice.
func OpenAt(tb testing.TB, source string) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), source)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Error(err)
		}
	})
	return db
}
