package declare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
)

const declaration = `{"name":"estate","schema":1}`

// checkout writes files into a new directory; a value starting with "->" is a
// link.
func checkout(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if len(text) > 2 && text[:2] == "->" {
			err = os.Symlink(text[2:], file)
		} else {
			err = os.WriteFile(file, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func shell(name string, deps ...string) string {
	list := "["
	for i, d := range deps {
		if i > 0 {
			list += ","
		}
		list += fmt.Sprintf("%q", d)
	}
	return fmt.Sprintf("{\"name\":%q,\n\"dependsOn\":%s],\n\"deploy\":[{\"phase\":\"A\",\"steps\":[{\"kind\":\"shell\",\"cmd\":\"true\",\"reason\":\"test\"}]}]}", name, list)
}

// found lists "member: component (file)" of a workspace.
func found(w *project.Workspace) []string {
	list := []string{}
	for _, p := range w.Projects {
		for _, c := range p.Components {
			list = append(list, fmt.Sprintf("%s: %s (%s)", p.Member, c.Name, c.File))
		}
	}
	return list
}

func TestTheExampleLoadsAndSelects(t *testing.T) {
	t.Parallel()
	w, err := Load("../../../examples/two-roots")
	if err != nil {
		t.Fatal(err)
	}
	p := w.Projects[0]
	if len(w.Projects) != 1 || p.Roots["net"].Dir != "roots/net" || p.Roots["app"].Dir != "roots/app" {
		t.Fatalf("%+v", w)
	}
	if env := w.Declaration.EnvsOf("main", "")[0]; env.Name != "prod" || len(env.Unenforced(w.Declaration, env.Gate)) != 0 {
		t.Errorf("env %+v", env)
	}
	for root, want := range map[string][][]string{"net": {{"net"}, {"app"}}, "app": {{"app"}}} {
		s, err := graph.SelectChanges(p.Components, graph.Changes{Roots: []string{root}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, s.Waves); diff != "" {
			t.Errorf("%s: %s", root, diff)
		}
	}
}

func TestComponentsAreFoundWhereTheyBelong(t *testing.T) {
	t.Parallel()
	w, err := Load(checkout(t, map[string]string{
		"chant.workspace.json": `{"name":"estate","schema":1,"members":[{"name":"net","dir":"infra/net","kind":"chant"},{"name":"docs","dir":"docs","kind":"other","because":"prose"},
			{"name":"inner","dir":"inner","kind":"workspace"}]}`,
		"a.component.json":                   shell("a"),
		"deep/er/b.component.yaml":           "name: b\ndependsOn: [a]\ndeploy:\n- phase: A\n  steps:\n  - {kind: shell, cmd: 'true', reason: test}\n",
		"infra/c.component.json":             shell("c"),
		"infra/net/a.component.json":         shell("a"),
		"infra/net/sub/d.component.json":     shell("d"),
		"infra/net/chant.config.yaml":        "terraform:\n  binary: tofu\n",
		"infra/network/e.component.json":     shell("e"),
		"docs/f.component.json":              shell("f"),
		"inner/g.component.json":             shell("g"),
		"node_modules/h.component.json":      shell("h"),
		"deep/node_modules/h.component.json": shell("h"),
		".hidden/i.component.json":           shell("i"),
		"deep/.git/i.component.json":         shell("i"),
		"other/chant.config.ts":              "export default {}",
		"other/j.component.json":             shell("j"),
		"k.component.jsonc":                  "not asked for",
		"component.json":                     "not asked for",
		"linked":                             "->infra",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{": a (a.component.json)", ": b (deep/er/b.component.yaml)", ": c (infra/c.component.json)", ": e (infra/network/e.component.json)",
		"net: a (infra/net/a.component.json)", "net: d (infra/net/sub/d.component.json)"}
	if diff := cmp.Diff(want, found(w)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"inner", "other"}, w.Others); diff != "" {
		t.Error(diff)
	}
	if p := w.Projects[1]; p.Config == nil || p.Config.Terraform.Binary != "tofu" || project.LedgerPrefix(p.Member) != "_members/net/" {
		t.Errorf("project %+v", p)
	}
}

func TestARootThatHoldsNothingIsNoProject(t *testing.T) {
	t.Parallel()
	w, err := Load(checkout(t, map[string]string{
		"chant.workspace.json": `{"name":"estate","schema":1,"members":[{"name":"net","dir":"net","kind":"chant"}]}`,
		"net/a.component.json": shell("a"),
	}))
	if err != nil || len(w.Projects) != 1 || w.Projects[0].Member != "net" {
		t.Errorf("%+v, %v", w, err)
	}
	if w, err = Load(checkout(t, map[string]string{"chant.workspace.json": declaration})); err != nil || len(w.Projects) != 1 {
		t.Errorf("without members the root is the project: %+v, %v", w, err)
	}
}

func TestGlobsOfTheDeclarationAreUsed(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"chant.workspace.json":       `{"name":"estate","schema":1,"x-bot":{"components":["infra/**/*.chant.jsonc"]}}`,
		"infra/a.chant.jsonc":        "// ours\n" + shell("a"),
		"infra/deep/b.chant.jsonc":   shell("b"),
		"other/c.chant.jsonc":        shell("c"),
		"infra/not.component.json":   shell("d"),
		"infra/a.chant.jsonc.backup": "x",
	}
	dir := checkout(t, files)
	w, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{": a (infra/a.chant.jsonc)", ": b (infra/deep/b.chant.jsonc)"}, found(w)); diff != "" {
		t.Error(diff)
	}
	base, err := LoadDeclaration(func(name string) ([]byte, bool, error) {
		return []byte(`{"name":"estate","schema":1,"security":["review-rules"]}`), name == declarationJSON, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if w, err = LoadTrusting(dir, base); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{": d (infra/not.component.json)"}, found(w)); diff != "" || !w.Declaration.ReviewRules {
		t.Errorf("x-bot and security come from the base: %s", diff)
	}
}

func TestLoadRefusesWithFileAndFix(t *testing.T) {
	t.Parallel()
	outside := checkout(t, map[string]string{"x.json": shell("x"), "root/main.tf": ""})
	root := func(dir string) string {
		return fmt.Sprintf(`{"name":"a","dependsOn":[],"deploy":[{"phase":"A","steps":[{"kind":"terraform-apply","root":"a","dir":%q}]}]}`, dir)
	}
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
		code  string
	}{
		"two declarations":        {map[string]string{"chant.workspace.json": declaration, "chant.workspace.jsonc": declaration}, []string{"chant.workspace.jsonc", "there is a chant.workspace.json too"}, project.CodeAmbiguous},
		"declaration syntax":      {map[string]string{"chant.workspace.json": "{"}, []string{"chant.workspace.json:1", "opened on line 1"}, project.CodeUnparseable},
		"declaration linked out":  {map[string]string{"chant.workspace.json": "->" + outside + "/x.json"}, []string{"chant.workspace.json", "link out of the checkout"}, project.CodePlacement},
		"declaration linked up":   {map[string]string{"chant.workspace.json": "->../../../etc/hostname"}, []string{"chant.workspace.json", "link out of the checkout"}, project.CodePlacement},
		"declaration linked away": {map[string]string{"chant.workspace.json": "->nowhere.json"}, []string{"chant.workspace.json", "link to nowhere"}, project.CodePlacement},
		"declaration a directory": {map[string]string{"chant.workspace.json/x": ""}, []string{"chant.workspace.json", "no regular file"}, project.CodePlacement},
		"member missing":          {map[string]string{"chant.workspace.json": `{"name":"e","schema":1,"members":[{"name":"net","dir":"net","kind":"chant"}]}`}, []string{"chant.workspace.json:1", `member "net"`, `"net"`}, project.CodePlacement},
		"member linked out":       {map[string]string{"chant.workspace.json": `{"name":"e","schema":1,"members":[{"name":"net","dir":"net","kind":"chant"}]}`, "net": "->" + outside}, []string{`member "net"`}, project.CodePlacement},
		"component syntax":        {map[string]string{"chant.workspace.json": declaration, "a.component.yaml": "a: [\n"}, []string{"a.component.yaml"}, project.CodeComponentInvalid},
		"component field":         {map[string]string{"chant.workspace.json": declaration, "a.component.yaml": "name: a\ndependsOn: []\ndeploys: []\n"}, []string{"a.component.yaml:3", `did you mean "deploy"?`}, project.CodeComponentInvalid},
		"component linked out":    {map[string]string{"chant.workspace.json": declaration, "a.component.json": "->" + outside + "/x.json"}, []string{"a.component.json", "link out of the checkout"}, project.CodePlacement},
		"config syntax":           {map[string]string{"chant.workspace.json": declaration, "chant.config.json": "{'"}, []string{"chant.config.json:1"}, project.CodeConfigInvalid},
		"config field":            {map[string]string{"chant.workspace.json": declaration, "chant.config.yaml": "terraform:\n  binari: tofu\n"}, []string{"chant.config.yaml:2", `did you mean "binary"?`}, project.CodeConfigInvalid},
		"two configs":             {map[string]string{"chant.workspace.json": declaration, "chant.config.json": "{}", "chant.config.yaml": "{}"}, []string{"chant.config.yaml", "there is a chant.config.json too"}, project.CodeConfigInvalid},
		"component named twice":   {map[string]string{"chant.workspace.json": declaration, "a.component.json": shell("a"), "b.component.json": shell("a")}, []string{"b.component.json:1", "a.component.json too"}, project.CodeProjectInvalid},
		"unknown dependency":      {map[string]string{"chant.workspace.json": declaration, "a.component.json": shell("a", "b")}, []string{"a.component.json:2", `depends on "b"`}, project.CodeProjectInvalid},
		"root missing":            {map[string]string{"chant.workspace.json": declaration, "a.component.json": root("roots/a")}, []string{"a.component.json:1", `"roots/a" is no directory`}, project.CodeProjectInvalid},
		"root outside":            {map[string]string{"chant.workspace.json": declaration, "a.component.json": root("../a")}, []string{"a.component.json:1", "leaves the checkout"}, project.CodeProjectInvalid},
		"root linked out":         {map[string]string{"chant.workspace.json": declaration, "a.component.json": root("roots/a"), "roots/a": "->" + outside + "/root"}, []string{`"roots/a" is no directory of the checkout`}, project.CodeProjectInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := Load(checkout(t, c.files))
			if w != nil {
				t.Error("a refused workspace was returned")
			}
			wantProblem(t, err, c.want...)
			var ps project.Problems
			if errors.As(err, &ps) && !ps.Has(c.code) {
				t.Errorf("codes of %v, want %s", err, c.code)
			}
		})
	}
}

func TestALinkInsideTheCheckoutIsFollowed(t *testing.T) {
	t.Parallel()
	w, err := Load(checkout(t, map[string]string{"chant.workspace.json": "->real/w.json", "real/w.json": declaration, "a.component.json": "->real/a.json", "real/a.json": shell("a")}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{": a (a.component.json)"}, found(w)); diff != "" {
		t.Error(diff)
	}
}

func TestEveryBrokenFileIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Load(checkout(t, map[string]string{"chant.workspace.json": declaration, "a.component.json": "{", "b.component.json": shell("B"), "chant.config.json": `{"terraform":1}`}))
	for _, file := range []string{"a.component.json", "b.component.json", "chant.config.json"} {
		wantProblem(t, err, file)
	}
}

func TestNoDeclarationIsAnErrorOfItsOwn(t *testing.T) {
	t.Parallel()
	if _, err := Load(t.TempDir()); !errors.Is(err, project.ErrNoDeclaration) {
		t.Errorf("got %v", err)
	}
	broken := errors.New("the object store is gone")
	if _, err := LoadDeclaration(func(string) ([]byte, bool, error) { return nil, false, broken }); !errors.Is(err, broken) || errors.Is(err, project.ErrNoDeclaration) {
		t.Errorf("an unreadable tree must not read as no declaration: %v", err)
	}
}

func TestTheNearestDeclarationUpToTheRepositoryIsFound(t *testing.T) {
	t.Parallel()
	dir := checkout(t, map[string]string{"chant.workspace.json": declaration, "repo/.git/HEAD": "", "repo/w/chant.workspace.jsonc": declaration, "repo/w/x/y/z": "", "repo/other/z": ""})
	got, err := Find(filepath.Join(dir, "repo/w/x/y"))
	if want := filepath.Join(dir, "repo/w"); err != nil || got != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	if got, err := Find(filepath.Join(dir, "repo/other")); !errors.Is(err, project.ErrNoDeclaration) {
		t.Errorf("went past the repository: %s, %v", got, err)
	}
}
