package httpd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestReadinessSaysWhyToThoseWhoMaySeeThePages(t *testing.T) {
	t.Parallel()
	why := errors.New("terraform: terraform is not on PATH")
	for name, c := range map[string]struct {
		server Server
		host   string
		token  string
		ready  error
		code   int
		text   string
	}{
		"ready":                    {Server{Loopback: true}, "127.0.0.1", "", nil, http.StatusOK, "ready\n"},
		"from this machine":        {Server{Loopback: true}, "localhost:8080", "", why, http.StatusServiceUnavailable, "not ready:\n" + why.Error() + "\n"},
		"by another name":          {Server{Loopback: true}, "chant.example.com", "", why, http.StatusServiceUnavailable, "not ready; the log says why\n"},
		"from elsewhere":           {Server{PagesToken: []byte("t")}, "127.0.0.1", "", why, http.StatusServiceUnavailable, "not ready; the log says why\n"},
		"from elsewhere, by token": {Server{PagesToken: []byte("t")}, "chant.example.com", "t", why, http.StatusServiceUnavailable, "not ready:\n" + why.Error() + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.server.Log = slog.New(slog.DiscardHandler)
			c.server.Ready = func(context.Context) error { return c.ready }
			req := httptest.NewRequest(http.MethodGet, "http://"+c.host+"/readyz", http.NoBody)
			req.Header.Set("Authorization", "Bearer "+c.token)
			rec := httptest.NewRecorder()
			c.server.Handler().ServeHTTP(rec, req)
			if got := rec.Body.String(); rec.Code != c.code || got != c.text {
				t.Errorf("answered %d %q, want %d %q", rec.Code, got, c.code, c.text)
			}
		})
	}
}
