package exec

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestNothingOfTheServersEnvironmentReachesAChild(t *testing.T) {
	t.Setenv("CHANT_TEST_TOKEN", "server-token")
	for _, env := range [][]string{nil, {"ONE=1"}, BaseEnv("/h", "/t", "TWO=2")} {
		res, err := Run(context.Background(), Cmd{Args: []string{"/usr/bin/env"}, Env: env})
		if err != nil {
			t.Fatal(err)
		}
		got := strings.Fields(string(res.Stdout))
		if diff := cmp.Diff(env, got, cmp.Transformer("empty", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
			t.Errorf("environment (-want +got):\n%s", diff)
		}
	}
}

func TestANonZeroExitIsAResultNotAnError(t *testing.T) {
	t.Parallel()
	res, err := Run(context.Background(), shell("echo out; echo why >&2; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	if res.ExitCode != 3 || string(res.Stdout) != "out\n" || string(res.Stderr) != "why\n" {
		t.Errorf("got %d %q %q", res.ExitCode, res.Stdout, res.Stderr)
	}
	var exit *ExitError
	if err := res.Err("tool plan"); !errors.As(err, &exit) || err.Error() != "tool plan exited with 3: why" {
		t.Errorf("got %v", err)
	}
}

func TestAChildEndedBySignalReports128PlusItsNumber(t *testing.T) {
	t.Parallel()
	res, err := Run(context.Background(), shell("kill -TERM $$"))
	if err != nil || res.ExitCode != 128+15 {
		t.Errorf("got %d, %v", res.ExitCode, err)
	}
}

func TestAMissingProgramIsAnError(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"/no/such/program"}} {
		if _, err := Run(context.Background(), Cmd{Args: args}); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

func TestOutputAboveItsBoundStopsTheChildAndNamesTheBound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ stream, script string }{
		{"stdout", "yes"},
		{"stderr", "yes >&2"},
		{"stdout", `trap "" PIPE INT; yes; yes; kill -STOP $$`},
	} {
		cmd := shell(tc.script)
		cmd.MaxOutput, cmd.Grace = 5000, 20*time.Millisecond
		res, err := Run(context.Background(), cmd)
		var over *OutputLimitError
		if !errors.As(err, &over) || over.Stream != tc.stream || over.Limit != 5000 || !strings.Contains(err.Error(), "5000 bytes") {
			t.Errorf("%s: got %v", tc.script, err)
		}
		if len(res.Stdout) > 5000 || len(res.Stderr) > 5000 {
			t.Errorf("%s: kept %d and %d bytes", tc.script, len(res.Stdout), len(res.Stderr))
		}
	}
}

func TestOutputOfExactlyItsBoundIsFine(t *testing.T) {
	t.Parallel()
	cmd := shell("printf 12345")
	cmd.MaxOutput = 5
	if res, err := Run(context.Background(), cmd); err != nil || string(res.Stdout) != "12345" {
		t.Errorf("got %q, %v", res.Stdout, err)
	}
}

// errCancelled is the reason a test gives for ending a context.
var errCancelled = errors.New("cancelled by the test")

func TestCancelInterruptsTheWholeGroupAndWaitsForItsEnd(t *testing.T) {
	t.Parallel()
	fifo := newFIFO(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		awaitWriter(t, fifo)
		cancel(errCancelled)
	}()
	cmd := shell(`trap "echo outer; exit 7" INT; sh -c 'trap "echo inner; exit 0" INT; echo ready >"$1"; read x <"$2"' sh "$1" "$2"; exit 1`, fifo, newFIFO(t))
	cmd.Grace = time.Minute
	res, err := Run(ctx, cmd)
	if !errors.Is(err, errCancelled) {
		t.Errorf("error %v does not wrap the cause", err)
	}
	if res.ExitCode != 7 || string(res.Stdout) != "inner\nouter\n" {
		t.Errorf("got %d %q", res.ExitCode, res.Stdout)
	}
}

func TestAChildThatIgnoresTheInterruptIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	fifo := newFIFO(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		awaitWriter(t, fifo)
		cancel(errCancelled)
	}()
	cmd := shell(`trap "" INT; echo ready >"$1"; read x <"$2"`, fifo, newFIFO(t))
	cmd.Grace = 10 * time.Millisecond
	res, err := Run(ctx, cmd)
	if !errors.Is(err, errCancelled) || res.ExitCode != 128+9 {
		t.Errorf("got %d, %v", res.ExitCode, err)
	}
}

func TestACancelledContextStartsNothing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errCancelled)
	if _, err := Run(ctx, shell("exit 0")); !errors.Is(err, errCancelled) {
		t.Errorf("got %v", err)
	}
}

func TestProcessesLeftInTheGroupEndWithTheirLeader(t *testing.T) {
	t.Parallel()
	fifo := newFIFO(t)
	eof := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(awaitWriter(t, fifo)) // ends when no process holds the pipe
		eof <- err
	}()
	if _, err := Run(context.Background(), shell(`exec 3>"$1"; read x <"$2" & exit 0`, fifo, newFIFO(t))); err != nil {
		t.Fatal(err)
	}
	if err := <-eof; err != nil {
		t.Error(err)
	}
}

func TestLinesArriveWholeScrubbedAndNeverTogether(t *testing.T) {
	t.Parallel()
	var lines []string
	cmd := shell(`printf 'a s3cr3t b\r\nhalf'; echo err s3cr3t >&2; printf ' line\nlast s3c'; printf 'r3t'`)
	cmd.Scrub = []string{"s3cr3t"}
	cmd.OnLine = func(stream, line string) { lines = append(lines, stream+": "+line) } // -race proves the rest
	res, err := Run(context.Background(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	want := []string{"stderr: err ***", "stdout: a *** b", "stdout: half line", "stdout: last ***"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if got := string(res.Stdout) + string(res.Stderr); strings.Contains(got, "s3cr3t") {
		t.Errorf("the secret is in the result: %q", got)
	}
}

func TestNoMoreRunThanThePoolHasSlots(t *testing.T) {
	t.Parallel()
	pool := NewPool(3)
	var running, most atomic.Int64
	full := make(chan struct{})
	var once sync.Once
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			err := pool.Do(context.Background(), func() error {
				n := running.Add(1)
				defer running.Add(-1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				if n == 3 {
					once.Do(func() { close(full) })
				}
				<-full // the first ones wait until the pool is full
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most.Load() != 3 {
		t.Errorf("at most %d ran together, want 3", most.Load())
	}
}

func TestAWaiterLeavesThePoolWithItsContext(t *testing.T) {
	t.Parallel()
	pool := NewPool(0) // one slot
	err := pool.Do(context.Background(), func() error {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(errCancelled)
		return pool.Do(ctx, func() error { return errors.New("ran in a full pool") })
	})
	if !errors.Is(err, errCancelled) {
		t.Errorf("got %v", err)
	}
}
