package queue_test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/chant-bot/chant/sql/queue"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// BenchmarkIntake measures taking in signed 15 KB bodies over HTTP beside its
// floor, a server that only checks the signature, and beside one that commits
// each body by itself. All three are measured in turn, round by round, so that
// a busy machine is equally busy for each. Metrics, at 64 clients: req/s of the
// inbox, its rate in floors and in row-per-request servers, its p99 in theirs;
// at one client: its p50 in theirs. Jobs are queued and worked meanwhile.
func BenchmarkIntake(b *testing.B) {
	accept, drained := intake(b)
	row := rowPerRequest(b)
	floor := func(context.Context, string, []byte) error { return nil }
	var rates [3]float64
	var p99s, p50s [2]float64
	rounds := 0
	for b.Loop() {
		rounds++
		for i, f := range []acceptFunc{floor, accept, row} {
			requests := 6000
			if i == 2 {
				requests = 1500
			}
			rate, took := load(b, f, 64, requests)
			rates[i] += rate
			if i > 0 {
				p99s[i-1] += percentile(took, 99)
				drained() // what the rush left behind is not the one client's
				_, took = load(b, f, 1, 300)
				p50s[i-1] += percentile(took, 50)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(rates[1]/float64(rounds), "req/s")
	b.ReportMetric(rates[1]/rates[0], "of-floor")
	b.ReportMetric(rates[1]/rates[2], "x-row")
	b.ReportMetric(p99s[0]/p99s[1], "p99-of-row")
	b.ReportMetric(p50s[0]/p50s[1], "p50-of-row")
}

type acceptFunc func(ctx context.Context, guid string, body []byte) error

// intake is the inbox with a worker that drains it.
func intake(b *testing.B) (accept acceptFunc, drained func()) {
	b.Helper()
	d := sqltest.Open(b)
	deliveries := store.NewDeliveries(d)
	var inbox *store.Inbox
	opened := make(chan struct{})
	c := client(b, d, func(ctx context.Context, _ *river.Job[args]) error {
		<-opened
		return drain(ctx, d, deliveries, inbox)
	})
	if err := c.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := c.StopAndCancel(context.Background()); err != nil {
			b.Error(err)
		}
	})
	wake := queue.Wake(d, c, river.QueueDefault, args{})
	var err error
	inbox = store.NewInbox(d, wake)
	close(opened)
	b.Cleanup(func() {
		if err := inbox.Close(); err != nil {
			b.Error(err)
		}
	})
	drained = func() {
		for n := int64(1); n > 0; time.Sleep(time.Millisecond) {
			if n, err = deliveries.CountPending(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	return func(ctx context.Context, guid string, body []byte) error {
		fresh, err := inbox.Accept(ctx, store.Delivery{
			GUID: guid, Event: "pull_request", Action: "opened", Header: map[string]string{"X-Github-Event": "pull_request"},
			Body: body, ReceivedAt: time.Now(), State: store.DeliveryPending,
		})
		if err == nil && !fresh {
			err = fmt.Errorf("delivery %s was not fresh", guid)
		}
		return err
	}, drained
}

func drain(ctx context.Context, d *store.DB, deliveries store.Deliveries, inbox *store.Inbox) error {
	for {
		inbox.Yield(ctx, time.Second)
		pending, err := deliveries.Pending(ctx, 200)
		if err != nil || len(pending) == 0 {
			return err
		}
		outcomes := make([]store.DeliveryOutcome, len(pending))
		for i, one := range pending {
			outcomes[i] = store.DeliveryOutcome{ID: one.ID, State: store.DeliveryDone, Outcome: "settled"}
		}
		err = d.InLazyTx(ctx, func(tx *sql.Tx) error { return deliveries.FinishAll(ctx, tx, outcomes, time.Now()) })
		if err != nil {
			return err
		}
	}
}

// rowPerRequest commits each body to a database of its own at SQLite's own
// synchronous(FULL).
func rowPerRequest(b *testing.B) acceptFunc {
	b.Helper()
	d, err := sql.Open("sqlite", "file:"+filepath.Join(b.TempDir(), "rows.db")+"?_txlock=immediate&_journal_mode=WAL&_synchronous=FULL")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	})
	d.SetMaxOpenConns(1)
	if _, err := d.Exec("CREATE TABLE bodies (guid TEXT PRIMARY KEY, event TEXT NOT NULL, body BYTEA NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, guid string, body []byte) error {
		_, err := d.ExecContext(ctx, "INSERT INTO bodies (guid, event, body) VALUES ($1, $2, $3)", guid, "pull_request", body)
		return err
	}
}

// serve checks the signature and hands the body over.
func serve(secret []byte, accept acceptFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, secret)
		mac.Write(body)
		given, _ := hex.DecodeString(r.Header.Get("X-Signature"))
		if err != nil || !hmac.Equal(mac.Sum(nil), given) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if err := accept(r.Context(), r.Header.Get("X-Delivery"), body); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	})
}

// load sends requests from clients that each wait for their answer, and returns
// the rate and how long each took.
func load(b *testing.B, accept acceptFunc, clients, requests int) (rate float64, took []time.Duration) {
	b.Helper()
	secret, body := []byte("s3cret"), bytes.Repeat([]byte(`{"n":1234567},`), 15_000/14)
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	signature := hex.EncodeToString(mac.Sum(nil))
	server := httptest.NewServer(serve(secret, accept))
	defer server.Close()
	var left atomic.Int64
	left.Store(int64(requests))
	all := make([][]time.Duration, clients)
	run := b.Name() + time.Now().String()
	start := time.Now()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for n := left.Add(-1); n >= 0; n = left.Add(-1) {
				r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, server.URL, bytes.NewReader(body))
				if err != nil {
					b.Error(err)
					return
				}
				r.Header.Set("X-Signature", signature)
				r.Header.Set("X-Delivery", fmt.Sprintf("%s-%d", run, n))
				begin := time.Now()
				w, err := transport.RoundTrip(r)
				if err != nil || w.StatusCode != http.StatusAccepted {
					b.Errorf("answer %v, %v", w, err)
					return
				}
				all[c] = append(all[c], time.Since(begin))
				_ = w.Body.Close()
			}
		})
	}
	wg.Wait()
	rate = float64(requests) / time.Since(start).Seconds()
	return rate, slices.Concat(all...)
}

// percentile is in seconds.
func percentile(took []time.Duration, p int) float64 {
	slices.Sort(took)
	return took[(len(took)-1)*p/100].Seconds()
}
