package gittest

import (
	"bytes"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// Server serves one bare repository over smart HTTP.
type Server struct {
	// URL is the repository's.
	URL string

	mu     sync.Mutex
	header string
	down   bool
	mute   int
	counts map[string]int
}

// Serve serves a bare repository until the test ends.
func Serve(tb testing.TB, dir string) *Server {
	tb.Helper()
	path, err := exec.LookPath("git")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Server{counts: map[string]int{}}
	backend := &cgi.Handler{
		Path: path, Args: []string{"http-backend"}, Dir: dir,
		Env: append(Env(dir), "GIT_PROJECT_ROOT="+dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=test"),
	}
	web := httptest.NewServer(s.guard(backend))
	tb.Cleanup(web.Close)
	s.URL = web.URL + "/"
	return s
}

// Require makes the server refuse requests without this Authorization header.
func (s *Server) Require(header string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.header = header
}

// SetDown makes the server break every connection, or answer again.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// MuteNextPush lets the next push land and loses its answer.
func (s *Server) MuteNextPush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mute++
}

// Requests counts the requests whose URL held that text.
func (s *Server) Requests(part string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for url, count := range s.counts {
		if strings.Contains(url, part) {
			n += count
		}
	}
	return n
}

func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.counts[r.URL.String()]++
		down, header := s.down, s.header
		mute := s.mute > 0 && r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/git-receive-pack")
		if mute {
			s.mute--
		}
		s.mu.Unlock()
		switch {
		case down:
			panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http breaks a connection
		case header != "" && r.Header.Get("Authorization") != header:
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you", http.StatusUnauthorized)
		case mute:
			next.ServeHTTP(httptest.NewRecorder(), whole(r))
			panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http breaks a connection
		default:
			next.ServeHTTP(w, whole(r))
		}
	})
}

// whole is the request with its length known: CGI has no chunked bodies, which
// git sends for a large push.
func whole(r *http.Request) *http.Request {
	if r.ContentLength >= 0 {
		return r
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) //nolint:forbidigo // how net/http breaks a connection
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	return r
}
