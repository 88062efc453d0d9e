//go:build e2e

package soundness_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/sql/sqltest"
)

// replicas are two servers on one PostgreSQL database, behind something that
// hands each delivery to one that takes it.
type replicas struct {
	*world
	database *sqltest.Server
	running  [2]*server

	mu      sync.Mutex
	listens [2]string
	turn    int
}

func newReplicas(t *testing.T, p project, s settings) *replicas {
	t.Helper()
	database, err := sqltest.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := database.Remove(); err != nil {
			t.Error(err)
		}
	})
	s.more += "database: " + database.URL + "\n"
	r := &replicas{world: newWorld(t, p, s), database: database}
	r.source = database.URL
	balancer := httptest.NewServer(http.HandlerFunc(r.balance))
	t.Cleanup(balancer.Close)
	for i := range r.running {
		r.run(i)
	}
	t.Cleanup(func() {
		for i := range r.running {
			r.kill(i)
			if text, err := os.ReadFile(r.logOf(i)); err == nil && t.Failed() {
				t.Logf("log of replica %d:\n%s", i, tail(string(text)))
			}
		}
	})
	r.App.Deliver(balancer.URL+"/webhooks/github", r.Secret)
	return r
}

func (r *replicas) logOf(i int) string { return filepath.Join(r.Dir, fmt.Sprintf("replica-%d.log", i)) }

// run starts a replica, whose state directory is its own.
func (r *replicas) run(i int) {
	r.t.Helper()
	own := fmt.Sprintf("stateDir: %s-%d\n", filepath.Join(r.Dir, "server"), i)
	shared := fmt.Sprintf("stateDir: %s\n", filepath.Join(r.Dir, "server"))
	text := strings.Replace(string(must(os.ReadFile(r.config))(r.t)), shared, own, 1)
	path := filepath.Join(r.Dir, fmt.Sprintf("replica-%d.yaml", i))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	running, listen := start(r.t, path, r.logOf(i), r.settings.env...)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running[i], r.listens[i] = running, listen
}

// inTurn are the replicas' addresses, each first in its turn.
func (r *replicas) inTurn() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	return []string{r.listens[r.turn%2], r.listens[(r.turn+1)%2]}
}

func (r *replicas) kill(i int) {
	if r.running[i].running() {
		r.running[i].kill()
	}
}

// balance hands a delivery to one replica, and to the other if that one does not
// take it.
func (r *replicas) balance(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, listen := range r.inTurn() {
		on, err := http.NewRequestWithContext(request.Context(), request.Method, "http://"+listen+request.URL.Path, bytes.NewReader(body))
		if err != nil {
			continue
		}
		on.Header = request.Header.Clone()
		answer, err := http.DefaultClient.Do(on)
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode < http.StatusInternalServerError {
			w.WriteHeader(answer.StatusCode)
			return
		}
	}
	w.WriteHeader(http.StatusServiceUnavailable)
}

// The forge sends nothing a second time, so the sweep finds what was said while
// the database was away.
func TestTwoReplicasLoseNothingWhenOneIsKilledAndTheirDatabaseStops(t *testing.T) {
	t.Parallel()
	names := []string{"one", "two", "three", "four"}
	p := project{}
	for _, name := range names {
		p.roots = append(p.roots, root{name: name, tf: plain("a")})
	}
	r := newReplicas(t, p, settings{sweep: "10s"})
	r.begin()

	held := r.tool.at(t, "plan", "start")
	var pulls []*forgetest.Pull
	for _, name := range names {
		pulls = append(pulls, r.propose(name, tf(name, plain("b"))))
	}
	held.wait(r.ctx)
	r.kill(0)
	held.release()
	var lines []string
	for _, pr := range pulls {
		lines = append(lines, r.line(pr, opOf(pr)))
	}

	r.run(0)
	if err := r.database.Stop(); err != nil {
		t.Fatal(err)
	}
	for i, pr := range pulls {
		must(r.Forge.As(r.Alice).Comment(pr, lines[i]))(t)
	}
	if err := r.database.Run(r.ctx); err != nil {
		t.Fatal(err)
	}
	for _, pr := range pulls {
		r.awaitNote(pr, "Approved by")
	}

	var newest string
	for _, pr := range pulls {
		newest = r.merged(pr, "squash")
	}
	r.green(newest)
	for _, pr := range pulls {
		r.awaitStatus(pr.Head(), "chant/apply", "success", "applied: 4 members")
		r.awaitNote(pr, "applied")
	}
	r.appliedOnce(pulls, names, newest)
}

// appliedOnce checks that everything happened, and nothing twice.
func (r *replicas) appliedOnce(pulls []*forgetest.Pull, names []string, newest string) {
	r.t.Helper()
	for _, name := range names {
		r.holds(name, "b")
	}
	if n := r.tool.runs("apply"); n != len(names) {
		r.t.Errorf("terraform applied %d times, want once a root", n)
	}
	if got := r.applied("prod"); got != newest {
		r.t.Errorf("the ledger says %q was applied, want %q", got, newest)
	}
	r.settledBranch()
	for _, pr := range pulls {
		if n := len(r.approvals(opOf(pr))); n != 1 {
			r.t.Errorf("%d approvals of #%d on the ledger, want one", n, pr.Number)
		}
		r.saidOnce(pr)
	}
	for i, s := range r.running {
		s.stop()
		if log := string(must(os.ReadFile(r.logOf(i)))(r.t)); !strings.Contains(log, `msg="job done"`) {
			r.t.Errorf("replica %d did no work", i)
		} else {
			for line := range strings.Lines(log) {
				if strings.Contains(line, "unknown revision") {
					r.t.Errorf("replica %d relied on a commit that only the other one had fetched: %s", i, line)
				}
			}
		}
	}
	r.settled()
}
