package httpd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

const reportsToken = "0123456789abcdef"

func newReported(t *testing.T, token string) *httptest.Server {
	t.Helper()
	return newTicking(t, token, nil)
}

// newTicking has the clock of its followers in the test's hands.
func newTicking(t *testing.T, token string, ticks chan time.Time) *httptest.Server {
	t.Helper()
	db := sqltest.Open(t)
	pages, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Loopback: true, Pages: pages, Repos: store.NewRepos(db), Facts: facts.New(db, time.Now), Log: slog.New(slog.DiscardHandler),
		Reports: store.NewReports(db), ReportsToken: []byte(token),
		Ticks: func() (<-chan time.Time, func()) { return ticks, func() {} },
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	return server
}

func send(t *testing.T, method, url, token string, body []byte) (code int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(answer)
}

// told is a run of two components, one of which failed and blocks the other.
func told(t *testing.T, name string, done bool) []byte {
	t.Helper()
	b := reports.Body{Schema: 1, Run: reports.Run{ID: "77-1", Repo: "acme/infra", Env: "prod", Op: "green-1", Stage: "apply", Commit: strings.Repeat("a", 40)}}
	b.Events = []run.Event{
		{Type: "run-start", Waves: [][]string{{name}, {"app"}}},
		{Type: "wave-start", Wave: 1, Components: []string{name}},
		{Type: "component-start", Wave: 1, Component: name},
	}
	if done {
		b.Events = append(b.Events,
			run.Event{Type: "step", Component: name, Member: name, Step: "terraform-apply", Status: run.EventFailed, Error: name},
			run.Event{Type: "component-done", Wave: 1, Component: name, Status: run.EventFailed},
			run.Event{Type: "component-done", Wave: 2, Component: "app", Status: run.EventFailed, BlockedBy: name},
			run.Event{Type: "run-done", Status: run.EventFailed})
	}
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAReportIsShownAsOneFromOutsideAndALateOneChangesNothing(t *testing.T) {
	t.Parallel()
	server := newReported(t, reportsToken)
	for _, body := range [][]byte{told(t, "net", false), told(t, "net", true), told(t, "net", false), told(t, "net", true)} {
		if code, text := send(t, http.MethodPost, server.URL+"/api/v1/reports", reportsToken, body); code != http.StatusNoContent {
			t.Fatalf("%d %s", code, text)
		}
	}
	_, list := send(t, http.MethodGet, server.URL+"/runs", "", nil)
	if strings.Count(list, `href="/reports/`) != 1 || !strings.Contains(list, "Reported from outside") {
		t.Errorf("the list of runs: %s", list)
	}
	code, page := send(t, http.MethodGet, server.URL+"/reports/1", "", nil)
	for _, want := range []string{"Reported from outside.", `<span class="status bad">failed</span>`, ">blocked by net, not run</text>"} {
		if code != http.StatusOK || !strings.Contains(page, want) {
			t.Errorf("%d, without %s", code, want)
		}
	}
}

func TestARunThatGoesOnElsewhereIsFollowedAsOneOfOurs(t *testing.T) {
	t.Parallel()
	ticks := make(chan time.Time)
	server := newTicking(t, reportsToken, ticks)
	post := func(done bool) {
		t.Helper()
		if code, text := send(t, http.MethodPost, server.URL+"/api/v1/reports", reportsToken, told(t, "net", done)); code != http.StatusNoContent {
			t.Fatalf("%d %s", code, text)
		}
	}
	post(false)
	if _, page := send(t, http.MethodGet, server.URL+"/reports/1", "", nil); !strings.Contains(page, `data-events="/reports/1/events?after=3"`) {
		t.Errorf("its page follows nothing: %s", page)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/reports/1/events?after=1", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	stream := bufio.NewScanner(resp.Body)
	got := []message{next(t, stream)}
	post(true)
	ticks <- time.Time{}
	got = append(got, next(t, stream), next(t, stream))
	want := []message{
		{ID: "3", Event: "progress", Types: []string{"wave-start", "component-start"}},
		{ID: "7", Event: "progress", Types: []string{"step", "component-done", "component-done", "run-done"}},
		{Event: "end"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if code, _ := send(t, http.MethodGet, server.URL+"/reports/2/events", "", nil); code != http.StatusNotFound {
		t.Errorf("a run nobody reported: %d", code)
	}
}

func TestWhatAReportNamesNeverBecomesMarkup(t *testing.T) {
	t.Parallel()
	server := newReported(t, reportsToken)
	evil := `<img src=x onerror=alert(1)>"'</svg><script>alert(2)</script>` + "\u202e"
	var b reports.Body
	if err := json.Unmarshal(told(t, evil, true), &b); err != nil {
		t.Fatal(err)
	}
	b.Run = reports.Run{ID: evil, Repo: evil, Env: evil, Op: evil, Stage: evil, Commit: evil}
	whole := b
	whole.Run.ID += "2"
	whole.Report = &report.Report{Status: report.Status(evil), Message: evil, Members: []report.Member{{Member: evil, Component: evil, Status: report.MemberStatus(evil), BlockedBy: evil, Error: evil}}}
	whole.Report.Selection.Waves = [][]string{{evil}}
	whole.Report.Rounds = []report.Round{{Round: 2, Op: evil, Gate: evil, Status: report.WaveWaiting, Approve: "chant approve " + evil, Members: []report.RoundMember{{
		Member: evil, Reads: []report.Read{{From: evil, Output: evil, Planned: evil, Now: evil}},
	}}}}
	whole.Report.Waves = []report.Wave{{Wave: 1, Op: evil, Gate: evil, Components: []string{evil}, Status: report.WaveStatus(evil), ApprovedBy: []string{evil}}}
	whole.Report.Groups = []report.Group{{Group: evil, Wave: 1, Members: []string{evil}, Outcome: []report.Outcome{{Member: evil, Status: report.OutcomeStatus(evil)}}}}
	whole.Report.Fallbacks = []report.Fallback{{Component: evil, Kind: report.FallbackKind(evil), Reason: evil}}
	for _, body := range []reports.Body{b, whole} {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		if code, answer := send(t, http.MethodPost, server.URL+"/api/v1/reports", reportsToken, text); code != http.StatusNoContent {
			t.Fatalf("%d %s", code, answer)
		}
	}
	for _, path := range []string{"/runs", "/reports/1", "/reports/2"} {
		code, page := send(t, http.MethodGet, server.URL+path, "", nil)
		if code != http.StatusOK || !strings.Contains(page, "&lt;img src=x") {
			t.Errorf("%s: %d, the names are not shown", path, code)
		}
		for _, markup := range []string{"<img", "<script", "\u202e", "chant approve"} {
			if strings.Contains(page, markup) {
				t.Errorf("%s holds %q", path, markup)
			}
		}
	}
}

func TestAReportThatIsNotOneIsRefused(t *testing.T) {
	t.Parallel()
	server := newReported(t, reportsToken)
	url := server.URL + "/api/v1/reports"
	good := string(told(t, "net", true))
	for name, c := range map[string]struct {
		token, body string
		code        int
	}{
		"no token":          {"", good, http.StatusUnauthorized},
		"another token":     {reportsToken + "0", good, http.StatusUnauthorized},
		"no JSON":           {reportsToken, "schema=1", http.StatusBadRequest},
		"another schema":    {reportsToken, strings.Replace(good, `"schema":1`, `"schema":2`, 1), http.StatusBadRequest},
		"an unknown field":  {reportsToken, strings.Replace(good, `"schema":1`, `"schema":1,"approve":true`, 1), http.StatusBadRequest},
		"no run":            {reportsToken, strings.Replace(good, `"id":"77-1"`, `"id":""`, 1), http.StatusBadRequest},
		"a very long name":  {reportsToken, strings.Replace(good, "77-1", strings.Repeat("7", 201), 1), http.StatusBadRequest},
		"two bodies":        {reportsToken, good + good, http.StatusBadRequest},
		"more than a bound": {reportsToken, `{"schema":1,"run":{"id":"` + strings.Repeat("a", reports.MaxBody) + `"}}`, http.StatusRequestEntityTooLarge},
	} {
		if code, text := send(t, http.MethodPost, url, c.token, []byte(c.body)); code != c.code {
			t.Errorf("%s: %d %s", name, code, text)
		}
	}
	if _, list := send(t, http.MethodGet, server.URL+"/runs", "", nil); strings.Contains(list, "/reports/") {
		t.Error("a refused report is listed")
	}
	off := newReported(t, "")
	if code, _ := send(t, http.MethodPost, off.URL+"/api/v1/reports", "", []byte(good)); code != http.StatusNotFound {
		t.Errorf("without a token configured: %d", code)
	}
}

func TestAnEmptyReportHasAPage(t *testing.T) {
	t.Parallel()
	server := newReported(t, reportsToken)
	for i, report := range []string{"", `,"report":{}`, `,"report":{"green":{"merges":[{}],"cover":[{}]},"changeSet":{"entries":[{}]},"members":[{"unknownInputs":[{}]}]}`} {
		body := fmt.Sprintf(`{"schema":1,"run":{"id":"%d","repo":"r","env":"e","op":"","stage":"apply","commit":""},"events":null%s}`, i, report)
		code, text := send(t, http.MethodPost, server.URL+"/api/v1/reports", reportsToken, []byte(body))
		if code == http.StatusBadRequest {
			continue // a report is read as strictly as the document in it
		}
		if page, html := send(t, http.MethodGet, fmt.Sprintf("%s/reports/%d", server.URL, i+1), "", nil); code != http.StatusNoContent || page != http.StatusOK {
			t.Errorf("%d: %d %s, its page %d %s", i, code, text, page, html)
		}
	}
}
