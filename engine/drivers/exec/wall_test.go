package exec

import (
	"context"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// testWalls are the walls that isolate, working here.
func testWalls(t *testing.T) []Wall {
	t.Helper()
	walls := []Wall{}
	b, err := DetectWall(t.Context(), WallBwrap)
	if err != nil {
		t.Fatalf("%v (apt-get install bubblewrap)", err)
	}
	walls = append(walls, b)
	if os.Geteuid() != 0 {
		t.Log("isolation by user is left out: it needs root")
		return walls
	}
	u, err := DetectWall(t.Context(), WallUser)
	if err != nil {
		t.Fatal(err)
	}
	return append(walls, u)
}

// workDir is a directory that other users can reach, which t.TempDir is not.
func workDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "chant-test-") //nolint:usetesting // see above
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

const loot = "never-to-be-read"

// estate is what a server has lying about while it plans.
type estate struct {
	work, state, token, worktree string
	server                       *osexec.Cmd // holds the loot in its environment
}

func newEstate(t *testing.T) estate {
	t.Helper()
	e := estate{work: workDir(t), state: workDir(t), worktree: workDir(t)}
	e.token = filepath.Join(e.state, "token")
	for _, file := range []string{e.token, filepath.Join(e.state, "clone.git"), filepath.Join(e.state, "plan.tfplan"), filepath.Join(e.worktree, "main.tf")} {
		if err := os.WriteFile(file, []byte(loot), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e.server = osexec.Command("/bin/cat")
	e.server.Env = []string{"SERVER_TOKEN=" + loot}
	stdin, err := e.server.StdinPipe()
	if err == nil {
		err = e.server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = stdin.Close(); _ = e.server.Wait() })
	return e
}

// hostile tries what a provider or external data source of a pull request
// could; what it finds it prints.
const hostile = `
server=$1 state=$2 worktree=$3
cat /proc/*/environ /proc/$PPID/environ /proc/1/environ /proc/$server/environ
cat /proc/$server/root$state/token /proc/$server/cwd/* /proc/$server/fd/* </dev/null
cat "$state"/* "$worktree"/* /etc/shadow
ln -s "$state/token" link; cat link
find / -xdev -name token -newer /bin/sh -exec cat {} + 
for f in "$state/plan.tfplan" "$worktree/main.tf"; do echo owned >"$f"; rm -f "$f"; done
kill -KILL $server
echo own >own.txt && cat own.txt
`

func TestHostileCodeFindsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	for _, wall := range testWalls(t) {
		t.Run(wall.Name(), func(t *testing.T) {
			t.Parallel()
			e := newEstate(t)
			cmd := shell(hostile, strconv.Itoa(e.server.Process.Pid), e.state, e.worktree)
			cmd.Dir = e.work
			cmd, err := wall.Wrap(cmd, View{ReadWrite: []string{e.work}, Limits: DefaultLimits()})
			if err != nil {
				t.Fatal(err)
			}
			res, err := Run(context.Background(), cmd)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(res.Stdout), loot) {
				t.Errorf("it found something:\n%s", res.Stdout)
			}
			if !strings.HasSuffix(string(res.Stdout), "own\n") {
				t.Errorf("its own worktree is closed to it: %q %q", res.Stdout, res.Stderr)
			}
			if err := e.server.Process.Signal(syscall.Signal(0)); err != nil {
				t.Errorf("it killed the server: %v", err)
			}
			for _, file := range []string{filepath.Join(e.state, "plan.tfplan"), filepath.Join(e.worktree, "main.tf")} {
				if data, err := os.ReadFile(file); err != nil || string(data) != loot {
					t.Errorf("%s is now %q, %v", file, data, err)
				}
			}
		})
	}
}

// Without a wall the same script does find things, so the test above proves
// something.
func TestTheHostileCodeWouldFindThingsWithoutAWall(t *testing.T) {
	t.Parallel()
	e := newEstate(t)
	script := `cat /proc/$1/environ "$2/token"`
	res, err := Run(context.Background(), shell(script, strconv.Itoa(e.server.Process.Pid), e.state))
	if err != nil || strings.Count(string(res.Stdout), loot) != 2 {
		t.Errorf("got %q, %v", res.Stdout, err)
	}
}

// soundness I13: the files that say what the kernel runs, and how, ask for root's id
// alone, which code behind a server that is root has. It only looks: a write would
// change the machine of whoever runs the test.
func TestCodeSetsNothingOfTheKernel(t *testing.T) {
	t.Parallel()
	for _, wall := range testWalls(t) {
		t.Run(wall.Name(), func(t *testing.T) {
			t.Parallel()
			work := workDir(t)
			cmd, err := wall.Wrap(shell(`
cd /proc
for f in sys/kernel/core_pattern sys/kernel/modprobe sys/vm/drop_caches sys/net/ipv4/ip_forward sysrq-trigger irq/default_smp_affinity; do
	if test -w $f; then echo $f; fi
done
echo looked`), View{ReadWrite: []string{work}, Limits: DefaultLimits()})
			if err != nil {
				t.Fatal(err)
			}
			if res, err := Run(t.Context(), cmd); err != nil || string(res.Stdout) != "looked\n" {
				t.Errorf("it can write %q, %v %s", res.Stdout, err, res.Stderr)
			}
		})
	}
}

func TestAWriteOutsideTheViewFailsInsteadOfBeingLost(t *testing.T) {
	t.Parallel()
	wall, work := testWalls(t)[0], workDir(t)
	cmd, err := wall.Wrap(shell(`echo x >/state.tfstate || mkdir -p /var/lib/state`), View{ReadWrite: []string{work}})
	if err != nil {
		t.Fatal(err)
	}
	if res, err := Run(context.Background(), cmd); err != nil || res.ExitCode == 0 {
		t.Errorf("got %d, %v", res.ExitCode, err)
	}
}

func TestReadOnlyAndSharedPathsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, wall := range testWalls(t) {
		t.Run(wall.Name(), func(t *testing.T) {
			t.Parallel()
			work, shared, lent := workDir(t), workDir(t), filepath.Join(workDir(t), "saved.tfplan")
			err := errors.Join(os.WriteFile(lent, []byte("plan\n"), 0o400), os.Chmod(shared, 0o777), os.Chmod(filepath.Dir(lent), 0o711))
			if err != nil {
				t.Fatal(err)
			}
			cmd := shell(`cat "$1"; echo x >"$1"; rm -f "$1"; echo state >"$2/state"; test -w "$3" && echo mine`, lent, shared, work)
			cmd, err = wall.Wrap(cmd, View{ReadOnly: []string{lent}, ReadWrite: []string{work}, Shared: []string{shared}})
			if err != nil {
				t.Fatal(err)
			}
			res, err := Run(context.Background(), cmd)
			if err != nil || string(res.Stdout) != "plan\nmine\n" {
				t.Errorf("got %q %q, %v", res.Stdout, res.Stderr, err)
			}
			if data, err := os.ReadFile(lent); err != nil || string(data) != "plan\n" {
				t.Errorf("the lent file is %q, %v", data, err)
			}
			if data, err := os.ReadFile(filepath.Join(shared, "state")); err != nil || string(data) != "state\n" {
				t.Errorf("the shared state is %q, %v", data, err)
			}
		})
	}
}

func TestTwoRunsOfTheUserWallCantTouchEachOther(t *testing.T) {
	t.Parallel()
	walls := testWalls(t)
	if len(walls) < 2 {
		t.Skip("isolation by user needs root")
	}
	a, b := workDir(t), workDir(t)
	if err := os.WriteFile(filepath.Join(a, "file"), []byte(loot), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{a, b} {
		cmd, err := walls[1].Wrap(shell(`cat "$1/file"; ls "$1"; id -u`, a), View{ReadWrite: []string{dir}})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(context.Background(), cmd)
		if found := strings.Contains(string(res.Stdout), loot); err != nil || found != (dir == a) {
			t.Errorf("in %s: got %q, %v", dir, res.Stdout, err)
		}
	}
}

func TestLimitsStopAChildThatWantsTooMuch(t *testing.T) {
	t.Parallel()
	small := Limits{FileSize: 1 << 20, Memory: 64 << 20, CPU: 60, Processes: 20, OpenFiles: 16}
	scripts := map[string]string{
		"file size":  `head -c 2000000 /dev/zero >big`,
		"memory":     `awk 'BEGIN { s = "x"; while (length(s) < 2^29) s = s s }'`,
		"open files": `exec 3<. 4<. 5<. 6<. 7<. 8<. 9<. && sh -c 'for i in 10 11 12 13 14 15 16 17 18; do eval "exec $i<."; done' && bash -c 'for i in $(seq 20 60); do eval "exec $i<." || exit 1; done'`,
	}
	for name, script := range scripts {
		for _, wall := range append(testWalls(t), noWall{}) {
			t.Run(name+" "+wall.Name(), func(t *testing.T) {
				t.Parallel()
				work := workDir(t)
				cmd := shell(script)
				cmd.Dir = work
				cmd, err := wall.Wrap(cmd, View{ReadWrite: []string{work}, Limits: small})
				if err != nil {
					t.Fatal(err)
				}
				if res, err := Run(context.Background(), cmd); err != nil || res.ExitCode == 0 {
					t.Errorf("got %d %q, %v", res.ExitCode, res.Stderr, err)
				}
			})
		}
	}
}

func TestTheNumberOfProcessesIsLimitedForOtherUsers(t *testing.T) {
	t.Parallel()
	walls := testWalls(t)
	if len(walls) < 2 {
		t.Skip("isolation by user needs root")
	}
	work := workDir(t)
	cmd := shell(`i=0; while [ $i -lt 40 ]; do sleep 600 & i=$((i+1)); done`) // ended with the group
	cmd, err := walls[1].Wrap(cmd, View{ReadWrite: []string{work}, Limits: Limits{Processes: 20}})
	if err != nil {
		t.Fatal(err)
	}
	res, err := Run(context.Background(), cmd)
	if err != nil || !strings.Contains(string(res.Stderr), "fork") {
		t.Errorf("got %d %q, %v", res.ExitCode, res.Stderr, err)
	}
}

func TestDetectWallNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	if w, err := DetectWall(t.Context(), WallAuto); err != nil || w.Name() != WallBwrap {
		t.Errorf("auto gave %v, %v (apt-get install bubblewrap)", w, err)
	}
	if w, err := DetectWall(t.Context(), WallNone); err != nil || w.Name() != WallNone {
		t.Errorf("none gave %v, %v", w, err)
	}
	for want, text := range map[string]string{"docker": "unknown", WallSystemd: "bubblewrap"} {
		if w, err := DetectWall(t.Context(), want); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s gave %v, %v", want, w, err)
		}
	}
	for _, path := range []string{"/", "relative", "/a/../b", "/a/"} {
		if _, err := (noWall{}).Wrap(shell("exit 0"), View{ReadWrite: []string{path}}); err == nil {
			t.Errorf("a view of %q is taken", path)
		}
	}
}
