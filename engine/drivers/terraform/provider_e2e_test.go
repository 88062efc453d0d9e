//go:build e2e

package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

const probeRoot = `terraform {
  backend "local" {}
  required_providers {
    probe = { source = "example.test/chant/probe" }
  }
}
variable "script" { default = "echo hello" }
data "probe_command" "c" { script = var.script }
resource "probe_thing" "t" {
  value  = data.probe_command.c.output
  secret = "hidden-value"
}
output "said" { value = data.probe_command.c.output }
`

func TestAProviderWorksBehindEveryWall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{exec.WallBwrap, exec.WallUser, exec.WallNone} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wall, err := exec.DetectWall(t.Context(), name)
			if err != nil {
				t.Fatal(err)
			}
			s := newSite(t, map[string]string{"roots/net/main.tf": probeRoot})
			d := s.driver(func(c *Config) { c.Wall, c.Mirror = wall, mustMirror(t) })
			p := s.plan(d)
			if got := entries(p); len(got) != 1 || got[0] != "create probe_thing.t" {
				t.Errorf("entries %v", got)
			}
			if out := s.apply(d, p); text(out.Outputs["said"].Value) != `"hello\n"` {
				t.Errorf("outputs %v", out.Outputs)
			}
			if p := s.replan(d); !p.NoChanges {
				t.Errorf("changes after the apply: %v", entries(p))
			}
		})
	}
}

func TestSharedProvidersAreReadOnlyToParallelRuns(t *testing.T) {
	t.Parallel()
	shared := mustMirror(t)
	pool := exec.NewPool(3)
	var wg sync.WaitGroup
	for i := range 6 {
		s := newSite(t, map[string]string{"roots/net/main.tf": probeRoot})
		s.target.Vars = map[string]digest.Value{"script": digest.StringOf("ls -d " + shared + " && ! touch " + shared + "/x")}
		d := s.driver(func(c *Config) { c.Mirror, c.Pool = shared, pool })
		wg.Go(func() {
			if _, err := d.Plan(context.Background(), s.target, nil); err != nil {
				t.Errorf("root %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// What an external data source of a pull request could try while it is
// planned.
func TestAHostileDataSourceFindsNothingOfTheServer(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	script := `exec 2>/dev/null; cat /proc/*/environ /proc/$PPID/environ ` + server + `/* 2>/dev/null; ls ` + os.TempDir() +
		`; echo owned >` + server + `/token; echo poison >>$(find / -xdev -name 'terraform-provider-probe*' 2>/dev/null | head -1); true`
	s := newSite(t, map[string]string{"roots/net/main.tf": probeRoot})
	s.target.Vars = map[string]digest.Value{"script": digest.StringOf(script)}
	d := s.driver(func(c *Config) { c.Mirror = mustMirror(t) })
	got, err := shownOutputs(d, s.plan(d))
	if err != nil {
		t.Fatal(err)
	}
	said := got["said"]
	if !strings.Contains(said, "TF_IN_AUTOMATION") {
		t.Errorf("it did not run: %s", said)
	}
	for _, found := range []string{loot, filepath.Base(server)} {
		if strings.Contains(said, found) {
			t.Errorf("it found %s in %s", found, said)
		}
	}
	if data, err := os.ReadFile(filepath.Join(server, "token")); err != nil || string(data) != loot {
		t.Errorf("the token is now %q, %v", data, err)
	}
}
