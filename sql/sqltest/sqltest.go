// Package sqltest gives each test a database of its own.
package sqltest

import (
	"path/filepath"
	"testing"

	"github.com/chant-bot/chant/sql/store"
)

// Open is a new, migrated database that ends with the test.
func Open(tb testing.TB) *store.DB {
	tb.Helper()
	return OpenAt(tb, filepath.Join(tb.TempDir(), "chant.db"))
}

// OpenAt opens the database at path, for a test that opens it twice.
func OpenAt(tb testing.TB, path string) *store.DB {
	tb.Helper()
	db, err := store.Open(tb.Context(), path)
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
