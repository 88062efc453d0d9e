package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/app/metrics"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

// Transactions run side by side on PostgreSQL: one delivery may begin to wait
// while the job that hands on the others of its repository is completed.
func TestADeliveryThatBeginsToWaitAsTheJobEndsIsHandedOn(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := sqltest.OpenAt(t, sqltest.Postgres(t))
	decoding, goOn := make(chan struct{}, 2), make(chan struct{})
	j := &Jobs{
		DB: d, Deliveries: store.NewDeliveries(d), Log: slog.New(slog.DiscardHandler), Metrics: metrics.New("test"),
		Stage: &usecase.Stage{Now: time.Now},
		Decode: func(store.Delivery) (engine.Event, error) {
			decoding <- struct{}{}
			<-goOn
			return nil, errors.New("not readable")
		},
	}
	ended := workWaiting(t, j)
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7}
	inbox := store.NewInbox(d, func(context.Context, *sql.Tx) (bool, error) { return true, nil })
	for _, guid := range []string{"first", "second"} {
		if _, err := inbox.Accept(ctx, store.Delivery{Instance: repo.Instance, Repo: repo, GUID: guid, ReceivedAt: time.Now(), State: store.DeliveryPending}); err != nil {
			t.Fatal(err)
		}
	}
	if err := inbox.Close(); err != nil {
		t.Fatal(err)
	}
	// As gathering.take does where a delivery cannot be handled now.
	wait := func(tx *sql.Tx, id int64) error {
		_, queued := j.client.InsertTx(ctx, tx, WaitingArgs{Instance: repo.Instance, RepoID: repo.ID}, nil)
		outcome := []store.DeliveryOutcome{{ID: id, State: store.DeliveryWaiting}}
		return errors.Join(queued, j.Deliveries.FinishAll(ctx, tx, outcome, time.Now()))
	}
	if err := d.InTx(ctx, func(tx *sql.Tx) error { return wait(tx, 1) }); err != nil {
		t.Fatal(err)
	}
	<-decoding // the job runs, and has seen the first alone
	err := d.InTx(ctx, func(tx *sql.Tx) error {
		if err := wait(tx, 2); err != nil {
			return err
		}
		close(goOn)
		return untilOneIsHeldUp(ctx, d)
	})
	if err != nil {
		t.Fatal(err)
	}
	<-ended
	if left, err := j.Deliveries.WaitedFor(ctx, d.Read); err != nil || len(left) > 0 {
		t.Errorf("the job ended while a delivery waits: %v, %v", left, err)
	}
}

// workWaiting works the jobs that hand on what waits; the channel tells of each
// that ended.
func workWaiting(t *testing.T, j *Jobs) <-chan *river.Event {
	t.Helper()
	var err error
	if j.replica, err = queue.NewReplica(j.DB, j.Log); err != nil {
		t.Fatal(err)
	}
	config := queue.Config(j.Log)
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, &waitingWorker{Jobs: j})
	config.Queues = map[string]river.QueueConfig{queueSettle: {MaxWorkers: 1}}
	if j.client, err = queue.New(j.replica, config); err != nil {
		t.Fatal(err)
	}
	ended, cancel := j.client.Subscribe(river.EventKindJobCompleted)
	t.Cleanup(cancel)
	if err := j.client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.client.StopAndCancel(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return ended
}

// untilOneIsHeldUp returns when a transaction waits for another to end.
func untilOneIsHeldUp(ctx context.Context, d *store.DB) error {
	const held = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
	for n := 0; n == 0; runtime.Gosched() {
		if err := d.Read.QueryRowContext(ctx, held).Scan(&n); err != nil {
			return err
		}
	}
	return nil
}
