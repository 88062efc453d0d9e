package terraform

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

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
