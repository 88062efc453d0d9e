package queue_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// patience ends a test whose signal never comes; no test waits for it.
const patience = 2 * time.Minute

type args struct {
	Name string `json:"name"`
}

func (args) Kind() string { return "test" }

// worker hands each job to work.
type worker struct {
	river.WorkerDefaults[args]
	work func(context.Context, *river.Job[args]) error
}

func (w *worker) Work(ctx context.Context, job *river.Job[args]) error { return w.work(ctx, job) }

func client(tb testing.TB, d *store.DB, work func(context.Context, *river.Job[args]) error) *river.Client[*sql.Tx] {
	tb.Helper()
	config := queue.Config(slog.New(slog.DiscardHandler))
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, &worker{work: work})
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2}}
	c, err := queue.New(replica(tb, d), config)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func replica(tb testing.TB, d *store.DB) *queue.Replica {
	tb.Helper()
	r, err := queue.NewReplica(d, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func start(t *testing.T, c *river.Client[*sql.Tx]) {
	t.Helper()
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.StopAndCancel(ctx); err != nil {
			t.Error(err)
		}
	})
}

func await[T any](t *testing.T, ch <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-ch:
	case <-time.After(patience):
		t.Fatal("the job did not come")
	}
	return v
}

func insert(t *testing.T, d *store.DB, c *river.Client[*sql.Tx], name string, then error) {
	t.Helper()
	err := d.InTx(t.Context(), func(tx *sql.Tx) error {
		if _, err := c.InsertTx(t.Context(), tx, args{name}, nil); err != nil {
			return err
		}
		return then
	})
	if !errors.Is(err, then) {
		t.Fatal(err)
	}
}

func TestAJobRunsWhenTheTransactionThatQueuedItCommits(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		ran := make(chan string, 2)
		c := client(t, d, func(_ context.Context, job *river.Job[args]) error {
			ran <- job.Args.Name
			return nil
		})
		insert(t, d, c, "rolled back", errors.New("no"))
		insert(t, d, c, "committed", nil)
		start(t, c)
		if name := await(t, ran); name != "committed" {
			t.Errorf("%s ran", name)
		}
	})
}

func TestAJobThatNoTransactionOfOursCommittedIsFoundAllTheSame(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		ran := make(chan string, 1)
		c := client(t, d, func(_ context.Context, job *river.Job[args]) error {
			ran <- job.Args.Name
			return nil
		})
		start(t, c)
		// As the queue itself moves jobs that were put off.
		if _, err := c.Insert(t.Context(), args{"by the queue"}, nil); err != nil {
			t.Fatal(err)
		}
		if name := await(t, ran); name != "by the queue" {
			t.Errorf("%s ran", name)
		}
	})
}

func jobs(t *testing.T, d *store.DB) (n int) {
	t.Helper()
	if err := d.Read.QueryRow("SELECT count(*) FROM river_job").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWakingTwiceQueuesOneJobUnlessItHasStarted(t *testing.T) {
	t.Parallel()
	sqltest.Each(t, func(t *testing.T, d *store.DB) {
		started, release := make(chan struct{}, 2), make(chan struct{})
		c := client(t, d, func(context.Context, *river.Job[args]) error {
			started <- struct{}{}
			<-release
			return nil
		})
		wake := queue.Wake(d, c, river.QueueDefault, args{})
		ring := func() {
			t.Helper()
			if err := d.InTx(t.Context(), func(tx *sql.Tx) error { _, err := wake(t.Context(), tx); return err }); err != nil {
				t.Fatal(err)
			}
		}
		ring()
		ring()
		if n := jobs(t, d); n != 1 {
			t.Fatalf("%d jobs wait, want 1", n)
		}
		start(t, c)
		await(t, started)
		ring() // what it stored may be too late for the job that runs
		if n := jobs(t, d); n != 2 {
			t.Errorf("%d jobs, want one running and one waiting", n)
		}
		close(release)
		await(t, started)
	})
}

func TestResumeGivesUpAJobThatHasNoAttemptLeft(t *testing.T) {
	t.Parallel()
	d := sqltest.Open(t)
	c := client(t, d, func(context.Context, *river.Job[args]) error { return nil })
	insert(t, d, c, "first", nil)
	insert(t, d, c, "last", nil)
	if _, err := d.Write.Exec(`UPDATE river_job SET state = 'running', attempt = CASE WHEN id = 1 THEN 1 ELSE max_attempts END`); err != nil {
		t.Fatal(err)
	}
	if n, err := replica(t, d).Start(t.Context()); n != 2 || err != nil {
		t.Fatalf("resumed %d, %v", n, err)
	}
	for id, want := range map[int]string{1: "available", 2: "discarded"} {
		var state string
		if err := d.Read.QueryRow("SELECT state FROM river_job WHERE id = $1", id).Scan(&state); err != nil || state != want {
			t.Errorf("job %d is %s, want %s (%v)", id, state, want, err)
		}
	}
}

// The child of TestAKilledProcess…: it takes the job, accepts deliveries and
// says so, until it is killed.
const childPath = "CHANT_TEST_QUEUE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := child(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(sqltest.Main(m))
}

func child(path string) error {
	ctx := context.Background()
	d, err := store.Open(ctx, path)
	if err != nil {
		return err
	}
	var printing sync.Mutex
	say := func(format string, a ...any) {
		printing.Lock()
		defer printing.Unlock()
		fmt.Printf(format+"\n", a...)
	}
	config := queue.Config(slog.New(slog.DiscardHandler))
	config.Workers = river.NewWorkers()
	river.AddWorker(config.Workers, &worker{work: func(ctx context.Context, _ *river.Job[args]) error {
		say("working")
		<-ctx.Done()
		return ctx.Err()
	}})
	config.Queues = map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 1}}
	r, err := queue.NewReplica(d, config.Logger)
	if err != nil {
		return err
	}
	c, err := queue.New(r, config)
	if err != nil {
		return err
	}
	if err := c.Start(ctx); err != nil {
		return err
	}
	wake := queue.Wake(d, c, "unworked", args{})
	b := store.NewInbox(d, wake)
	for n := 0; ; n++ {
		guid := fmt.Sprintf("d%d", n)
		if _, err := b.Accept(ctx, store.Delivery{GUID: guid, State: store.DeliveryPending, Body: make([]byte, 15_000)}); err != nil {
			return err
		}
		say("%s", guid)
	}
}

func TestAKilledProcessLosesNoAcknowledgedDeliveryAndItsJobRunsAgain(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chant.db")
	before, err := store.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	insert(t, before, client(t, before, nil), "interrupted", nil)
	if err := before.Close(); err != nil {
		t.Fatal(err)
	}

	acknowledged := killWhileWorking(t, path)

	d := sqltest.OpenAt(t, path)
	known := map[string]bool{}
	list, err := store.NewDeliveries(d).Pending(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, delivery := range list {
		known[delivery.GUID] = true
	}
	for _, guid := range acknowledged {
		if !known[guid] {
			t.Errorf("delivery %s was acknowledged and is gone", guid)
		}
	}

	ran := make(chan string, 1)
	c := client(t, d, func(_ context.Context, job *river.Job[args]) error {
		ran <- job.Args.Name
		return nil
	})
	if n, err := replica(t, d).Start(t.Context()); n != 1 || err != nil {
		t.Fatalf("resumed %d jobs, %v; want 1", n, err)
	}
	start(t, c)
	if name := await(t, ran); name != "interrupted" {
		t.Errorf("%s ran", name)
	}
}

// killWhileWorking kills a child that works on a job and has acknowledged some
// deliveries; it returns those.
func killWhileWorking(t *testing.T, path string) (acknowledged []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), childPath+"="+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines, working := bufio.NewScanner(out), false
	for lines.Scan() {
		if lines.Text() == "working" {
			working = true
		} else {
			acknowledged = append(acknowledged, lines.Text())
		}
		if working && len(acknowledged) >= 50 {
			break
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	for lines.Scan() { // acknowledged before it died
		acknowledged = append(acknowledged, lines.Text())
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	var killed *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &killed) || !working || len(acknowledged) < 50 {
		t.Fatalf("the child ended by itself: %v, working %v, %d deliveries", err, working, len(acknowledged))
	}
	if n := len(acknowledged); n > 900 { // one page of Pending must hold them
		acknowledged = acknowledged[:900]
	}
	return acknowledged
}
