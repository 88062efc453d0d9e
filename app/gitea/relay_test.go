//go:build e2e

package gitea_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"
)

// relay stands between Gitea and the server. It passes deliveries on, or loses
// them, and notes when the first of a pull request came and when its note was
// posted.
type relay struct {
	hooks, api *httptest.Server

	mu      sync.Mutex
	target  string // endpoint of the server
	lost    int
	losing  bool
	arrived map[string]time.Time // by event, the first since it was cleared
	noted   time.Time            // when a note was last written
}

// newRelay makes one for the API of a Gitea; where the server listens is not known
// yet.
func newRelay(t testing.TB, gitea string) *relay {
	t.Helper()
	r := &relay{arrived: map[string]time.Time{}}
	r.hooks = httptest.NewServer(http.HandlerFunc(r.deliver))
	proxy := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(must(url.Parse(gitea))(t)); p.Out.Host = p.In.Host },
		ModifyResponse: func(resp *http.Response) error {
			if resp.Request.Method == http.MethodPost && strings.HasSuffix(resp.Request.URL.Path, "/comments") {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.noted = time.Now()
			}
			return nil
		},
	}
	all := http.NewServeMux()
	all.Handle("/", proxy)
	all.HandleFunc("/assets/js/", noScript)
	r.api = httptest.NewServer(all)
	t.Cleanup(func() { r.hooks.Close(); r.api.Close() })
	return r
}

// noScript stands in for Gitea's scripts, which its Go module does not hold: a
// page without them says so in a dialog, for which a browser without a window
// waits.
func noScript(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/javascript")
}

func (r *relay) deliver(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	event := req.Header.Get("X-Gitea-Event")
	if r.arrived[event].IsZero() {
		r.arrived[event] = time.Now()
	}
	target, losing := r.target, r.losing
	if losing {
		r.lost++
	}
	r.mu.Unlock()
	if losing || target == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	out, err := http.NewRequestWithContext(req.Context(), http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	out.Header = req.Header.Clone()
	resp, err := http.DefaultClient.Do(out)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	_ = resp.Body.Close()
	w.WriteHeader(resp.StatusCode)
}

// to says where deliveries go from now on.
func (r *relay) to(target string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.target = target
}

// lose loses every delivery from now on, or none.
func (r *relay) lose(on bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losing, r.lost = on, 0
}

// losses counts what was lost since lose.
func (r *relay) losses() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lost
}

// clear forgets what came and was posted.
func (r *relay) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived, r.noted = map[string]time.Time{}, time.Time{}
}

// took is the time from the first delivery of an event to the note; done is false
// until both are there. It is negative where another event led to the note first.
func (r *relay) took(event string) (long time.Duration, done bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noted.IsZero() || r.arrived[event].IsZero() {
		return 0, false
	}
	return r.noted.Sub(r.arrived[event]), true
}
