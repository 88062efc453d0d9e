package forgejo_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
)

func TestStatusesAreWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			pending := forges.Status{Context: "chant/plan", State: forges.StatusPending, Description: "planning"}
			done := forges.Status{Context: "chant/plan", State: forges.StatusSuccess, Description: "planned", TargetURL: "https://chant.acme.test/1"}
			for _, s := range []forges.Status{pending, done} {
				if err := w.conn.SetStatus(t.Context(), w.key, p.Head(), s); err != nil {
					t.Fatal(err)
				}
			}
			if got := must(w.conn.Status(t.Context(), w.key, p.Head(), "chant/plan"))(t); got != done {
				t.Fatalf("%+v", got)
			}
			if _, err := w.conn.Status(t.Context(), w.key, p.Head(), "chant/apply"); !errors.Is(err, forges.ErrNotFound) {
				t.Fatalf("one nobody wrote: %v", err)
			}
		})
	}
}

// The servers take all of these (fact 7).
func TestAStatusNoOtherForgeTakesIsNotSent(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			long := strings.Repeat("é", 256)
			for name, s := range map[string]forges.Status{
				"no state":             {Context: "c", State: "green"},
				"needs a context":      {State: forges.StatusSuccess},
				"than 255 characters":  {Context: long, State: forges.StatusSuccess},
				"than 140 characters":  {Context: "c", State: forges.StatusSuccess, Description: long[:2*141]},
				"no address of a page": {Context: "c", State: forges.StatusSuccess, TargetURL: "javascript:alert(1)"},
			} {
				rejected, ok := errors.AsType[*forges.Rejected](w.conn.SetStatus(t.Context(), w.key, p.Head(), s))
				if !ok || !strings.Contains(rejected.Message, name) {
					t.Errorf("%s: %v", name, rejected)
				}
			}
			if sent := w.Writes(); sent != 0 {
				t.Errorf("%d were sent", sent)
			}
			if err := w.conn.SetStatus(t.Context(), w.key, p.Head(), forges.Status{Context: long[:2*255], Description: long[:2*140], State: forges.StatusError}); err != nil {
				t.Errorf("one at the bounds: %v", err)
			}
		})
	}
}

func TestWhatCISaysIsReadFromStatusesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			if err := w.conn.SetStatus(t.Context(), w.key, p.Head(), forges.Status{Context: "chant/apply", State: forges.StatusPending}); err != nil {
				t.Fatal(err)
			}
			must(w.repo.SetCheck(p.Head(), "unit / test (push)", "in_progress", ""))(t)
			must(w.repo.SetCheck(p.Head(), "unit / test (push)", "completed", "success"))(t)
			must(w.repo.SetCheck(p.Head(), "lint", "completed", "timed_out"))(t)
			must(w.repo.SetCheck(p.Head(), "e2e", "queued", ""))(t)
			link := w.URL() + "/acme/infra/actions/runs/1/jobs/0"
			const actions = "-2" // the account CI reports as
			want := []green.CheckRun{
				{ID: 5, Name: "e2e", Status: "in_progress", URL: link, Source: actions},
				{ID: 4, Name: "lint", Status: "completed", Conclusion: "failure", URL: link, Source: actions},
				{ID: 3, Name: "unit / test (push)", Status: "completed", Conclusion: "success", URL: link, Source: actions},
				{ID: 2, Name: "unit / test (push)", Status: "in_progress", URL: link, Source: actions},
			}
			if diff := cmp.Diff(want, must(w.conn.CheckRuns(t.Context(), w.key, p.Head()))(t)); diff != "" {
				t.Fatal(diff)
			}
		})
	}
}

func TestAStateNobodyKnowsIsNoSuccess(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			for _, state := range []string{"warning", "green", ""} {
				w.post(t, "/repos/acme/infra/statuses/"+p.Head(), `{"context":"x","state":"`+state+`"}`)
			}
			for _, run := range must(w.conn.CheckRuns(t.Context(), w.key, p.Head()))(t) {
				if run.Status != "completed" || run.Conclusion == "success" || run.Conclusion == "skipped" {
					t.Errorf("%+v", run)
				}
			}
		})
	}
}

// post writes as alice would by hand.
func (w world) post(t *testing.T, path, body string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(w.APIURL(), "/")+path, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "token "+w.Token(w.alice))
	resp := must(http.DefaultClient.Do(req))(t)
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
}
