package metrics_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/metrics"
	"github.com/chant-bot/chant/engine"
)

var forge = engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}

// scrape is what a scraper gets where look answers so.
func scrape(t *testing.T, m *metrics.Metrics, now metrics.Now, err error) string {
	t.Helper()
	var told error
	handler := m.Handler(func(context.Context) (metrics.Now, error) { return now, err }, func(_ context.Context, err error) { told = err })
	rec := httptest.NewRecorder()
	handler.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if rec.Code != http.StatusOK || !errors.Is(told, err) {
		t.Errorf("%d, and %v is told", rec.Code, told)
	}
	return rec.Body.String()
}

func holds(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("%q is not in\n%s", line, text)
		}
	}
}

type answers func() (*http.Response, error)

func (a answers) RoundTrip(*http.Request) (*http.Response, error) { return a() }

func TestRequestsAreCountedByTheClassOfTheirAnswer(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	ask := func(method string, status int, header ...string) {
		t.Helper()
		next := answers(func() (*http.Response, error) {
			if status == 0 {
				return nil, errors.New("connection refused")
			}
			resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}
			for i := 0; i < len(header); i += 2 {
				resp.Header.Set(header[i], header[i+1])
			}
			return resp, nil
		})
		resp, err := m.Transport(forge, next).RoundTrip(httptest.NewRequest(method, "https://gitlab.com/", http.NoBody))
		if (err != nil) != (status == 0) {
			t.Fatal(err)
		}
		if err == nil {
			_ = resp.Body.Close()
		}
	}
	ask("GET", 200, "RateLimit-Remaining", "1999")
	ask("GET", 304, "X-RateLimit-Remaining", "7", "X-RateLimit-Resource", "search")
	ask("POST", 503)
	ask("POST", 0)
	holds(t, scrape(t, m, metrics.Now{}, nil),
		`chant_forge_requests_total{answer="2xx",forge="gitlab:gitlab.com",method="GET"} 1`,
		`chant_forge_requests_total{answer="3xx",forge="gitlab:gitlab.com",method="GET"} 1`,
		`chant_forge_requests_total{answer="5xx",forge="gitlab:gitlab.com",method="POST"} 1`,
		`chant_forge_requests_total{answer="none",forge="gitlab:gitlab.com",method="POST"} 1`,
		`chant_forge_rate_limit_remaining{forge="gitlab:gitlab.com"} 1999`)
}

func TestWhatAnEndpointRefusesIsCountedAndNothingElse(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	for _, status := range []int{http.StatusAccepted, http.StatusUnauthorized, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable} {
		handler := m.Receives(forge, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		if rec.Code != status {
			t.Errorf("%d became %d", status, rec.Code)
		}
	}
	text := scrape(t, m, metrics.Now{}, nil)
	holds(t, text, `chant_deliveries_received_total{forge="gitlab:gitlab.com",outcome="refused"} 2`,
		`chant_deliveries_received_total{forge="gitlab:gitlab.com",outcome="failed"} 1`)
	if n := strings.Count(text, "chant_deliveries_received_total{"); n != 2 {
		t.Errorf("%d outcomes are counted", n)
	}
}

// A database that is away takes its own series along and no other.
func TestAScrapeGivesWhatItCanWhenTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	m := metrics.New("v1")
	m.Job("plan", "done", time.Second)
	now := metrics.Now{Pending: 3, Running: map[string]int{"plan": 2}, Appended: 5, Contended: 1, Jobs: []metrics.Jobs{{Kind: "plan", State: "running", Count: 2}}}
	holds(t, scrape(t, m, now, nil), `chant_jobs{kind="plan",state="running"} 2`, "chant_deliveries_pending 3",
		`chant_children_running{stage="plan"} 2`, "chant_ledger_appends_total 5", "chant_ledger_contended_total 1")
	now.Jobs, now.Pending = nil, -1
	text := scrape(t, m, now, errors.New("the database is away"))
	holds(t, text, `chant_job_duration_seconds_count{kind="plan",outcome="done"} 1`, "chant_ledger_appends_total 5")
	if strings.Contains(text, "\nchant_deliveries_pending ") || strings.Contains(text, "chant_jobs{") {
		t.Errorf("what is not known is told:\n%s", text)
	}
}
