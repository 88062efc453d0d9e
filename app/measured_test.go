package app_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/sql/store"
)

// series are the families that the server serves beside those of the Go runtime
// and the process, with their labels.
var series = []string{
	"chant_apply_duration_seconds status",
	"chant_build_info goversion,version",
	"chant_children_running stage",
	"chant_deliveries_handled_total forge,outcome",
	"chant_deliveries_pending ",
	"chant_deliveries_received_total forge,outcome",
	"chant_forge_rate_limit_remaining forge",
	"chant_forge_requests_total answer,forge,method",
	"chant_job_duration_seconds kind,outcome",
	"chant_jobs kind,state",
	"chant_ledger_appends_total ",
	"chant_ledger_contended_total ",
	"chant_plan_duration_seconds status",
}

var (
	sample = regexp.MustCompile(`(?m)^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	label  = regexp.MustCompile(`(\w+)="([^"]*)"`)
	suffix = regexp.MustCompile(`_(bucket|sum|count)$`)
	// grows matches what there is ever more of: numbers, commits, digests.
	grows = regexp.MustCompile(`^[0-9]+$|[0-9a-f]{7,}`)
)

// Every label is a word out of a few, however much the server does; and an apply whose
// end was not stored, so that it was carried on, is counted once.
func TestNoSeriesGrowsWithWhatIsServed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	defer stop()
	const applied = `chant_apply_duration_seconds_count{status="applied"} 1` + "\n"
	w.failOnce("apply", "audit", "NEW.action = 'apply' AND NEW.result = 'applied'")
	w.busy()
	var text string
	w.await("the apply in the metrics", func() bool {
		text = w.metrics()
		return strings.Contains(text, applied)
	})
	found := map[string]bool{}
	for _, s := range sample.FindAllStringSubmatch(text, -1) {
		var names []string
		for _, l := range label.FindAllStringSubmatch(s[2], -1) {
			name, value := l[1], l[2]
			if name == "le" || name == "quantile" {
				continue
			}
			names = append(names, name)
			for _, foreign := range []string{"acme", "infra", "alice", "bob", "wider", "net", "main"} {
				if value == foreign || grows.MatchString(value) {
					t.Errorf("%s: the label %s is %q", s[1], name, value)
				}
			}
		}
		if strings.HasPrefix(s[1], "chant_") {
			found[suffix.ReplaceAllString(s[1], "")+" "+strings.Join(names, ",")] = true
		}
	}
	var got []string
	for name := range found {
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(series, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		`,outcome="refused"} 1`,
		`chant_plan_duration_seconds_count{status="planned"} 1`,
		`chant_children_running{stage="apply"} 0`,
		`chant_build_info{goversion="go`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "chant_ledger_appends_total 0") || !strings.Contains(text, `chant_forge_requests_total{answer="2xx"`) {
		t.Errorf("writes to the ledger or requests to the forge are not counted:\n%s", text)
	}
	w.idle() // its end is stored by now
	if !strings.Contains(w.serverLog(), "the disk is full") {
		t.Error("the end of the apply was stored at once")
	}
	w.await("one apply in the metrics", func() bool { return strings.Contains(w.metrics(), applied) })
}

// failOnce has the database refuse a row of a table until a job of a kind is tried for
// the second time.
func (w *world) failOnce(kind, table, which string) {
	w.t.Helper()
	db, err := store.Open(w.ctx, filepath.Join(w.Dir, "server", "chant.db"))
	if err != nil {
		w.t.Fatal(err)
	}
	defer db.Close()
	_, err = db.Write.ExecContext(w.ctx, "CREATE TRIGGER fails BEFORE INSERT ON "+table+" WHEN "+which+
		" AND (SELECT max(attempt) FROM river_job WHERE kind = '"+kind+"') < 2 BEGIN SELECT RAISE(ABORT, 'the disk is full'); END")
	if err != nil {
		w.t.Fatal(err)
	}
}

// busy has one of most things happen: a plan, an approval, a merge, an apply, and
// a delivery that nobody signed.
func (w *world) busy() {
	w.t.Helper()
	pr := w.propose("wider", "app", "listens in", "serves")
	w.said(pr, w.approveLineOf(pr, "pr-1"))
	w.await("the approval in the note", func() bool { return strings.Contains(w.notes(), "Approved by") })
	merge, err := pr.Merge("merge", w.Alice)
	if err != nil {
		w.t.Fatal(err)
	}
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	forged, err := http.Post("http://"+w.addr+"/webhooks/github", "application/json", strings.NewReader("{}"))
	if err != nil {
		w.t.Fatal(err)
	}
	_ = forged.Body.Close()
}

func (w *world) metrics() string {
	w.t.Helper()
	resp, err := http.Get("http://" + w.addr + "/metrics")
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%d %v\n%s", resp.StatusCode, err, text)
	}
	return string(text)
}

// What an operator asks of the log is about one repository, pull request, run or
// delivery: a line that concerns one names it.
func TestLinesOfTheLogNameWhatTheyConcern(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	stop := w.serve()
	w.busy()
	w.idle()
	stop()
	log, err := os.ReadFile(filepath.Join(w.Dir, "server.log"))
	if err != nil {
		t.Fatal(err)
	}
	about := []struct {
		concerns, names string
		lines           int
	}{
		{"msg=webhook", `delivery=\S+ .*repository=acme/infra`, 0},
		{"msg=delivery", `delivery=\S+ .*repository=acme/infra`, 0},
		{`msg="job done".* kind=plan`, `repository=acme/infra change=1`, 0},
		{`msg="job done".* kind=command`, `repository=acme/infra change=1`, 0},
		{`msg="job done".* kind=record`, `repository=acme/infra branch=main`, 0},
		{`msg="job done".* kind=apply`, `repository=acme/infra branch=main env=prod run=1`, 0},
	}
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "event=ping") || strings.Contains(line, "event=installation") {
			continue // of no repository
		}
		for i, a := range about {
			if !regexp.MustCompile(a.concerns).MatchString(line) {
				continue
			}
			about[i].lines++
			if !regexp.MustCompile(a.names).MatchString(line) {
				t.Errorf("without %s: %s", a.names, line)
			}
		}
	}
	for _, a := range about {
		if a.lines == 0 {
			t.Errorf("no line is %s", a.concerns)
		}
	}
}
