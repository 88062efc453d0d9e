package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

const netRoot = backend + `
variable "cidr" { default = "10.0.0.0/8" }
resource "terraform_data" "net" { input = var.cidr }
output "cidr" { value = terraform_data.net.output }
output "key" {
  value     = "k-${var.cidr}"
  sensitive = true
}
`

func TestPlanApplyAndReadBack(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	scratch := shortDir(t)
	d := s.driver(func(c *Config) { c.TempDir = scratch })

	outputs, err := d.Outputs(context.Background(), s.target)
	if err != nil || len(outputs) != 0 {
		t.Errorf("a root never applied has outputs %v, %v", outputs, err)
	}

	p := s.plan(d)
	if diff := cmp.Diff([]string{"create terraform_data.net"}, entries(p)); diff != "" || p.NoChanges {
		t.Errorf("first plan: no changes %v, entries (-want +got):\n%s", p.NoChanges, diff)
	}
	binary, version := toolVersion(t)
	if name := filepath.Base(binary); p.Engine != name+" "+version || p.Part.Member.Planner != name || p.Part.Member.PlanDigest == nil {
		t.Errorf("engine %q, member %+v", p.Engine, p.Part.Member)
	}
	if info, err := os.Stat(p.File); err != nil || info.Mode().Perm()&0o222 != 0 || within(s.checkout, p.File) {
		t.Errorf("the saved plan %s: %v, %v", p.File, info, err)
	}

	out := s.apply(d, p)
	want := map[string]string{"cidr": `"10.0.0.0/8"`, "key": `"k-10.0.0.0/8"`}
	for name, value := range want {
		if got := out.Outputs[name]; text(got.Value) != value || got.Sensitive != (name == "key") {
			t.Errorf("output %s is %s, sensitive %v", name, text(got.Value), got.Sensitive)
		}
	}
	if log := s.lines.text(); !strings.Contains(log, "Apply complete!") || !strings.Contains(log, "successfully initialized") {
		t.Errorf("the sink saw %q", log)
	}
	read, err := d.Outputs(context.Background(), s.target)
	if err != nil || !cmp.Equal(out.Outputs, read) {
		t.Errorf("outputs read later differ: %v, %v", read, err)
	}
	if p := s.replan(d); !p.NoChanges {
		t.Errorf("the second plan has changes: %v", entries(p))
	}
	if left, err := os.ReadDir(scratch); err != nil || len(left) > 0 {
		t.Errorf("scratch directories are left: %v, %v", left, err)
	}
}

func TestVariablesWinOverVarFilesAndKeepTheirTypes(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{
		"roots/net/main.tf": backend + `
variable "name" { type = string }
variable "tags" { type = map(list(number)) }
variable "on" { type = bool }
variable "size" { type = number }
variable "file" { type = string }
output "all" { value = [var.name, var.tags, var.on, var.size, var.file] }
`,
		"roots/net/0.auto.tfvars": `name = "found"` + "\n" + `file = "found"`, // read by the tool itself
		"roots/net/a.tfvars":      `name = "a"` + "\n" + `file = "a"`,
		"roots/net/b.tfvars":      `file = "b"`,
	})
	vars, err := digest.Decode([]byte(`{"name":"${x} \"quoted\" = y","tags":{"t":[1,2.5]},"on":false,"size":12345678901234567890}`))
	if err != nil {
		t.Fatal(err)
	}
	s.target.Root.VarFiles = []string{"a.tfvars", "b.tfvars"}
	s.target.Vars = map[string]digest.Value{"absent": {}}
	for _, k := range vars.Keys() {
		s.target.Vars[k] = vars.Get(k)
	}
	d := s.driver()
	out := s.apply(d, s.plan(d))
	if got, want := text(out.Outputs["all"].Value), `["${x} \"quoted\" = y",{"t":[1,2.5]},false,12345678901234567890,"b"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// An output that another root reads may be longer than an argument of a process can be,
// and hold what looks like a template of the tool's.
func TestAReadValueIsGivenAsItIs(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": backend + `
variable "net" { type = object({ a = string, l = list(string), n = number, z = string }) }
variable "any" { type = any }
variable "list" { type = list(string) }
variable "none" {
  type    = string
  default = "other"
}
variable "long" { type = string }
output "all" { value = [var.net, var.any, var.list, var.none, length(var.long)] }
`})
	const net = `{"a":"${1+1}","l":["%{if true}x%{endif}","\u2028\n"],"n":12345678901234567890.25,"z":null}`
	vars, err := digest.Decode([]byte(`{"net":` + net + `,"any":{"k":"$${x}"},"list":"[\"x\"]","none":null,"long":"` + strings.Repeat("x", 200_000) + `"}`))
	if err != nil {
		t.Fatal(err)
	}
	s.target.Vars = map[string]digest.Value{}
	for _, k := range vars.Keys() {
		s.target.Vars[k] = vars.Get(k)
	}
	d := s.driver()
	want, err := digest.Decode([]byte(`[` + net + `,{"k":"$${x}"},["x"],null,200000]`))
	if err != nil {
		t.Fatal(err)
	}
	if got := s.apply(d, s.plan(d)).Outputs["all"].Value; !digest.Equal(got, want) {
		t.Errorf("got %s, want %s", text(got), text(want))
	}

	s.target.Vars["lsit"] = digest.StringOf("x")
	if _, err := d.Plan(t.Context(), s.target, nil); err == nil || !strings.Contains(err.Error(), `it declares no variable lsit; correct the step's "vars"`) {
		t.Errorf("a variable that is not declared: %v", err)
	}
}

func TestALocalModuleBesideTheRootAndAFreshCheckoutAtApply(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"roots/net/main.tf": backend + "module \"m\" {\n  source = \"../../modules/m\"\n}\noutput \"m\" {\n  value = module.m.v\n}\n",
		"modules/m/main.tf": "resource \"terraform_data\" \"d\" {\n  input = file(\"${path.module}/text\")\n}\noutput \"v\" {\n  value = terraform_data.d.output\n}\n",
		"modules/m/text":    "from the module",
	}
	s := newSite(t, files)
	d := s.driver()
	p := s.plan(d)
	fresh := shortDir(t)
	s.write(fresh, files)
	p.Target.Worktree, p.Target.ProjectDir = fresh, fresh
	if err := os.RemoveAll(s.checkout); err != nil {
		t.Fatal(err)
	}
	if out := s.apply(d, p); text(out.Outputs["m"].Value) != `"from the module"` {
		t.Errorf("outputs %v", out.Outputs)
	}
}

func TestAStalePlanIsAFailedOutcomeAndAppliesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	first := s.plan(d)
	second := s.replan(d)
	s.apply(d, first)
	out, err := d.Apply(context.Background(), second, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.Error, "root net") || !strings.Contains(out.Error, "stale") || out.Moved || out.Unknown {
		t.Errorf("got %+v", out)
	}
}

func TestAPlanIsAppliedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	p := s.plan(d)
	s.apply(d, p)
	if _, err := d.Apply(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("a second apply gave %v", err)
	}
}

func TestASwappedPlanIsRefusedAndAppliesNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver()
	p := s.plan(d)
	s.target.Vars = map[string]digest.Value{"cidr": digest.StringOf("6.6.6.0/24")}
	other := s.replan(d)
	if err := os.Rename(other.File, p.File); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(context.Background(), p, nil); err == nil || !strings.Contains(err.Error(), "root net is not the one that was made") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(s.state, "net.tfstate")); !os.IsNotExist(err) {
		t.Errorf("there is a state: %v", err)
	}
}

func TestAPlanThatIsNoPlainFileIsRefused(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a link":      func(path string) error { return os.Symlink("/etc/hostname", path) },
		"a directory": func(path string) error { return os.Mkdir(path, 0o700) },
		"nothing":     func(string) error { return nil },
	} {
		from, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		to, err := os.OpenRoot(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if err := put(filepath.Join(from.Name(), savedPlan)); err != nil {
			t.Fatal(err)
		}
		if _, err := takeFile(from, savedPlan, to, planFile); err == nil {
			t.Errorf("%s was taken for a saved plan", name)
		}
		if _, err := to.Stat(planFile); err == nil {
			t.Errorf("%s was copied", name)
		}
	}
}

func TestWorkspacesKeepStatesApart(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": backend + "output \"w\" {\n  value = terraform.workspace\n}\n"})
	s.target.Root.BackendConfig = map[string]string{"workspace_dir": filepath.Join(s.state, "ws")}
	d := s.driver()
	for _, name := range []string{"staging", "prod"} {
		s.target.Root.Workspace = name
		if err := os.MkdirAll(filepath.Join(s.state, "ws", name), 0o777); err != nil {
			t.Fatal(err)
		}
		p := s.replan(d)
		if out := s.apply(d, p); text(out.Outputs["w"].Value) != `"`+name+`"` || p.Part.Member.Scope != name {
			t.Errorf("%s: outputs %v, scope %q", name, out.Outputs, p.Part.Member.Scope)
		}
	}
}

func TestTwoRootsOfOneDirectoryPlannedTogetherDoNotMix(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	d := s.driver(func(c *Config) { c.Pool = exec.NewPool(2) })
	var wg sync.WaitGroup
	for _, name := range []string{"one", "two", "three", "four"} {
		target := s.target
		target.Member, target.Root.Name = name, name
		target.RunDir = shortDir(t)
		target.Root.BackendConfig = map[string]string{"path": filepath.Join(s.state, name+".tfstate")}
		target.Vars = map[string]digest.Value{"cidr": digest.StringOf(name)}
		wg.Go(func() {
			p, err := d.Plan(context.Background(), target, nil)
			if err != nil {
				t.Error(err)
				return
			}
			out, err := d.Apply(context.Background(), p, nil)
			if err != nil || text(out.Outputs["cidr"].Value) != `"`+name+`"` {
				t.Errorf("%s: %+v, %v", name, out, err)
			}
		})
	}
	wg.Wait()
}

// The wrapper logs each run of the tool and stands for a second one.
func TestTheToolIsRunNoMoreOftenThanNeeded(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot, "roots/net/x.tfvars": ""})
	bin, log := shortDir(t), filepath.Join(s.state, "log")
	binary, version := toolVersion(t)
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\nexec " + binary + " \"$@\"\n"
	tofu := filepath.Join(bin, "tofu")
	if err := os.WriteFile(tofu, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s.target.Root.VarFiles = []string{"x.tfvars"}
	s.target.Root.BackendConfig["workspace_dir"] = filepath.Join(s.state, "ws")
	s.target.Vars = map[string]digest.Value{"cidr": digest.StringOf("z")}
	d := s.driver(func(c *Config) { c.Binary, c.Writable = tofu, append(c.Writable, filepath.Dir(binary)) })
	var made []string // the run before each plan was said to be made
	s.target.Made = func() {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Error(err)
		}
		lines := strings.Split(strings.TrimSpace(string(data)), "\n")
		verb, _, _ := strings.Cut(lines[len(lines)-1], " ")
		made = append(made, verb)
	}
	p := s.plan(d)
	if p.Engine != "tofu "+version || p.Part.Member.Planner != "tofu" {
		t.Errorf("engine %q, planner %q", p.Engine, p.Part.Member.Planner)
	}
	s.replan(d)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(data)) {
		fields := strings.Fields(line)
		for i, f := range fields {
			if strings.HasPrefix(f, "-out=") || strings.HasPrefix(f, "-lock") || strings.HasSuffix(f, planFile) {
				fields[i] = ""
			}
			if strings.HasSuffix(f, "/"+stepVariables) {
				fields[i] = "-var-file=" + stepVariables
			}
		}
		got = append(got, strings.Join(strings.Fields(strings.Join(fields, " ")), " "))
	}
	once := []string{
		"init -input=false -no-color -backend-config=path=" + s.state + "/net.tfstate -backend-config=workspace_dir=" + s.state + "/ws",
		"plan -input=false -no-color -detailed-exitcode -var-file=x.tfvars -var-file=step.tfvars",
		"show -json",
	}
	want := append(append([]string{"version -json"}, once...), once...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"plan", "plan"}, made); diff != "" {
		t.Errorf("said to be made after (-want +got):\n%s", diff)
	}
}

func TestNewRefusesWhatCantWork(t *testing.T) {
	t.Parallel()
	none, err := exec.DetectWall(t.Context(), exec.WallNone)
	if err != nil {
		t.Fatal(err)
	}
	for name, cfg := range map[string]Config{
		"no wall":         {Binary: "terraform"},
		"no such binary":  {Binary: "no-such-terraform", Wall: none},
		"not a terraform": {Binary: "/bin/choudoufu", Wall: none},
	} {
		if _, err := New(cfg); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
