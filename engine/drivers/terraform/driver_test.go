package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
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
	if p.Engine != "terraform 1.11.4" || p.Part.Member.Planner != "terraform" || p.Part.Member.PlanDigest == nil {
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
		"roots/net/a.tfvars": `name = "a"` + "\n" + `file = "a"`,
		"roots/net/b.tfvars": `file = "b"`,
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

func TestErrorsNameTheRootAndWhatToDo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		main   string
		change func(*engine.Target)
		want   []string
	}{
		"a syntax error":    {main: "resource \"x\" {", want: []string{"root net", "terraform init exited with 1", "main.tf line"}},
		"a failing plan":    {main: backend + "output \"o\" {\n  value = file(\"absent\")\n}\n", want: []string{"root net", "terraform plan exited with 1", "absent"}},
		"an unset variable": {main: backend + "variable \"v\" {}\n", want: []string{"root net", "\"v\""}},
		"a missing directory": {
			change: func(t *engine.Target) { t.Root.Dir = "roots/nat" },
			want:   []string{"chant.config.json:3", "roots/nat", "net", `correct "dir"`},
		},
		"a directory outside": {
			change: func(t *engine.Target) { t.Root.Dir = "../../etc" },
			want:   []string{"root net", `correct "dir"`},
		},
		"a var file outside": {
			change: func(t *engine.Target) { t.Root.VarFiles = []string{"../../../etc/hostname"} },
			want:   []string{"root net", `correct "varFiles"`},
		},
		"an absolute var file": {
			change: func(t *engine.Target) { t.Root.VarFiles = []string{"/etc/hostname"} },
			want:   []string{"root net", `correct "varFiles"`},
		},
		"a bad variable name": {
			main:   backend,
			change: func(t *engine.Target) { t.Vars = map[string]digest.Value{"a=b": digest.StringOf("c")} },
			want:   []string{"root net", `"a=b"`, `"vars"`},
		},
		"no backend":          {main: "output \"o\" {\n  value = 1\n}\n", change: noBackend, want: []string{"root net", "not kept", `"path"`}},
		"a relative state":    {main: backend, change: func(t *engine.Target) { t.Root.BackendConfig["path"] = "x.tfstate" }, want: []string{"root net", "not kept"}},
		"a state elsewhere":   {main: backend, change: func(t *engine.Target) { t.Root.BackendConfig["path"] = "/srv/x.tfstate" }, want: []string{"root net", "not kept"}},
		"a state by dots":     {main: backend, change: func(t *engine.Target) { t.Root.BackendConfig["path"] += "/../../x" }, want: []string{"root net", "not kept"}},
		"a workspace's state": {main: backend, change: func(t *engine.Target) { t.Root.Workspace = "prod" }, want: []string{"root net", `"workspace_dir"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, map[string]string{"roots/net/main.tf": tc.main})
			if tc.change != nil {
				tc.change(&s.target)
			}
			_, err := s.driver().Plan(context.Background(), s.target, nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %q", want, err)
				}
			}
		})
	}
}

func noBackend(t *engine.Target) { t.Root.BackendConfig = nil }

func TestARootLinkedFromOutsideIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/keep": ""})
	outside := shortDir(t)
	s.write(outside, map[string]string{"main.tf": netRoot})
	if err := os.Symlink(outside, filepath.Join(s.checkout, "roots/net")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.driver().Plan(context.Background(), s.target, nil); err == nil || !strings.Contains(err.Error(), "not a directory of the checkout") {
		t.Errorf("got %v", err)
	}
}

func TestAPersonsOwnCheckoutMayKeepItsState(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": "output \"o\" {\n  value = 1\n}\n"})
	s.target.Root.BackendConfig = nil
	d := s.driver(func(c *Config) { c.KeepsCheckout = true })
	s.apply(d, s.plan(d))
	if _, err := os.Stat(filepath.Join(s.checkout, "roots/net/terraform.tfstate")); err != nil {
		t.Error(err)
	}
}

func TestNothingOfTheMachineReachesTheTool(t *testing.T) {
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	broken := filepath.Join(t.TempDir(), "broken.tfrc")
	if err := os.WriteFile(broken, []byte("not a configuration {"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TF_CLI_CONFIG_FILE", broken)
	t.Setenv("TF_CLI_ARGS", "-no-such-flag")
	t.Setenv("TF_CLI_ARGS_plan", "-destroy")
	t.Setenv("TF_REATTACH_PROVIDERS", `{"x":{}}`)
	t.Setenv("TF_VAR_cidr", "6.6.6.0/24")
	t.Setenv("TF_WORKSPACE", "other")
	d := s.driver()
	if out := s.apply(d, s.plan(d)); text(out.Outputs["cidr"].Value) != `"10.0.0.0/8"` {
		t.Errorf("outputs %v", out.Outputs)
	}
}

func TestKeysThatChangeTheToolAreRefusedByName(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot})
	for _, key := range []string{"TF_CLI_ARGS", "TF_CLI_ARGS_apply", "TF_REATTACH_PROVIDERS", "TF_CLI_CONFIG_FILE", "TF_WORKSPACE", "TF_DATA_DIR", "LD_PRELOAD", "PATH"} {
		s.target.Credentials = []string{key + "=secret-value"}
		_, err := s.driver().Plan(context.Background(), s.target, nil)
		if err == nil || !strings.Contains(err.Error(), key) || strings.Contains(err.Error(), "secret-value") {
			t.Errorf("%s gave %v", key, err)
		}
	}
	for _, pair := range []string{"nothing", "=x"} {
		s.target.Credentials = []string{pair}
		if _, err := s.driver().Plan(context.Background(), s.target, nil); err == nil {
			t.Errorf("%q is taken", pair)
		}
	}
}

func TestCredentialsAreMaskedWhereverTheyArePrinted(t *testing.T) {
	t.Parallel()
	const token = `t0ken"with<quotes>`
	s := newSite(t, map[string]string{"roots/net/main.tf": backend + `
variable "token" {}
resource "terraform_data" "d" {
  input = "in ${var.token}"
  provisioner "local-exec" { command = "echo \"leak $TF_VAR_token\"; echo $TF_VAR_token >&2; exit 3" }
}
`})
	s.target.Credentials = []string{"TF_VAR_token=" + token, "AWS_REGION=eu-central-1"}
	d := s.driver()
	p := s.plan(d)
	for _, a := range p.Part.Entries[0].Attributes {
		if got := text(a.After); a.Path == "input" && got != `"in ***"` || strings.Contains(got, "t0ken") {
			t.Errorf("the plan shows %s as %s", a.Path, got)
		}
	}
	out, err := d.Apply(context.Background(), p, s.lines.add)
	if err != nil {
		t.Fatal(err)
	}
	log := s.lines.text()
	if !strings.Contains(log, "leak ***") || !strings.Contains(out.Error, "exit status 3") {
		t.Errorf("log %q, error %q", log, out.Error)
	}
	for _, text := range []string{log, out.Error} {
		if strings.Contains(text, token) {
			t.Errorf("the token is in %q", text)
		}
	}
	for _, file := range filesIn(t, filepath.Join(p.Target.RunDir, applyDir)) {
		if data, _ := os.ReadFile(file); strings.Contains(string(data), token) {
			t.Errorf("the token is in %s", file)
		}
	}
	if files := filesIn(t, filepath.Join(p.Target.RunDir, applyDir)); len(files) == 0 {
		t.Error("the supervisor left no files")
	}
}

func TestRegionsAndPathsAreNotMaskedInDocuments(t *testing.T) {
	t.Parallel()
	got := documentSecrets([]string{"AWS_REGION=eu-central-1-long", "AWS_SECRET_ACCESS_KEY=abcdefghijklmnop", "SHORT=abc", "GOOGLE_APPLICATION_CREDENTIALS=/run/secrets/google.json"})
	if diff := cmp.Diff([]string{"abcdefghijklmnop"}, got); diff != "" {
		t.Error(diff)
	}
}

// The wrapper logs each run of the tool and stands for a second one.
func TestTheToolIsRunNoMoreOftenThanNeeded(t *testing.T) {
	t.Parallel()
	s := newSite(t, map[string]string{"roots/net/main.tf": netRoot, "roots/net/x.tfvars": ""})
	bin, log := shortDir(t), filepath.Join(s.state, "log")
	script := "#!/bin/sh\necho \"$@\" >>" + log + "\nexec terraform \"$@\"\n"
	tofu := filepath.Join(bin, "tofu")
	if err := os.WriteFile(tofu, []byte(script), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	s.target.Root.VarFiles = []string{"x.tfvars"}
	s.target.Root.BackendConfig["workspace_dir"] = filepath.Join(s.state, "ws")
	s.target.Vars = map[string]digest.Value{"cidr": digest.StringOf("z")}
	d := s.driver(func(c *Config) { c.Binary = tofu })
	p := s.plan(d)
	if p.Engine != "tofu 1.11.4" || p.Part.Member.Planner != "tofu" {
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
		}
		got = append(got, strings.Join(strings.Fields(strings.Join(fields, " ")), " "))
	}
	once := []string{
		"init -input=false -no-color -backend-config=path=" + s.state + "/net.tfstate -backend-config=workspace_dir=" + s.state + "/ws",
		"plan -input=false -no-color -detailed-exitcode -var-file=x.tfvars -var=cidr=z",
		"show -json",
	}
	want := append(append([]string{"version -json"}, once...), once...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("runs (-want +got):\n%s", diff)
	}
}

func TestNewRefusesWhatCantWork(t *testing.T) {
	t.Parallel()
	none, err := exec.DetectWall(exec.WallNone)
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
