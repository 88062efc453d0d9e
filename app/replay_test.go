package app_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/sql/store"
)

// A delivery says where to look, never what to do: all of them again, in the
// worst order, change nothing on the forge and decide nothing.
func TestADeliveryWorkedOffAgainDoesNothingTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.serve()()
	w.busy()
	w.idle()
	c, err := config.Load(config.Source{Path: filepath.Join(w.Dir, "chant.yaml")})
	if err != nil {
		t.Fatal(err)
	}
	deliveries, decided := w.kept()
	before, ledger := w.writes(), w.ledgerTip()
	again := 0
	slices.Reverse(deliveries)
	for _, d := range deliveries {
		_, queued, err := app.Replay(w.ctx, c, d.ID, "operator:test")
		if err != nil {
			t.Fatal(err)
		}
		if queued {
			again++
		}
	}
	if again != len(deliveries) || again < 20 {
		t.Errorf("%d of %d deliveries are queued again", again, len(deliveries))
	}
	w.idle()
	after, audit := w.kept()
	for _, d := range after {
		if d.State != store.DeliveryDone && d.State != store.DeliveryIgnored {
			t.Errorf("delivery %d, %s: %s %q", d.ID, d.Event, d.State, d.Outcome)
		}
	}
	if diff := cmp.Diff(before, w.writes()); diff != "" || w.ledgerTip() != ledger {
		t.Errorf("the ledger is at %s, was at %s; writes to the forge (-before +after):\n%s", w.ledgerTip(), ledger, diff)
	}
	// Only the replays themselves are new in the audit.
	if diff := cmp.Diff(len(decided)+again, len(audit)); diff != "" || audit[0].Action != "replay" || audit[0].Actor != "operator:test" {
		t.Errorf("audit: %s, newest %+v", diff, audit[0])
	}
	page := w.page("/audit")
	for _, want := range []string{"operator:test", "github:alice", "comment approve", "apply", "counted", "applied"} {
		if !strings.Contains(strings.ReplaceAll(page, "@127.0.0.1:"+w.port(), ""), want) {
			t.Errorf("%q is not on the audit page", want)
		}
	}
	if page := w.page(fmt.Sprintf("/deliveries/%d", deliveries[0].ID)); !strings.Contains(page, deliveries[0].GUID) || !strings.Contains(page, "chant replay ") {
		t.Errorf("the page of a delivery:\n%s", page)
	}
}

// kept is what the server's database holds of deliveries and decisions.
func (w *world) kept() (deliveries []store.Delivery, decisions []store.AuditEntry) {
	w.t.Helper()
	db, err := store.Open(w.ctx, filepath.Join(w.Dir, "server", "chant.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	if deliveries, err = store.NewDeliveries(db).List(w.ctx, "", 0, 200); err != nil {
		w.t.Fatal(err)
	}
	if decisions, err = store.NewAudit(db).List(w.ctx, "", 0, 200); err != nil {
		w.t.Fatal(err)
	}
	return deliveries, decisions
}

// writes counts requests that are no reads, by route.
func (w *world) writes() map[string]int {
	counts := w.Forge.Requests()
	maps.DeleteFunc(counts, func(route string, _ int) bool {
		return strings.HasPrefix(route, "GET ") || strings.HasPrefix(route, "GIT git-upload-pack")
	})
	return counts
}

func (w *world) ledgerTip() string {
	w.t.Helper()
	tip, err := w.Repo.Head("chant/lifecycle")
	if err != nil {
		w.t.Fatal(err)
	}
	return tip
}

func (w *world) port() string {
	_, port, _ := strings.Cut(strings.TrimPrefix(w.Forge.URL(), "http://"), ":")
	return port
}

// idle waits until every delivery is answered and no job is left.
func (w *world) idle() {
	w.t.Helper()
	w.await("nothing to be left to do", func() bool {
		if err := w.Forge.Quiesce(w.ctx); err != nil {
			w.t.Fatal(err)
		}
		text := w.metrics()
		return strings.Contains(text, "chant_deliveries_pending 0\n") && !strings.Contains(text, "chant_jobs{")
	})
}
