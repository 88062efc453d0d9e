package exec

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func mustRecover(t *testing.T, dir string, want State) Status {
	t.Helper()
	st, err := Recover(dir)
	if err != nil {
		t.Fatal(err)
	}
	if st.State != want {
		t.Fatalf("state %s, want %s", st.State, want)
	}
	return st
}

func mustAwait(t *testing.T, dir string, want State) Status {
	t.Helper()
	st, err := AwaitRecovered(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if st.State != want {
		t.Fatalf("state %s, want %s", st.State, want)
	}
	return st
}

func supervise1(t *testing.T, dir string, cmd Cmd) *Supervised {
	t.Helper()
	s, err := StartSupervised(context.Background(), dir, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestASupervisedCommandGivesItsResultAndLines(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	mustRecover(t, dir, None)
	var lines []string
	cmd := shell("env; echo s3cr3t-value; echo err >&2; exit 5")
	cmd.Env = []string{"TOKEN=s3cr3t-value"}
	cmd.Scrub = []string{"s3cr3t-value"}
	cmd.OnLine = func(_, line string) { lines = append(lines, line) }
	res, err := supervise1(t, dir, cmd).Wait(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 5 || !strings.Contains(string(res.Stdout), "TOKEN=***\n") || string(res.Stderr) != "err\n" {
		t.Errorf("got %d %q %q", res.ExitCode, res.Stdout, res.Stderr)
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "TOKEN=***") || strings.Contains(all, "s3cr3t") {
		t.Errorf("lines %q", lines)
	}
	if st := mustRecover(t, dir, Exited); st.Result.ExitCode != 5 {
		t.Errorf("recovered %+v", st)
	}
	assertNotOnDisk(t, dir, "s3cr3t-value")
}

func assertNotOnDisk(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s holds the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestACommandThatCantStartIsAnErrorAndNeverUnknown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := supervise1(t, dir, Cmd{Args: []string{"/no/such/program"}}).Wait(context.Background())
	if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
	if _, err := Recover(dir); !errors.Is(err, ErrNotStarted) {
		t.Errorf("recovered %v", err)
	}
}

// parent starts a process that supervises the command, and returns it once
// that said so.
func parent(t *testing.T, dir string, cmd Cmd) *osexec.Cmd {
	t.Helper()
	p := osexec.Command(os.Args[0], append([]string{parentArg, dir}, cmd.Args...)...)
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "started\n" {
		t.Fatalf("the parent said %q, %v", line, err)
	}
	return p
}

func killNow(t *testing.T, p *osexec.Cmd) {
	t.Helper()
	if err := p.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
}

func TestTheCommandOutlivesAKilledServerAndItsEndIsFound(t *testing.T) {
	t.Parallel()
	dir, fifo, ready := t.TempDir(), newFIFO(t), newFIFO(t)
	p := parent(t, dir, shell(`echo ready >"$2"; read x <"$1"; echo "after $x"; exit 3`, fifo, ready))
	awaitWriter(t, ready)
	killNow(t, p)
	mustRecover(t, dir, Running)
	if _, err := StartSupervised(context.Background(), dir, shell("exit 0")); !errors.Is(err, ErrRunning) {
		t.Errorf("a second start gave %v", err)
	}
	release(t, fifo)
	st := mustAwait(t, dir, Exited)
	if st.Result.ExitCode != 3 || string(st.Result.Stdout) != "after go\n" {
		t.Errorf("recovered %+v", st)
	}
	if _, err := StartSupervised(context.Background(), dir, shell("exit 0")); !errors.Is(err, ErrStarted) {
		t.Errorf("a start after the end gave %v", err)
	}
}

func TestWaitingForARunningCommandEndsWithItsContextAndLeavesItAlone(t *testing.T) {
	t.Parallel()
	dir, fifo, ready := t.TempDir(), newFIFO(t), newFIFO(t)
	p := parent(t, dir, shell(`echo ready >"$2"; read x <"$1"`, fifo, ready))
	awaitWriter(t, ready)
	killNow(t, p)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errCancelled)
	if _, err := AwaitRecovered(ctx, dir); !errors.Is(err, errCancelled) {
		t.Errorf("got %v", err)
	}
	release(t, fifo)
	mustAwait(t, dir, Exited)
}

// killSupervisor kills the supervisor of a command started by this process.
func killSupervisor(t *testing.T, s *Supervised) {
	t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
}

func TestAnOrphanOfAKilledSupervisorIsRunningThenUnknown(t *testing.T) {
	t.Parallel()
	dir, other, fifo, ready := t.TempDir(), t.TempDir(), newFIFO(t), newFIFO(t)
	hold := filepath.Join(t.TempDir(), "prod app")
	cmd := shell(`echo ready >"$2"; read x <"$1"; exit 0`, fifo, ready)
	cmd.Hold = hold
	s := supervise1(t, dir, cmd)
	awaitWriter(t, ready)
	killSupervisor(t, s)
	mustRecover(t, dir, Running)
	second := shell("exit 0")
	second.Hold = hold
	if _, err := StartSupervised(context.Background(), other, second); !errors.Is(err, ErrRunning) {
		t.Errorf("a second child beside the orphan: %v", err)
	}
	mustRecover(t, other, None)
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errCancelled)
	if _, err := s.Wait(ended); !errors.Is(err, ErrRunning) {
		t.Errorf("waiting without time gave %v", err)
	}
	go func() {
		if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
			t.Error(err)
		}
	}()
	if _, err := s.Wait(context.Background()); !errors.Is(err, ErrUnknown) {
		t.Errorf("waiting for the orphan gave %v", err)
	}
	mustRecover(t, dir, Unknown)
	if _, err := StartSupervised(context.Background(), dir, shell("exit 0")); !errors.Is(err, ErrStarted) {
		t.Errorf("a start from the same directory gave %v", err)
	}
	if _, err := supervise1(t, other, second).Wait(context.Background()); err != nil {
		t.Errorf("a start after the orphan ended: %v", err)
	}
}

func TestAPowerLossAfterTheStartReadsAsUnknown(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"no process is left":           {lockFile: "", childLockFile: "", startedFile: ""},
		"the status was being written": {lockFile: "", startedFile: "", statusFile + ".123": `{"exit`},
	} {
		dir := t.TempDir()
		for file, content := range files {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if st, err := Recover(dir); err != nil || st.State != Unknown {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}

func TestAPowerLossBeforeTheStartReadsAsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, lockFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	mustRecover(t, dir, None)
	if _, err := supervise1(t, dir, shell("exit 0")).Wait(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestAnUnreadableStatusIsNeverTakenForAnEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, statusFile), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := Recover(dir); err == nil {
		t.Errorf("got %v", st)
	}
}

func TestCancellingASupervisedCommandInterruptsItAndWaits(t *testing.T) {
	t.Parallel()
	for _, wall := range testWalls(t) {
		t.Run(wall.Name(), func(t *testing.T) {
			t.Parallel()
			work := workDir(t)
			ready, never := filepath.Join(work, "ready"), filepath.Join(work, "never")
			for _, fifo := range []string{ready, never} {
				if err := errors.Join(syscall.Mkfifo(fifo, 0o666), os.Chmod(fifo, 0o666)); err != nil {
					t.Fatal(err)
				}
			}
			cmd := shell(`trap "echo state saved; exit 7" INT; echo ready >"$1"; read x <"$2"`, ready, never)
			cmd.Grace = time.Minute
			walled, err := wall.Wrap(cmd, View{ReadWrite: []string{work}, Detached: true})
			if err != nil {
				t.Fatal(err)
			}
			s := supervise1(t, t.TempDir(), walled)
			ctx, cancel := context.WithCancelCause(context.Background())
			go func() {
				awaitWriter(t, ready)
				cancel(errCancelled)
			}()
			res, err := s.Wait(ctx)
			var stopped *StoppedError
			if !errors.As(err, &stopped) || !errors.Is(err, errCancelled) || res.ExitCode != 7 || string(res.Stdout) != "state saved\n" {
				t.Errorf("got %d %q %q, %v", res.ExitCode, res.Stdout, res.Stderr, err)
			}
		})
	}
}

func TestSupervisedOutputIsCutAtItsBoundAndTheCommandGoesOn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := shell(`i=0; while [ $i -lt 2000 ]; do echo 0123456789; i=$((i+1)); done; exit 4`)
	cmd.MaxOutput = 100
	res, err := supervise1(t, dir, cmd).Wait(context.Background())
	if err != nil || res.ExitCode != 4 || len(res.Stdout) != 100 {
		t.Errorf("got %d with %d bytes, %v", res.ExitCode, len(res.Stdout), err)
	}
}

func TestAServerThatStopsReadingDoesNotHoldTheCommandUp(t *testing.T) {
	t.Parallel()
	dir, fifo, ready := t.TempDir(), newFIFO(t), newFIFO(t)
	p := parent(t, dir, shell(`echo ready >"$2"; read x <"$1"; i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; exit 6`, fifo, ready))
	awaitWriter(t, ready)
	if err := p.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	release(t, fifo)
	if st := mustAwait(t, dir, Exited); st.Result.ExitCode != 6 || len(st.Result.Stdout) != 220000 {
		t.Errorf("got %d with %d bytes", st.Result.ExitCode, len(st.Result.Stdout))
	}
}

func TestTheSupervisorsOwnEnvironmentIsEmpty(t *testing.T) {
	t.Parallel()
	dir, fifo, ready := t.TempDir(), newFIFO(t), newFIFO(t)
	cmd := shell(`echo ready >"$2"; read x <"$1"`, fifo, ready)
	cmd.Env = append(cmd.Env, "TOKEN=s3cr3t-value")
	s := supervise1(t, dir, cmd)
	awaitWriter(t, ready)
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(s.cmd.Process.Pid) + "/environ")
	if err != nil || len(environ) != 0 {
		t.Errorf("got %q, %v", environ, err)
	}
	release(t, fifo)
	if _, err := s.Wait(context.Background()); err != nil {
		t.Error(err)
	}
}
