// Package app is the shell: it fetches, lets engine decide and acts. It may
// import everything; only cmd imports it. This file is the server's list of
// parts; each wire function makes one area.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/httpd"
	"github.com/chant-bot/chant/app/jobs"
	"github.com/chant-bot/chant/app/logs"
	"github.com/chant-bot/chant/app/metrics"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/app/web"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/sql/store"
)

// Server is the whole program as a service.
type Server struct {
	config  *config.Config
	forges  connections
	wall    string // around planned code, by name
	metrics *metrics.Metrics
	log     *slog.Logger
	db      *store.DB
	jobs    *jobs.Jobs
	inbox   *store.Inbox
	http    *http.Server
	lock    *exec.FileLock
	groups  *groupEnder
}

// New opens the state directory and wires the parts. Nothing runs before Run.
func New(ctx context.Context, c *config.Config, version string, log *slog.Logger) (*Server, error) {
	s := &Server{config: c, metrics: metrics.New(version), log: slog.New(logs.Handler(log.Handler()))}
	var wall exec.Wall
	var err error
	counted := func(forge engine.Instance) http.RoundTripper {
		return s.metrics.Transport(forge, http.DefaultTransport)
	}
	if wall, s.forges, err = preflight(ctx, c, counted); err != nil {
		return nil, err
	}
	s.wall = wall.Name()
	if err := s.openState(ctx); err != nil {
		return nil, err
	}
	where, err := s.wireSites(ctx)
	if err != nil {
		return nil, err
	}
	kept := facts.New(s.db, time.Now)
	drivers := newDrivers(c, wall)
	if err := s.lookForGroups(ctx, drivers); err != nil {
		return nil, err
	}
	stage := &usecase.Stage{
		Drivers: drivers, Credentials: credentials{c, where.listedAs}, Dir: filepath.Join(c.StateDir, "runs"),
		Version: version, DefaultEnv: c.DefaultEnv, Now: time.Now, NewID: uuid.NewString, Fault: s.fault,
	}
	s.groups = &groupEnder{drivers: drivers, sites: where, facts: kept, stage: stage, log: s.log, every: c.SweepInterval.Std()}
	notIsolated := s.wall == exec.WallNone
	if s.jobs, err = s.wireJobs(where, kept, stage, notIsolated); err != nil {
		return nil, err
	}
	s.inbox = store.NewInbox(s.db, s.jobs.Wake())
	s.jobs.Inbox = s.inbox
	s.http, err = s.wireHTTP(where, kept, drivers, notIsolated)
	return s, err
}

// fault keeps the text of an error that people see the reference of.
func (s *Server) fault(ctx context.Context, err error) (ref string) {
	ref = uuid.NewString()[:8]
	s.log.ErrorContext(ctx, "internal error", "ref", ref, "error", err)
	return ref
}

// serverLock is held in the state directory by the server that uses it.
const serverLock = "server.lock"

// openState takes the state directory for this process and opens the database.
func (s *Server) openState(ctx context.Context) error {
	for _, dir := range []string{"", "clones", "runs", "locks"} {
		if err := os.MkdirAll(filepath.Join(s.config.StateDir, dir), 0o700); err != nil {
			return fmt.Errorf("opening the state directory: %w", err)
		}
	}
	if err := s.takeState(ctx); err != nil {
		return err
	}
	var err error
	s.db, err = store.Open(ctx, s.config.DataSource())
	return err
}

// handover is how long a server waits for the one before it to end.
const handover = 5 * time.Second

// takeState locks the state directory for this process, and writes its number
// into the lock for one that comes too late.
func (s *Server) takeState(ctx context.Context) error {
	path := filepath.Join(s.config.StateDir, serverLock)
	short, cancel := context.WithTimeout(ctx, handover)
	defer cancel()
	lock, err := exec.LockFile(short, path)
	if errors.Is(err, context.DeadlineExceeded) {
		holder, readErr := os.ReadFile(path)
		if readErr != nil || len(holder) == 0 {
			holder = []byte("unknown")
		}
		return fmt.Errorf("another server, process %s, uses the state directory %s; stop it, or give this one a stateDir of its own", holder, s.config.StateDir)
	}
	if err != nil {
		return fmt.Errorf("taking the state directory: %w", err)
	}
	s.lock = lock
	return os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())), 0o600)
}

func (s *Server) wireSites(ctx context.Context) (*sites, error) {
	holder, err := holderOf(s.config.StateDir)
	if err != nil {
		return nil, err
	}
	where := &sites{
		config: s.config, forges: s.forges, db: s.db, repos: store.NewRepos(s.db), settings: store.NewSettings(s.db),
		holder: holder, now: time.Now, open: map[string]*opened{}, served: map[string]string{}, asked: map[string]error{},
	}
	return where, where.recall(ctx)
}

func (s *Server) wireJobs(where *sites, kept *facts.Facts, stage *usecase.Stage, notIsolated bool) (*jobs.Jobs, error) {
	j := &jobs.Jobs{
		DB: s.db, Facts: kept, Subjects: store.NewSubjects(s.db), Comments: store.NewComments(s.db),
		Deliveries: store.NewDeliveries(s.db), Repos: where.repos, Sites: where, Stage: stage,
		Decode: s.forges.decode, SelfID: s.forges.self, RunsDir: stage.Dir, Log: s.log, Metrics: s.metrics,
		Retention: s.config.Deliveries.Retention.Std(),
	}
	j.Settler = &settle.Settler{
		Stage: stage, Facts: kept, Next: j, Poster: &settle.Poster{Posts: kept, Warn: s.notTaken},
		Pages: strings.TrimSuffix(s.config.ExternalURL, "/"), NotIsolated: notIsolated,
	}
	j.Commander = &settle.Commander{
		Settler: j.Settler, Requests: j, Audit: kept,
	}
	return j, j.Open(jobs.Config{
		Settles: 8, Plans: max(2, s.config.Workers), Applies: max(2, s.config.Workers),
		Sweep: s.config.SweepInterval.Std(),
	})
}

func (s *Server) wireHTTP(where *sites, kept *facts.Facts, planners *drivers, notIsolated bool) (*http.Server, error) {
	pages, err := web.New()
	if err != nil {
		return nil, err
	}
	closing := make(chan struct{})
	server := &httpd.Server{
		Webhooks: s.receivers(where),
		Listed:   where.reached, Facts: kept, Repos: where.repos, Deliveries: store.NewDeliveries(s.db), Pages: pages,
		PagesToken: s.config.Pages.Token.Value(), Loopback: s.config.OnLoopback(), NotIsolated: notIsolated,
		Ready: s.ready, Log: s.log, Metrics: s.measured(where, planners), Ticks: httpd.EverySecond,
		ReportsToken: s.config.Reports.Token.Value(), Reports: store.NewReports(s.db), Closing: closing,
	}
	served := &http.Server{
		Addr: s.config.Listen, Handler: server.Handler(),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
	}
	served.RegisterOnShutdown(sync.OnceFunc(func() { close(closing) }))
	return served, nil
}

// ready tells what keeps the server from working now: what it found at its start,
// and may have gone since. That the forge cannot be reached is not among it: a
// server taken off the net for that would lose deliveries.
func (s *Server) ready(ctx context.Context) error {
	errs := []error{under("database", s.db.Read.PingContext(ctx)), prerequisites(s.config)}
	probe, err := os.CreateTemp(s.config.StateDir, ".ready-")
	if err == nil {
		_, err = probe.WriteString("ready")
		err = errors.Join(err, probe.Close(), os.Remove(probe.Name()))
	}
	return errors.Join(append(errs, under("stateDir", err))...)
}

// Run serves until ctx is done, then stops taking deliveries, lets running jobs
// end or parks them, and closes. listening is called with the address once
// deliveries are taken.
func (s *Server) Run(ctx context.Context, listening func(addr string)) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.config.Listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	if err := s.jobs.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	endGroups := s.groups.start(ctx)
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(listener) }()
	s.log.Info("serving", "address", listener.Addr().String(), "repositories", s.config.Repositories,
		"terraform", s.config.Terraform, "isolation", s.wall, "state", s.config.StateDir)
	listening(listener.Addr().String())
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	endGroups()
	return errors.Join(err, s.close(context.WithoutCancel(ctx)))
}

// stopGrace is how long running jobs may take to end before they are cancelled;
// an apply's child outlives us under its supervisor.
const stopGrace = 30 * time.Second

func (s *Server) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopGrace)
	defer cancel()
	err := s.http.Shutdown(ctx)
	err = errors.Join(err, s.inbox.Close(), s.jobs.Stop(ctx), s.db.Close())
	s.lock.Unlock()
	return err
}

// notTaken logs what the forge does not let us say.
func (s *Server) notTaken(ctx context.Context, what string, err error) {
	s.log.WarnContext(ctx, "the forge does not take it", "what", what, "error", err)
}
