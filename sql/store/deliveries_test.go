package store_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// received stores n pending deliveries d1…dn, one second apart.
func received(t *testing.T, d *store.DB, n int) store.Deliveries {
	t.Helper()
	var woken atomic.Int64
	b := openInbox(t, d, bell(&woken))
	for i := 1; i <= n; i++ {
		one := sent(fmt.Sprintf("d%d", i))
		one.ReceivedAt = at(int64(i))
		must[bool](t)(b.Accept(t.Context(), one))
	}
	return store.NewDeliveries(d)
}

func ids(ds []store.Delivery) (out []int64) {
	for _, d := range ds {
		out = append(out, d.ID)
	}
	return out
}

func TestADeliveryHasExactlyOneOutcome(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 2)
		finish := func(outcome string) bool {
			t.Helper()
			return must[bool](t)(s.Finish(t.Context(), d.Write, 1, store.DeliveryDone, outcome, at(10)))
		}
		if !finish("first") || finish("second") {
			t.Error("want the first outcome taken and the second refused")
		}
		got := must[store.Delivery](t)(s.Get(t.Context(), 1))
		if got.Outcome != "first" || got.State != store.DeliveryDone || !got.OutcomeAt.Equal(at(10)) {
			t.Errorf("stored %+v", got)
		}
		if diff := cmp.Diff([]int64{2}, ids(must[[]store.Delivery](t)(s.Pending(t.Context(), 10)))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestDeliveriesWorkedOffTogetherEndTogether(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 3)
		must[bool](t)(s.Finish(t.Context(), d.Write, 2, store.DeliveryFailed, "before", at(10)))
		tx(t, d, func(tx *sql.Tx) error {
			return s.FinishAll(t.Context(), tx, []store.DeliveryOutcome{
				{ID: 1, State: store.DeliveryDone, Outcome: "one"},
				{ID: 2, State: store.DeliveryDone, Outcome: "two"},
				{ID: 3, State: store.DeliveryIgnored, Outcome: "three"},
			}, at(11))
		})
		got := map[int64]string{}
		for _, one := range must[[]store.Delivery](t)(s.List(t.Context(), "", 0, 10)) {
			got[one.ID] = string(one.State) + " " + one.Outcome
		}
		if diff := cmp.Diff(map[int64]string{1: "done one", 2: "failed before", 3: "ignored three"}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAReplayedDeliveryIsPendingAgainWithItsBody(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 1)
		if must[bool](t)(s.Replay(t.Context(), d.Write, 1)) {
			t.Error("a pending delivery was replayed")
		}
		must[bool](t)(s.Finish(t.Context(), d.Write, 1, store.DeliveryFailed, "boom", at(10)))
		if !must[bool](t)(s.Replay(t.Context(), d.Write, 1)) {
			t.Error("a failed delivery was not replayed")
		}
		want := sent("d1")
		want.ID = 1
		if diff := cmp.Diff([]store.Delivery{want}, must[[]store.Delivery](t)(s.Pending(t.Context(), 10))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOldDeliveriesAreForgottenUnlessPending(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 4)
		for _, id := range []int64{1, 3, 4} {
			must[bool](t)(s.Finish(t.Context(), d.Write, id, store.DeliveryDone, "", at(20)))
		}
		for _, most := range []int{1, 10, 10} { // two are old enough
			tx(t, d, func(tx *sql.Tx) error {
				n, err := s.DeleteBefore(t.Context(), tx, at(4), most)
				if most == 1 && n != 1 || most == 10 && n > 1 {
					t.Errorf("deleted %d of at most %d", n, most)
				}
				return err
			})
		}
		if diff := cmp.Diff([]int64{4, 2}, ids(must[[]store.Delivery](t)(s.List(t.Context(), "", 0, 10)))); diff != "" {
			t.Error(diff)
		}
		var bodies int
		if err := d.Read.QueryRow("SELECT count(*) FROM delivery_contents").Scan(&bodies); err != nil || bodies != 2 {
			t.Errorf("%d bodies left, %v", bodies, err)
		}
		if _, err := s.Get(t.Context(), 1); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a deleted delivery: %v", err)
		}
	})
}

func TestDeliveriesAreListedNewestFirstByPageAndState(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 5)
		must[bool](t)(s.Finish(t.Context(), d.Write, 2, store.DeliveryDone, "", at(20)))
		must[bool](t)(s.Finish(t.Context(), d.Write, 4, store.DeliveryDone, "", at(20)))
		for _, tt := range []struct {
			state  store.DeliveryState
			before int64
			limit  int
			want   []int64
		}{
			{"", 0, 2, []int64{5, 4}},
			{"", 4, 2, []int64{3, 2}},
			{store.DeliveryDone, 0, 10, []int64{4, 2}},
			{store.DeliveryDone, 4, 10, []int64{2}},
			{store.DeliveryFailed, 0, 10, nil},
			{"", 0, 0, []int64{5}},
		} {
			got := ids(must[[]store.Delivery](t)(s.List(t.Context(), tt.state, tt.before, tt.limit)))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%+v: %s", tt, diff)
			}
		}
	})
}

func TestAWaitingDeliveryIsOutOfTheWayAndNotForgotten(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 3)
		repo := must[store.Delivery](t)(s.Get(t.Context(), 2)).Repo
		finish := func(state store.DeliveryState, outcome string) bool {
			t.Helper()
			return must[bool](t)(s.Finish(t.Context(), d.Write, 2, state, outcome, at(10)))
		}
		waits := func() int {
			t.Helper()
			return len(must[[]engine.Repo](t)(s.WaitedFor(t.Context(), d.Read)))
		}
		if !finish(store.DeliveryWaiting, "the forge does not answer") || waits() != 1 {
			t.Fatal("want one repository waited for")
		}
		if diff := cmp.Diff([]int64{1, 3}, ids(must[[]store.Delivery](t)(s.Pending(t.Context(), 10)))); diff != "" {
			t.Errorf("pending: %s", diff)
		}
		if diff := cmp.Diff([]int64{2}, ids(must[[]store.Delivery](t)(s.Waiting(t.Context(), repo, 10)))); diff != "" {
			t.Errorf("waiting: %s", diff)
		}
		tx(t, d, func(tx *sql.Tx) error {
			n, err := s.DeleteBefore(t.Context(), tx, at(100), 10)
			if n != 0 {
				t.Errorf("%d deliveries without an outcome were forgotten", n)
			}
			return err
		})
		if !finish(store.DeliveryDone, "handled") || finish(store.DeliveryWaiting, "again") || waits() != 0 {
			t.Error("want one outcome, and nothing waited for after it")
		}
	})
}

func TestWhateverAnOutcomeSaysIsStored(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		s := received(t, d, 1)
		if !must[bool](t)(s.Finish(t.Context(), d.Write, 1, store.DeliveryFailed, "before\x00\xffafter", at(10))) {
			t.Fatal("not finished")
		}
		got := must[store.Delivery](t)(s.Get(t.Context(), 1)).Outcome
		if !strings.HasPrefix(got, "before") || !strings.HasSuffix(got, "after") {
			t.Errorf("stored %q", got)
		}
	})
}
