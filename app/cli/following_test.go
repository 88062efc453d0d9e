package cli

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// followedApply is an apply of net, which fails, and of app, which reads it.
func followedApply(t *testing.T, f *following) {
	t.Helper()
	s, err := run.New(run.Config{
		Commit: "c1", Waves: [][]string{{"net"}, {"app"}}, DependsOn: map[string][]string{"app": {"net"}},
		Units: []run.Unit{{Member: "net", Component: "net", Phase: "deploy", Step: "terraform-apply"}, {Member: "app", Component: "app", Phase: "deploy", Step: "terraform-apply"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &usecase.Apply{Op: "green-1", Pass: usecase.Pass{State: s}}
	for _, move := range []func() error{
		func() error { return nil },
		func() error { return a.State.Start("net") },
		func() error { return a.State.Settle("net", run.Outcome{Error: "conflict"}) },
	} {
		if err := move(); err != nil {
			t.Fatal(err)
		}
		if err := f.Save(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	f.end(report.Report{Status: report.Failed})
}

func TestAnApplySaysEachWaveAndEachSettledComponent(t *testing.T) {
	t.Parallel()
	var lines, events bytes.Buffer
	followedApply(t, (&Host{Stderr: &lines}).follow(t.Context(), FollowOptions{}, reports.Run{}))
	if diff := cmp.Diff("wave 1 starts\nnet: failed\napp: blocked by net, not run\n", lines.String()); diff != "" {
		t.Error(diff)
	}
	followedApply(t, (&Host{Stderr: &events}).follow(t.Context(), FollowOptions{ProgressJSON: true}, reports.Run{}))
	if text := events.String(); !strings.HasPrefix(text, `{"type":"run-start","waves":[["net"],["app"]]}`+"\n") || !strings.HasSuffix(text, `{"type":"run-done","status":"failed"}`+"\n") {
		t.Errorf("printed %s", text)
	}
}

func TestAnApplyReportsAllSoFarAndItsEnd(t *testing.T) {
	t.Parallel()
	var last reports.Body
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if got := r.Header.Get("Authorization"); got != "Bearer secret" {
			t.Errorf("shown %q", got)
		}
		b, err := reports.Parse(r.Body)
		if err != nil {
			t.Error(err)
		}
		last = b
	}))
	t.Cleanup(server.Close)
	h := &Host{Stderr: new(bytes.Buffer), Environ: []string{"CHANT_REPORT_TOKEN=secret"}}
	followedApply(t, h.follow(t.Context(), FollowOptions{ReportURL: server.URL}, reports.Run{Repo: "acme/infra", Env: "prod", Stage: "apply"}))
	if n := len(last.Events); n == 0 || last.Events[n-1].Type != "run-done" || last.Report == nil || last.Run.Op != "green-1" || last.Run.Commit != "c1" {
		t.Errorf("reported last %+v", last)
	}
}

func TestAReportOfAnApplyThatOnlyWaitsNamesItsCommit(t *testing.T) {
	t.Parallel()
	told := make(chan reports.Body, 1)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, err := reports.Parse(r.Body)
		if err != nil {
			t.Error(err)
		}
		told <- b
	}))
	t.Cleanup(server.Close)
	f := (&Host{Stderr: new(bytes.Buffer)}).follow(t.Context(), FollowOptions{ReportURL: server.URL}, reports.Run{Repo: "acme/infra", Env: "prod", Stage: "apply"})
	f.end(report.Report{Status: report.Refused, Op: "green-1", Head: "c1"})
	if b := <-told; b.Run.Op != "green-1" || b.Run.Commit != "c1" {
		t.Errorf("reported %+v", b.Run)
	}
}

func TestAReportThatFailsIsAWarning(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	var lines bytes.Buffer
	f := (&Host{Stderr: &lines}).follow(t.Context(), FollowOptions{ReportURL: server.URL, ProgressJSON: true}, reports.Run{})
	f.end(report.Report{})
	if !strings.Contains(lines.String(), "warning: the progress could not be reported: status 404") {
		t.Errorf("said %s", lines.String())
	}
}

// An apply never waits for whoever is told of it, and its end only for a bounded time.
func TestAReportThatIsNeverAnsweredDelaysNoStepAndNotTheEnd(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(func() { close(over); server.Close() })
	var lines shared
	f := (&Host{Stderr: &lines}).follow(t.Context(), FollowOptions{ReportURL: server.URL, ProgressJSON: true}, reports.Run{})
	f.posts.wait = 100 * time.Millisecond
	followedApply(t, f) // returns: no step waited, and the end gave up
	if !strings.Contains(lines.String(), "warning: the progress could not be reported") || !strings.Contains(lines.String(), "deadline exceeded") {
		t.Errorf("said %s", lines.String())
	}
}

// shared is written by the apply and by whoever reports it.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// The page that lists reported runs tells them apart by it, also where no forge was
// asked.
func TestAReportNamesTheRepositoryWithoutAForge(t *testing.T) {
	t.Parallel()
	named := engine.Repo{Owner: "acme", Name: "infra"}
	for want, c := range map[string]checkout{
		"acme/infra":   {site: &usecase.Site{}, job: job{repo: named}, top: "/srv/work"},
		"acme/renamed": {site: &usecase.Site{Repo: engine.Repo{Owner: "acme", Name: "renamed"}}, job: job{repo: named}, top: "/srv/work"},
		"work":         {site: &usecase.Site{}, job: job{repo: engine.Repo{ID: 7}}, top: "/srv/work"},
	} {
		if got := c.name(); got != want {
			t.Errorf("it is named %q, want %q", got, want)
		}
	}
}
