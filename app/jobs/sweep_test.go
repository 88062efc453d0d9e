package jobs

import (
	"context"
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// noSites serves nothing.
type noSites struct{ Sites }

func (noSites) Listed() []string { return nil }

func TestTheSweepWakesWhoDrainsAnInboxThatNobodyDoes(t *testing.T) {
	t.Parallel()
	d := sqltest.Open(t)
	j := &Jobs{DB: d, Deliveries: store.NewDeliveries(d), Sites: noSites{}, Log: slog.New(slog.DiscardHandler)}
	if err := j.Open(Config{Settles: 1, Plans: 1, Applies: 1, Sweep: time.Hour}); err != nil {
		t.Fatal(err)
	}
	drains := func() (n int) {
		t.Helper()
		if err := (&sweepWorker{Jobs: j}).repositories(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := d.Read.QueryRow(`SELECT count(*) FROM river_job WHERE kind = 'event'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := drains(); n != 0 {
		t.Errorf("%d jobs to drain an inbox with nothing in it", n)
	}
	inbox := store.NewInbox(d, func(context.Context, *sql.Tx) (bool, error) { return true, nil })
	if _, err := inbox.Accept(t.Context(), store.Delivery{GUID: "d1", State: store.DeliveryPending}); err != nil {
		t.Fatal(err)
	}
	if err := inbox.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if n := drains(); n != 1 {
			t.Errorf("%d jobs to drain the inbox, want one", n)
		}
	}
}
