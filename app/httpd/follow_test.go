package httpd

import (
	"bufio"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// followed is a server with one run of it, and the clock of its followers.
type followed struct {
	t       *testing.T
	db      *store.DB
	url     string
	apply   *usecase.Apply
	journal *facts.Journal
	ticks   chan time.Time
	closing chan struct{}
}

// newFollowed starts an apply of members in waves, given as component names.
func newFollowed(t *testing.T, waves [][]string, dependsOn map[string][]string) *followed {
	t.Helper()
	db := sqltest.Open(t)
	repo := store.Repo{Repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7, Owner: "acme", Name: "infra"}}
	repos := store.NewRepos(db)
	if err := db.InTx(t.Context(), func(tx *sql.Tx) error { return repos.Upsert(t.Context(), tx, repo) }); err != nil {
		t.Fatal(err)
	}
	pages, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	kept := facts.New(db, time.Now)
	f := &followed{t: t, db: db, ticks: make(chan time.Time), closing: make(chan struct{}), journal: kept.NewJournal(repo.Repo, "prod", "")}
	f.apply = &usecase.Apply{Pass: usecase.Pass{Set: &usecase.PlanSet{DependsOn: dependsOn}}, Report: report.Report{
		Stage: report.Apply, Env: "prod", Status: report.Planned, Head: strings.Repeat("a", 40), Selection: graph.Selection{Waves: waves},
	}}
	config := run.Config{Commit: strings.Repeat("a", 40), Env: "prod", Waves: waves, DependsOn: dependsOn}
	for _, wave := range waves {
		for _, name := range wave {
			config.Units = append(config.Units, run.Unit{Member: name, Component: name, Phase: "deploy", Step: "terraform-apply"})
			f.apply.Report.Members = append(f.apply.Report.Members, report.Member{Member: name, Component: name, Status: report.MemberPlanned})
		}
	}
	if f.apply.State, err = run.New(config); err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Loopback: true, Pages: pages, Repos: repos, Facts: kept, Log: slog.New(slog.DiscardHandler), Closing: f.closing,
		Listed: func() []Listed { return nil },
		Ticks:  func() (<-chan time.Time, func()) { return f.ticks, func() {} },
	}
	server := httptest.NewServer(s.Handler())
	t.Cleanup(server.Close)
	f.url = server.URL
	f.save()
	return f
}

func (f *followed) save() {
	f.t.Helper()
	if err := f.journal.Save(f.t.Context(), f.apply); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) start(names ...string) {
	f.t.Helper()
	for _, name := range names {
		if err := f.apply.State.Start(name); err != nil {
			f.t.Fatal(err)
		}
	}
	f.save()
}

func (f *followed) settle(name string, o run.Outcome) {
	f.t.Helper()
	if err := f.apply.State.Settle(name, o); err != nil {
		f.t.Fatal(err)
	}
	f.save()
}

// over stores the end of the run, as the job does.
func (f *followed) over() {
	f.t.Helper()
	f.apply.Report.Take(f.apply.Passes())
	if err := f.db.InTx(f.t.Context(), func(tx *sql.Tx) error { return f.journal.SaveTx(f.t.Context(), tx, f.apply) }); err != nil {
		f.t.Fatal(err)
	}
}

func (f *followed) get(path, lastID string) *http.Response {
	f.t.Helper()
	req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, f.url+path, http.NoBody)
	if err != nil {
		f.t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

func (f *followed) page() string {
	f.t.Helper()
	var b strings.Builder
	resp := f.get(fmt.Sprintf("/runs/%d", f.journal.ID()), "")
	if _, err := bufio.NewReader(resp.Body).WriteTo(&b); err != nil {
		f.t.Fatal(err)
	}
	return b.String()
}

// message is one server-sent event.
type message struct {
	ID, Event string
	Types     []string // of the progress events in it
}

// next reads one message from a stream.
func next(t *testing.T, stream *bufio.Scanner) message {
	t.Helper()
	var m message
	for stream.Scan() {
		line := stream.Text()
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && m.Event != "":
			return m
		case key == "id":
			m.ID = value
		case key == "event":
			m.Event = value
		case key == "data" && strings.HasPrefix(value, "{"):
			var e run.Event
			if err := json.Unmarshal([]byte(value), &e); err != nil {
				t.Fatalf("%v: %s", err, value)
			}
			m.Types = append(m.Types, e.Type)
		}
	}
	t.Fatal("the stream ended")
	return m
}

func TestAFollowerGetsOneUpdateATickAndGoesOnWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"dns", "net"}, {"app"}}, map[string][]string{"app": {"net"}})
	path := fmt.Sprintf("/runs/%d/events", f.journal.ID())
	stream := bufio.NewScanner(f.get(path, "").Body)
	first := next(t, stream)
	f.start("dns", "net")
	f.settle("dns", run.Outcome{})
	f.ticks <- time.Time{}
	second := next(t, stream)
	want := []message{
		{ID: "1", Event: "progress", Types: []string{"run-start"}},
		{ID: "11", Event: "progress", Types: []string{
			"wave-start", "component-start", "phase-start", "step", "component-start", "phase-start", "step", "step", "phase-done", "component-done",
		}},
	}
	if diff := cmp.Diff(want, []message{first, second}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	f.settle("net", run.Outcome{Error: "subnet conflict"})
	again := bufio.NewScanner(f.get(path+"?after=1", "11").Body)
	if m := next(t, again); m.Types[0] != "step" || m.Types[len(m.Types)-1] != "component-done" {
		t.Errorf("went on with %+v", m)
	}
	f.over()
	f.ticks <- time.Time{} // one of the two
	f.ticks <- time.Time{}
	// Only the run itself knows that no pass follows.
	if m := next(t, again); m.Event != "progress" || m.Types[0] != "run-done" {
		t.Errorf("at its end: %+v", m)
	}
	for _, s := range []*bufio.Scanner{again, stream} {
		last := next(t, s)
		for last.Event == "progress" {
			last = next(t, s)
		}
		if last.Event != "end" {
			t.Errorf("after its end: %+v", last)
		}
	}
	if resp := f.get(path, fmt.Sprint(1000)); resp.StatusCode != http.StatusNoContent {
		t.Errorf("a browser that asks again after the end is answered %d", resp.StatusCode)
	}
}

// Issue 4: a run page follows 200 members with no more than one update a second to the
// browser, which is one a tick, however much happens between two.
func TestAFollowerOf200MembersGetsOneUpdateATick(t *testing.T) {
	t.Parallel()
	const members, ticks = 200, 4
	names := make([]string, members)
	for i := range names {
		names[i] = fmt.Sprintf("m%03d", i)
	}
	f := newFollowed(t, [][]string{names}, nil)
	lines, stream := make(chan string), bufio.NewScanner(f.get(fmt.Sprintf("/runs/%d/events", f.journal.ID()), "").Body)
	go func() {
		defer close(lines)
		for stream.Scan() {
			lines <- stream.Text()
		}
	}()
	f.start(names...)
	given, updates, settled := 0, 0, 0
	happens := []func(){}
	for tick := range ticks {
		happens = append(happens, func() {
			for _, name := range names[tick*members/ticks : (tick+1)*members/ticks] {
				if err := f.apply.State.Settle(name, run.Outcome{}); err != nil {
					t.Error(err)
				}
			}
			f.save()
		})
	}
	happens = append(happens, f.over)
	for open := true; open; {
		var line string
		select {
		case f.ticks <- time.Time{}: // taken only once the last update was sent
			given++
			if len(happens) > 0 {
				happens[0]()
				happens = happens[1:]
			}
		case line, open = <-lines:
			updates += strings.Count(line, "event: progress")
			settled += strings.Count(line, `"type":"component-done"`)
		}
	}
	if settled != members || updates < ticks || updates > given+1 {
		t.Errorf("%d updates in %d ticks tell of %d members, want one a tick and one at first", updates, given, settled)
	}
}

func TestAServerThatStopsLetsItsFollowersGo(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	stream := bufio.NewScanner(f.get(fmt.Sprintf("/runs/%d/events", f.journal.ID()), "").Body)
	next(t, stream)
	close(f.closing)
	for stream.Scan() {
		if text := stream.Text(); text != "" {
			t.Errorf("it said %q", text)
		}
	}
	if err := stream.Err(); err != nil {
		t.Error(err)
	}
}

func TestARunThatIsNotThereIsNotFollowed(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"net"}}, nil)
	for _, id := range []string{"99", "x", "-1"} {
		if resp := f.get("/runs/"+id+"/events", ""); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", id, resp.StatusCode)
		}
	}
}

func TestTheRunPageShowsWithoutAScriptWhatRunsIsBlockedAndHeld(t *testing.T) {
	t.Parallel()
	f := newFollowed(t, [][]string{{"dns", "net", "vault"}, {"app", "web"}}, map[string][]string{"app": {"net"}, "web": {"vault"}})
	f.start("dns", "net", "vault")
	f.settle("net", run.Outcome{Error: "subnet <b>conflict</b>"})
	f.settle("vault", run.Outcome{})
	html := f.page()
	for _, want := range []string{
		`<span class="status busy">running</span>`, `subnet &lt;b&gt;conflict&lt;/b&gt;`, `<td class="words">blocked by net, not run</td>`,
		`>blocked by net, not run</text>`, `<noscript><meta http-equiv="refresh"`, fmt.Sprintf(`data-events="/runs/%d/events?after=`, f.journal.ID()),
		`<desc id="waves-desc">Wave 1: 1 applied, 1 failed, 1 running. Wave 2: 1 blocked, 1 planned.</desc>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	f.settle("dns", run.Outcome{})
	if err := f.apply.State.Hold("web", []run.InputRead{
		{From: "vault", Output: "address", Planned: `"a"`, Now: `"b"`}, {From: "vault", Output: "token", Planned: run.Redacted, Now: run.Redacted, Sensitive: true},
	}); err != nil {
		t.Fatal(err)
	}
	f.over()
	html = f.page()
	for _, want := range []string{
		`<td><code>vault.address</code></td><td class="words"><code>&#34;a&#34;</code></td><td class="words"><code>&#34;b&#34;</code></td>`,
		`<td><code>vault.token</code></td><td class="words"><code>(sensitive)</code></td><td class="words"><code>(sensitive)</code></td>`,
	} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(html, "data-events") {
		t.Error("a run that is over is still followed")
	}
}
