package conformance_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/store"
)

// mostReads is what a settle that changes nothing may ask of a forge.
const mostReads = 3

// numbers are what is counted, each with a forge of its own.
func numbers() []conform {
	return []conform{
		{name: "a settle that changes nothing writes nothing and reads 3 times at most", alone: &setup{}, run: func(w *world) {
			pr := w.propose("second")
			w.approved(pr)
			if reads := w.settledQuietly(); len(reads) > mostReads {
				w.t.Errorf("%d reads: %s", len(reads), strings.Join(reads, ", "))
			}
		}},
		{name: "a settle under the review rule that changes nothing writes nothing and reads 3 times at most", alone: &setup{}, policy: policy{env: object{"requireReview": true}}, run: func(w *world) {
			pr := w.propose("second")
			line := w.line(pr, opOf(pr))
			if reads := w.settledQuietly(); len(reads) > 1 {
				w.t.Errorf("%d reads with no approval to judge: %s", len(reads), strings.Join(reads, ", "))
			}
			must(w.forge.As(w.alice).Review(pr, "APPROVE", line))(w.t)
			w.noted(pr, "Approved by")
			if reads := w.settledQuietly(); len(reads) > mostReads {
				w.t.Errorf("%d reads: %s", len(reads), strings.Join(reads, ", "))
			}
		}},
	}
}

// settledQuietly has a pull request settled though nothing changed, and gives what
// was read of the forge for it, each request.
func (w *world) settledQuietly() []string {
	w.t.Helper()
	var opened post
	for _, p := range w.relay.handed(w.repo.ID) {
		if is[engine.ChangeUpdated](p) {
			opened = p
		}
	}
	for range 2 { // the first fills what is kept
		w.idle()
		w.forge.ResetCounts()
		settled := w.jobs("settle")
		w.refused(w.relay.target, renamed(opened, fmt.Sprintf("once-more-%d", settled)), 202, "queued")
		w.eventually("the settle", func() bool { return w.jobs("settle") > settled })
		w.idle()
	}
	var reads []string
	for route, n := range w.forge.Requests() {
		switch method, _, _ := strings.Cut(route, " "); method {
		case http.MethodGet, http.MethodHead:
			reads = append(reads, slices.Repeat([]string{route}, n)...)
		case "GIT":
		default:
			if route == "POST /graphql" { // a query
				reads = append(reads, slices.Repeat([]string{route}, n)...)
				continue
			}
			w.t.Errorf("%d %s, and nothing was to write", n, route)
		}
	}
	w.t.Logf("reads of %s: %s", w.kind, strings.Join(reads, ", "))
	return reads
}

// idle waits until everything that was told is done: no delivery is on its way,
// and no job waits or runs. The sweep of the start comes when the server is the one
// that keeps the queue, which may be seconds after it serves.
func (w *world) idle() {
	w.t.Helper()
	db := must(store.Open(w.ctx, filepath.Join(w.dir, "server", "chant.db")))(w.t)
	defer db.Close()
	const unfinished = `SELECT (SELECT count(*) = 0 FROM river_job WHERE kind = 'sweep-repo' AND state = 'completed')
		+ (SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'retryable', 'scheduled', 'pending'))
		+ (SELECT count(*) FROM deliveries WHERE state IN ('pending', 'waiting'))`
	w.eventually("the server to have nothing to do", func() bool {
		w.quiet()
		left := -1
		err := db.Read.QueryRowContext(w.ctx, unfinished).Scan(&left)
		return err == nil && left == 0
	})
}
