package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// waitingRoot's apply says that it runs and waits to be let go on.
func waitingRoot(ready, goOn string) string {
	return backend + `
resource "terraform_data" "net" {
  input = "v"
  provisioner "local-exec" { command = "echo ready >` + ready + `; read x <` + goOn + `" }
}
output "v" { value = terraform_data.net.output }
`
}

// await blocks until a child has written to the pipe.
func await(t *testing.T, fifo string) {
	t.Helper()
	if _, err := os.ReadFile(fifo); err != nil {
		t.Error(err)
	}
}

// startServer runs an apply in a process of its own.
func (s *site) startServer(p engine.Planned) *osexec.Cmd {
	s.t.Helper()
	data, err := json.Marshal(saved{Wall: exec.WallAuto, State: s.state, Target: p.Target, File: p.File, Hash: p.Hash})
	file := filepath.Join(s.t.TempDir(), "planned.json")
	if err = errors.Join(err, os.WriteFile(file, data, 0o600)); err != nil {
		s.t.Fatal(err)
	}
	server := osexec.Command(os.Args[0], serverArg, file)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	return server
}

func TestAnApplyOutlivesAKilledServerAndIsRecovered(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ready, goOn := s.fifo("ready"), s.fifo("go-on")
	s.write(s.checkout, map[string]string{"roots/net/main.tf": waitingRoot(ready, goOn)})
	d := s.driver()
	p := s.plan(d)
	if _, found, err := d.Recover(context.Background(), p); found || err != nil {
		t.Fatalf("an apply was found before there was one: %v", err)
	}
	second := s.replan(d) // while no lock is held
	server := s.startServer(p)
	await(t, ready)
	if err := server.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = server.Wait()

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("shutting down"))
	if _, found, err := d.Recover(ctx, p); !found || err == nil {
		t.Errorf("a running apply: found %v, %v", found, err)
	}
	if _, err := d.Apply(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "used already (running)") {
		t.Errorf("the same plan again gave %v", err)
	}
	if _, err := d.Apply(context.Background(), second, nil); !errors.Is(err, exec.ErrRunning) {
		t.Errorf("a second plan beside the orphan gave %v", err)
	}
	if err := os.WriteFile(goOn, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	out, found, err := d.Recover(context.Background(), p)
	if err != nil || !found || out.Unknown || out.Error != "" || text(out.Outputs["v"].Value) != `"v"` {
		t.Errorf("recovered %+v, %v, %v", out, found, err)
	}
	if p := s.replan(d); !p.NoChanges {
		t.Errorf("what was applied is not in the state: %v", entries(p))
	}
}

// A killed command has nobody who asks how its apply ended: the next plan finds the state
// that the backend did not take, and does not make it again (soundness I12).
func TestWhatAnApplyLeftThatNobodyCameBackToIsKept(t *testing.T) {
	t.Parallel()
	backend := &stateServer{}
	server := httptest.NewServer(backend)
	t.Cleanup(server.Close)
	s := newSite(t, nil)
	ready, goOn := s.fifo("ready"), s.fifo("go-on")
	s.write(s.checkout, map[string]string{"roots/net/main.tf": strings.Replace(waitingRoot(ready, goOn), `"local"`, `"http"`, 1)})
	s.target.Root.BackendConfig = map[string]string{"address": server.URL}
	d := s.driver()
	p := s.plan(d)
	running := s.startServer(p)
	await(t, ready)
	if err := running.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = running.Wait()
	backend.set(true, nil)
	again := s.target // in files of its own
	again.RunDir, again.Worktree = shortDir(t), shortDir(t)
	again.ProjectDir = again.Worktree
	s.write(again.Worktree, map[string]string{"roots/net/main.tf": strings.Replace(waitingRoot(ready, goOn), `"local"`, `"http"`, 1)})
	if _, err := d.Plan(t.Context(), again, nil); err != nil { // no lock of this backend keeps it
		t.Fatalf("beside one that runs: %v", err)
	}
	if err := os.WriteFile(goOn, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.AwaitRecovered(t.Context(), filepath.Join(p.Target.RunDir, applyDir)); err != nil {
		t.Fatal(err)
	}
	all := &known{}
	again.RunDir, again.Keeper = shortDir(t), all
	_, err := d.Plan(t.Context(), again, nil)
	kept := filesIn(t, d.keptDir())
	if len(kept) != 1 || err == nil || !strings.Contains(err.Error(), kept[0]) || len(all.kept) != 1 {
		t.Fatalf("planned: %v; kept are %v, others know of %v", err, kept, all.kept)
	}
	state, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	backend.set(false, state) // as a person pushes it
	again.RunDir = shortDir(t)
	if p, err := d.Plan(t.Context(), again, nil); err != nil || !p.NoChanges {
		t.Errorf("after it was pushed: %v, %v", entries(p), err)
	}
	if left := append(filesIn(t, d.keptDir()), filesIn(t, d.begunDir())...); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
}

func TestAnApplyWhoseSupervisorDiedIsUnknownAndNeverRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	p := s.plan(d)
	// What a power loss leaves of an apply that had started.
	dir := filepath.Join(p.Target.RunDir, applyDir)
	s.write(dir, map[string]string{"lock": "", "child.lock": "", "started": ""})
	// Its backend took no state before that: what it made is known to this file alone.
	s.write(p.Target.RunDir, map[string]string{ranFile: `{"worktree":"` + s.checkout + `","dir":"roots/net"}`})
	s.write(s.checkout, map[string]string{"roots/net/" + erroredFile: `{"version":4,"serial":1,"lineage":"l","resources":[{}]}`})
	out, found, err := d.Recover(context.Background(), p)
	if err != nil || !found || !out.Unknown {
		t.Errorf("recovered %+v, %v, %v", out, found, err)
	}
	if kept := filesIn(t, d.keptDir()); len(kept) != 1 || !strings.Contains(out.Error, kept[0]) {
		t.Errorf("kept is %v, and the outcome is %q", kept, out.Error)
	}
	if _, err := d.Apply(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "used already (unknown)") {
		t.Errorf("the plan again gave %v", err)
	}
}

func TestAFailedApplyIsRecoveredAsFailed(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": backend + "resource \"terraform_data\" \"d\" {\n  provisioner \"local-exec\" {\n    command = \"echo why >&2; exit 1\"\n  }\n}\n"})
	binary, _ := toolVersion(t)
	d := s.driver()
	p := s.plan(d)
	out, err := d.Apply(context.Background(), p, nil)
	if err != nil || !strings.Contains(out.Error, "root net: "+filepath.Base(binary)+" apply exited with 1") {
		t.Errorf("applied %+v, %v", out, err)
	}
	again, found, err := d.Recover(context.Background(), p)
	if err != nil || !found || again.Error != out.Error || again.Unknown {
		t.Errorf("recovered %+v, %v, %v", again, found, err)
	}
}

func TestACancelledApplySavesItsStateAndSaysSo(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ready, goOn := s.fifo("ready"), s.fifo("go-on")
	s.write(s.checkout, map[string]string{"roots/net/main.tf": waitingRoot(ready, goOn)})
	d := s.driver(func(c *Config) { c.ApplyGrace = 5 * time.Minute })
	p := s.plan(d)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		await(t, ready)
		cancel(errors.New("stopped by an operator"))
	}()
	out, err := d.Apply(ctx, p, s.lines.add)
	if err != nil || !strings.Contains(out.Error, "interrupted (stopped by an operator)") {
		t.Errorf("got %+v, %v", out, err)
	}
	if log := s.lines.text(); !strings.Contains(log, "Interrupt received") {
		t.Errorf("the tool was not interrupted in order: %q", log)
	}
	if data, err := os.ReadFile(filepath.Join(s.state, "net.tfstate")); err != nil || !strings.Contains(string(data), "tainted") {
		t.Errorf("the state is %q, %v", data, err)
	}
}

func TestACancelledPlanIsAnErrorWithItsCause(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	if _, err := d.Engine(t.Context()); err != nil {
		t.Fatal(err)
	}
	cause := errors.New("superseded by a push")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	if _, err := d.Plan(ctx, s.target, nil); !errors.Is(err, cause) || !strings.Contains(err.Error(), "root net") {
		t.Errorf("got %v", err)
	}
}
