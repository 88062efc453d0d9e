package project

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func config(t *testing.T, text string) *Config {
	t.Helper()
	c, err := ParseConfig(node(t, "chant.config.json", text))
	if err != nil {
		t.Fatalf("config refused: %v", err)
	}
	return c
}

func TestConfigOfTheSheetIsRead(t *testing.T) {
	t.Parallel()
	got := config(t, `{ "lexicons":["terraform"], "k8s":{"anything":[1]}, "release":null,
 "terraform": { "binary":"choudoufu", "callModuleType":"none", "compose":"off",
  "roots": { "net": {"dir":"./roots/net/","workspace":"prod","varFiles":["prod.tfvars","../x.tfvars"],"backendConfig":{"bucket":"b","port":80,"lock":true},"delete":"gated","estate":"e"} } } }`)
	want := &Config{File: "chant.config.json", Terraform: &Terraform{Binary: "choudoufu", CallModuleType: "none", Compose: "off",
		Roots: map[string]Root{"net": {Name: "net", Dir: "roots/net", Workspace: "prod", VarFiles: []string{"prod.tfvars", "../x.tfvars"},
			BackendConfig: map[string]string{"bucket": "b", "port": "80", "lock": "true"}, Delete: "gated", Estate: "e", File: "chant.config.json", Line: 3}}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if plain := config(t, `{"terraform":{}}`).Terraform; plain.Binary != "terraform" || plain.Compose != "auto" || plain.CallModuleType != "local" {
		t.Errorf("defaults: %+v", plain)
	}
	if config(t, `{"lexicons":[]}`).Terraform != nil {
		t.Error("a terraform block out of nothing")
	}
}

func TestConfigProblemsNameFieldAndFix(t *testing.T) {
	t.Parallel()
	root := func(fields string) string { return `{"terraform":{"roots":{"net":{"dir":"net"` + fields + `}}}}` }
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"terraform misspelt":     {`{"terrafrom":{}}`, []string{"terrafrom: unknown field", `"terraform"`}},
		"unknown field":          {`{"terraform":{"root":{}}}`, []string{"terraform.root: unknown field", `"roots"`}},
		"binary":                 {`{"terraform":{"binary":"opentofu"}}`, []string{"terraform.binary", "terraform, tofu, choudoufu"}},
		"callModuleType all":     {`{"terraform":{"callModuleType":"all"}}`, []string{"terraform.callModuleType", "not allowed"}},
		"compose":                {`{"terraform":{"compose":"on"}}`, []string{"terraform.compose", "auto, off"}},
		"root unknown field":     {root(`,"varfiles":[]`), []string{"terraform.roots.net.varfiles", `did you mean "varFiles"?`}},
		"dir missing":            {`{"terraform":{"roots":{"net":{}}}}`, []string{"terraform.roots.net.dir: is required"}},
		"dir absolute":           {`{"terraform":{"roots":{"net":{"dir":"/net"}}}}`, []string{"terraform.roots.net.dir", "relative"}},
		"var file absolute":      {root(`,"varFiles":["/x"]`), []string{"terraform.roots.net.varFiles[0]", "relative"}},
		"workspace":              {root(`,"workspace":"a b"`), []string{"terraform.roots.net.workspace"}},
		"backend config":         {root(`,"backendConfig":{"a":{}}`), []string{"terraform.roots.net.backendConfig.a", "not an object"}},
		"delete without effect":  {root(`,"delete":"never"`), []string{"terraform.roots.net.delete", "choudoufu", "no effect"}},
		"delete value":           {`{"terraform":{"binary":"choudoufu","roots":{"net":{"dir":"net","delete":"nevr"}}}}`, []string{"terraform.roots.net.delete", `"never"`}},
		"estate without effect":  {root(`,"estate":"e"`), []string{"terraform.roots.net.estate", "no effect"}},
		"root name":              {`{"terraform":{"roots":{"a\nb":{"dir":"x"}}}}`, []string{"not allowed", "control"}},
		"terraform of any kind":  {`{"terraform":"tofu"}`, []string{"terraform: must be an object"}},
		"the config of any kind": {`[]`, []string{"must be an object"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseConfig(node(t, "chant.config.json", c.text))
			wantProblem(t, err, c.want...)
		})
	}
}

// applying makes a component with one terraform-apply step.
func applying(t *testing.T, name, root, more string, deps ...string) *Component {
	t.Helper()
	list := ""
	for i, d := range deps {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf("%q", d)
	}
	return component(t, fmt.Sprintf("{\"name\":%q,\n\"dependsOn\":[%s],\n\"deploy\":[{\"phase\":\"A\",\"steps\":[{\"kind\":\"terraform-apply\",\"root\":%q%s}]}]}", name, list, root, more))
}

func TestAnInlineDirDeclaresARoot(t *testing.T) {
	t.Parallel()
	p := NewProject("", ".", config(t, `{"terraform":{"roots":{"net":{"dir":"roots/net"}}}}`),
		[]*Component{applying(t, "net", "net", ""), applying(t, "app", "app", `,"dir":"./roots/app"`)})
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	want := map[string]Root{"net": {Name: "net", Dir: "roots/net", File: "chant.config.json", Line: 1}, "app": {Name: "app", Dir: "roots/app", File: "app.component.json", Line: 3}}
	if diff := cmp.Diff(want, p.Roots); diff != "" {
		t.Error(diff)
	}
	if without := NewProject("", ".", nil, []*Component{applying(t, "app", "app", `,"dir":"roots/app"`)}); without.Validate() != nil || len(without.Roots) != 1 {
		t.Error("a project needs no config when its steps name their directories")
	}
}

func TestProjectProblemsNameFileAndComponents(t *testing.T) {
	t.Parallel()
	roots := func(more string) string {
		return `{"terraform":{"roots":{"net":{"dir":"net"},"app":{"dir":"app"}` + more + `}}}`
	}
	for name, c := range map[string]struct {
		dir        string
		config     string
		components []*Component
		want       []string
	}{
		"unknown root":              {config: roots(""), components: []*Component{applying(t, "x", "ent", "")}, want: []string{"x.component.json:3", `no root "ent"`, `did you mean "net"?`}},
		"unknown root, none alike":  {config: roots(""), components: []*Component{applying(t, "x", "database", "")}, want: []string{`no root "database"`, "terraform.roots", "known roots: app, net"}},
		"a root claimed twice":      {config: roots(""), components: []*Component{applying(t, "a", "net", ""), applying(t, "b", "net", "")}, want: []string{"b.component.json:3", `root "net"`, `component "a"`, "a.component.json:3"}},
		"a root claimed twice by 1": {config: roots(""), components: []*Component{component(t, `{"name":"a","dependsOn":[],"deploy":[{"phase":"A","steps":[{"kind":"terraform-apply","root":"net"},{"kind":"terraform-apply","root":"net"}]}]}`)}, want: []string{`root "net"`, `component "a"`}},
		"a root in two places":      {config: roots(""), components: []*Component{applying(t, "a", "net", `,"dir":"other"`)}, want: []string{"a.component.json:3", `directory "net" in chant.config.json`}},
		"two inline directories":    {components: []*Component{applying(t, "a", "net", `,"dir":"x"`), applying(t, "b", "net", `,"dir":"y"`)}, want: []string{"b.component.json:3", `directory "x" in a.component.json:3`}},
		"one member name for two":   {config: roots(""), components: []*Component{applying(t, "a", "net", ""), component(t, deploying(`{"kind":"shell"}`)[:0]+`{"name":"net","dependsOn":[],"deploy":[{"phase":"A","steps":[{"kind":"shell"}]}]}`)}, want: []string{"net.component.json", `root of component "a"`}},
		"root outside":              {dir: "infra", config: `{"terraform":{"roots":{"net":{"dir":"../../x"}}}}`, want: []string{"chant.config.json:1", "leaves the checkout"}},
		"var file outside":          {dir: "infra", config: `{"terraform":{"roots":{"net":{"dir":"net","varFiles":["../../../x.tfvars"]}}}}`, want: []string{"varFiles", "leaves the checkout"}},
		"inline root outside":       {components: []*Component{applying(t, "a", "a", `,"dir":"../x"`)}, want: []string{"a.component.json:3", "leaves the checkout"}},
		"cwd outside":               {config: roots(""), components: []*Component{applying(t, "a", "net", `,"cwd":"../other"`)}, want: []string{"cwd", "leaves the project"}},
		"component named twice":     {config: roots(""), components: []*Component{applying(t, "a", "net", ""), applying(t, "a", "app", "")}, want: []string{`component "a"`, "a.component.json too"}},
		"unknown dependency":        {config: roots(""), components: []*Component{applying(t, "net", "net", ""), applying(t, "app", "app", "", "nett")}, want: []string{"app.component.json:2", `depends on "nett"`, `did you mean "net"?`}},
		"unknown read":              {config: roots(""), components: []*Component{applying(t, "app", "app", `,"vars":{"x":{"stackOutput":{"stack":"db","name":"url"}}}`)}, want: []string{"app.component.json:3", `depends on "db"`}},
		"cycle":                     {config: roots(`,"db":{"dir":"db"}`), components: []*Component{applying(t, "net", "net", "", "db"), applying(t, "app", "app", "", "net"), applying(t, "db", "db", `,"vars":{"x":{"stackOutput":{"stack":"app","name":"y"}}}`)}, want: []string{"app.component.json:2", "app -> net -> db -> app"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var cfg *Config
			if c.config != "" {
				cfg = config(t, c.config)
			}
			dir := c.dir
			if dir == "" {
				dir = "."
			}
			wantProblem(t, NewProject("", dir, cfg, c.components).Validate(), c.want...)
		})
	}
}

func TestARootBesideItsProjectStaysInTheCheckout(t *testing.T) {
	t.Parallel()
	p := NewProject("net", "infra/net", config(t, `{"terraform":{"roots":{"net":{"dir":"../shared","varFiles":["../../x.tfvars"]}}}}`), nil)
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
}

func TestAComponentIsTouchedByItsFileAndItsConfig(t *testing.T) {
	t.Parallel()
	p := NewProject("", ".", config(t, `{"terraform":{"roots":{"net":{"dir":"net"}}}}`),
		[]*Component{applying(t, "net", "net", ""), applying(t, "app", "app", `,"dir":"app"`), component(t, `{"name":"sh","dependsOn":[],"deploy":[{"phase":"A","steps":[{"kind":"shell"}]}]}`)})
	for changed, want := range map[string][]string{"net/main.tf": {}, "app.component.json": {"app"}, "sh.component.json": {"sh"}, "chant.config.json": {"net"}} {
		if diff := cmp.Diff(want, p.TouchedBy([]string{changed})); diff != "" {
			t.Errorf("%s: %s", changed, diff)
		}
	}
}

func TestTheDeepestMemberOwnsAPath(t *testing.T) {
	t.Parallel()
	d := declare(t, with(`"members":[{"name":"root","dir":".","kind":"chant"},{"name":"a","dir":"infra/a","kind":"chant"},{"name":"ab","dir":"infra/ab","kind":"chant"}]`))
	for file, want := range map[string]string{"infra/a/x.tf": "a", "infra/a": "a", "infra/ab/x": "ab", "infra/abc/x": "", "x": "", "infra": ""} {
		if m, _ := d.MemberOf(file); m.Name != want {
			t.Errorf("%s belongs to %q, want %q", file, m.Name, want)
		}
	}
}

func TestGlobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, name string
		want       bool
	}{
		{"**/*.component.json", "a.component.json", true},
		{"**/*.component.json", "x/y/a.component.json", true},
		{"**/*.component.json", "a.component.yaml", false},
		{"*.component.json", "x/a.component.json", false},
		{"infra/**", "infra/a/b", true},
		{"infra/**", "infra", true},
		{"infra/**", "infrastructure/a", false},
		{"a/**/b/**/c", "a/x/b/c", true},
		{"a/**/b/**/c", "a/b/b/y/z/c", true},
		{"a/**/b/**/c", "a/b/d", false},
		{"a/?/c", "a/é/c", true},
		{"a/?/c", "a/bb/c", false},
		{"a*b*c", "aXbYbZc", true},
		{"a*b*c", "aXbYbZ", false},
		{"**", "a/b/c", true},
		{"a", "a", true},
	} {
		if got := MatchGlob(c.glob, c.name); got != c.want {
			t.Errorf("%s against %s: %v, want %v", c.glob, c.name, got, c.want)
		}
	}
	for _, g := range []string{"", "/a", "../a", "a//b", "a/./b", "[a]", "{a,b}", "!a", "a\\b", "**a", "a/**b/c", "a/"} {
		if badGlob(g) == "" {
			t.Errorf("%q was accepted", g)
		}
	}
}

func TestSuggestionsAreOfferedOnlyWhenClose(t *testing.T) {
	t.Parallel()
	known := []string{"branch", "window", "phases", "require"}
	for word, want := range map[string]string{"Branch": "branch", "brnach": "branch", "windows": "window", "requires": "require", "x": "", "completely": "", "": ""} {
		if got := closest(word, known); got != want {
			t.Errorf("%q: suggested %q, want %q", word, got, want)
		}
	}
}
