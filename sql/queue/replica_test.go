package queue_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// joined is a replica that says it lives, and again only when the test says so.
func joined(t *testing.T, d *store.DB, lasting ...string) *queue.Replica {
	t.Helper()
	r, err := queue.NewReplica(d, slog.New(slog.DiscardHandler), lasting...)
	if err != nil {
		t.Fatal(err)
	}
	if d.Postgres != nil {
		beat(t, r)
	}
	return r
}

func execute(t *testing.T, d *store.DB, query string, args ...any) {
	t.Helper()
	if _, err := d.Write.ExecContext(t.Context(), query, args...); err != nil {
		t.Fatal(err)
	}
}

func beat(t *testing.T, r *queue.Replica) {
	t.Helper()
	if err := r.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func lock(t *testing.T, r *queue.Replica, key ...string) (unlock func(), ok bool) {
	t.Helper()
	unlock, ok, err := r.TryLock(t.Context(), key...)
	if err != nil {
		t.Fatal(err)
	}
	return unlock, ok
}

func TestASecondJobOfAKeyIsPutOffAndOthersAreNot(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		r := joined(t, d)
		unlock, ok := lock(t, r, "apply", "repo", "prod")
		if !ok {
			t.Fatal("a free key was not given")
		}
		if _, ok := lock(t, r, "apply", "repo", "prod"); ok {
			t.Error("a key was given twice")
		}
		if _, ok := lock(t, r, "apply", "repo", "staging"); !ok {
			t.Error("another env was kept waiting")
		}
		unlock()
		if _, ok := lock(t, r, "apply", "repo", "prod"); !ok {
			t.Error("a key that was given back is not free")
		}
	})
}

func TestAReplicaThatLeavesLeavesNothing(t *testing.T) {
	t.Parallel()
	d := sqltest.OpenAt(t, sqltest.Postgres(t))
	r, err := queue.NewReplica(d, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := lock(t, r, "settle", "7"); !ok {
		t.Fatal("a free key was not given")
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := d.Read.QueryRow(`SELECT (SELECT count(*) FROM replicas) + (SELECT count(*) FROM job_locks)`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d rows left, %v", left, err)
	}
}

func TestReplicasKeepTheirJobsApart(t *testing.T) {
	t.Parallel()
	source := sqltest.Postgres(t)
	one, two := sqltest.OpenAt(t, source), sqltest.OpenAt(t, source)
	first, second := joined(t, one), joined(t, two)
	unlock, ok := lock(t, first, "settle", "7")
	if !ok {
		t.Fatal("a free key was not given")
	}
	beat(t, second)
	if _, ok := lock(t, second, "settle", "7"); ok {
		t.Error("two replicas hold one key")
	}
	unlock()
	if _, ok := lock(t, second, "settle", "7"); !ok {
		t.Error("a key that another replica gave back is not free")
	}
}

const forget = `UPDATE replicas SET seen_at = 0 WHERE id = $1`

func TestWhatADeadReplicaHeldIsFreeAndWhatALivingOneHoldsIsNot(t *testing.T) {
	t.Parallel()
	source := sqltest.Postgres(t)
	d := sqltest.OpenAt(t, source)
	dead, living, third := joined(t, d), joined(t, d), joined(t, d)
	for _, r := range []*queue.Replica{dead, living} {
		if _, ok := lock(t, r, "settle", r.ID()); !ok {
			t.Fatal("a free key was not given")
		}
	}
	execute(t, d, forget, dead.ID())
	beat(t, third)
	for r, free := range map[*queue.Replica]bool{dead: true, living: false} {
		if _, ok := lock(t, third, "settle", r.ID()); ok != free {
			t.Errorf("free %v, want %v", ok, free)
		}
	}
}

// Its beat may be late; what it would take could be another's already.
func TestAReplicaThatOthersTakeForDeadGetsNoLock(t *testing.T) {
	t.Parallel()
	d := sqltest.OpenAt(t, sqltest.Postgres(t))
	r := joined(t, d)
	execute(t, d, forget, r.ID())
	if _, ok, err := r.TryLock(t.Context(), "settle", "7"); ok || !errors.Is(err, queue.ErrSilent) {
		t.Errorf("ok %v, %v: it must not look as if another job did the work", ok, err)
	}
	beat(t, r)
	if _, ok := lock(t, r, "settle", "7"); !ok {
		t.Error("it got none when it lived again")
	}
}

func TestALockThatCouldNotBeGivenBackIsFreeAtTheNextBeat(t *testing.T) {
	t.Parallel()
	source := sqltest.Postgres(t)
	one, two := sqltest.OpenAt(t, source), sqltest.OpenAt(t, source)
	first, second := joined(t, one), joined(t, two)
	unlock, ok := lock(t, first, "settle", "7")
	if !ok {
		t.Fatal("a free key was not given")
	}
	execute(t, two, `ALTER TABLE job_locks RENAME TO gone`)
	unlock()
	execute(t, two, `ALTER TABLE gone RENAME TO job_locks`)
	if _, ok := lock(t, second, "settle", "7"); ok {
		t.Fatal("the lock was given back all the same")
	}
	beat(t, first)
	if _, ok := lock(t, second, "settle", "7"); !ok {
		t.Error("it is still held")
	}
}

// Jobs run where they were taken; those of a replica that is gone run again, and
// so do those of this one whose end could not be stored.
func TestJobsOfAReplicaThatIsGoneAreTakenOver(t *testing.T) {
	t.Parallel()
	d := sqltest.OpenAt(t, sqltest.Postgres(t))
	dead, living, mine := joined(t, d), joined(t, d), joined(t, d)
	c := client(t, d, func(context.Context, *river.Job[args]) error { return nil })
	for range 5 {
		insert(t, d, c, "one", nil)
	}
	const runs = `UPDATE river_job SET state = 'running', attempted_by = ARRAY['earlier', $2], attempted_at = now() - $3 * interval '1 second', attempt = $4 WHERE id = $1`
	execute(t, d, runs, 1, dead.ID(), 1, 1)
	execute(t, d, runs, 2, dead.ID(), 1, 25)     // has no attempt left
	execute(t, d, runs, 3, living.ID(), 3600, 1) // takes long
	execute(t, d, runs, 4, mine.ID(), 3600, 1)   // ended, and nobody could be told
	execute(t, d, runs, 5, mine.ID(), 1, 1)      // may be starting
	execute(t, d, forget, dead.ID())
	beat(t, mine)
	want := map[int64]string{1: "available", 2: "discarded", 3: "running", 4: "available", 5: "running"}
	got := map[int64]string{}
	for id := range want {
		var state string
		if err := d.Read.QueryRow(`SELECT state FROM river_job WHERE id = $1`, id).Scan(&state); err != nil {
			t.Fatal(err)
		}
		got[id] = state
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestASilentReplicaEndsItsJobsUnlessTheyLast(t *testing.T) {
	t.Parallel()
	for name, lasting := range map[string][]string{"ended": nil, "lasting": {args{}.Kind()}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := sqltest.OpenAt(t, sqltest.Postgres(t))
			r := joined(t, d, lasting...)
			begun, ended, release := make(chan struct{}), make(chan error, 1), make(chan struct{})
			config := queue.Config(slog.New(slog.DiscardHandler))
			config.Workers = river.NewWorkers()
			river.AddWorker(config.Workers, &worker{work: func(ctx context.Context, _ *river.Job[args]) error {
				close(begun)
				select {
				case <-ctx.Done():
					ended <- context.Cause(ctx)
				case <-release:
					ended <- nil
				}
				return river.JobCancel(errors.New("once is enough"))
			}})
			config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}}
			c, err := queue.New(r, config)
			if err != nil {
				t.Fatal(err)
			}
			insert(t, d, c, "long", nil)
			start(t, c)
			await(t, begun)
			r.BeatAfter(t.Context(), time.Now().Add(-time.Minute)) // it was not let run
			if lasting != nil {
				close(release)
			}
			if err := await(t, ended); errors.Is(err, queue.ErrSilent) != (lasting == nil) {
				t.Errorf("the job ended with %v", err)
			}
		})
	}
}

// A job that waits must not be taken before the delivery that relies on it is
// there to be seen.
func TestTheJobThatADeliveryReliesOnIsNotTakenBeforeItIsStored(t *testing.T) {
	t.Parallel()
	d := sqltest.OpenAt(t, sqltest.Postgres(t))
	wake := queue.Wake(d, client(t, d, nil), river.QueueDefault, args{})
	ring := func(tx *sql.Tx) {
		t.Helper()
		if _, err := wake(t.Context(), tx); err != nil {
			t.Fatal(err)
		}
	}
	begin := func() *sql.Tx {
		t.Helper()
		tx, err := d.Write.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	// As the queue takes one.
	take := func(tx *sql.Tx) (taken bool) {
		t.Helper()
		var id int64
		err := tx.QueryRow(`SELECT id FROM river_job WHERE state = 'available' FOR UPDATE SKIP LOCKED`).Scan(&id)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		return err == nil
	}
	commit := func(tx *sql.Tx) {
		t.Helper()
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	first := begin()
	ring(first)
	commit(first)
	relies, takes := begin(), begin()
	ring(relies)
	if take(takes) {
		t.Error("the job was taken before the delivery was stored")
	}
	commit(relies)
	if !take(takes) {
		t.Error("the job was not to be had")
	}
	late := begin()
	ring(late) // the one that waits is being taken
	commit(late)
	commit(takes)
	if n := jobs(t, d); n != 2 {
		t.Errorf("%d jobs, want another for what came late", n)
	}
}
