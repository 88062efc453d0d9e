//go:build e2e

package terraform

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// mirror builds the test provider into a filesystem mirror, once a test run.
var mirror = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "chant-mirror-")
	if err != nil {
		return "", err
	}
	pkg := filepath.Join(dir, "example.test/chant/probe/1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	build := osexec.Command("go", "build", "-trimpath", "-o", filepath.Join(pkg, "terraform-provider-probe_v1.0.0"), ".")
	build.Dir = "testdata/provider"
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the test provider: %w: %s", err, out)
	}
	return dir, osexec.Command("chmod", "-R", "a+rX", dir).Run()
})

func mustMirror(t *testing.T) string {
	t.Helper()
	dir, err := mirror()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

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
