package httpd

import (
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/sqltest"
	"github.com/chant-bot/chant/sql/store"
)

func TestTheFirstPageShowsEveryListedRepositoryAndWhyOneIsNotServed(t *testing.T) {
	t.Parallel()
	db := sqltest.Open(t)
	repos := store.NewRepos(db)
	known := store.Repo{Repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 7, Owner: "acme", Name: "known"}}
	if err := db.InTx(t.Context(), func(tx *sql.Tx) error { return repos.Upsert(t.Context(), tx, known) }); err != nil {
		t.Fatal(err)
	}
	pages, err := web.New()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{
		Loopback: true, Pages: pages, Repos: repos, Facts: facts.New(db, time.Now), Log: slog.New(slog.DiscardHandler),
		Listed: func() []Listed {
			return []Listed{
				{Name: "acme/known", Key: known.Key(), Asked: true, Err: errors.New("dial tcp: connection refused")},
				{Name: "acme/absent", Asked: true, Err: fmt.Errorf("reading: %w", forges.ErrNotFound)},
				{Name: "acme/away", Asked: true, Err: errors.New("status 502")},
				{Name: "acme/soon"},
			}
		},
	}
	rec := httptest.NewRecorder()
	s.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost/", http.NoBody))
	html := rec.Body.String()
	for _, want := range []string{
		`acme/absent</td><td colspan="6" class="words"><span class="status bad">problem</span> The forge knows no such repository, or does not show it to the account or app we are.`,
		`acme/away</td><td colspan="6" class="words"><span class="status bad">problem</span> The forge cannot be asked: status 502`,
		`acme/soon</td><td colspan="6" class="words"><span class="status bad">problem</span> The forge was not asked yet.`,
		`acme/known</td><td colspan="6" class="words"><span class="status bad">problem</span> The forge cannot be asked: dial tcp: connection refused`,
	} {
		if rec.Code != http.StatusOK || strings.Count(html, want) != 1 {
			t.Errorf("%d, without %q:\n%s", rec.Code, want, html)
		}
	}
}
