package jobs

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestAReplayQueuesADeliveryOnceAndWakesWhoeverWorksItOff(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		t.Helper()
		inbox := store.NewInbox(d, nil)
		defer func() { _ = inbox.Close() }()
		forge := engine.Instance{Kind: engine.GitHub, Host: "github.com"}
		for _, row := range []store.Delivery{{GUID: "kept", Body: []byte("{}")}, {GUID: "not kept"}} {
			row.Instance, row.Event, row.State, row.ReceivedAt = forge, "push", store.DeliveryIgnored, time.Now()
			if _, err := inbox.Accept(t.Context(), row); err != nil {
				t.Fatal(err)
			}
		}
		done := 0
		replay := func(id int64) (bool, error) {
			_, queued, err := Replay(t.Context(), d, id, func(_ *sql.Tx, row store.Delivery) error {
				done++
				if row.GUID != "kept" {
					t.Errorf("%q is replayed", row.GUID)
				}
				return nil
			})
			return queued, err
		}
		for i, want := range []bool{true, false} { // the second finds it pending
			if queued, err := replay(1); err != nil || queued != want {
				t.Errorf("replay %d: %v, %v", i, queued, err)
			}
		}
		if _, err := replay(2); err == nil || !strings.Contains(err.Error(), "not kept") {
			t.Errorf("without its body: %v", err)
		}
		if _, err := replay(3); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("never received: %v", err)
		}
		depths, err := queue.Depths(t.Context(), d)
		if diff := cmp.Diff([]queue.Depth{{Kind: "event", State: "available", Jobs: 1}}, depths); diff != "" || err != nil || done != 1 {
			t.Errorf("%d done, %v\n%s", done, err, diff)
		}
	})
}
