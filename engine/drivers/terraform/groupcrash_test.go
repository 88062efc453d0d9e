package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/sealed"
)

// groupServerArg makes the test program a server that applies a group and dies at
// a step.
const groupServerArg = "__test-group-server"

// savedGroup is what a server stores of a group's plan before it applies it.
type savedGroup struct {
	Wall, State, Key string
	Planned          engine.PlannedGroup
	DieAt            string // a step
	After            int    // so many of it that pass before
}

// actAsGroupServer applies and kills itself, as a power switch would.
func actAsGroupServer(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var s savedGroup
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	ctx := context.Background()
	wall, err := exec.DetectWall(ctx, s.Wall)
	if err != nil {
		return err
	}
	binary, err := tool()
	if err != nil {
		return err
	}
	key, err := sealed.ParseKey([]byte(s.Key))
	if err != nil {
		return err
	}
	d, err := New(Config{Binary: binary, StateDir: s.State, Scope: "repo prod", Wall: wall, Writable: []string{s.State}})
	if err != nil {
		return err
	}
	g, err := d.Grouper(key)
	if err != nil {
		return err
	}
	g.passed = func(step string) {
		if step != s.DieAt {
			return
		}
		if s.After == 0 {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		s.After--
	}
	marks(s.State, &s.Planned.Target)
	_, err = g.ApplyGroup(ctx, s.Planned, nil)
	return err
}

// marks has an apply be known by a file for as long as others have to know of it.
func marks(state string, t *engine.GroupTarget) {
	mark := filepath.Join(state, "mark")
	t.Begun = func(journal string) error { return os.WriteFile(mark, []byte(journal), 0o600) }
	t.Settled = func() error { return os.RemoveAll(mark) }
}

// groupServer runs an apply in a process of its own.
func (s *site) groupServer(p engine.PlannedGroup, dieAt string, after int) *osexec.Cmd {
	s.t.Helper()
	data, err := json.Marshal(savedGroup{
		Wall: exec.WallAuto, State: s.state, Key: strings.Repeat("0a", 32), Planned: p, DieAt: dieAt, After: after,
	})
	file := filepath.Join(s.t.TempDir(), "planned.json")
	if err = errors.Join(err, os.WriteFile(file, data, 0o600)); err != nil {
		s.t.Fatal(err)
	}
	server := osexec.Command(os.Args[0], groupServerArg, file)
	server.Stderr = os.Stderr
	if err := server.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = server.Process.Kill() })
	return server
}

// killed waits for a server that kills itself.
func killed(t *testing.T, server *osexec.Cmd) {
	t.Helper()
	_ = server.Wait()
	if status, ok := server.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() {
		t.Fatalf("the server ended by itself: %v", server.ProcessState)
	}
}

// placed fails unless each resource is in exactly one of the states, and the
// journals of none is left (soundness I12).
func (s *site) placed(want map[string]string) {
	s.t.Helper()
	for resource, member := range want {
		for _, name := range []string{"net", "app"} {
			found := strings.Contains(s.stateOf(name).String(), `"name":"`+resource+`"`)
			if found != (name == member) {
				s.t.Errorf("%s is in the state of %s: %v", resource, name, found)
			}
		}
	}
	s.noLeftovers()
}

func TestAGroupsApplyThatIsKilledAtAnyStepIsEndedByTheNextServer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		step  string
		after int
		found bool
	}{
		"after the pull, before the apply": {stepPulled, 0, false},
		"after the caller knew of it":      {stepBegun, 0, false},
		"after the apply":                  {stepApplied, 0, true},
		"between two pushes":               {stepPushed, 0, true},
		"after the last push":              {stepPushed, 1, true},
		"when all have their states":       {stepGiven, 0, true},
		"after all":                        {stepDone, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, groupRoots())
			g := s.grouper()
			target := s.netAndApp()
			target.Members[1].Target.Vars["names"] = s.decode(`["one"]`)
			p := s.planGroup(g, target)
			killed(t, s.groupServer(p, tc.step, tc.after))
			if _, err := os.Stat(filepath.Join(s.state, "mark")); (err == nil) != (tc.step != stepPulled && tc.step != stepDone) {
				t.Errorf("the others know of it: %v", err)
			}
			// The locks outlive the server, so nobody comes between.
			if binary, err := tool(); err != nil {
				t.Fatal(err)
			} else if tc.step != stepDone && tc.step != stepGiven {
				out, err := osexec.Command(binary, "-chdir="+filepath.Join(s.checkout, "roots/net"), "plan", "-input=false").CombinedOutput()
				if err == nil || !strings.Contains(string(out), "state lock") {
					t.Errorf("a plan of net beside it: %v, %s", err, out)
				}
			}
			for range 2 { // a second recovery finds the same
				out, found, err := g.RecoverGroup(context.Background(), p)
				if err != nil || found != tc.found {
					t.Fatalf("recovered %+v, %v, %v", out, found, err)
				}
				if !found {
					continue
				}
				if statuses(out) != "net applied, app applied" || out.Unknown || text(out.Members[1].Outputs["apps"].Value) != `["one in 10.0.0.0/8"]` {
					t.Errorf("recovered %s: %+v", statuses(out), out)
				}
				s.placed(map[string]string{"net": "net", "app": "app"})
			}
			if tc.found {
				return
			}
			s.placed(map[string]string{"net": "", "app": ""})
			if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" {
				t.Errorf("applied afterwards: %s", statuses(out))
			}
			s.placed(map[string]string{"net": "net", "app": "app"})
		})
	}
}

// waitingGroup is groupRoots with an app whose second resource waits.
func waitingGroup(ready, goOn, then string) map[string]string {
	files := groupRoots()
	files["roots/app/main.tf"] = strings.ReplaceAll(failing("echo ready >"+ready+"; read x <"+goOn+"; "+then), `"fails"`, `"waits"`)
	files["roots/app/main.tf"] = strings.ReplaceAll(files["roots/app/main.tf"], ".fails.", ".waits.")
	return files
}

func TestAGroupsApplyOutlivesAKilledServer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ then, want string }{
		"and ends well":  {"true", "net applied, app applied"},
		"and then fails": {"exit 1", "net applied, app partial"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			ready, goOn := s.fifo("ready"), s.fifo("go-on")
			s.write(s.checkout, waitingGroup(ready, goOn, tc.then))
			g := s.grouper()
			p := s.planGroup(g, s.netAndApp())
			server := s.groupServer(p, "", 0)
			await(t, ready)
			if err := server.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = server.Wait()
			if _, err := g.ApplyGroup(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "used already") {
				t.Errorf("the same plan again gave %v", err)
			}
			if err := os.WriteFile(goOn, []byte("\n"), 0); err != nil {
				t.Fatal(err)
			}
			out, found, err := g.RecoverGroup(context.Background(), p)
			if err != nil || !found || statuses(out) != tc.want || out.Unknown {
				t.Errorf("recovered %s: %+v, %v, %v", statuses(out), out, found, err)
			}
			s.placed(map[string]string{"net": "net", "app": "app", "waits": "app"})
		})
	}
}

func TestAGroupsApplyWhoseEndNobodySawGivesBackWhatItMade(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ready, goOn := s.fifo("ready"), s.fifo("go-on")
	s.write(s.checkout, waitingGroup(ready, goOn, "true"))
	g := s.grouper()
	p := s.planGroup(g, s.netAndApp())
	server := s.groupServer(p, "", 0)
	await(t, ready)
	// The server and the group it supervises, tool and all.
	apply := filepath.Join(p.Target.RunDir, applyDir)
	pids := processesOf(t, p.Target.RunDir)
	for _, signal := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGKILL} { // none sees another one die
		for _, pid := range append([]int{server.Process.Pid}, pids...) {
			_ = syscall.Kill(pid, signal)
		}
	}
	_ = server.Wait()
	if st, err := exec.AwaitRecovered(context.Background(), apply); err != nil || st.State != exec.Unknown {
		t.Fatalf("the apply is %v, %v", st.State, err)
	}
	out, found, err := g.RecoverGroup(context.Background(), p)
	if err != nil || !found || !out.Unknown || !asKilled(t, out) {
		t.Errorf("recovered %s: %+v, %v, %v", statuses(out), out, found, err)
	}
	if statuses(out) == "net failed, app failed" {
		s.placed(map[string]string{"net": "", "app": ""})
		return
	}
	s.placed(map[string]string{"net": "net", "app": "app"})
}

// The power went while the tool wrote the joined state: half of it is a state to nobody.
func TestAHalfWrittenStateOfAGroupIsGivenToNobodyAndNamed(t *testing.T) {
	t.Parallel()
	s, g, p, joined := killedOnceApplied(t)
	info, err := os.Stat(joined)
	if err == nil {
		err = os.Truncate(joined, info.Size()/2)
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, found, err := g.RecoverGroup(context.Background(), p)
		if told, ok := errors.AsType[*engine.Told](err); !found || !ok || !strings.Contains(told.Error(), joined) {
			t.Errorf("recovered %v, %v", found, err)
		}
	}
	for _, name := range []string{"net", "app"} {
		if state := s.stateOf(name); state.Get("resources").Len() > 0 {
			t.Errorf("%s has %s", name, state)
		}
	}
	if unended, err := g.Unended(); err != nil || len(unended) != 1 || unended[0].Err != nil {
		t.Errorf("journals: %+v, %v", unended, err)
	}
}

// processesOf are the supervisors, and what they started, whose files are below a
// directory.
func processesOf(t *testing.T, dir string) []int {
	t.Helper()
	fds, err := filepath.Glob("/proc/[0-9]*/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]bool{}
	var pids []int
	for _, fd := range fds {
		to, err := os.Readlink(fd)
		if err != nil || !strings.HasPrefix(to, dir+"/") {
			continue
		}
		var pid int
		if err := json.Unmarshal([]byte(strings.Split(fd, "/")[2]), &pid); err != nil {
			t.Fatal(err)
		}
		if pid != os.Getpid() && !found[pid] {
			found[pid] = true
			pids = append(pids, pid)
		}
	}
	return pids
}

// A lock held by someone else keeps a group from starting.
func TestAGroupWaitsForNoLockForever(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	ready, goOn := s.fifo("ready"), s.fifo("go-on")
	files := groupRoots()
	files["roots/app/main.tf"] = strings.Replace(files["roots/app/main.tf"], `input    = `, "triggers_replace = 1\n  input = ", 1)
	s.write(s.checkout, files)
	g := s.grouper(func(c *Config) { c.LockTimeout = 1 })
	target := s.netAndApp()
	p := s.planGroup(g, target)
	// Somebody applies app meanwhile.
	other := newSite(t, map[string]string{"roots/net/main.tf": waitingRoot(ready, goOn)})
	other.target.Root.BackendConfig["path"] = s.statePath("app")
	d := other.driver(func(c *Config) { c.Writable, c.StateDir, c.Scope = []string{s.state}, other.state, "other" })
	q := other.plan(d)
	done := make(chan engine.Outcome)
	go func() {
		out, err := d.Apply(context.Background(), q, nil)
		if err != nil {
			t.Error(err)
		}
		done <- out
	}()
	await(t, ready)
	out := s.applyGroup(g, p)
	if statuses(out) != "net not-started, app not-started" || !strings.Contains(out.Error, "root app: somebody else has its state locked, so nothing was done with it; when that ended, try again") {
		t.Errorf("%s: %s", statuses(out), out.Error)
	}
	if err := os.WriteFile(goOn, []byte("\n"), 0); err != nil {
		t.Fatal(err)
	}
	if out := <-done; out.Error != "" {
		t.Error(out.Error)
	}
	s.noLeftovers()
}

// Without its journal nothing of a group is applied, and the reason is for people.
func TestAGroupWithoutItsJournalIsNotApplied(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	p := s.planGroup(g, s.netAndApp())
	if err := os.Symlink("nowhere", filepath.Join(s.state, "groups")); err != nil {
		t.Fatal(err)
	}
	_, err := g.ApplyGroup(t.Context(), p, nil)
	if _, told := errors.AsType[*engine.Told](err); !told || !strings.Contains(err.Error(), "nothing was applied: the journal of the group g1 can't be written") || strings.Contains(err.Error(), s.state) {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"net", "app"} {
		if _, err := os.Stat(s.statePath(name)); !os.IsNotExist(err) {
			t.Errorf("%s has a state: %v", name, err)
		}
	}
}

// A state that somebody wrote during the apply, past its lock, is not overwritten.
func TestAPartThatCantBePushedIsKeptAndNamed(t *testing.T) {
	t.Parallel()
	s := newSite(t, groupRoots())
	g := s.grouper()
	target := s.netAndApp()
	p := s.planGroup(g, target)
	foreign := `{"version":4,"terraform_version":"1.9.0","serial":40,"lineage":"another","outputs":{},"resources":[],"check_results":null}`
	g.passed = func(step string) {
		if step == stepApplied {
			s.write(s.state, map[string]string{"app.tfstate": foreign})
		}
	}
	out := s.applyGroup(g, p)
	if statuses(out) != "net applied, app partial" || !strings.Contains(out.Error, "app was applied, but its state can't be stored") {
		t.Fatalf("%s: %s", statuses(out), out.Error)
	}
	if _, _, err := g.RecoverGroup(t.Context(), p); err == nil || !strings.Contains(err.Error(), "kept") || !s.marked() {
		t.Errorf("the others are to know as long as the state is in a file: %v, %v", err, s.marked())
	}
	if got := s.stateOf("app"); !digest.Equal(got, s.decode(foreign)) {
		t.Errorf("the other state was overwritten: %s", got)
	}
	kept := filesIn(t, filepath.Join(s.state, "kept"))
	if len(kept) != 1 || !strings.Contains(out.Members[1].Error, kept[0]) {
		t.Fatalf("kept are %v, named is %q", kept, out.Members[1].Error)
	}
	data, err := os.ReadFile(kept[0])
	if err != nil || !strings.Contains(string(data), `"name":"app"`) {
		t.Errorf("it holds %s, %v", data, err)
	}
	if info, err := os.Stat(kept[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}

	// Planned from the state that stands, what exists would be made again.
	again := s.netAndApp()
	planned, err := g.PlanGroup(t.Context(), again, nil)
	if err != nil || len(planned.Fallbacks) != 1 || !strings.Contains(planned.Fallbacks[0].Reason, kept[0]) || planned.Fallbacks[0].Member != "app" {
		t.Errorf("the group was planned again: %+v, %v", planned.Fallbacks, err)
	}
	alone := again.Members[1].Target
	alone.RunDir = t.TempDir()
	if _, err := g.d.Plan(t.Context(), alone, nil); err == nil || !strings.Contains(err.Error(), kept[0]) {
		t.Errorf("app was planned without what it made: %v", err)
	}
	s.write(s.state, map[string]string{"app.tfstate": string(data)}) // as a person pushes it
	q := s.planGroup(g, s.netAndApp())
	if !q.Members[1].NoChanges || len(filesIn(t, filepath.Join(s.state, "kept"))) > 0 {
		t.Errorf("after it was pushed app has %+v to do, and kept is %v", q.Members[1].Changes, filesIn(t, filepath.Join(s.state, "kept")))
	}
}
