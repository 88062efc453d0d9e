package project

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// deploying makes a component with one phase of these steps.
func deploying(steps string, fields ...string) string {
	return "{" + strings.Join(append([]string{`"name":"app"`, `"dependsOn":[]`, `"deploy":[{"phase":"Apply","steps":[` + steps + `]}]`}, fields...), ",\n") + "}"
}

func TestComponentOfTheSheetIsRead(t *testing.T) {
	t.Parallel()
	c := component(t, `{"$schema":"x","contractVersion":"1.0.0","name":"app","dependsOn":["base"],
 "build":{"kind":"docker","into":"archive"},"archetype":"service","liveNames":["a"],"composites":[],
 "environments":[{"name":"prod","url":"https://example.com","domain":"example.com","lifecycle":"git@example.com:x","runtime":"k8s"}],
 "deploy":[
  {"phase":"Build","steps":[{"kind":"docker-build","into":"x"}]},
  {"phase":"Apply","parallel":true,"steps":[
    {"phase":"Inner part","steps":[{"kind":"shell","cmd":"true","reason":"test"},{"kind":"gate","signalName":"go","timeout":"1h30m","description":"@team look"}]},
    {"kind":"terraform-apply","root":"app","vars":{"cidr":{"stackOutput":{"stack":"net","name":"cidr"}},"image":"@image.publish.digest","list":["@Build.uri",{"deep":"$env.zone.id"}]}}],
   "onFailure":[{"kind":"shell","cmd":"@Build.log","reason":"cleanup"}]}],
 "verify":[{"phase":"Check","steps":[{"kind":"shell","cmd":"true","url":{"stackOutput":{"stack":"dns","name":"zone.id"}}}]}],
 "rollback":[{"phase":"Undo","steps":[{"kind":"shell","cmd":"true"}]}]}`)
	var kinds []string
	for _, s := range c.Steps() {
		kinds = append(kinds, s.Kind)
	}
	if diff := cmp.Diff([]string{"docker-build", "shell", "gate", "terraform-apply"}, kinds); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&GateStep{Name: "go", Timeout: 90 * time.Minute, Description: "@team look"}, c.Steps()[2].Gate); diff != "" {
		t.Error(diff)
	}
	want := []Read{
		{Source: FromOutput, Component: "net", Output: "cidr", Path: []string{"vars", "cidr"}, Step: 3, Line: 8},
		{Source: FromPublish, Component: "image", Output: "digest", Path: []string{"vars", "image"}, Step: 3, Line: 8},
		{Source: FromPhase, Component: "Build", Output: "uri", Path: []string{"vars", "list", "0"}, Step: 3, Line: 8},
		{Source: FromEnv, Output: "zone.id", Path: []string{"vars", "list", "1", "deep"}, Step: 3, Line: 8},
		{Source: FromPhase, Component: "Build", Output: "log", Path: []string{"cmd"}, Step: -1, Line: 9},
		{Source: FromOutput, Component: "dns", Output: "zone.id", Path: []string{"url"}, Step: -1, Line: 10},
	}
	if diff := cmp.Diff(want, c.refs); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Read{want[0], want[5]}, c.Reads()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"base", "dns", "image", "net"}, c.Dependencies()); diff != "" {
		t.Error(diff)
	}
}

func TestAGateWaitsTwoDaysUnlessGiven(t *testing.T) {
	t.Parallel()
	c := component(t, deploying(`{"kind":"gate","gate":"go"}`))
	if got := c.Steps()[0].Gate.Timeout; got != 48*time.Hour {
		t.Errorf("timeout %v, want 48h", got)
	}
}

func TestADisabledComponentIsMarked(t *testing.T) {
	t.Parallel()
	if c := component(t, deploying(`{"kind":"shell"}`, `"enabled":false`)); !c.Disabled {
		t.Error("enabled: false was ignored")
	}
}

func TestComponentProblemsNameFieldAndFix(t *testing.T) {
	t.Parallel()
	step := func(vars string) string {
		return deploying(`{"kind":"terraform-apply","root":"app","vars":{"x":` + vars + `}}`)
	}
	const at = "deploy[0].steps[0].vars.x"
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"not an object":             {`"x"`, []string{"must be an object"}},
		"unknown field":             {deploying(`{"kind":"shell"}`, `"depends_on":[]`), []string{"app.component.json:4: depends_on: unknown field", `did you mean "dependsOn"?`}},
		"name pattern":              {`{"name":"App","dependsOn":[],"deploy":[]}`, []string{"name:", `"App"`}},
		"dependsOn missing":         {`{"name":"app","deploy":[{"phase":"A","steps":[{"kind":"shell"}]}]}`, []string{"dependsOn: is required", "write []"}},
		"dependsOn itself":          {deploying(`{"kind":"shell"}`, `"rollback":[]`)[:0] + `{"name":"app","dependsOn":["app"],"deploy":[{"phase":"A","steps":[{"kind":"shell"}]}]}`, []string{"dependsOn[0]", "itself"}},
		"dependsOn twice":           {`{"name":"app","dependsOn":["a","a"],"deploy":[{"phase":"A","steps":[{"kind":"shell"}]}]}`, []string{"dependsOn[1]", "twice"}},
		"deploy missing":            {`{"name":"app","dependsOn":[]}`, []string{"deploy: is required"}},
		"deploy empty":              {`{"name":"app","dependsOn":[],"deploy":[]}`, []string{"deploy: must have at least one item"}},
		"phase without a name":      {`{"name":"app","dependsOn":[],"deploy":[{"steps":[{"kind":"shell"}]}]}`, []string{"deploy[0].phase: is required"}},
		"phase name":                {`{"name":"app","dependsOn":[],"deploy":[{"phase":"a.b","steps":[{"kind":"shell"}]}]}`, []string{"deploy[0].phase", `"a.b"`}},
		"phase without steps":       {`{"name":"app","dependsOn":[],"deploy":[{"phase":"A"}]}`, []string{"deploy[0].steps: is required"}},
		"phase with no steps":       {`{"name":"app","dependsOn":[],"deploy":[{"phase":"A","steps":[]}]}`, []string{"deploy[0].steps", "at least one"}},
		"phase unknown field":       {`{"name":"app","dependsOn":[],"deploy":[{"phase":"A","step":[],"steps":[{"kind":"shell"}]}]}`, []string{"deploy[0].step:", `"steps"`}},
		"step that is nothing":      {deploying(`{"root":"x"}`), []string{"deploy[0].steps[0]", "neither a step, a gate nor a phase"}},
		"step kind empty":           {deploying(`{"kind":""}`), []string{"deploy[0].steps[0].kind", "empty"}},
		"nested phase":              {deploying(`{"phase":"B","steps":[]}`), []string{"deploy[0].steps[0].steps", "at least one"}},
		"gate without a name":       {deploying(`{"kind":"gate"}`), []string{"deploy[0].steps[0]", "exactly one of gate and signalName"}},
		"gate with two names":       {deploying(`{"kind":"gate","gate":"a","signalName":"a"}`), []string{"exactly one of gate and signalName"}},
		"gate unknown field":        {deploying(`{"kind":"gate","gate":"a","time":"1h"}`), []string{"deploy[0].steps[0].time", "unknown field"}},
		"gate timeout":              {deploying(`{"kind":"gate","gate":"a","timeout":"two days"}`), []string{"steps[0].timeout", "48h"}},
		"root missing":              {deploying(`{"kind":"terraform-apply"}`), []string{"deploy[0].steps[0].root: is required"}},
		"root by reference":         {deploying(`{"kind":"terraform-apply","root":"$env.root"}`), []string{"steps[0].root", "not a reference"}},
		"root with a line end":      {deploying(`{"kind":"terraform-apply","root":"a\nb"}`), []string{"steps[0].root", "control"}},
		"vars misspelt":             {deploying(`{"kind":"terraform-apply","root":"a","var":{}}`), []string{"steps[0].var:", `did you mean "vars"?`}},
		"vars of the wrong kind":    {deploying(`{"kind":"terraform-apply","root":"a","vars":[]}`), []string{"steps[0].vars: must be an object"}},
		"var that is an option":     {deploying(`{"kind":"terraform-apply","root":"a","vars":{"-destroy":1}}`), []string{"steps[0].vars.-destroy"}},
		"dir absolute":              {deploying(`{"kind":"terraform-apply","root":"a","dir":"/etc"}`), []string{"steps[0].dir", "relative"}},
		"at sign that is no wiring": {step(`"@alice"`), []string{at, `"@alice" is no reference`, "@<Phase>.<field>"}},
		"env without a name":        {step(`"$env."`), []string{at, "$env.<name>"}},
		"publish of something else": {step(`"@image.publish.tag"`), []string{at, `there is no phase "image"`}},
		"phase that is not there":   {step(`"@Aply.uri"`), []string{at, `there is no phase "Aply"`, `did you mean "@Apply.uri"?`}},
		"own output":                {step(`{"stackOutput":{"stack":"app","name":"x"}}`), []string{at, "its own output"}},
		"stackOutput not closed":    {step(`{"stackOutput":{"stack":"net","name":"x"},"default":1}`), []string{at + ".default", "unknown field"}},
		"stackOutput inner":         {step(`{"stackOutput":{"stack":"net","output":"x","name":"y"}}`), []string{at + ".stackOutput.output", "unknown field"}},
		"stackOutput without name":  {step(`{"stackOutput":{"stack":"net"}}`), []string{at + ".stackOutput.name: is required"}},
		"stackOutput of a path":     {step(`{"stackOutput":{"stack":"Net","name":"x"}}`), []string{at + ".stackOutput.stack", `"Net"`}},
		"stackOutput kind":          {step(`{"stackOutput":"net.cidr"}`), []string{at + ".stackOutput: must be an object"}},
		"deep in a list":            {step(`[1,["@"]]`), []string{at + ".1.0", "no reference"}},
		"contract version":          {deploying(`{"kind":"shell"}`, `"contractVersion":"2.0.0"`), []string{"contractVersion", `"1.0.0"`}},
		"archetype":                 {deploying(`{"kind":"shell"}`, `"archetype":"servce"`), []string{"archetype", `did you mean "service"?`}},
		"build into":                {deploying(`{"kind":"shell"}`, `"build":{"kind":"docker","into":"x"}`), []string{"build.into", "archive"}},
		"environment url":           {deploying(`{"kind":"shell"}`, `"environments":[{"name":"p","url":"ftp://x"}]`), []string{"environments[0].url", "http"}},
		"environment twice":         {deploying(`{"kind":"shell"}`, `"environments":[{"name":"p"},{"name":"p"}]`), []string{"environments[1].name", "twice"}},
		"environment name":          {deploying(`{"kind":"shell"}`, `"environments":[{"name":"-p"}]`), []string{"environments[0].name"}},
		"enabled kind":              {deploying(`{"kind":"shell"}`, `"enabled":"no"`), []string{"enabled: must be a boolean"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c2, err := ParseComponent(node(t, "app.component.json", c.text))
			if c2 != nil {
				t.Error("a refused component was returned")
			}
			wantProblem(t, err, c.want...)
		})
	}
}

func TestReferenceGrammar(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Read{
		"$env.name":            {Source: FromEnv, Output: "name"},
		"$env.a.b-c.0":         {Source: FromEnv, Output: "a.b-c.0"},
		"@Apply.uri":           {Source: FromPhase, Component: "Apply", Output: "uri"},
		"@Build image.out.uri": {Source: FromPhase, Component: "Build image", Output: "out.uri"},
		"@publish.uri":         {Source: FromPhase, Component: "publish", Output: "uri"},
		"@app.publish.uri":     {Source: FromPublish, Component: "app", Output: "uri"},
		"@a-b-2.publish.key":   {Source: FromPublish, Component: "a-b-2", Output: "key"},
		"@App.publish.uri":     {Source: FromPhase, Component: "App", Output: "publish.uri"},
	} {
		got, ok, next := textReference(text)
		if !ok || next != "" {
			t.Errorf("%s: ok %v, %s", text, ok, next)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Read{}, "Path", "Step", "Line")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		if got.String() != text {
			t.Errorf("%s is written back as %s", text, got)
		}
	}
	for _, text := range []string{"", "env.a", "$environment", "$env", "a@b.c", " @Apply.uri", "plain"} {
		if _, ok, next := textReference(text); ok || next != "" {
			t.Errorf("%q is a literal; got ok %v, %q", text, ok, next)
		}
	}
	for _, text := range []string{"@", "@a", "@a.", "@.a", "@a b", "@a..b", "@a b.c ", "$env.", "$env.1", "$env.a..b", "@scope/package", "@9.x"} {
		if _, ok, next := textReference(text); ok || next == "" {
			t.Errorf("%q must be refused; got ok %v", text, ok)
		}
	}
}

func TestDurationsAreSumsOfParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"48h": 48 * time.Hour, "1h30m": 90 * time.Minute, "2d1ms": 48*time.Hour + time.Millisecond, "90s": 90 * time.Second} {
		if got, ok := ParseDuration(text); !ok || got != want {
			t.Errorf("%s: %v, %v; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "1", "h", "1.5h", "-1h", "1 h", "1w", "0s", "999999999d", "106751d106751d"} {
		if got, ok := ParseDuration(text); ok {
			t.Errorf("%q: accepted as %v", text, got)
		}
	}
}

func TestUnitsAreClaimedByLiteralNamesOnly(t *testing.T) {
	t.Parallel()
	c := component(t, deploying(`{"kind":"terraform-apply","root":"net"},{"kind":"cfn-deploy","template":"t"},{"kind":"cfn-deploy","stack":"$env.stack","template":"t"},
		{"kind":"kustomize-apply","stack":"k","dir":"d"},{"kind":"shell","stack":"x"},{"phase":"In","steps":[{"kind":"helm-upgrade","release":"r"}]}`))
	var got []string
	for _, u := range c.Units() {
		got = append(got, fmt.Sprint(u.Kind, " ", u.Name))
	}
	if diff := cmp.Diff([]string{"root net", "stack k", "release r"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeployDigestBindsWhatWasAuthored(t *testing.T) {
	t.Parallel()
	text := deploying(`{"kind":"shell","cmd":"@Apply.x"}`)
	digestOf := func(text, env, release string) string {
		d, err := component(t, text).DeployDigest(env, nil, release)
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	base := digestOf(text, "prod", "")
	if got := digestOf(strings.Replace(text, `"dependsOn":[]`, `"liveNames":["x"],"dependsOn":["y"]`, 1), "prod", ""); got != base {
		t.Error("the digest covers more than deploy and rollback")
	}
	for name, other := range map[string]string{
		"env": digestOf(text, "dev", ""), "release": digestOf(text, "prod", "sha256:x"), "command": digestOf(strings.Replace(text, "@Apply.x", "@Apply.y", 1), "prod", ""),
		"rollback": digestOf(deploying(`{"kind":"shell","cmd":"@Apply.x"}`, `"rollback":[{"phase":"U","steps":[{"kind":"shell"}]}]`), "prod", ""),
	} {
		if other == base {
			t.Errorf("%s does not move the digest", name)
		}
	}
}
