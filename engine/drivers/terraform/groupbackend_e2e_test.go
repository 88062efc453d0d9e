//go:build e2e

package terraform

import (
	"bufio"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/report"
)

// postgres starts a server and returns its address. It ends with the test.
func postgres(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(found) == 0 {
		t.Fatal("PostgreSQL is missing: apt-get install postgresql")
	}
	bin, dir := found[len(found)-1], shortDir(t)
	run := func(name string, args ...string) *osexec.Cmd {
		cmd := osexec.Command(filepath.Join(bin, name), args...)
		cmd.Dir = dir
		if os.Geteuid() == 0 { // it refuses root
			const nobody = 65534
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
			if err := os.Chown(dir, nobody, nobody); err != nil {
				t.Fatal(err)
			}
		}
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := run("initdb", "--no-sync", "--auth=trust", "--username=chant", "--locale=C", "-D", data).CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := run("postgres", "-D", data, "-p", port, "-k", dir, "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off")
	log, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Signal(syscall.SIGQUIT); _ = server.Wait() })
	lines := bufio.NewScanner(log)
	for lines.Scan() && !strings.Contains(lines.Text(), "ready to accept connections") {
	}
	go func() {
		for lines.Scan() { // so that it never waits for its log to be read
		}
	}()
	return "postgres://chant@127.0.0.1:" + port + "/postgres?sslmode=disable"
}

// Roots planned side by side for the first time, in a database that knows none of
// them yet, do not fail one another.
func TestRootsMeetInANewDatabase(t *testing.T) {
	t.Parallel()
	server, files := postgres(t), map[string]string{}
	const roots = 6
	for i := range roots {
		files[fmt.Sprintf("roots/r%d/main.tf", i)] = "terraform {\n  backend \"pg\" {}\n}\n" + `resource "terraform_data" "it" {}` + "\n"
	}
	s := newSite(t, files)
	d := s.driver()
	planned := make(chan error, roots)
	for i := range roots {
		target := s.member(fmt.Sprintf("r%d", i), `{}`).Target
		target.Root.BackendConfig = map[string]string{"conn_str": server, "schema_name": target.Root.Name}
		target.RunDir = shortDir(t)
		go func() {
			p, err := d.Plan(t.Context(), target, nil)
			if err == nil && p.NoChanges {
				err = fmt.Errorf("%s: nothing is planned", target.Root.Name)
			}
			planned <- err
		}()
	}
	for range roots {
		if err := <-planned; err != nil {
			t.Error(err)
		}
	}
}

func TestAGroupIsAppliedBehindEveryWall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{exec.WallBwrap, exec.WallUser, exec.WallNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wall, err := exec.DetectWall(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t, groupRoots())
			g := s.grouper(func(c *Config) { c.Wall = wall })
			target := s.netAndApp()
			for i, cidr := range []string{"10.0.0.0/8", "10.9.0.0/16"} {
				s.write(s.checkout, map[string]string{"roots/net/net.auto.tfvars": `cidr = "` + cidr + `"` + "\n"})
				target.RunDir = shortDir(t)
				out := s.applyGroup(g, s.planGroup(g, target))
				if statuses(out) != "net applied, app applied" {
					t.Fatalf("apply %d: %s: %+v", i, statuses(out), out)
				}
			}
			s.noLeftovers()
		})
	}
}

// Every backend that groups take in, but for the local one, of which the other
// tests tell: its lock is held by a console, from the pull to the push, and a push
// under it is taken.
func TestAGroupsStatesInProvenBackends(t *testing.T) {
	t.Parallel()
	server := postgres(t)
	for kind, config := range map[string]func(name string) map[string]string{
		"pg": func(name string) map[string]string { return map[string]string{"conn_str": server, "schema_name": name} },
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			files := groupRoots()
			for name, content := range files {
				files[name] = strings.Replace(content, `backend "local"`, `backend "`+kind+`"`, 1)
			}
			s := newSite(t, files)
			g := s.grouper()
			target := s.netAndApp()
			for i := range target.Members {
				root := &target.Members[i].Target.Root
				root.BackendConfig = config(root.Name)
			}
			p, err := g.PlanGroup(t.Context(), target, nil)
			if err != nil || len(p.Fallbacks) != 2 || p.Fallbacks[0].Kind != report.FallbackBackend {
				t.Fatalf("before the first states: %+v, %v", p.Fallbacks, err)
			}
			for i, values := range []string{`{}`, `{"net":"10.0.0.0/8"}`} {
				s.apply(s.driver(), s.alone(target.Members[i], values))
			}
			s.write(s.checkout, map[string]string{"roots/net/net.auto.tfvars": `cidr = "10.9.0.0/16"` + "\n"})
			delete(target.Members[1].Target.Vars, "net")
			target.RunDir = shortDir(t)
			p = s.planGroup(g, target)
			binary, err := tool()
			if err != nil {
				t.Fatal(err)
			}
			locked := 0
			g.passed = func(step string) {
				if step == stepDone {
					return
				}
				for _, name := range []string{"net", "app"} {
					out, err := osexec.Command(binary, "-chdir="+filepath.Join(s.checkout, "roots", name), "plan", "-input=false").CombinedOutput()
					if err == nil || !strings.Contains(string(out), "state lock") {
						t.Errorf("a plan of %s after %s: %v, %s", name, step, err, out)
					}
					locked++
				}
			}
			if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" || locked == 0 {
				t.Fatalf("%s, %d plans beside it: %+v", statuses(out), locked, out)
			}
			for i, values := range []string{`{}`, `{"net":"10.9.0.0/16"}`} {
				if p := s.alone(target.Members[i], values); !p.NoChanges {
					t.Errorf("%s alone: %v", p.Target.Member, entries(p))
				}
			}
		})
	}
}
