package project

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chant-bot/chant/engine/digest"
)

func values(t *testing.T, text string) map[string]digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]digest.Value{}
	for _, k := range v.Keys() {
		m[k] = v.Get(k)
	}
	return m
}

func TestReferencesAreResolvedDeeply(t *testing.T) {
	t.Parallel()
	in := Inputs{
		Outputs:   map[string]map[string]digest.Value{"net": values(t, `{"cidr":"10.0.0.0/16","subnets":[{"id":"a"},{"id":"b"}],"dotted.name":1,"big":12345678901234567890.50,"gone":null}`)},
		Published: map[string]map[string]digest.Value{"img": values(t, `{"uri":"reg/x"}`)},
		Phases:    values(t, `{"Build":{"out":{"path":"p"}}}`),
		Env:       "prod", Vars: values(t, `{"zone":{"id":"z1"}}`),
	}
	for name, c := range map[string]struct{ input, want string }{
		"output":            {`{"stackOutput":{"stack":"net","name":"cidr"}}`, `"10.0.0.0/16"`},
		"part of a list":    {`{"stackOutput":{"stack":"net","name":"subnets.1.id"}}`, `"b"`},
		"name with a dot":   {`{"stackOutput":{"stack":"net","name":"dotted.name"}}`, `1`},
		"exact number":      {`{"stackOutput":{"stack":"net","name":"big"}}`, `12345678901234567890.50`},
		"null is a value":   {`{"stackOutput":{"stack":"net","name":"gone"}}`, `null`},
		"published":         {`"@img.publish.uri"`, `"reg/x"`},
		"phase":             {`"@Build.out.path"`, `"p"`},
		"env name":          {`"$env.name"`, `"prod"`},
		"env var":           {`"$env.zone.id"`, `"z1"`},
		"whole env var":     {`"$env.zone"`, `{"id":"z1"}`},
		"deep":              {`{"a":[{"b":"@Build.out.path"},2,true,null,"x"]}`, `{"a":[{"b":"p"},2,true,null,"x"]}`},
		"literal untouched": {`"10.0.0.0/8"`, `"10.0.0.0/8"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c1 := component(t, `{"name":"app","dependsOn":[],"deploy":[{"phase":"Build","steps":[{"kind":"shell"}]},{"phase":"A","steps":[{"kind":"terraform-apply","root":"app","vars":{"x":`+c.input+`}}]}]}`)
			got, unresolved, err := Resolve(c1.Steps()[1], in)
			if err != nil || len(unresolved) > 0 {
				t.Fatalf("unresolved %v, error %v", unresolved, err)
			}
			want := values(t, `{"root":"app","vars":{"x":`+c.want+`}}`)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAReferenceWithoutAValueIsReported(t *testing.T) {
	t.Parallel()
	c := component(t, `{"name":"app","dependsOn":[],"deploy":[{"phase":"A","steps":[{"kind":"terraform-apply","root":"app","vars":{
  "a":{"stackOutput":{"stack":"net","name":"cidr"}},
  "b":["x",{"stackOutput":{"stack":"net","name":"list.7"}}],
  "c":"$env.zone","d":"@img.publish.uri","e":"@A.out","f":1}}]}]}`)
	got, unresolved, err := Resolve(c.Steps()[0], Inputs{Outputs: map[string]map[string]digest.Value{"net": values(t, `{"list":[1]}`)}})
	if err != nil {
		t.Fatal(err)
	}
	want := []Read{
		{Source: FromOutput, Component: "net", Output: "cidr", Path: []string{"vars", "a"}, Line: 2},
		{Source: FromOutput, Component: "net", Output: "list.7", Path: []string{"vars", "b", "1"}, Line: 3},
		{Source: FromEnv, Output: "zone", Path: []string{"vars", "c"}, Line: 4},
		{Source: FromPublish, Component: "img", Output: "uri", Path: []string{"vars", "d"}, Line: 4},
		{Source: FromPhase, Component: "A", Output: "out", Path: []string{"vars", "e"}, Line: 4},
	}
	if diff := cmp.Diff(want, unresolved, cmpopts.IgnoreFields(Read{}, "Step")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(values(t, `{"root":"app","vars":{"b":["x",null],"f":1}}`), got); diff != "" {
		t.Error(diff)
	}
}
