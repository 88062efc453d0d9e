package terraform

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/sealed"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
	"github.com/chant-bot/chant/engine/project"
)

// groupRoots are net, whose address is known after its apply, and app, which
// reads it.
func groupRoots() map[string]string {
	return map[string]string{
		"roots/net/main.tf": backend + `
variable "cidr" { type = string }
resource "terraform_data" "net" { input = var.cidr }
output "cidr" { value = terraform_data.net.output }
output "secret" {
  value     = "hidden-${terraform_data.net.output}"
  sensitive = true
}
`,
		"roots/net/net.auto.tfvars": `cidr = "10.0.0.0/8"` + "\n",
		"roots/app/main.tf": backend + `
variable "net" { type = string }
variable "names" { type = list(string) }
resource "terraform_data" "app" {
  for_each = toset(var.names)
  input    = "${each.key} in ${var.net}"
}
output "apps" { value = [for a in terraform_data.app : a.output] }
`,
	}
}

// member makes a root of the site's checkout a member of a group.
func (s *site) member(name string, vars string, reads ...engine.GroupRead) engine.GroupMember {
	s.t.Helper()
	target := engine.Target{
		Member: name,
		Root: project.Root{
			Name: name, Dir: "roots/" + name, File: "chant.config.json", Line: 3,
			BackendConfig: map[string]string{"path": s.statePath(name)},
		},
		ProjectDir: s.checkout, Worktree: s.checkout, RunDir: shortDir(s.t), Vars: map[string]digest.Value{},
	}
	if vars != "" {
		v := s.decode(vars)
		for i, key := range v.Keys() {
			target.Vars[key] = v.At(i)
		}
	}
	return engine.GroupMember{Target: target, Reads: reads}
}

func (s *site) decode(text string) digest.Value {
	s.t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		s.t.Fatal(err)
	}
	return v
}

func (s *site) statePath(name string) string { return filepath.Join(s.state, name+".tfstate") }

func reads(member, output string, path ...string) engine.GroupRead {
	return engine.GroupRead{Member: member, Output: output, Path: path}
}

// netAndApp is the group of groupRoots.
func (s *site) netAndApp() engine.GroupTarget {
	s.t.Helper()
	return engine.GroupTarget{Group: "g1", RunDir: shortDir(s.t), Members: []engine.GroupMember{
		s.member("net", ""),
		s.member("app", `{"names":["a","${b}"]}`, reads("net", "cidr", "net")),
	}}
}

func groupKey(t testing.TB) sealed.Key {
	t.Helper()
	key, err := sealed.ParseKey([]byte(strings.Repeat("0a", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (s *site) grouper(change ...func(*Config)) *Grouper {
	s.t.Helper()
	g, err := s.driver(change...).Grouper(groupKey(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	return g
}

func (s *site) planGroup(g *Grouper, t engine.GroupTarget) engine.PlannedGroup {
	s.t.Helper()
	p, err := g.PlanGroup(context.Background(), t, s.lines.add)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(p.Fallbacks) > 0 {
		s.t.Fatalf("it fell back: %+v", p.Fallbacks)
	}
	marks(s.state, &p.Target)
	return p
}

func (s *site) applyGroup(g *Grouper, p engine.PlannedGroup) engine.GroupOutcome {
	s.t.Helper()
	out, err := g.ApplyGroup(context.Background(), p, s.lines.add)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// stateOf is the state in a member's backend.
func (s *site) stateOf(name string) digest.Value {
	s.t.Helper()
	data, err := os.ReadFile(s.statePath(name))
	if os.IsNotExist(err) || err == nil && len(data) == 0 { // tofu makes the file when it locks it
		return digest.Value{}
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return s.decode(string(data))
}

func serialOf(t *testing.T, state digest.Value) int64 {
	t.Helper()
	n, err := states.Serial(state)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// alone plans a member by itself; reads get the values given.
func (s *site) alone(m engine.GroupMember, values string) engine.Planned {
	s.t.Helper()
	target := m.Target
	target.RunDir = shortDir(s.t)
	v := s.decode(values)
	for i, key := range v.Keys() {
		target.Vars[key] = v.At(i)
	}
	p, err := s.driver().Plan(context.Background(), target, s.lines.add)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func statuses(out engine.GroupOutcome) string {
	var all []string
	for _, m := range out.Members {
		all = append(all, m.Member+" "+string(m.Status))
	}
	return strings.Join(all, ", ")
}

func groupEntries(p engine.PlannedGroup) []string {
	var all []string
	for _, m := range p.Members {
		for _, e := range m.Part.Entries {
			all = append(all, m.Member+": "+string(e.Action)+" "+e.Address)
		}
	}
	slices.Sort(all)
	return all
}

// noLeftovers fails when anything of an apply is still held, journaled or kept.
func (s *site) noLeftovers() {
	s.t.Helper()
	for _, dir := range []string{"groups", "kept"} {
		if entries, err := os.ReadDir(filepath.Join(s.state, dir)); err == nil && len(entries) > 0 {
			s.t.Errorf("%s holds %v", dir, entries)
		}
	}
	if s.marked() {
		s.t.Error("the others are told of an apply that ended")
	}
	locks, err := filepath.Glob(filepath.Join(s.state, ".*.lock.info"))
	if err != nil || len(locks) > 0 {
		s.t.Errorf("states are locked: %v, %v", locks, err)
	}
}

// A member may come after another that configures its providers, without reading.
func TestAMemberOfAGroupComesAfterAnotherThatItDoesNotRead(t *testing.T) {
	t.Parallel()
	s := newSite(t, nil)
	made := filepath.Join(s.state, "made")
	s.write(s.checkout, map[string]string{
		"roots/net/main.tf": backend + "provider \"terraform\" {}\nresource \"terraform_data\" \"net\" {\n  provisioner \"local-exec\" {\n    command     = \"touch " + made + "\"\n    working_dir = path.module\n  }\n}\n",
		"roots/app/main.tf": backend + "resource \"terraform_data\" \"app\" {\n  provisioner \"local-exec\" {\n    command     = \"test -f " + made + "\"\n    working_dir = path.module\n  }\n}\n",
	})
	target := engine.GroupTarget{Group: "g1", RunDir: shortDir(t), Members: []engine.GroupMember{s.member("net", ""), s.member("app", "")}}
	target.Members[1].After = []string{"net"}
	g := s.grouper()
	if out := s.applyGroup(g, s.planGroup(g, target)); statuses(out) != "net applied, app applied" {
		t.Errorf("%s: %s", statuses(out), out.Error)
	}
}

func TestAGroupOfAWorkspaceKeepsItsStatesThere(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/net/main.tf"] = strings.ReplaceAll(files["roots/net/main.tf"], `input = var.cidr`, `input = "${var.cidr} ${terraform.workspace}"`)
	s := newSite(t, files)
	target := s.netAndApp()
	for i := range target.Members {
		root := &target.Members[i].Target.Root
		dir := filepath.Join(s.state, root.Name)
		root.Workspace, root.BackendConfig = "prod", map[string]string{"workspace_dir": dir}
		if err := os.MkdirAll(filepath.Join(dir, "prod"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	g := s.grouper()
	p := s.planGroup(g, target)
	if out := s.applyGroup(g, p); statuses(out) != "net applied, app applied" || text(out.Members[0].Outputs["cidr"].Value) != `"10.0.0.0/8 prod"` || p.Members[0].Part.Member.Scope != "prod" {
		t.Errorf("%s: %+v", statuses(out), out)
	}
	if _, err := os.Stat(filepath.Join(s.state, "app", "prod", "terraform.tfstate")); err != nil {
		t.Error(err)
	}
}

// What reads a secret, or hands it on unmarked, shows none of its attributes, and its
// provisioners say nothing (pr-loop decision 9).
func TestWhatReadsASecretIsHidden(t *testing.T) {
	t.Parallel()
	files := groupRoots()
	files["roots/app/main.tf"] = strings.Replace(files["roots/app/main.tf"], "  input ", `  provisioner "local-exec" {
    command     = "echo told ${self.input}"
    working_dir = "/"
  }
  input `, 1)
	files["roots/edge/main.tf"] = backend + `
variable "apps" { type = list(string) }
resource "terraform_data" "edge" {
  input = join(" ", var.apps)
  lifecycle {
    postcondition {
      condition     = self.input != "never"
      error_message = "not this"
    }
  }
}
`
	s := newSite(t, files)
	target := s.netAndApp()
	target.Members[1].Reads = []engine.GroupRead{reads("net", "secret", "net")}
	target.Members = append(target.Members, s.member("edge", "", reads("app", "apps", "apps")))
	g := s.grouper()
	s.applyGroup(g, s.planGroup(g, target))
	s.write(s.checkout, map[string]string{"roots/net/net.auto.tfvars": `cidr = "10.9.0.0/16"` + "\n"})
	target.RunDir = shortDir(t)
	p := s.planGroup(g, target)
	for _, m := range p.Members {
		if shown := fmt.Sprintf("%+v", m.Part); strings.Contains(shown, "hidden-") {
			t.Errorf("%s shows it: %s", m.Member, shown)
		}
	}
	if s.applyGroup(g, p); strings.Contains(s.lines.text(), "hidden-") {
		t.Errorf("the log shows it:\n%s", s.lines.text())
	}
	// One that fails over it.
	s.write(s.checkout, map[string]string{
		"roots/net/net.auto.tfvars": `cidr = "10.10.0.0/16"` + "\n", "roots/edge/main.tf": strings.Replace(files["roots/edge/main.tf"], `self.input != "never"`, `self.input == "never"`, 1),
	})
	target.RunDir = shortDir(t)
	if out := s.applyGroup(g, s.planGroup(g, target)); !strings.Contains(out.Error, "not this") || strings.Contains(out.Error, "hidden-") {
		t.Errorf("its failure says %q", out.Error)
	}
}

// A value from outside that is a secret is one in a plan of a root alone, too: it is not
// shown, and what is approved is the plan with it.
func TestAPlanWithASecretShowsNone(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": backend + `
variable "from" { type = string }
resource "terraform_data" "net" {
  input = "reads ${var.from}"
  provisioner "local-exec" { command = "echo told ${self.input}" }
}
output "again" { value = var.from }
`})
	d := s.driver()
	digests := map[string]bool{}
	for _, secret := range []string{"hidden-one", "hidden-two"} {
		value := digest.StringOf(secret)
		s.target.Vars = map[string]digest.Value{"from": value}
		s.target.Secrets = []digest.Value{value}
		s.target.RunDir = shortDir(t)
		p, err := d.Plan(t.Context(), s.target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if shown := fmt.Sprintf("%+v", p.Part); strings.Contains(shown, "hidden-") || !p.Part.Entries[0].Attributes[1].Sensitive {
			t.Errorf("it shows %s", shown)
		}
		digests[p.Part.Member.PlanDigest.String()] = true
		if out, err := d.Apply(t.Context(), p, s.lines.add); err != nil || out.Error != "" {
			t.Error(out.Error, err)
		}
	}
	if len(digests) != 2 {
		t.Errorf("plans with other secrets have the digests %v", digests)
	}
	if strings.Contains(s.lines.text(), "hidden-") || !strings.Contains(s.lines.text(), "told reads ***") {
		t.Errorf("the log shows it:\n%s", s.lines.text())
	}
}
