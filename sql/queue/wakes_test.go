package queue

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chant-bot/chant/sql/store"
)

// Every queue is told of a commit, once: more commits before anybody looked are no
// more news, and one of which nobody looked yet is not lost.
func TestACommitWakesEveryQueue(t *testing.T) {
	t.Parallel()
	d, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "chant.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	driver := newPollDriver(d, []string{"plan", "settle"})
	heard := driver.GetListener(nil)
	commit := func() {
		t.Helper()
		if err := d.InLazyTx(t.Context(), func(*sql.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	next := func() string {
		t.Helper()
		n, err := heard.WaitForNotification(t.Context())
		if err != nil || n.Topic != topicInsert {
			t.Fatalf("%+v %v", n, err)
		}
		return n.Payload
	}
	commit()
	commit()
	got := []string{next(), next()}
	commit()
	got = append(got, next(), next())
	want := []string{`{"queue": "plan"}`, `{"queue": "settle"}`, `{"queue": "plan"}`, `{"queue": "settle"}`}
	if !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := heard.WaitForNotification(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("nothing was committed, and %v", err)
	}
	if driver.SupportsListenNotify() {
		t.Error("a row is written for each job that is queued")
	}
}
