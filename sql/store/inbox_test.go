package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

var hub = engine.Instance{Kind: engine.GitHub, Host: "github.com"}

func sent(guid string) store.Delivery {
	return store.Delivery{
		Instance: hub, GUID: guid, Event: "push", Action: "a", Installation: 9,
		Repo:   engine.Repo{Instance: hub, ID: 42, Owner: "acme", Name: "infra"},
		Sender: engine.Actor{ID: 7, Login: "octocat", Bot: true},
		Header: map[string]string{"X-Github-Event": "push"}, Body: []byte(`{"ref":"x"}`),
		ReceivedAt: at(1), State: store.DeliveryPending,
	}
}

func openInbox(t testing.TB, d *store.DB, wake store.Wake) *store.Inbox {
	t.Helper()
	b := store.NewInbox(d, wake)
	t.Cleanup(func() {
		if err := b.Close(); err != nil && !errors.Is(err, store.ErrClosed) {
			t.Error(err)
		}
	})
	return b
}

// bell counts how often the worker was woken.
func bell(n *atomic.Int64) store.Wake {
	return func(context.Context, *sql.Tx) (bool, error) { n.Add(1); return true, nil }
}

func TestADeliveryIsStoredOnceAndWakesOnce(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		var woken atomic.Int64
		b := openInbox(t, d, bell(&woken))
		other := sent("d1")
		other.Instance.Host = "git.example"
		other.Repo.Instance = other.Instance
		for _, step := range []struct {
			d     store.Delivery
			fresh bool
			woken int64
		}{
			{sent("d1"), true, 1},
			{sent("d1"), false, 1},
			{other, true, 2}, // another forge may use the same GUID
			{sent("d1"), false, 2},
		} {
			fresh, err := b.Accept(t.Context(), step.d)
			if err != nil || fresh != step.fresh || woken.Load() != step.woken {
				t.Fatalf("fresh %v, woken %d, %v; want %v, %d", fresh, woken.Load(), err, step.fresh, step.woken)
			}
		}
		got := must[[]store.Delivery](t)(store.NewDeliveries(d).Pending(t.Context(), 10))
		for i := range got { // in order; a conflict may use a number up
			if i > 0 && got[i].ID <= got[i-1].ID {
				t.Errorf("numbered %d after %d", got[i].ID, got[i-1].ID)
			}
			got[i].ID = 0
		}
		if diff := cmp.Diff([]store.Delivery{sent("d1"), other}, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestAnIgnoredDeliveryWakesNobody(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		var woken atomic.Int64
		b := openInbox(t, d, bell(&woken))
		ignored := sent("d1")
		ignored.State, ignored.Outcome, ignored.OutcomeAt, ignored.Body = store.DeliveryIgnored, "not on the list", at(1), nil
		if fresh := must[bool](t)(b.Accept(t.Context(), ignored)); !fresh || woken.Load() != 0 {
			t.Errorf("fresh %v, woken %d", fresh, woken.Load())
		}
		if pending := must[[]store.Delivery](t)(store.NewDeliveries(d).Pending(t.Context(), 10)); len(pending) != 0 {
			t.Errorf("pending: %v", pending)
		}
		got := must[store.Delivery](t)(store.NewDeliveries(d).Get(t.Context(), 1))
		if got.Outcome != "not on the list" || got.State != store.DeliveryIgnored || len(got.Body) != 0 {
			t.Errorf("stored %+v", got)
		}
	})
}

func TestWhatIsNotAcknowledgedIsNotThere(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		fail := errors.New("no worker")
		b := openInbox(t, d, func(context.Context, *sql.Tx) (bool, error) { return false, fail })
		if _, err := b.Accept(t.Context(), sent("d1")); !errors.Is(err, fail) {
			t.Fatalf("got %v", err)
		}
		if got := must[[]store.Delivery](t)(store.NewDeliveries(d).List(t.Context(), "", 0, 10)); len(got) != 0 {
			t.Errorf("stored %v: the forge would be told it is known", got)
		}
	})
}

func TestABadDeliveryDoesNotLoseItsNeighbours(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		// The second delivery that is bad breaks a constraint.
		if _, err := d.Write.Exec(`CREATE UNIQUE INDEX bad ON deliveries (event) WHERE guid LIKE 'bad%'`); err != nil {
			t.Fatal(err)
		}
		entered, release := make(chan struct{}), make(chan struct{})
		var woken atomic.Int64
		b := openInbox(t, d, func(context.Context, *sql.Tx) (bool, error) {
			if woken.Add(1) == 1 {
				close(entered)
				<-release
			}
			return true, nil
		})
		var wg sync.WaitGroup
		accept := func(guid string) (err error) {
			_, err = b.Accept(t.Context(), sent(guid))
			return err
		}
		wg.Go(func() {
			if err := accept("bad1"); err != nil {
				t.Error(err)
			}
		})
		<-entered // so that the others share a commit
		errs := make([]error, 20)
		for i := range errs {
			guid := fmt.Sprintf("d%d", i)
			if i == 7 {
				guid = "bad2"
			}
			wg.Go(func() { errs[i] = accept(guid) })
		}
		for b.Waiting() < len(errs) {
			runtime.Gosched()
		}
		close(release)
		wg.Wait()
		for i, err := range errs {
			if (err != nil) != (i == 7) {
				t.Errorf("delivery %d: %v", i, err)
			}
		}
		if n := must[int64](t)(store.NewDeliveries(d).CountPending(t.Context())); n != 20 {
			t.Errorf("%d stored, want 20", n)
		}
	})
}

func TestACommitThatHangsKeepsOutNothingThatComesLater(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		hangs := true
		b := openInbox(t, d, func(ctx context.Context, _ *sql.Tx) (bool, error) {
			if hangs {
				<-ctx.Done()
			}
			return true, ctx.Err()
		})
		b.SetLimit(time.Millisecond)
		if _, err := b.Accept(t.Context(), sent("d1")); err == nil {
			t.Fatal("it was acknowledged")
		}
		hangs = false
		b.SetLimit(time.Minute)
		if fresh, err := b.Accept(t.Context(), sent("d1")); err != nil || !fresh {
			t.Errorf("once it does not hang: fresh %v, %v", fresh, err)
		}
	})
}

func TestWhatArrivesDuringACommitSharesTheNextOne(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		var woken atomic.Int64
		entered, release := make(chan struct{}), make(chan struct{})
		b := openInbox(t, d, func(context.Context, *sql.Tx) (bool, error) {
			if woken.Add(1) == 1 {
				close(entered)
				<-release
			}
			return true, nil
		})
		const clients = 40
		var wg sync.WaitGroup
		accept := func(i int) {
			wg.Go(func() {
				if fresh, err := b.Accept(t.Context(), sent(fmt.Sprintf("d%d", i))); err != nil || !fresh {
					t.Errorf("delivery %d: fresh %v, %v", i, fresh, err)
				}
			})
		}
		accept(0)
		<-entered // the first commit has begun
		for i := 1; i < clients; i++ {
			accept(i)
		}
		for b.Waiting() < clients-1 { // until each has handed its delivery over
			runtime.Gosched()
		}
		if woken.Load() != 1 {
			t.Error("another commit began")
		}
		close(release)
		wg.Wait()
		if woken.Load() != 2 {
			t.Errorf("%d commits for %d deliveries, want 2", woken.Load(), clients)
		}
	})
}

func TestWorkStandsBackWhileDeliveriesRushIn(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		b := openInbox(t, d, func(context.Context, *sql.Tx) (bool, error) { return true, nil })
		var clock atomic.Int64
		b.SetClock(func() time.Duration { return time.Duration(clock.Load()) })
		came := 0
		accept := func(n int) {
			for range n {
				came++
				must[bool](t)(b.Accept(t.Context(), sent(fmt.Sprintf("d%d", came))))
			}
		}
		accept(7)
		b.Yield(t.Context(), time.Hour) // that many are no rush
		clock.Store(int64(time.Minute))
		accept(1)
		b.Yield(t.Context(), time.Hour) // the others came long ago
		accept(7)
		b.Yield(t.Context(), time.Millisecond) // not for ever
		ended := make(chan struct{})
		go func() {
			b.Yield(t.Context(), time.Hour)
			close(ended)
		}()
		select {
		case <-ended:
			t.Error("work went on during the rush")
		default:
		}
		clock.Add(int64(time.Minute))
		<-ended
	})
}

func TestClosingTheInboxStoresExactlyWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		var woken atomic.Int64
		b := store.NewInbox(d, bell(&woken))
		var acknowledged atomic.Int64
		var wg sync.WaitGroup
		started := make(chan struct{})
		var once sync.Once
		for c := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					_, err := b.Accept(context.Background(), sent(fmt.Sprintf("d%d-%d", c, i)))
					if errors.Is(err, store.ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if acknowledged.Add(1) == 50 {
						once.Do(func() { close(started) })
					}
				}
			})
		}
		<-started
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if n := must[int64](t)(store.NewDeliveries(d).CountPending(t.Context())); n != acknowledged.Load() {
			t.Errorf("%d stored, %d acknowledged", n, acknowledged.Load())
		}
	})
}
