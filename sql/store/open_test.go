package store_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// at is a time stores give back as it is: whole milliseconds, UTC.
func at(seconds int64) time.Time { return time.Unix(1_800_000_000+seconds, 0).UTC() }

// tx runs do in a durable transaction.
func tx(t *testing.T, d *store.DB, do func(*sql.Tx) error) {
	t.Helper()
	if err := d.InTx(t.Context(), do); err != nil {
		t.Fatal(err)
	}
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestOpeningAgainKeepsWhatIsThere(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "with space?and#more.db")
	first := must[*store.DB](t)(store.Open(t.Context(), path))
	if err := store.NewSettings(first).Put(t.Context(), first.Write, "k", []byte("v"), at(0)); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := sqltest.OpenAt(t, path)
	if got := must[[]byte](t)(store.NewSettings(again).Get(t.Context(), "k")); string(got) != "v" {
		t.Errorf("read %q", got)
	}
}

func TestATransactionThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		boom := errors.New("boom")
		err := d.InTx(t.Context(), func(tx *sql.Tx) error {
			if err := store.NewSettings(d).Put(t.Context(), tx, "k", []byte("v"), at(0)); err != nil {
				return err
			}
			return boom
		})
		if !errors.Is(err, boom) {
			t.Fatalf("got %v", err)
		}
		if _, err := store.NewSettings(d).Get(t.Context(), "k"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("after a rollback: %v, want not found", err)
		}
	})
}

func TestReadersRefuseToWrite(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		if err := store.NewSettings(d).Put(t.Context(), d.Read, "k", nil, at(0)); err == nil {
			t.Error("a reader wrote")
		}
	})
}

func TestADatabaseThatCannotBeUsedSaysWhatToDo(t *testing.T) {
	t.Parallel()
	damaged := filepath.Join(t.TempDir(), "chant.db")
	if err := os.WriteFile(damaged, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		damaged: "move it away", filepath.Join(t.TempDir(), "none", "chant.db"): "make its directory",
	} {
		if d, err := store.Open(t.Context(), path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %q", d, err, want)
		}
	}
}
