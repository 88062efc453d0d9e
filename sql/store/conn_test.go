package store_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// numbers reads a column of numbers in one go.
func numbers(t *testing.T, on store.Conn, query string, args ...any) (out []int) {
	t.Helper()
	rows, err := on.QueryContext(t.Context(), query, args...)
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		var n int
		if err := rows.Scan(&n); err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// scratch is a database with the numbers 1, 2 and 3 in a table n.
func scratch(t *testing.T) *store.DB {
	t.Helper()
	d := sqltest.Open(t)
	if _, err := d.Write.Exec("CREATE TABLE n (i INTEGER PRIMARY KEY); INSERT INTO n VALUES (1); INSERT INTO n VALUES (2), (3)"); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestAScriptRunsWhole(t *testing.T) {
	t.Parallel()
	d := scratch(t)
	if diff := cmp.Diff([]int{1, 2, 3}, numbers(t, d.Read, "SELECT i FROM n ORDER BY i")); diff != "" {
		t.Error(diff)
	}
}

func TestAQueryRunsInsideItself(t *testing.T) {
	t.Parallel()
	d := scratch(t)
	const query = "SELECT i FROM n WHERE i >= $1 ORDER BY i"
	tx(t, d, func(tx *sql.Tx) error {
		outer, err := tx.QueryContext(t.Context(), query, 2)
		if err != nil {
			return err
		}
		var got []string
		for outer.Next() {
			var n int
			if err := outer.Scan(&n); err != nil {
				return err
			}
			got = append(got, fmt.Sprint(n, numbers(t, tx, query, n)))
		}
		if diff := cmp.Diff([]string{"2 [2 3]", "3 [3]"}, got); diff != "" {
			t.Error(diff)
		}
		return outer.Err()
	})
}

func TestAKeptStatementFollowsTheSchemaAndItsArguments(t *testing.T) {
	t.Parallel()
	d := scratch(t)
	const query = "SELECT * FROM n WHERE i = $1"
	if diff := cmp.Diff([]int{2}, numbers(t, d.Write, query, 2)); diff != "" {
		t.Error(diff)
	}
	if _, err := d.Write.Exec("DROP TABLE n; CREATE TABLE n (i INTEGER PRIMARY KEY); INSERT INTO n VALUES (7)"); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[int][]int{2: nil, 7: {7}} {
		if diff := cmp.Diff(want, numbers(t, d.Write, query, arg)); diff != "" {
			t.Errorf("%d: %s", arg, diff)
		}
	}
}

func TestAKeptStatementWorksAfterItFailed(t *testing.T) {
	t.Parallel()
	d := scratch(t)
	for i, fails := range []bool{true, false, true, false} {
		n := 1 // taken
		if !fails {
			n = 100 + i
		}
		if _, err := d.Write.Exec("INSERT INTO n VALUES ($1)", n); (err != nil) != fails {
			t.Errorf("insert %d: %v", n, err)
		}
	}
}

func TestMoreTextsThanAreKeptStillRun(t *testing.T) {
	t.Parallel()
	d := scratch(t)
	for i := range 300 {
		query := fmt.Sprintf("SELECT i + %d FROM n WHERE i = $1", i)
		if diff := cmp.Diff([]int{1 + i}, numbers(t, d.Write, query, 1)); diff != "" {
			t.Fatal(diff)
		}
	}
}
