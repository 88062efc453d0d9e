package httpd

import (
	"database/sql"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

// A state holds every plan of an apply. A list shows what is kept beside it, so that a
// state that can't even be read keeps no list from being shown.
func TestListsOfRunsReadNoStates(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	repos, kept := store.NewRepos(db), facts.New(db, time.Now)
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7, Owner: "acme", Name: "estate"}
	for i, status := range []report.Status{report.Applied, report.Failed, report.Nothing} {
		a := &usecase.Apply{Branch: "main", Report: report.Report{
			Stage: report.Apply, Env: []string{"prod", "staging", "test"}[i], Head: strings.Repeat("abcdef", 7)[:40], Status: status,
		}}
		err := db.InTx(t.Context(), func(tx *sql.Tx) error {
			if err := repos.Upsert(t.Context(), tx, store.Repo{Repo: repo}); err != nil {
				return err
			}
			if err := kept.NewJournal(repo, a.Report.Env, "").SaveTx(t.Context(), tx, a); err != nil {
				return err
			}
			_, err := tx.ExecContext(t.Context(), "UPDATE runs SET state = x'00'")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	pages, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Loopback: true, Pages: pages, Repos: repos, Facts: kept, Reports: store.NewReports(db), Log: slog.New(slog.DiscardHandler), Listed: func() []Listed { return nil }}
	for _, path := range []string{"/", "/runs", "/gates"} {
		rec := httptest.NewRecorder()
		s.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost"+path, http.NoBody))
		if rec.Code != http.StatusOK {
			t.Errorf("%s: %d:\n%s", path, rec.Code, rec.Body)
		}
		for _, want := range []string{"prod", "staging", "applied", "failed", "abcdefabcdef", "acme/estate"} {
			if path != "/gates" && !strings.Contains(rec.Body.String(), want) {
				t.Errorf("%s shows no %q", path, want)
			}
		}
	}
}
