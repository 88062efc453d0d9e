package declare

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
)

// parse decodes text as a file of this name and returns the value as JSON.
func parse(t *testing.T, name, text string) string {
	t.Helper()
	n, err := Parse([]byte(text), name)
	if err != nil {
		t.Fatalf("%s refused: %v", text, err)
	}
	v, err := n.ToValue()
	if err != nil {
		t.Fatal(err)
	}
	return v.String()
}

func wantProblem(t *testing.T, err error, parts ...string) {
	t.Helper()
	var ps project.Problems
	if !errors.As(err, &ps) {
		t.Fatalf("got error %v, want problems", err)
	}
	for _, p := range ps {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(p.String(), part)
		}
		if found {
			return
		}
	}
	t.Errorf("no problem holds all of %q; got:\n%v", parts, err)
}

func TestJSONAndYAMLGiveTheSameValue(t *testing.T) {
	t.Parallel()
	const want = `{"b":{"c":"x y","d":null,"e":true},"list":[1,-2.50,1e3,"é\n"],"s":"10"}`
	for name, text := range map[string]string{
		"a.json":  `{"list": [1, -2.50, 1e3, "\u00e9\n"], "b": {"c":"x y", "d":null,"e":true}, "s":"10"}`,
		"a.jsonc": "// first\n{\"list\": [1, -2.50, /* in\nside */ 1e3, \"é\\n\",], \"b\": {\"c\":\"x y\", \"d\":null,\"e\":true,}, \"s\":\"10\", // last\n}\n// after",
		"a.yaml":  "# first\nlist: [1, -2.50, 1e3, \"é\\n\"]\nb:\n  c: x y\n  d: ~\n  e: true\ns: '10'\n",
		"a.yml":   "---\nlist:\n- 1\n- -2.50\n- 1e3\n- |\n  é\nb: &b {c: x y, d: , e: True}\ns: !!str 10\n",
	} {
		v, err := digest.Decode([]byte(parse(t, name, text)))
		if err != nil {
			t.Fatal(err)
		}
		w, err := digest.Decode([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if !digest.Equal(v, w) {
			t.Errorf("%s: %s, want %s", name, v, w)
		}
	}
}

func TestNodesKnowWhereTheyStand(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"a.json":  "{\n  \"a\": 1,\r\n  \"b\": [\n    true, \"x\"]\n}",
		"a.jsonc": "{ // c\n  \"a\": 1, /* \n*/ \"b\": [\n    true, \"x\"]\n}",
		"a.yaml":  "x: 0\na: 1\nb: [\n    true, \"x\"]\n",
	} {
		n, err := Parse([]byte(text), name)
		if err != nil {
			t.Fatal(err)
		}
		x := n.Get("b").Items[1]
		if x.File != name || x.Line != 4 || x.Column != 11 || n.Get("a").Line != 2 {
			t.Errorf("%s: x stands at %s:%d:%d, a on line %d", name, x.File, x.Line, x.Column, n.Get("a").Line)
		}
	}
}

func TestFilesAreRefusedWithALine(t *testing.T) {
	t.Parallel()
	deep := func(open, inner, closing string, n int) string {
		return strings.Repeat(open, n) + inner + strings.Repeat(closing, n)
	}
	bomb := "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 9; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 10), ","))
	}
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"empty json":              {"a.json", " \n", []string{"a.json:1", "is empty"}},
		"empty yaml":              {"a.yaml", "", []string{"a.yaml:1", "is empty"}},
		"only a comment":          {"a.yaml", "# nothing\n", []string{"a.yaml:1", "is empty"}},
		"comment in json":         {"a.json", "{\n// x\n}", []string{"a.json:2", "comment", ".jsonc"}},
		"trailing comma in json":  {"a.json", "[1,\n]", []string{"a.json:2", "comma", ".jsonc"}},
		"two commas in jsonc":     {"a.jsonc", "[1,,]", []string{"a.jsonc:1", "value"}},
		"comma alone in jsonc":    {"a.jsonc", "[,]", []string{"value"}},
		"open comment":            {"a.jsonc", "/* x", []string{"never closed"}},
		"single quotes":           {"a.json", "['x']", []string{"single quotes"}},
		"key twice in json":       {"a.json", "{\"a\":1,\n\"\\u0061\":2}", []string{"a.json:2", `"a" stands twice, first on line 1`}},
		"key twice in yaml":       {"a.yaml", "a: 1\nb: 2\na: 3\n", []string{"a.yaml:3", `"a" stands twice`, "line 1"}},
		"text behind":             {"a.json", "{}\n{}", []string{"a.json:2", "more text"}},
		"open object":             {"a.json", "{\"a\":1\n\n", []string{"a.json:3", "opened on line 1"}},
		"open string":             {"a.json", "[\"a", []string{"never closed"}},
		"line end in a string":    {"a.json", "[\"a\nb\"]", []string{"control character"}},
		"unknown escape":          {"a.json", `["\x"]`, []string{"escape"}},
		"half a surrogate":        {"a.json", `["\ud83d"]`, []string{"surrogate"}},
		"number with a zero":      {"a.json", "[01]", []string{`"01" is no number`}},
		"number with a plus":      {"a.json", "[+1]", []string{"value"}},
		"a word too long":         {"a.json", "[trueish]", []string{"comma"}},
		"unquoted key":            {"a.json", "{a:1}", []string{"key"}},
		"missing colon":           {"a.json", `{"a" 1}`, []string{"colon"}},
		"missing comma":           {"a.json", `[1 2]`, []string{"comma"}},
		"json too deep":           {"a.json", deep("[", "", "]", 100), []string{"deeper than 64"}},
		"yaml too deep":           {"a.yaml", deep("[", "", "]", 100), []string{"deeper than 64"}},
		"yaml far too deep":       {"a.yaml", deep("[", "", "]", 400_000), []string{"depth"}},
		"too many values":         {"a.json", "[" + strings.Repeat("1,", 200_000) + "1]", []string{"more than 100000 values"}},
		"alias bomb":              {"a.yaml", bomb, []string{"more than 100000 values"}},
		"alias in itself":         {"a.yaml", "a: &a [*a]\n", []string{"a.yaml:1", "holds itself"}},
		"merge key":               {"a.yaml", "a: &a {x: 1}\nb:\n  <<: *a\n", []string{"a.yaml:3", "merge keys"}},
		"yaml key no string":      {"a.yaml", "1: x\n", []string{"a.yaml:1", "quotes"}},
		"yaml key a list":         {"a.yaml", "? [a]\n: x\n", []string{"key must be a string"}},
		"yaml octal":              {"a.yaml", "a: 1\nb: 0o17\n", []string{"a.yaml:2", `"0o17"`, "no JSON number"}},
		"yaml underscore":         {"a.yaml", "a: 1_000\n", []string{`"1_000"`}},
		"yaml infinity":           {"a.yaml", "a: .inf\n", []string{`".inf"`}},
		"yaml own tag":            {"a.yaml", "a: !mine x\n", []string{"a.yaml:1", "!mine"}},
		"yaml own tag on a list":  {"a.yaml", "a: !mine [x]\n", []string{"!mine"}},
		"yaml set":                {"a.yaml", "a: !!set {x}\n", []string{"!!set"}},
		"yaml binary":             {"a.yaml", "a: !!binary aGk=\n", []string{"!!binary"}},
		"second document":         {"a.yaml", "a: 1\n---\nb: 2\n", []string{"second document"}},
		"yaml syntax":             {"a.yaml", "a: 1\nb: [\n", []string{"a.yaml"}},
		"yaml unknown alias":      {"a.yaml", "a: *b\n", []string{"unknown anchor"}},
		"key too long":            {"a.json", `{"` + strings.Repeat("k", 513) + `":1}`, []string{"longer than 512"}},
		"yaml key too long":       {"a.yaml", strings.Repeat("k", 513) + ": 1", []string{"longer than 512"}},
		"not utf-8":               {"a.json", "[\n\"\xff\"]", []string{"a.json:2", "UTF-8"}},
		"too large":               {"a.json", strings.Repeat(" ", maxBytes+1), []string{"larger than 1024 KiB"}},
		"another extension":       {"a.toml", "a = 1", []string{"extension"}},
		"a slash that is nothing": {"a.jsonc", "/ {}", []string{"value"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := Parse([]byte(c.text), c.file)
			if n != nil {
				t.Error("a refused file was returned")
			}
			wantProblem(t, err, c.want...)
			if ps, ok := errors.AsType[project.Problems](err); !ok || !ps.Has(project.CodeUnparseable) {
				t.Errorf("problems are %+v", ps)
			}
		})
	}
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	t.Parallel()
	if got := parse(t, "a.json", "\ufeff[1]"); got != "[1]" {
		t.Errorf("got %s", got)
	}
}

func TestWhatLooksLikeAnotherTypeInYAMLIsText(t *testing.T) {
	t.Parallel()
	if diff := cmp.Diff(`{"date":"2026-11-30","no":"no","off":"off","version":"1.2.3"}`, parse(t, "a.yaml", "date: 2026-11-30\nno: no\noff: off\nversion: 1.2.3\n")); diff != "" {
		t.Error(diff)
	}
}

func TestNoMoreOfAFileIsReadThanItsBound(t *testing.T) {
	t.Parallel()
	_, err := readBounded(strings.NewReader(strings.Repeat(" ", maxBytes+1)), "sub/x.json")
	wantProblem(t, err, "sub/x.json", "larger than")
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e+3,"é\u00e9\ud83d\ude00",null,true]}`, "// c\n{\"a\":1,}", "a: &x [1]\nb: *x\n", `{"a":1,"a":2}`, `["\ud83d"]`, "[1,]", "\ufeff[]", "a: |\n  x\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"a.json", "a.jsonc", "a.yaml"} {
			n, err := Parse(data, name)
			if (n == nil) == (err == nil) {
				t.Fatalf("%s: node %v and error %v", name, n, err)
			}
			if err != nil {
				continue
			}
			if name == "a.json" {
				agreesWithJSON(t, data, n)
			}
			// Whatever is accepted, reading it as a file of ours ends in an
			// answer.
			_, _ = project.ParseDeclaration(n)
			_, _ = project.ParseComponent(n)
			_, _ = project.ParseConfig(n)
		}
	})
}

// agreesWithJSON: what we accept as JSON is JSON, and means what the exact
// decoder says it means.
func agreesWithJSON(t *testing.T, data []byte, n *project.Node) {
	t.Helper()
	data = []byte(strings.TrimPrefix(string(data), "\ufeff"))
	if !json.Valid(data) {
		t.Fatalf("%q was accepted and is no JSON", data)
	}
	want, err := digest.Decode(data)
	if err != nil {
		return // stricter bounds of the exact decoder
	}
	got, err := n.ToValue()
	if err != nil || !digest.Equal(got, want) {
		t.Fatalf("%q was read as %s (%v)", data, got, err)
	}
}
