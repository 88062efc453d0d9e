package conformance_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine"
)

// server is the whole program in this process, connected to one forge or more.
type server struct {
	dir, url string
	relays   map[*host]*relay
	log      string // path
}

// setup says what differs from the usual server.
type setup struct {
	repositories []string // without their host, on every forge
	sweep        time.Duration
	others       []*host // more forges of the same kind
}

func terraform(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := osexec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("neither terraform nor tofu is on PATH; install one of them to run this test")
	return ""
}

// newServer starts a server and lets the forges deliver to it.
func newServer(t testing.TB, h *host, s setup) *server {
	t.Helper()
	dir := t.TempDir()
	srv := &server{dir: dir, relays: map[*host]*relay{}, log: filepath.Join(dir, "server.log")}
	path := srv.configure(t, h, s)
	c := must(config.Load(config.Source{Path: path}))(t)
	if s.sweep > 0 { // more often than a file may say
		c.SweepInterval = config.Duration(s.sweep)
	}
	file := must(os.Create(srv.log))(t)
	log := slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug}))
	made := must(app.New(t.Context(), c, "test", log))(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- made.Run(ctx, func(addr string) { ready <- addr }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		_ = file.Close()
	})
	select {
	case addr := <-ready:
		srv.url = "http://" + addr
	case err := <-done:
		t.Fatal(err)
	}
	srv.connect(t, h, "/webhooks/"+string(h.kind))
	for _, other := range s.others {
		srv.connect(t, other, "/webhooks/"+string(other.kind)+"/"+other.instance().Host)
	}
	return srv
}

// connect puts a relay between a forge and its endpoint.
func (s *server) connect(t testing.TB, h *host, endpoint string) {
	t.Helper()
	r := newRelay(t, h.decoder(t))
	r.target = s.url + endpoint
	s.relays[h] = r
	h.deliver(r.server.URL)
}

// configure writes chant.yaml; JSON is YAML. The server is connected to forges of
// the other kinds too, which nobody listens at.
func (s *server) configure(t testing.TB, h *host, more setup) string {
	t.Helper()
	state := filepath.Join(s.dir, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	c := map[string]any{
		"listen": "127.0.0.1:0", "externalUrl": "http://chant.test", "stateDir": filepath.Join(s.dir, "server"),
		"terraform": newPlanner(t, s.dir, terraform(t)), "writablePaths": []string{state}, "isolation": "none",
		"sweepInterval": "24h", "logLevel": "debug", "workers": 4,
	}
	for _, d := range dialects() {
		c[string(d.kind)] = map[string]any{"token": "none", "webUrl": "http://" + string(d.kind) + ".test", "webhookSecrets": []string{h.secret}}
	}
	c[string(h.kind)] = h.connection(t, s.dir)
	var repositories []string
	for _, name := range more.repositories {
		repositories = append(repositories, h.instance().Host+"/"+name)
	}
	var others []any
	for _, other := range more.others {
		others = append(others, other.connection(t, s.dir))
		for _, name := range more.repositories {
			repositories = append(repositories, other.instance().Host+"/"+name)
		}
	}
	if len(others) > 0 {
		c["otherForges"] = map[string]any{string(h.kind): others}
	}
	c["repositories"] = repositories
	path := filepath.Join(s.dir, "chant.yaml")
	if err := os.WriteFile(path, must(json.Marshal(c))(t), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// endpoint is where another kind of forge would deliver to.
func (s *server) endpoint(kind engine.ForgeKind) string { return s.url + "/webhooks/" + string(kind) }

// about are the lines of the server's log that name one of some texts.
func (s *server) about(names ...string) string {
	text, _ := os.ReadFile(s.log)
	var out strings.Builder
	for line := range strings.Lines(string(text)) {
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(line, name) }) {
			out.WriteString(line)
		}
	}
	return out.String()
}

// merged is one object over another.
func merged(under, over map[string]any) map[string]any {
	out := maps.Clone(under)
	maps.Copy(out, over)
	return out
}
