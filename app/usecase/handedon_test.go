package usecase

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/project"
)

// declaring is a driver of whose roots the outputs that begin with "secret" are declared
// secrets, but for a root "odd", which is not understood.
type declaring struct{ engine.OutputReader }

func (declaring) Declared(_, _ string, root project.Root) (map[string]bool, error) {
	if root.Name == "odd" {
		return nil, errors.New("not understood")
	}
	return map[string]bool{"secret": true, "plain": false}, nil
}

// pathsOf are components by name, each with what it reads, as "from.output".
func pathsOf(t *testing.T, reads map[string][]string) *secretPaths {
	t.Helper()
	in, components := PlanInput{Checkout: &Checkout{}, Project: project.Project{Roots: map[string]project.Root{}}}, map[string]*project.Component{}
	for name, froms := range reads {
		var vars []string
		for i, from := range froms {
			component, output, _ := strings.Cut(from, ".")
			vars = append(vars, fmt.Sprintf(`"v%d":{"stackOutput":{"stack":%q,"name":%q}}`, i, component, output))
		}
		text := fmt.Sprintf(`{"name":%q,"dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":%q,"vars":{%s}}]}]}`, name, name, strings.Join(vars, ","))
		node, err := declare.Parse([]byte(text), "x.component.json")
		if err != nil {
			t.Fatal(err)
		}
		if components[name], err = project.ParseComponent(node); err != nil {
			t.Fatal(err)
		}
		in.Project.Roots[name] = project.Root{Name: name}
	}
	return newSecretPaths(declaring{}, in, components)
}

func output(value string, sensitive bool) outputs {
	v, err := digest.Decode([]byte(value))
	if err != nil {
		panic(err)
	}
	return outputs{"plain": {Value: v, Sensitive: sensitive}, "other": {Value: digest.StringOf("nothing of it")}}
}

// soundness, redaction: an output that holds a secret from further up is one too, whatever
// its root says of it.
func TestAnOutputThatHandsASecretOnIsOne(t *testing.T) {
	t.Parallel()
	key := output(`"open-sesame-7"`, true)
	chain := map[string][]string{"key": nil, "app": {"key.secret"}, "web": {"app.plain"}, "edge": {"web.plain"}}
	for name, c := range map[string]struct {
		reads  map[string][]string
		of     string
		value  string
		known  map[string]outputs
		failed map[string]error
		want   bool
	}{
		"as it is":                                   {reads: chain, of: "app", value: `"open-sesame-7"`, known: map[string]outputs{"key": key}, want: true},
		"within a text":                              {reads: chain, of: "app", value: `"db://u:open-sesame-7@h"`, known: map[string]outputs{"key": key}, want: true},
		"within an object":                           {reads: chain, of: "app", value: `{"a":[1,{"b":"x open-sesame-7"}]}`, known: map[string]outputs{"key": key}, want: true},
		"as the key of an object":                    {reads: chain, of: "app", value: `{"open-sesame-7":1}`, known: map[string]outputs{"key": key}, want: true},
		"over one that shows it":                     {reads: chain, of: "web", value: `"open-sesame-7"`, known: map[string]outputs{"key": key, "app": output(`"x"`, false)}, want: true},
		"over two":                                   {reads: chain, of: "edge", value: `"open-sesame-7"`, known: map[string]outputs{"key": key}, want: true},
		"something else":                             {reads: chain, of: "web", value: `"sesame"`, known: map[string]outputs{"key": key}},
		"the same of who can't know":                 {reads: map[string][]string{"key": nil, "app": nil}, of: "app", value: `"open-sesame-7"`, known: map[string]outputs{"key": key}},
		"a short one as it is":                       {reads: chain, of: "app", value: `"wxyz"`, known: map[string]outputs{"key": output(`"wxyz"`, true)}, want: true},
		"a short one within a text":                  {reads: chain, of: "app", value: `"wxyzw"`, known: map[string]outputs{"key": output(`"wxyz"`, true)}},
		"one of three letters":                       {reads: chain, of: "app", value: `"abc"`, known: map[string]outputs{"key": output(`"abc"`, true)}},
		"the secret was not read":                    {reads: chain, of: "web", value: `"anything"`, want: true},
		"the secret could not be read":               {reads: chain, of: "web", value: `"anything"`, known: map[string]outputs{"key": {}}, failed: map[string]error{"key": errors.New("no")}, want: true},
		"a root that is not understood was not read": {reads: map[string][]string{"odd": nil, "app": {"odd.plain"}}, of: "app", value: `"anything"`, want: true},
		"none is declared above":                     {reads: map[string][]string{"net": nil, "app": {"net.plain"}}, of: "app", value: `"anything"`},
		"reads in a circle":                          {reads: map[string][]string{"a": {"b.secret"}, "b": {"a.plain"}}, of: "b", value: `"x"`, known: map[string]outputs{"a": output(`"y"`, false)}},
	} {
		known := map[string]outputs{c.of: output(c.value, false)}
		maps.Copy(known, c.known)
		got := pathsOf(t, c.reads).mark([]string{c.of}, known, c.failed)[c.of]
		if got["plain"].Sensitive != c.want {
			t.Errorf("%s: a secret %v, want %v", name, got["plain"].Sensitive, c.want)
		}
		if known[c.of]["plain"].Sensitive {
			t.Errorf("%s: what was read was changed", name)
		}
		// What of it is shown is masked in what its readers say, too.
		if secrets := secretsIn(got["plain"].Value, known); c.known["key"] != nil && c.want && c.failed == nil &&
			!slices.ContainsFunc(secrets, func(v digest.Value) bool { return v.String() == key["plain"].Value.String() || v.String() == `"wxyz"` }) {
			t.Errorf("%s: masked are %v", name, secrets)
		}
	}
}

// To know the secrets, those that declare one are read though nobody here reads them.
func TestWhatDeclaresASecretFurtherUpIsRead(t *testing.T) {
	t.Parallel()
	paths := pathsOf(t, map[string][]string{
		"key": nil, "app": {"key.secret", "net.plain"}, "web": {"app.plain"}, "edge": {"web.plain"}, "net": nil, "odd": nil, "log": {"odd.plain"},
	})
	for name, c := range map[string]struct{ names, known, want []string }{
		"of what is read":       {[]string{"app"}, []string{"app"}, []string{"key"}},
		"further up":            {[]string{"edge"}, []string{"edge"}, []string{"key"}},
		"read already":          {[]string{"edge"}, []string{"edge", "key"}, nil},
		"no secret above":       {[]string{"net"}, []string{"net"}, nil},
		"one is not understood": {[]string{"log", "edge"}, nil, []string{"key", "odd"}},
	} {
		known := map[string]outputs{}
		for _, k := range c.known {
			known[k] = outputs{}
		}
		if diff := cmp.Diff(c.want, paths.unread(c.names, known)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
