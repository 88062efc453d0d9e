package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/demo"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/forges/forgetest"
)

func TestMain(m *testing.M) {
	exec.SupervisorMain(os.Args)
	code := m.Run()
	if err := mirror.Remove(); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// world is a demo world with a server in this process.
type world struct {
	*demo.World
	t    *testing.T
	ctx  context.Context
	addr string // of the server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	terraform, err := osexec.LookPath("terraform")
	if err != nil {
		terraform, err = osexec.LookPath("tofu")
	}
	if err != nil {
		t.Fatal("neither terraform nor tofu is on PATH; install one of them to run this test")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute) // machines that run tests are slow and shared
	t.Cleanup(cancel)
	example := demo.TwoRoots()
	example.Alone = true // most tests are of what has to happen between two roots
	w, err := demo.New(ctx, t.TempDir(), terraform, example)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close() })
	return &world{World: w, t: t, ctx: ctx}
}

// serve starts the server and returns what stops it.
func (w *world) serve() (stop func()) {
	w.t.Helper()
	return w.serveTuned(tuning{})
}

// tuning changes the server's configuration.
type tuning struct {
	text  func(string) string // the file
	sweep time.Duration       // shorter than a file may say
}

func (w *world) serveTuned(tune tuning) (stop func()) {
	w.t.Helper()
	path, err := w.Config(anyPort)
	if err == nil && tune.text != nil {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			err = os.WriteFile(path, []byte(tune.text(string(text))), 0o600)
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := config.Load(config.Source{Path: path})
	if err != nil {
		w.t.Fatal(err)
	}
	if tune.sweep > 0 {
		c.SweepInterval = config.Duration(tune.sweep)
	}
	log := slog.New(slog.NewTextHandler(logFile(w.t, filepath.Join(w.Dir, "server.log")), &slog.HandlerOptions{Level: slog.LevelDebug}))
	server, err := app.New(w.ctx, c, "test", log)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.ctx)
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- server.Run(ctx, func(addr string) { ready <- addr }) }()
	select {
	case w.addr = <-ready:
		w.App.Deliver("http://"+w.addr+"/webhooks/github", w.Secret)
	case err := <-done:
		w.t.Fatal(err)
	}
	return func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
	}
}

func logFile(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = f.Close()
		if text, err := os.ReadFile(path); err == nil && t.Failed() {
			t.Logf("server log:\n%s", tail(string(text), 12000))
		}
	})
	return f
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }

// anyPort has a server listen wherever it can, and say where.
const anyPort = "127.0.0.1:0"

// await waits until the forge shows it.
func (w *world) await(what string, done func() bool) {
	w.t.Helper()
	if err := demo.Await(w.ctx, what, func() (bool, error) { return done(), nil }); err != nil {
		w.t.Fatalf("%v\nstatuses: %+v\nnotes: %s", err, w.statuses(), w.notes())
	}
}

func (w *world) statuses() string {
	var b strings.Builder
	head, _ := w.Repo.Head("main")
	fmt.Fprintf(&b, "main %s: %+v\n", head, w.Repo.Statuses(head))
	return b.String()
}

func (w *world) notes() string {
	var b strings.Builder
	for n := 1; n < 5; n++ {
		for _, c := range w.Repo.Comments(n) {
			fmt.Fprintf(&b, "#%d: %s\n", n, c.Body)
		}
	}
	return b.String()
}

func (w *world) awaitStatus(sha, context, state, text string) {
	w.t.Helper()
	w.await(fmt.Sprintf("%s %s %q on %s", context, state, text, sha), func() bool {
		s := w.Repo.Status(sha, context)
		return s.State == state && strings.Contains(s.Description, text)
	})
}

// propose opens a pull request of bob's that edits one root.
func (w *world) propose(branch, root, old, now string) *forgetest.Pull {
	w.t.Helper()
	path := "roots/" + root + "/main.tf"
	text, err := w.Repo.ReadFile("main", path)
	if err != nil {
		w.t.Fatal(err)
	}
	if !strings.Contains(text, old) {
		w.t.Fatalf("%s does not contain %q", path, old)
	}
	must(w.t)(w.Repo.Commit(branch, map[string]string{path: strings.ReplaceAll(text, old, now)}, w.Bob))
	pr, err := w.Repo.OpenPullRequest(w.Bob, branch, "main", "Change "+root)
	if err != nil {
		w.t.Fatal(err)
	}
	return pr
}

func must(t *testing.T) func(any, error) any {
	t.Helper()
	return func(v any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var approveLine = regexp.MustCompile(`(?m)^chant approve \S+ \S+ --plan jcs1-sha256:[0-9a-f]{64}$`)

// approveLineOf waits for the note of a pull request to hold a line to copy.
func (w *world) approveLineOf(pr *forgetest.Pull, op string) string {
	w.t.Helper()
	var line string
	w.await("an approve line for "+op, func() bool {
		for _, c := range w.Repo.Comments(pr.Number) {
			for _, l := range approveLine.FindAllString(c.Body, -1) {
				if strings.HasPrefix(l, "chant approve "+op) {
					line = l
				}
			}
		}
		return line != ""
	})
	return line
}

func (w *world) green(sha string) {
	w.t.Helper()
	for _, check := range []string{"lint", "unit"} {
		must(w.t)(w.Repo.SetCheck(sha, check, "completed", "success"))
	}
}

func (w *world) holds(root, resource, want string) {
	w.t.Helper()
	got, err := w.Applied(root, resource)
	if err != nil || got != want {
		w.t.Fatalf("terraform's state of %s.%s is %q (%v), want %q", root, resource, got, err, want)
	}
}

func TestAnApprovedMergeAppliesWhenItIsGreen(t *testing.T) {
	w := newWorld(t)
	stop := w.serve()
	defer stop()

	pr := w.propose("wider", "app", "listens in", "serves")
	w.awaitStatus(pr.Head(), "chant/plan", "success", "1 member, 1 to change")
	line := w.approveLineOf(pr, "pr-1")
	must(t)(w.Forge.As(w.Alice).Review(pr, "APPROVE", "Looks right.\n\n"+line))
	w.await("the approval in the note", func() bool { return strings.Contains(w.notes(), "Approved by") })

	merge, err := pr.Merge("merge", w.Alice)
	if err != nil {
		t.Fatal(err)
	}
	w.awaitStatus(pr.Head(), "chant/apply", "pending", "green")
	w.holds("app", "service", "listens in 10.0.0.0/16")
	w.green(merge)
	w.awaitStatus(pr.Head(), "chant/apply", "success", "applied")
	w.holds("app", "service", "serves 10.0.0.0/16")

	second := w.propose("again", "app", "serves", "answers in")
	w.awaitStatus(second.Head(), "chant/plan", "success", "1 member, 1 to change")
	merge, err = second.Merge("squash", w.Alice)
	if err != nil {
		t.Fatal(err)
	}
	w.green(merge)
	w.awaitStatus(second.Head(), "chant/apply", "pending", "not covered")
	w.holds("app", "service", "serves 10.0.0.0/16")
	line = w.approveLineOf(second, "green-"+merge[:12])
	must(t)(w.Forge.As(w.Alice).Comment(second, line))
	w.awaitStatus(second.Head(), "chant/apply", "success", "applied")
	w.holds("app", "service", "answers in 10.0.0.0/16")
}
