package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // reads what is left to do
)

// server is `chant serve` as a process of its own.
type server struct {
	program, dir, listen string

	cmd   *osexec.Cmd
	ended chan struct{} // closed when the process is gone
	exit  error         // how it ended; after ended
	log   *os.File
	db    *sql.DB
}

func newServer(program, dir string) (*server, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once: a free port
	if err != nil {
		return nil, err
	}
	s := &server{program: program, dir: dir, listen: listener.Addr().String()}
	return s, listener.Close()
}

func (s *server) url() string      { return "http://" + s.listen }
func (s *server) file() string     { return filepath.Join(s.dir, "chant.yaml") }
func (s *server) stateDir() string { return filepath.Join(s.dir, "state") }
func (s *server) logPath() string  { return filepath.Join(s.dir, "server.log") }
func (s *server) dbSource() string {
	return "file:" + filepath.Join(s.stateDir(), "chant.db") + readOnly
}
func (s *server) procFile() string { return "/proc/" + s.pid() + "/status" }
func (s *server) readyURL() string { return s.url() + "/readyz" }

const readOnly = "?mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"

// configure writes the configuration: where the server listens and keeps its
// state, and what more is given.
func (s *server) configure(more map[string]any) error {
	config := map[string]any{"listen": s.listen, "externalUrl": s.url(), "stateDir": s.stateDir()}
	maps.Copy(config, more)
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	return os.WriteFile(s.file(), text, 0o600)
}

// start runs the program and returns how long it took until it was ready.
func (s *server) start(ctx context.Context) (time.Duration, error) {
	var err error
	if s.log, err = os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
		return 0, err
	}
	s.cmd = osexec.Command(s.program, "serve", "--config", s.file()) //nolint:noctx // stopped by signals
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		return 0, err
	}
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		s.exit = s.cmd.Wait()
	}()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	err = s.await(ctx, "the server to be ready", func() (bool, error) {
		resp, err := client.Get(s.readyURL()) //nolint:noctx // on loopback
		if err != nil {
			return false, nil //nolint:nilerr // not listening yet
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
	return time.Since(begin), err
}

// lastWords is the end of the log.
func (s *server) lastWords() error {
	text, err := os.ReadFile(s.logPath())
	if err != nil {
		return err
	}
	return errors.New(string(text[max(0, len(text)-2000):]))
}

// stop ends the server as an operator does.
func (s *server) stop() error { return s.end(syscall.SIGTERM) }

// kill ends it as a crash does.
func (s *server) kill() error { return s.end(syscall.SIGKILL) }

func (s *server) end(sig syscall.Signal) error {
	if s.cmd == nil || s.cmd.Process == nil {
		return nil
	}
	var err error
	if s.db != nil {
		err, s.db = s.db.Close(), nil
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended by itself
	select {
	case <-s.ended:
	case <-time.After(time.Minute):
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
	s.cmd = nil
	return errors.Join(err, s.log.Close())
}

// what a server has left: deliveries nobody worked and jobs that did not end.
// The sweep that waits for its hour is nothing to do.
const leftQuery = `SELECT
	(SELECT count(*) FROM deliveries WHERE state = 'pending') +
	(SELECT count(*) FROM river_job WHERE state IN ('available', 'running', 'pending', 'retryable', 'scheduled'))`

// left counts it, from the database as any reader may.
func (s *server) left(ctx context.Context) (n int, err error) {
	err = s.ask(ctx, leftQuery, &n)
	return n, err
}

func (s *server) ask(ctx context.Context, query string, to ...any) error {
	if s.db == nil {
		db, err := sql.Open("sqlite", s.dbSource())
		if err != nil {
			return err
		}
		db.SetMaxOpenConns(1)
		s.db = db
	}
	return s.db.QueryRowContext(ctx, query).Scan(to...)
}

// memory is the resident set in bytes.
func (s *server) memory() (float64, error) { return statusField(s.procFile(), "VmRSS:") }

// processorTime is what a process has used so far, in seconds: by itself, and
// by its children that have ended. The kernel counts in hundredths.
func processorTime(pid string) (own, children float64, err error) {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var ticks [4]float64
	for i := range ticks {
		n, err := strconv.Atoi(fields[11+i])
		if err != nil {
			return 0, 0, err
		}
		ticks[i] = float64(n) / 100
	}
	return ticks[0] + ticks[1], ticks[2] + ticks[3], nil
}

// pid is the server's, as /proc names it.
func (s *server) pid() string { return strconv.Itoa(s.cmd.Process.Pid) }

// statusField reads a field in kB of a process's status.
func statusField(path, field string) (float64, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if rest, found := strings.CutPrefix(line, field); found {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) * 1024, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", path, field)
}

// patience is the longest wait for anything.
const patience = 40 * time.Minute

// await asks until done says so, as long as the server lives. What it waits for
// is another process's business and shows in no other way.
func (s *server) await(ctx context.Context, what string, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not within %s", patience))
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, context.Cause(ctx))
		case <-s.ended:
			return fmt.Errorf("waiting for %s: the server ended: %w", what, errors.Join(s.exit, s.lastWords()))
		case <-ticker.C:
		}
	}
}
