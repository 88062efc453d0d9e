package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// letterBytes is the size of the deliveries posted.
const letterBytes = 15_000

// intake posts deliveries to the program, to a server that only checks their
// signature, and to one that commits each by itself, each a process of its own.
// The program works the deliveries off meanwhile.
func intake(ctx context.Context, b *bench) error {
	w, err := newWorld(ctx, b, settings{roots: 1, terraform: b.terraform})
	if err != nil {
		return err
	}
	defer w.close()
	l, err := w.typical(ctx)
	if err != nil {
		return err
	}
	rows, err := b.floor("rows", filepath.Join(w.dir, "rows.db"))
	if err != nil {
		return err
	}
	defer rows.stop()
	signature, err := b.floor("signature")
	if err != nil {
		return err
	}
	defer signature.stop()

	ours := &target{name: "ours", url: w.post.to, pid: w.server.pid(), letter: l}
	floors := []*target{
		{name: "signature", url: signature.url, pid: signature.pid(), letter: l},
		{name: "rows", url: rows.url, pid: rows.pid(), letter: l},
	}
	var rate, p99, p50, cpu [3][]float64
	for range b.of(7, 2) {
		for i, t := range append(floors[:2:2], ours) {
			requests := b.of(6000, 3000)
			if t.name == "rows" {
				requests /= 4
			}
			before, _, err := processorTime(t.pid)
			if err != nil {
				return err
			}
			many, took, err := t.load(ctx, 64, requests)
			if err != nil {
				return err
			}
			after, _, err := processorTime(t.pid)
			if err != nil {
				return err
			}
			cpu[i] = append(cpu[i], (after-before)/float64(requests)*1e6)
			rate[i], p99[i] = append(rate[i], many), append(p99[i], quantile(took, 0.99))
			if err := w.quiet(ctx); err != nil {
				return err
			}
			if _, took, err = t.load(ctx, 1, b.of(400, 150)); err != nil {
				return err
			}
			p50[i] = append(p50[i], median(took))
			if err := w.quiet(ctx); err != nil {
				return err
			}
		}
	}
	const floor, row, us = 0, 1, 2
	b.atLeast("64 clients: rate, of signature only", over(rate[us], rate[floor]), 0.45, ratio)
	b.atLeast("64 clients: rate, of row per request", over(rate[us], rate[row]), 2.5, ratio)
	b.atMost("64 clients: p99, of row per request", over(p99[us], p99[row]), 0.25, ratio)
	b.atMost("one client: p50, of row per request", over(p50[us], p50[row]), 1.25, ratio)
	b.note("64 clients: rate", rate[us], "/s")
	b.note("64 clients: processor time a delivery, ours", cpu[us], " us")
	b.note("64 clients: processor time a delivery, signature only", cpu[floor], " us")
	b.note("64 clients: processor time a delivery, row per request", cpu[row], " us")
	b.note("64 clients: p99", millis(p99[us]), " ms")
	b.note("one client: p50", millis(p50[us]), " ms")
	return nil
}

// typical is a pull request's delivery as the forge signs it, of the size
// measured: its list of labels is long.
func (w *world) typical(ctx context.Context) (letter, error) {
	w.post.hold(all)
	defer w.post.hold(nil)
	if _, err := w.change("typical", "second", 1); err != nil {
		return letter{}, err
	}
	if err := w.forge.Quiesce(ctx); err != nil {
		return letter{}, err
	}
	for _, l := range w.post.fetch() {
		if l.event() != "pull_request" {
			continue
		}
		var body map[string]any
		if err := json.Unmarshal(l.body, &body); err != nil {
			return letter{}, err
		}
		labels := []any{}
		for i := 0; ; i++ {
			body["labels"] = labels
			text, err := json.Marshal(body)
			if err != nil || len(text) >= letterBytes {
				return l.with(text), err
			}
			labels = append(labels, map[string]any{
				"id": 208045946 + i, "node_id": fmt.Sprintf("MDU6TGFiZWwyMDgwNDU5NDY%d", i), "default": i%2 == 0,
				"url": fmt.Sprintf("https://api.example.com/repos/acme/infra/labels/area-%d", i), "name": fmt.Sprintf("area-%d", i), "color": "f29513",
			})
		}
	}
	return letter{}, fmt.Errorf("the forge sent no pull_request event")
}

// target is where deliveries are posted.
type target struct {
	name, url, pid string
	letter         letter
	sent           atomic.Int64
}

// load posts from clients that each wait for their answer, and returns the rate
// and how long each answer took, in seconds. Every delivery has a GUID of its
// own.
func (t *target) load(ctx context.Context, clients, requests int) (rate float64, took []float64, err error) {
	var left atomic.Int64
	left.Store(int64(requests))
	times, errs := make([][]float64, clients), make([]error, clients)
	begin := time.Now()
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			for left.Add(-1) >= 0 && errs[c] == nil {
				var one time.Duration
				if one, errs[c] = t.post(ctx, transport); errs[c] == nil {
					times[c] = append(times[c], one.Seconds())
				}
			}
		})
	}
	all.Wait()
	rate = float64(requests) / time.Since(begin).Seconds()
	for c := range clients {
		if errs[c] != nil {
			return 0, nil, fmt.Errorf("posting to %s: %w", t.name, errs[c])
		}
		took = append(took, times[c]...)
	}
	return rate, took, nil
}

func (t *target) post(ctx context.Context, transport *http.Transport) (time.Duration, error) {
	l := t.letter.again(fmt.Sprintf("%s-%d", t.name, t.sent.Add(1)))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(l.body))
	if err != nil {
		return 0, err
	}
	r.Header = l.header
	begin := time.Now()
	resp, err := transport.RoundTrip(r)
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	// Read to its end, so that the connection is used again.
	_, err = io.Copy(io.Discard, resp.Body)
	if resp.StatusCode != http.StatusAccepted {
		err = fmt.Errorf("answer %d", resp.StatusCode)
	}
	return took, errors.Join(err, resp.Body.Close())
}
