package conformance_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

// relay stands between a forge and the server. It decodes every delivery as the
// server does, and does to those of a repository what its case says.
type relay struct {
	decoder webhooks.Decoder
	server  *httptest.Server

	mu       sync.Mutex
	target   string
	routes   map[int64]func(post) fate // by repository; what none is for is lost
	setup    map[string]bool           // commits that a case begins with, whose push is lost
	kept     map[int64][]post
	sent     map[int64][]post // by repository, what was handed on
	problems []string
	events   map[string]int // what was decoded, by its Go type
}

// post is one delivery on its way.
type post struct {
	header http.Header
	body   []byte
	event  engine.Event
	repo   int64
}

// fate is what becomes of a delivery. The forge is told that it arrived.
type fate int

const (
	arrives fate = iota
	twice
	lost
	late // until the case sends it
)

func newRelay(t testing.TB, d webhooks.Decoder) *relay {
	t.Helper()
	r := &relay{
		decoder: d, routes: map[int64]func(post) fate{}, setup: map[string]bool{}, kept: map[int64][]post{}, sent: map[int64][]post{}, events: map[string]int{},
	}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// begin lets a repository's deliveries through, but for the push it was made with.
func (r *relay) begin(repo int64, commit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.setup[commit] = true
	r.routes[repo] = always(arrives)
}

// route says what becomes of a repository's deliveries from now on.
func (r *relay) route(repo int64, decide func(post) fate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.routes[repo] = decide
}

func (r *relay) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the forge was closed
	}
	p := r.read(post{header: req.Header.Clone(), body: body})
	switch r.fateOf(p) {
	case arrives:
	case twice:
		_, _ = r.send(req.Context(), p)
	case lost:
		return
	case late:
		r.mu.Lock()
		defer r.mu.Unlock()
		r.kept[p.repo] = append(r.kept[p.repo], p)
		return
	}
	status, answer := r.send(req.Context(), p)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, answer)
}

// read decodes a delivery. None may be strange to its decoder.
func (r *relay) read(p post) post {
	var names struct {
		Project    struct{ ID int64 }
		Repository struct{ ID int64 }
	}
	err := json.Unmarshal(p.body, &names)
	p.repo = cmp.Or(names.Project.ID, names.Repository.ID)
	if err == nil {
		err = r.decoder.Verify(p.header, p.body)
	}
	var d webhooks.Delivery
	if err == nil {
		d, err = r.decoder.Decode(p.header, p.body)
	}
	p.event = d.Decoded
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[strings.TrimPrefix(fmt.Sprintf("%T", d.Decoded), "engine.")]++
	ignored, _ := d.Decoded.(engine.Ignored)
	if err != nil || strings.Contains(ignored.Reason, "is not used") {
		r.problems = append(r.problems, fmt.Sprintf("%v %s: %.300s", err, ignored.Reason, p.body))
	}
	return p
}

func (r *relay) fateOf(p post) fate {
	r.mu.Lock()
	defer r.mu.Unlock()
	decide := r.routes[p.repo]
	pushed, _ := p.event.(engine.BranchPushed)
	switch {
	case p.repo == 0:
		return arrives
	case decide == nil || r.setup[pushed.After]:
		return lost // its case is setting it up, or is over
	}
	return decide(p)
}

// send hands a delivery on and gives the server's answer.
func (r *relay) send(ctx context.Context, p post) (status int, answer string) {
	r.mu.Lock()
	target := r.target
	r.sent[p.repo] = append(r.sent[p.repo], p)
	r.mu.Unlock()
	return deliver(ctx, target, p)
}

// deliver posts a delivery to an endpoint.
func deliver(ctx context.Context, url string, p post) (status int, answer string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(p.body))
	if err != nil {
		return http.StatusBadGateway, err.Error()
	}
	req.Header = p.header.Clone()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return http.StatusBadGateway, err.Error()
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text)
}

// understood tells that every delivery of every case was decoded, and is one we
// use or leave for a reason.
func (r *relay) understood(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, problem := range r.problems {
		t.Errorf("a delivery of the forge is strange to its decoder: %s", problem)
	}
	t.Logf("decoded: %v", r.events)
}

// always is one fate for all.
func always(f fate) func(post) fate { return func(post) fate { return f } }

// take gives what was kept back of a repository.
func (r *relay) take(repo int64) []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept := r.kept[repo]
	delete(r.kept, repo)
	return kept
}

// handed gives what the server got of a repository, oldest first.
func (r *relay) handed(repo int64) []post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sent[repo])
}

// is tells the deliveries that decode to one kind of event.
func is[E engine.Event](p post) bool {
	_, ok := p.event.(E)
	return ok
}

// release sends what was kept back of the case's repository, oldest first, once
// all that the forge had to tell has come.
func (w *world) release() {
	w.t.Helper()
	w.quiet()
	for _, p := range w.relay.take(w.repo.ID) {
		if status, answer := w.relay.send(w.ctx, p); status/100 != 2 {
			w.t.Fatalf("a late delivery was answered %d %s", status, answer)
		}
	}
}
