// Package httpd serves what the outside reaches: the webhook endpoint, health,
// and the pages. It reads stores and renders; it changes nothing but through
// the webhook's inbox.
package httpd

import (
	"context"
	"crypto/subtle"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/sql/store"
)

// Server is what the handlers need.
type Server struct {
	// Webhooks are the receivers by forge, mounted at /webhooks/<forge>.
	Webhooks map[string]http.Handler
	// Listed are the repositories of the configuration, in its order.
	Listed     func() []Listed
	Facts      *facts.Facts
	Repos      store.Repos
	Deliveries store.Deliveries
	Pages      *web.Pages
	// PagesToken opens the pages; empty leaves them open to loopback listeners
	// only, and off elsewhere.
	PagesToken  []byte
	Loopback    bool
	NotIsolated bool
	// Metrics are served behind the guard of the pages: a scraper shows the token
	// as a bearer. What a server does is nobody's business on the open net.
	Metrics http.Handler
	// Ready reports why the server cannot work, nil when it can.
	Ready func(context.Context) error
	Log   *slog.Logger
	// ReportsToken lets runs that go on elsewhere report here; empty: none may.
	ReportsToken []byte
	Reports      store.Reports
	// Ticks paces what followers of a run are sent.
	Ticks Ticks
	// Closing is closed when the server stops, so that no follower holds it up.
	Closing <-chan struct{}
}

// Listed is one repository of the configuration, and what came of asking the
// forge for it last.
type Listed struct {
	Name  string // as it is listed
	Key   string // what the name resolved to last; empty before it ever did
	Asked bool   // since the server started
	Err   error
}

// Handler is the router.
func (s *Server) Handler() http.Handler {
	r := chi.NewRouter()
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	r.Get("/readyz", s.ready)
	for forge, handler := range s.Webhooks {
		r.Method(http.MethodPost, "/webhooks/"+forge, handler)
	}
	if len(s.ReportsToken) > 0 {
		r.Post("/api/v1/reports", s.takeReport)
	}
	if s.Pages != nil && (s.Loopback || len(s.PagesToken) > 0) {
		r.Group(func(r chi.Router) {
			r.Use(s.guard)
			r.Get("/", s.page(s.home))
			r.Get("/runs", s.page(s.runs))
			r.Get("/runs/{id}", s.page(s.run))
			r.Get("/runs/{id}/events", s.follow(s.ofRun))
			r.Get("/runs/{id}/plans/{pass}", s.page(s.passPlan))
			r.Get("/reports/{id}", s.page(s.reported))
			r.Get("/reports/{id}/events", s.follow(s.ofReport))
			r.Get("/plans/{id}", s.page(s.plan))
			r.Get("/gates", s.page(s.gates))
			r.Get("/deliveries", s.page(s.deliveries))
			r.Get("/deliveries/{id}", s.page(s.delivery))
			r.Get("/audit", s.page(s.audit))
			r.Method(http.MethodGet, "/metrics", s.Metrics)
			r.Handle(web.AssetPrefix+"*", web.Assets())
		})
	}
	return r
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		s.Log.Warn("not ready", "error", err)
		text := "not ready; the log says why"
		if s.opensTo(r) {
			text = "not ready:\n" + note.Visible(err.Error())
		}
		plain(w, http.StatusServiceUnavailable, text)
		return
	}
	plain(w, http.StatusOK, "ready")
}

// guard lets in who shows the token, as a bearer or as the password of basic
// authentication, which a browser asks for. Without a token only a loopback
// name is answered, so that no page of another site reaches this one by a name
// of its own.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", web.ContentSecurityPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		switch {
		case s.opensTo(r):
			next.ServeHTTP(w, r)
		case len(s.PagesToken) > 0:
			h.Set("WWW-Authenticate", `Basic realm="chant", charset="UTF-8"`)
			plain(w, http.StatusUnauthorized, "the pages need the token of pages.token")
		default:
			plain(w, http.StatusForbidden, "the pages are open on a loopback address only; set pages.token")
		}
	})
}

// opensTo tells whether who asks may see what the server knows.
func (s *Server) opensTo(r *http.Request) bool {
	if len(s.PagesToken) > 0 {
		return s.authorised(r)
	}
	return s.Loopback && loopbackHost(r.Host)
}

func (s *Server) authorised(r *http.Request) bool {
	given, found := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !found {
		_, given, _ = r.BasicAuth()
	}
	return subtle.ConstantTimeCompare([]byte(given), s.PagesToken) == 1
}

func loopbackHost(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return name == "localhost" || ip != nil && ip.IsLoopback()
}

// page renders what view returns. A view's error is logged; people see that it
// was not found, or that something broke.
func (s *Server) page(view func(*http.Request) (web.Page, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		page, err := view(r)
		status := http.StatusOK
		switch {
		case errors.Is(err, store.ErrNotFound):
			status, page = http.StatusNotFound, web.Message{Frame: s.frame("Not found", ""), Text: "There is no such page, or what it showed is no longer kept."}
		case err != nil:
			s.Log.Error("rendering a page", "path", r.URL.Path, "error", err)
			status, page = http.StatusInternalServerError, web.Message{Frame: s.frame("Error", ""), Text: "Something went wrong; the log says more."}
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.WriteHeader(status)
		if err := s.Pages.Render(w, page); err != nil {
			s.Log.Error("rendering a page", "path", r.URL.Path, "error", err)
		}
	}
}

func (s *Server) frame(title, section string) web.Frame {
	return web.Frame{Title: title, Section: section, NotIsolated: s.NotIsolated}
}

func pathID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(chi.URLParam(r, "id"), 10, 64)
	if err != nil || id <= 0 {
		return 0, store.ErrNotFound
	}
	return id, nil
}
