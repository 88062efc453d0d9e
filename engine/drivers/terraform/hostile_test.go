package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

const loot = "never-to-be-read"

// A plan needs no provider to read files: functions and the built-in state
// reader do it while a pull request is planned.
func TestAHostilePlanReadsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	for _, name := range []string{exec.WallBwrap, exec.WallUser} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == exec.WallUser && os.Geteuid() != 0 {
				t.Skip("isolation by user needs root")
			}
			wall, err := exec.DetectWall(name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t, nil)
			server := shortDir(t)
			for _, file := range []string{"token", "other.tfstate"} {
				if err := os.WriteFile(filepath.Join(server, file), []byte(`{"version":4,"serial":1,"lineage":"x","outputs":{"loot":{"value":"`+loot+`","type":"string"}}}`), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			s.write(s.checkout, map[string]string{"roots/net/main.tf": backend + `
data "terraform_remote_state" "other" {
  backend = "local"
  config  = { path = "` + server + `/other.tfstate" }
  defaults = { loot = "nothing" }
}
output "state" { value = try(data.terraform_remote_state.other.outputs.loot, "nothing") }
output "token" { value = try(file("` + server + `/token"), "nothing") }
output "clone" { value = join(",", fileset("` + server + `", "**")) }
output "environ" { value = try(file("/proc/1/environ"), "nothing") }
output "parent" { value = try(file("/proc/` + itoa(os.Getpid()) + `/environ"), "nothing") }
`})
			d := s.driver(func(c *Config) { c.Wall = wall })
			p, err := d.Plan(context.Background(), s.target, s.lines.add)
			if err == nil {
				var out map[string]string
				out, err = shownOutputs(d, p)
				t.Logf("it saw %v", out)
				for key, got := range out {
					if got != `"nothing"` && got != `""` && !strings.Contains(got, "TF_IN_AUTOMATION") {
						t.Errorf("output %s saw %s", key, got)
					}
				}
			}
			if strings.Contains(s.lines.text(), loot) || err != nil && strings.Contains(err.Error(), loot) {
				t.Errorf("the loot was printed: %q, %v", s.lines.text(), err)
			}
		})
	}
}

// An apply runs provisioners; approved code too stays in its walls.
func TestAHostileProvisionerFindsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	server, other := shortDir(t), shortDir(t)
	for _, file := range []string{filepath.Join(server, "token"), filepath.Join(other, "main.tf")} {
		if err := os.WriteFile(file, []byte(loot), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := "cat /proc/*/environ " + server + "/* " + other + "/* $HOME/.terraformrc; ls " + filepath.Dir(s.target.RunDir) + "; ls -d " + s.target.RunDir + "/*; echo owned >" + server + "/token; echo ran"
	s.write(s.checkout, map[string]string{"roots/net/main.tf": backend + "resource \"terraform_data\" \"d\" {\n  provisioner \"local-exec\" {\n    command = \"" + command + "\"\n  }\n}\n"})
	d := s.driver()
	s.apply(d, s.plan(d))
	log := s.lines.text()
	if !strings.Contains(log, "(local-exec): ran") {
		t.Errorf("the provisioner did not run: %q", log)
	}
	for _, found := range []string{loot, filepath.Base(server), planFile} {
		if strings.Contains(strings.ReplaceAll(log, command, ""), found+"\n") {
			t.Errorf("it found %s:\n%s", found, log)
		}
	}
	if data, err := os.ReadFile(filepath.Join(server, "token")); err != nil || string(data) != loot {
		t.Errorf("the token is now %q, %v", data, err)
	}
}
