package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/chant-bot/chant/sql/store"
)

// serverVariable holds the URL of a server for tests: one that Main started, or
// one that was there. missingVariable says why there is none.
const (
	serverVariable  = "CHANT_TEST_POSTGRES"
	missingVariable = "CHANT_TEST_POSTGRES_MISSING"
)

// template is a migrated database that those of tests are copies of.
const template = "chant_template"

// Main runs the tests of a package beside a PostgreSQL server of their own and
// returns the exit code. Where none is installed the tests that need it fail and
// say how to install it.
func Main(m *testing.M) int {
	if os.Getenv(serverVariable) != "" {
		return m.Run()
	}
	s, err := Start(context.Background())
	if err != nil {
		_ = os.Setenv(missingVariable, err.Error())
		return m.Run()
	}
	_ = os.Setenv(serverVariable, s.URL)
	code := m.Run()
	if err := s.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, "ending the PostgreSQL server of the tests:", err)
		return max(code, 1)
	}
	return code
}

// Postgres is the URL of a new, migrated database on the server that Main
// started. It goes with the server: dropping it would hold up the others.
func Postgres(tb testing.TB) string {
	tb.Helper()
	server := os.Getenv(serverVariable)
	if server == "" {
		tb.Fatalf("no PostgreSQL server: %s", os.Getenv(missingVariable))
	}
	admin, err := sql.Open("pgx", server)
	if err != nil {
		tb.Fatal(err)
	}
	name := "test_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	if _, err := admin.ExecContext(tb.Context(), "CREATE DATABASE "+name+" TEMPLATE "+template+" STRATEGY FILE_COPY"); err != nil {
		tb.Fatal(errors.Join(err, admin.Close()))
	}
	if err := admin.Close(); err != nil {
		tb.Fatal(err)
	}
	return database(server, name)
}

// database is the URL of another database of a server.
func database(server, name string) string {
	return strings.Replace(server, "/postgres?", "/"+name+"?", 1)
}

// Server is a PostgreSQL server on a loopback address, which does not wait for
// the disk. It ends with the process that started it.
type Server struct {
	// URL of its database postgres.
	URL string

	dir  string // of everything it writes
	port int
	as   *syscall.Credential // who runs it: the server refuses root; nil for this process's own user
	cmd  *exec.Cmd
	hold io.Closer // closing it ends the server
}

// install is what a test says that finds no PostgreSQL.
const install = "no initdb found on PATH or under /usr/lib/postgresql; install it: apt-get install postgresql"

// Start makes and starts a server, with the migrated template in it.
func Start(ctx context.Context) (*Server, error) {
	bin, err := binaries()
	if err != nil {
		return nil, err
	}
	s := &Server{}
	if s.dir, err = os.MkdirTemp("", "chant-postgres-"); err != nil {
		return nil, err
	}
	if err := s.make(ctx, bin); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

func (s *Server) make(ctx context.Context, bin string) (err error) {
	if s.as, err = unprivileged(); err != nil {
		return err
	}
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return err
		}
	}
	initdb := s.command(exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--no-sync", "--auth=trust", "--username=chant",
		"--encoding=UTF8", "--locale=C", "-D", filepath.Join(s.dir, "data")))
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	if s.port, err = freePort(ctx); err != nil {
		return err
	}
	s.URL = fmt.Sprintf("postgres://chant@127.0.0.1:%d/postgres?sslmode=disable", s.port)
	if err := s.Run(ctx); err != nil {
		return err
	}
	return s.makeTemplate(ctx)
}

func (s *Server) makeTemplate(ctx context.Context) error {
	admin, err := sql.Open("pgx", s.URL)
	if err != nil {
		return err
	}
	if _, err := admin.ExecContext(ctx, "CREATE DATABASE "+template); err != nil {
		return errors.Join(err, admin.Close())
	}
	d, err := store.Open(ctx, database(s.URL, template))
	if err == nil {
		err = d.Close() // a template must have no connections
	}
	return errors.Join(err, admin.Close())
}

// command makes a command one of the server's user, in its directory.
func (s *Server) command(cmd *exec.Cmd) *exec.Cmd {
	cmd.Dir, cmd.Env = s.dir, []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	return cmd
}

// whileHeld ends the server when its standard input does: when the test process
// closes it, and when that process is killed.
const whileHeld = `"$@" </dev/null & server=$!; cat >/dev/null; kill -INT $server; wait $server`

// Run starts the server, the first time or after Stop, and waits until it
// answers.
func (s *Server) Run(ctx context.Context) error {
	bin, err := binaries()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	s.cmd = s.command(exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", whileHeld, "sh",
		filepath.Join(bin, "postgres"), "-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-p", strconv.Itoa(s.port),
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=400", "-c", "shared_buffers=32MB"))
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if s.hold, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	return s.answers(ctx)
}

// startTime is how long a server may take to start.
const startTime = 2 * time.Minute

func (s *Server) answers(ctx context.Context) error {
	db, err := sql.Open("pgx", s.URL)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := db.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			said, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("PostgreSQL does not answer: %w: %s", err, said)
		}
	}
}

// Stop ends the server, and every connection to it. What was committed stays.
func (s *Server) Stop() error {
	if s.hold == nil {
		return nil
	}
	err := s.hold.Close()
	s.hold = nil
	return errors.Join(err, s.cmd.Wait())
}

// Remove stops the server and removes its files.
func (s *Server) Remove() error { return errors.Join(s.Stop(), os.RemoveAll(s.dir)) }

// binaries is the folder of PostgreSQL's programs: Debian puts them outside of
// PATH.
func binaries() (string, error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(found), nil
	}
	installed, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well formed
	if len(installed) == 0 {
		return "", errors.New(install)
	}
	slices.SortFunc(installed, func(a, b string) int { return version(b) - version(a) })
	return filepath.Dir(installed[0]), nil
}

// version reads the number of a Debian folder, 0 for none.
func version(path string) int {
	n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
	return n
}

// unprivileged is the user postgres when this process is root's.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// freePort is a port below those that a system gives to connections: between its choice
// and the start, and while the server is stopped, one of them would now and then take it.
func freePort(ctx context.Context) (port int, err error) {
	for range 100 {
		port = 10_000 + rand.IntN(20_000)
		var l net.Listener
		if l, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}
