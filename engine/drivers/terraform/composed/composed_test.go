package composed

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/chant-bot/chant/engine/digest"
)

func filesOf(files map[string]string) fstest.MapFS {
	fs := fstest.MapFS{}
	for name, text := range files {
		fs[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fs
}

// read reads the root r and the module m of it.
func read(t *testing.T, planner string, texts map[string]string) Config {
	t.Helper()
	texts["r/.keep"], texts["m/.keep"] = "", ""
	c, err := ReadConfig(filesOf(texts), []Module{{Path: "r", Root: true}, {Path: "m"}}, planner)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func decode(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatAConfigurationDeclares(t *testing.T) {
	t.Parallel()
	c := read(t, "terraform", map[string]string{
		"r/main.tf": `
terraform {
  required_providers {
    aws   = { source = "hashicorp/aws" }
    probe = { source = "example.test/chant/probe" }
  }
}
variable "text" { type = string }
variable "old" { type = "string" }
variable "list" { type = list(string) }
variable "any" { type = any }
variable "plain" {}
output "shown" { value = 1 }
output "hidden" {
  value     = 1
  sensitive = true
}
provider "aws" {}
provider "aws" { alias = "west" }
provider "probe" {}
provider "random" {}
`,
		"r/more.tf.json":     `{"variable":{"number":{"type":"number"},"map":{"type":"map(string)"}},"output":{"j":{"value":1,"sensitive":true}}}`,
		"r/main_override.tf": `variable "plain" { type = bool }` + "\n" + `output "shown" { sensitive = true }`,
		"r/tofu.tofu":        `variable "tofu" {}`,
		"m/main.tf":          `variable "of_module" {}` + "\n" + `output "of_module" { value = 1 }`,
	})
	want := map[string]Parsing{"text": Primitive, "old": Primitive, "list": Complex, "any": Any, "plain": Primitive, "number": Primitive, "map": Complex}
	if diff := cmp.Diff(want, c.Variables); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]bool{"shown": true, "hidden": true, "j": true}, c.Outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
	providers := []string{
		`provider["example.test/chant/probe"]`, `provider["registry.terraform.io/hashicorp/aws"]`,
		`provider["registry.terraform.io/hashicorp/aws"].west`, `provider["registry.terraform.io/hashicorp/random"]`,
	}
	if diff := cmp.Diff(providers, c.Providers); diff != "" || !c.ProviderBlocks {
		t.Errorf("providers (-want +got):\n%s", diff)
	}
}

func TestTofuReadsItsOwnFilesAndRegistry(t *testing.T) {
	t.Parallel()
	c := read(t, "tofu", map[string]string{
		"r/main.tf": `variable "a" {}`, "r/main.tofu": `variable "b" {}` + "\n" + `provider "aws" {}` + "\n" + `terraform {` + "\n" + `  encryption {}` + "\n" + `}`,
	})
	if got := slices.Collect(maps.Keys(c.Variables)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("variables %v", got)
	}
	if !slices.Equal(c.Providers, []string{`provider["registry.opentofu.org/hashicorp/aws"]`}) || !c.Encryption {
		t.Errorf("%+v", c)
	}
}

func TestWhatMeansSomethingElseInAModule(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		// The same wherever it is called from.
		"locals {\n  x = file(\"${path.module}/x\")\n}":                                                 "",
		"locals {\n  x = filesha256(abspath(\"${path.module}/x\"))\n}":                                  "",
		"locals {\n  x = fileset(path.module, \"*\")\n}":                                                "",
		"locals {\n  x = templatefile(\"${path.module}/x\", { a = terraform.workspace })\n}":            "",
		"resource \"a\" \"b\" {\n  provisioner \"local-exec\" {\n    working_dir = path.module\n  }\n}": "",
		"data \"external\" \"e\" {\n  program     = [\"./x\"]\n  working_dir = path.module\n}":          "",
		"resource \"a\" \"b\" {\n  provisioner \"file\" {\n    content = \"x\"\n  }\n}":                 "",
		"locals {\n  x = file(\"x\")\n}":                                                                "uses file() on a path",
		"locals {\n  x = core::file(\"x\")\n}":                                                          "uses core::file() on a path",
		"locals {\n  x = filebase64(local.p)\n}":                                                        "uses filebase64() on a path",
		"locals {\n  x = file(\"../${path.module}/x\")\n}":                                              "uses file() on a path",
		"locals {\n  x = path.module\n}":                                                                "uses path.module, which is another",
		"locals {\n  x = templatefile(\"${path.module}/x\", { a = path.module })\n}":                    "uses path.module, which is another",
		"resource \"a\" \"b\" {\n  x = [for k in [1] : \"${path.root}/x\"]\n}":                          "uses path.root",
		"output \"x\" {\n  value = path.cwd\n}":                                                         "uses path.cwd",
		"import {\n  to = a.b\n  id = \"x\"\n}":                                                         "has an import block",
		"resource \"a\" \"b\" {\n  provisioner \"local-exec\" {\n    command = \"./x\"\n  }\n}":         "the local-exec provisioner of a.b in x.tf runs",
		"resource \"a\" \"b\" {\n  provisioner \"file\" {\n    source = \"x\"\n  }\n}":                  "the file provisioner of a.b in x.tf reads",
		"resource \"a\" \"b\" {\n  provisioner \"remote-exec\" {\n    script = \"x\"\n  }\n}":           "the remote-exec provisioner of a.b in x.tf reads",
		"data \"external\" \"e\" {\n  program = [\"./x\"]\n}":                                           "data.external.e in x.tf runs",
	} {
		for _, at := range []string{"r/x.tf", "m/x.tf"} {
			got := strings.Join(read(t, "terraform", map[string]string{at: text}).Problems, "; ")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("%s of %s\nis %q, want %q", text, at, got, want)
			}
		}
	}
	got := read(t, "terraform", map[string]string{"r/x.tf.json": `{"locals":{"x":"${path.root}/y"}}`}).Problems
	if len(got) != 1 || !strings.Contains(got[0], "x.tf.json uses path.root") {
		t.Errorf("in JSON: %v", got)
	}
}

func TestWhichRemoteStatesMayBeAMembers(t *testing.T) {
	t.Parallel()
	state := func(config string) RemoteState {
		t.Helper()
		c := read(t, "terraform", map[string]string{"m/r.tf": "data \"terraform_remote_state\" \"s\" {\n" + config + "\n}\n"})
		if len(c.RemoteStates) != 1 || c.RemoteStates[0].Address != "data.terraform_remote_state.s" {
			t.Fatalf("%+v", c.RemoteStates)
		}
		return c.RemoteStates[0]
	}
	const s3 = "backend = \"s3\"\nconfig = {\n  bucket = \"b\"\n  %\n}"
	own := map[string]string{"bucket": "b", "key": "net/terraform.tfstate"}
	for config, want := range map[string]bool{
		strings.Replace(s3, "%", `key = "net/terraform.tfstate"`, 1):           true,
		strings.Replace(s3, "%", `key = "env:/prod/net/terraform.tfstate"`, 1): true,
		strings.Replace(s3, "%", `key = var.key`, 1):                           true,
		strings.Replace(s3, "%", `key = "dns/terraform.tfstate"`, 1):           false,
		"backend = \"s3\"\nconfig = var.c":                                     true,
		"backend = var.b\nconfig = { bucket = \"b\" }":                         true,
		"backend = var.b\nconfig = { bucket = \"other\" }":                     false,
		"backend = \"gcs\"\nconfig = { bucket = \"b\" }":                       false,
	} {
		if got := state(config).Reads("s3", own); got != want {
			t.Errorf("%s: %v", config, got)
		}
	}
	for path, want := range map[string]bool{"/a/net.tfstate": true, "../net.tfstate": true, "/links/net.tfstate": true, "/a/dns.tfstate": false} {
		if got := state("backend = \"local\"\nconfig = { path = \""+path+"\" }").Reads("local", map[string]string{"path": "/a/net.tfstate"}); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// argumentsConfig has a variable of each way of reading.
var argumentsConfig = Config{Variables: map[string]Parsing{
	"text": Primitive, "number": Primitive, "plain": Untyped, "any": Any, "list": Complex, "object": Complex,
}}

func TestArgumentsAreWhatTheVariablesGetAlone(t *testing.T) {
	t.Parallel()
	vars := map[string]digest.Value{}
	all := decode(t, `{"text":"${x} %{y} $${z} \"q\" \\ é\u0001\n","number":1.50,"list":["${1+1}",12345678901234567890.5],"plain":[1],"any":null}`)
	for i, key := range all.Keys() {
		vars[key] = all.At(i)
	}
	vars["object"] = digest.Value{}
	for name, tc := range map[string]struct {
		given Given
		want  map[string]string
	}{
		"of the step": {Given{Vars: vars}, map[string]string{
			"text": `"$${x} %%{y} $$${z} \"q\" \\ é\u0001\n"`, "number": `"1.50"`, "list": `["$${1+1}", 12345678901234567890.5]`, "plain": `"[1]"`, "any": "null",
		}},
		"of the environment": {
			Given{Env: []string{"TF_VAR_text=[1]", "TF_VAR_list=[1, 2]", "TF_VAR_any=1", "TF_VAR_other=x", "HOME=x"}},
			map[string]string{"text": `"[1]"`, "list": `[1, 2]`, "any": `1`},
		},
		"of files, the last one wins": {
			Given{Env: []string{"TF_VAR_text=env"}, Files: []File{
				{"a.tfvars", []byte("text = \"$${a}\"\nlist = [\n  null,\n]\nother = 1\n")}, {"b.auto.tfvars.json", []byte(`{"list":["${b}",{"k":1.0}],"other":1}`)},
			}},
			map[string]string{"text": `"$${a}"`, "list": `["$${b}", {"k" = 1.0}]`},
		},
		"a read": {Given{Reads: []Read{{"m1", "id", []string{"text"}}}}, map[string]string{"text": "module.m1.id"}},
		"a part of an output, within a value": {
			Given{
				Vars:  map[string]digest.Value{"object": decode(t, `{"a":{"x":"${y}"},"b":[1,null]}`)},
				Reads: []Read{{"m1", "net.id", []string{"object", "a", "id"}}, {"m2", "ip", []string{"object", "b", "1"}}},
			},
			map[string]string{"object": `{"a" = {"x" = "$${y}", "id" = module.m1.net["id"]}, "b" = [1, module.m2.ip]}`},
		},
	} {
		got, err := argumentsConfig.Arguments(tc.given)
		if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		for _, expression := range got {
			if _, diags := hclsyntax.ParseExpression([]byte(expression), "x", startOf); diags.HasErrors() {
				t.Errorf("%s: %s is no expression: %v", name, expression, diags)
			}
		}
	}
}

func TestQuotedTextsReadAsThemselves(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "${a}", "$${a}", "$$${a", "%{if}", "%%{", "${", "$", "%", "a\"b\\n", "\n\r\t\x00\x7f", "é 世 \U0001F600", "{{}}"} {
		e, diags := hclsyntax.ParseExpression([]byte(quote(text)), "x", startOf)
		if diags.HasErrors() {
			t.Errorf("%q: %v", text, diags)
			continue
		}
		v, diags := e.Value(nil)
		if diags.HasErrors() || v.AsString() != text {
			t.Errorf("%q is read as %#v, %v", text, v, diags)
		}
	}
}

func TestWhatCantBeAnArgument(t *testing.T) {
	t.Parallel()
	value := func(key, text string) map[string]digest.Value { return map[string]digest.Value{key: decode(t, text)} }
	for name, tc := range map[string]struct {
		given Given
		want  string
		read  bool
	}{
		"a step's variable that is not declared": {Given{Vars: value("other", `1`)}, "declares no variable other", false},
		"a text that is no expression":           {Given{Vars: value("list", `"a b"`)}, "the variable list", false},
		"a template in an expression":            {Given{Vars: value("list", `"[\"${b}\"]"`)}, "the variable list: Variables not allowed", false},
		"a file that is broken":                  {Given{Files: []File{{"a.tfvars", []byte("x = ")}}}, "reading a.tfvars", false},
		"a file that computes":                   {Given{Files: []File{{"a.tfvars", []byte("text = upper(\"x\")")}}}, "reading text of a.tfvars", false},
		"a file of JSON that is broken":          {Given{Files: []File{{"a.tfvars.json", []byte("[]")}}}, "a.tfvars.json is no JSON object", false},
		"a read into none that is declared":      {Given{Reads: []Read{{"m1", "id", []string{"other"}}}}, "declares no variable other", true},
		"a read into one without a type":         {Given{Reads: []Read{{"m1", "id", []string{"plain"}}}}, "its variable plain has no type", true},
		"a read into one of any type":            {Given{Reads: []Read{{"m1", "id", []string{"any"}}}}, "its variable any has no type", true},
		"a read within a text":                   {Given{Reads: []Read{{"m1", "id", []string{"text", "0"}}}}, "its variable text is no collection", true},
		"two reads of one place":                 {Given{Reads: []Read{{"m1", "id", []string{"list"}}, {"m2", "id", []string{"list"}}}}, "two outputs go to one place", true},
		"a read past the end of a list":          {Given{Vars: value("list", `[1]`), Reads: []Read{{"m1", "id", []string{"list", "1"}}}}, "a list of 1 has no place 1", true},
	} {
		_, err := argumentsConfig.Arguments(tc.given)
		_, read := err.(*ReadError) //nolint:errorlint // it is not wrapped
		if err == nil || !strings.Contains(err.Error(), tc.want) || read != tc.read {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestTheRootCallsEachMemberAndHandsOnItsOutputs(t *testing.T) {
	t.Parallel()
	got := Root([]Call{
		{ID: "m1", Source: "../../roots/${net}", Outputs: map[string]bool{"id": false, "key": true}},
		{ID: "m2", Source: "../../app", Arguments: map[string]string{"b": "module.m1.id", "a": `"x"`}, After: []string{"m1", "m3"}},
	})
	const want = `terraform {
  backend "local" {}
}
module "m1" {
  source = "../../roots/$${net}"
}
output "m1__id" {
  value = module.m1.id
  sensitive = false
}
output "m1__key" {
  value = module.m1.key
  sensitive = true
}
module "m2" {
  source = "../../app"
  a = "x"
  b = module.m1.id
  depends_on = [module.m1, module.m3]
}
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLockFilesAreMergedUnlessTheyDiffer(t *testing.T) {
	t.Parallel()
	lock := func(address, version string, hashes ...string) []byte {
		return []byte("# written by terraform\nprovider \"" + address + "\" {\n  version     = \"" + version + "\"\n  constraints = \">= 1.0.0\"\n  hashes = [\n    \"" + strings.Join(hashes, "\",\n    \"") + "\",\n  ]\n}\n")
	}
	got, err := MergeLocks([]LockFile{{"net", lock("x/y/z", "1.2.3", "h1:b", "zh:a")}, {"app", lock("x/y/z", "1.2.3", "h1:b", "h1:c")}, {"web", lock("a/b/c", "2.0.0", "h1:d")}, {"old", nil}})
	const want = "provider \"a/b/c\" {\n  version = \"2.0.0\"\n  hashes = [\n    \"h1:d\",\n  ]\n}\n" +
		"provider \"x/y/z\" {\n  version = \"1.2.3\"\n  hashes = [\n    \"h1:b\",\n    \"h1:c\",\n    \"zh:a\",\n  ]\n}\n"
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for want, files := range map[string][]LockFile{
		"net has version 1.2.3 of the provider x/y/z and app has version 2.0.0": {{"net", lock("x/y/z", "1.2.3", "h1:b")}, {"app", lock("x/y/z", "2.0.0", "h1:b")}},
		`the lock file of net has a block "module"`:                             {{"net", []byte("module \"x\" {\n}\n")}},
		"reading the lock file of net":                                          {{"net", []byte("provider {")}},
	} {
		if _, err := MergeLocks(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
