//go:build e2e

package terraform

import (
	"context"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/report"
)

// probeMember is a root with a resource of the test provider, configured there or
// not.
func probeMember(version, configuration string) string {
	return `terraform {
  backend "local" {}
  required_providers {
    probe = { source = "example.test/chant/probe", version = "` + version + `" }
  }
}
` + configuration + `
variable "value" { type = string }
resource "probe_thing" "t" { value = var.value }
output "value" { value = probe_thing.t.value }
`
}

// Resources are planned, applied and destroyed with the provider configuration that
// their root has, or with the empty one above it.
func TestAGroupUsesEachMembersOwnProviders(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"roots/net/main.tf": probeMember("1.0.0", `provider "probe" {}`), "roots/app/main.tf": probeMember("1.0.0", ""),
	})
	target := engine.GroupTarget{Group: "g1", RunDir: shortDir(t), Members: []engine.GroupMember{
		s.member("net", `{"value":"v"}`), s.member("app", "", reads("net", "value", "value")),
	}}
	g := s.grouper(func(c *Config) { c.Mirror = mustMirror(t) })
	if out := s.applyGroup(g, s.planGroup(g, target)); statuses(out) != "net applied, app applied" || text(out.Members[1].Outputs["value"].Value) != `"v"` {
		t.Fatalf("%s: %+v", statuses(out), out)
	}
	for name, root := range map[string]string{"net": probeMember("1.0.0", `provider "probe" {}`), "app": probeMember("1.0.0", "")} {
		before, _, _ := strings.Cut(root, "resource")
		s.write(s.checkout, map[string]string{"roots/" + name + "/main.tf": before + "output \"value\" {\n  value = \"\"\n}\n"})
	}
	target.RunDir = shortDir(t)
	p := s.planGroup(g, target)
	if got := strings.Join(groupEntries(p), ", "); got != "app: delete probe_thing.t, net: delete probe_thing.t" {
		t.Errorf("planned %s", got)
	}
	if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" || strings.Contains(s.stateOf("net").String()+s.stateOf("app").String(), "probe_thing") {
		t.Errorf("%s: %+v", statuses(out), out)
	}
	s.noLeftovers()
}

// Two versions of one provider can't be in one root.
func TestOneProviderInTwoVersionsIsAFallback(t *testing.T) {
	t.Parallel()
	both := shortDir(t)
	for _, version := range []string{"1.0.0", "2.0.0"} {
		to := filepath.Join(both, "example.test/chant/probe", version)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := osexec.Command("cp", "-r", filepath.Join(mustMirror(t), "example.test/chant/probe/1.0.0"), to).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	s := newSite(t, map[string]string{"roots/net/main.tf": probeMember("1.0.0", ""), "roots/app/main.tf": probeMember("2.0.0", "")})
	target := engine.GroupTarget{Group: "g1", RunDir: shortDir(t), Members: []engine.GroupMember{
		s.member("net", `{"value":"v"}`), s.member("app", "", reads("net", "value", "value")),
	}}
	p, err := s.grouper(func(c *Config) { c.Mirror = both }).PlanGroup(context.Background(), target, nil)
	if err != nil || len(p.Fallbacks) != 2 || p.Fallbacks[0].Kind != report.FallbackProvider ||
		!strings.Contains(p.Fallbacks[0].Reason, "net has version 1.0.0 of the provider example.test/chant/probe and app has version 2.0.0") {
		t.Errorf("%+v, %v", p.Fallbacks, err)
	}
}
