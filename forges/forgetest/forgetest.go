// Package forgetest is a forge for tests and for `chant demo`: one process,
// real git repositories over smart HTTP, and the API of a forge with its
// limits, orders, redirects, refusals and webhooks as the forge facts record
// them. It decides nothing for chant and imports no adapter. Nothing in it
// depends on the testing package.
//
// Forge is the state, and its Go methods act as a person would in the browser:
//
//	f := forgetest.Start(t)
//	alice := f.User("alice")
//	repo := forgetest.Must(f.CreateRepo("acme", "infra"))
//	app := forgetest.Must(f.CreateApp(forgetest.AppOptions{Slug: "chant"}))
//	forgetest.Must(app.Install("acme"))
//	app.Deliver("http://127.0.0.1:8080/webhooks/github", "secret")
//	forgetest.Must(repo.Commit("main", map[string]string{"a.tf": "..."}, alice))
//
// How it speaks is a dialect (dialect.go), made by the constructor: NewGitHub
// and its like. The files of one have its name in front: github.go holds what
// dialect asks for, github_api_*.go the endpoints as route values,
// github_events.go the deliveries, github_render_*.go the JSON. What is state,
// git, faults, deliveries, routing or a web page has no such name and serves
// all. Whatever happens is one event, which each dialect words as its messages.
//
// To add a forge: a type that embeds *Forge, with dialect's methods, and a
// constructor that calls start. Handlers are its methods and read the state
// with the helpers of call. Where a forge differs by a value, habits has it;
// where it differs by a rule of its own, dialect has a method.
package forgetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Options shape a fake. The zero value works.
type Options struct {
	// Dir keeps the repositories. Empty means a temporary directory, removed
	// by Close.
	Dir string
	// Now is the clock; nil means time.Now. Advance moves the fake ahead of it.
	Now func() time.Time
	// Addr is the loopback address to listen on; empty means 127.0.0.1:0.
	Addr string
	// RequestLog receives one line for each API or git request, without
	// credentials; nil means none.
	RequestLog func(line string)
}

// Forge is the state of a fake forge, served in one dialect. All methods are safe for concurrent use.
type Forge struct {
	// Faults scripts what goes wrong.
	Faults *Faults

	// life is the fake's own: its Go methods act as people do, without a
	// context.
	life context.Context //nolint:containedctx // see above
	end  context.CancelFunc

	options Options
	dir     string
	ownDir  bool
	address string
	server  *http.Server
	served  chan error
	hooks   *deliverer
	dialect dialect
	counts  *counter

	mu       sync.Mutex
	ahead    time.Duration
	lastID   int64
	accounts map[string]*User  // by lower-case login
	teams    map[string]*Team  // by "org/slug", lower case
	emails   map[string]*User  // by lower-case e-mail
	repos    map[int64]*Repo   // by id
	names    map[string]*Repo  // by lower-case "owner/name"
	moved    map[string]int64  // former names, until taken again
	apps     map[int64]*App    // by app id
	tokens   map[string]*grant // by token text
	installs map[int64]*Installation
	global   *hook // of every repository
}

// TB is the part of testing.TB that Start needs.
type TB interface {
	Helper()
	Cleanup(f func())
	TempDir() string
	Fatalf(format string, args ...any)
}

// Start runs a fake GitHub for one test and closes it when the test ends.
func Start(t TB) *Forge {
	t.Helper()
	f, err := NewGitHub(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("starting the fake forge: %v", err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func start(o Options, speak func(*Forge) dialect) (*Forge, error) {
	life, end := context.WithCancel(context.Background()) //nolint:forbidigo // the fake outlives every call, until Close
	f := &Forge{
		life:     life,
		end:      end,
		options:  o,
		dir:      o.Dir,
		accounts: map[string]*User{},
		teams:    map[string]*Team{},
		emails:   map[string]*User{},
		repos:    map[int64]*Repo{},
		names:    map[string]*Repo{},
		moved:    map[string]int64{},
		apps:     map[int64]*App{},
		tokens:   map[string]*grant{},
		installs: map[int64]*Installation{},
		served:   make(chan error, 1),
		counts:   newCounter(),
		lastID:   1000,
	}
	if f.options.Now == nil {
		f.options.Now = time.Now
	}
	if f.options.Addr == "" {
		f.options.Addr = "127.0.0.1:0"
	}
	if f.dir == "" {
		dir, err := os.MkdirTemp("", "chant-forge-")
		if err != nil {
			return nil, fmt.Errorf("making a directory for repositories: %w", err)
		}
		f.dir, f.ownDir = dir, true
	}
	if err := os.MkdirAll(filepath.Join(f.dir, "home"), 0o700); err != nil {
		return nil, fmt.Errorf("making the git home: %w", err)
	}
	f.dialect = speak(f)
	f.Faults = newFaults(f.dialect)
	f.hooks = newDeliverer(f.life, f.Faults)
	return f, f.listen()
}

func (f *Forge) listen() error {
	listener, err := net.Listen("tcp", f.options.Addr)
	if err != nil {
		return fmt.Errorf("listening for the fake forge: %w", err)
	}
	f.address = listener.Addr().String()
	f.server = &http.Server{Handler: f.handler(), ReadHeaderTimeout: 10 * time.Second}
	go func() { f.served <- f.server.Serve(listener) }()
	return nil
}

// Close stops the server and the deliveries and removes a temporary directory.
func (f *Forge) Close() error {
	f.end()
	f.Faults.releaseAll()
	f.hooks.stop()
	err := f.server.Close()
	if served := <-f.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	if f.ownDir {
		err = errors.Join(err, os.RemoveAll(f.dir))
	}
	return err
}

// URL is the address of the web pages and git, without a trailing slash.
func (f *Forge) URL() string { return "http://" + f.address }

// APIURL is the base of the REST API, with a trailing slash.
func (f *Forge) APIURL() string { return f.URL() + f.dialect.habits().api + "/" }

// Quiesce waits until every delivery queued so far was answered. What the
// receiver does after it answered is not the fake's to know.
func (f *Forge) Quiesce(ctx context.Context) error { return f.hooks.quiesce(ctx) }

// Advance moves the fake's clock ahead: tokens expire, times grow.
func (f *Forge) Advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ahead += d
}

// Now is the fake's time.
func (f *Forge) Now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now()
}

// now is the fake's time to the second, as the APIs give times. The
// caller holds mu.
func (f *Forge) now() time.Time {
	return f.options.Now().Add(f.ahead).UTC().Truncate(time.Second)
}

// nextID gives ids that differ over all kinds of objects, so that a mixed-up id
// is found by a test. The caller holds mu.
func (f *Forge) nextID() int64 {
	f.lastID++
	return f.lastID
}

// Must unwraps a result in tests and demos whose setup cannot sensibly go on.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err) //nolint:forbidigo // a Must function
	}
	return v
}

func lower(parts ...string) string { return strings.ToLower(strings.Join(parts, "/")) }
