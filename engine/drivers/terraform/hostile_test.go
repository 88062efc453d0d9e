package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

const loot = "never-to-be-read"

// newServer is a directory of the server's with a token and another root's
// state.
func newServer(t *testing.T) string {
	t.Helper()
	dir := shortDir(t)
	state := `{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"x","outputs":{"loot":{"value":"` + loot + `","type":"string"}},"resources":[]}`
	for name, content := range map[string]string{"token": loot, "other.tfstate": state} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A plan needs no provider to read files: functions and the built-in state
// reader do it while a pull request is planned. This is the shortest way to
// everything a server has.
func hostileFiles(server string) string {
	return backend + `
output "token" { value = try(file("` + server + `/token"), "nothing") }
output "files" { value = join(",", fileset("` + server + `", "**")) }
output "environ" { value = try(file("/proc/` + strconv.Itoa(os.Getpid()) + `/environ"), "nothing") }
output "own" { value = try(file("${path.module}/own"), "nothing") }
`
}

func hostileState(server string) string {
	return backend + `
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "` + server + `/other.tfstate" }
}
output "state" { value = data.terraform_remote_state.other.outputs.loot }
`
}

func TestAHostilePlanReadsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{exec.WallBwrap, exec.WallUser} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wall, err := exec.DetectWall(t.Context(), name)
			if name == exec.WallUser && os.Geteuid() != 0 {
				t.Skip("isolation by user needs root")
			}
			if err != nil {
				t.Fatal(err)
			}
			server := newServer(t)
			s := newSite(t, map[string]string{"roots/net/main.tf": hostileFiles(server), "roots/net/own": "own"})
			d := s.driver(func(c *Config) { c.Wall = wall })
			got, err := shownOutputs(d, s.plan(d))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"token": `"nothing"`, "files": `""`, "environ": `"nothing"`, "own": `"own"`}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("what it saw (-want +got):\n%s", diff)
			}

			s = newSite(t, map[string]string{"roots/net/main.tf": hostileState(server)})
			d = s.driver(func(c *Config) { c.Wall = wall })
			_, err = d.Plan(context.Background(), s.target, s.lines.add)
			if err == nil || !strings.Contains(err.Error(), "state") || strings.Contains(err.Error()+s.lines.text(), loot) {
				t.Errorf("reading another root's state gave %v", err)
			}
		})
	}
}

// Without a wall the same roots do read it all, so the test above proves
// something.
func TestTheHostilePlanWouldReadItAllWithoutAWall(t *testing.T) {
	t.Parallel()
	none, err := exec.DetectWall(t.Context(), exec.WallNone)
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(t)
	for output, main := range map[string]string{"token": hostileFiles(server), "state": hostileState(server)} {
		s := newSite(t, map[string]string{"roots/net/main.tf": main})
		d := s.driver(func(c *Config) { c.Wall = none })
		got, err := shownOutputs(d, s.plan(d))
		if err != nil || got[output] != `"`+loot+`"` {
			t.Errorf("%s is %s, %v", output, got[output], err)
		}
	}
}

// An apply runs provisioners; approved code too stays in its walls.
func TestAHostileProvisionerFindsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	server, other := newServer(t), shortDir(t)
	if err := os.WriteFile(filepath.Join(other, "main.tf"), []byte(loot), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newSite(t, nil)
	script := `cat /proc/*/environ "$1"/* "$2"/* "$HOME"/.terraformrc; ls -l "$3"; echo owned >"$1/token"; echo ran; exit 0` + "\n"
	s.write(s.checkout, map[string]string{
		"roots/net/steal.sh": script,
		"roots/net/main.tf": backend + `
resource "terraform_data" "d" {
  provisioner "local-exec" { command = "sh steal.sh ` + server + ` ` + other + ` ` + s.target.RunDir + `" }
}
`,
	})
	d := s.driver()
	s.apply(d, s.plan(d))
	log := s.lines.text()
	if !strings.Contains(log, "(local-exec): ran") {
		t.Errorf("the provisioner did not run: %q", log)
	}
	for _, found := range []string{loot, "(local-exec): -r"} { // a token; a listing of the saved plans
		if strings.Contains(log, found) {
			t.Errorf("it found %s:\n%s", found, log)
		}
	}
	if data, err := os.ReadFile(filepath.Join(server, "token")); err != nil || string(data) != loot {
		t.Errorf("the token is now %q, %v", data, err)
	}
}
