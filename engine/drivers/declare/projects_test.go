package declare

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// names lists a checkout as a git tree would.
func names(dir string) Lister {
	root := os.DirFS(dir)
	return func(dir string) ([]Entry, error) {
		found, err := root.(interface {
			ReadDir(string) ([]os.DirEntry, error)
		}).ReadDir(dir)
		var entries []Entry
		for _, e := range found {
			entries = append(entries, Entry{Name: e.Name(), Dir: e.IsDir()})
		}
		return entries, err
	}
}

func TestNamesAloneTellTheProjectsThatAreLoaded(t *testing.T) {
	t.Parallel()
	const member = `{"name":"estate","schema":1,"members":[{"name":"net","dir":"net","kind":"chant"}]}`
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"the root alone":             {map[string]string{"chant.workspace.json": `{"name":"estate","schema":1}`}, []string{""}},
		"an empty root":              {map[string]string{"chant.workspace.json": member}, []string{"net"}},
		"a root with a config":       {map[string]string{"chant.workspace.json": member, "chant.config.json": `{}`}, []string{"", "net"}},
		"a root with a component":    {map[string]string{"chant.workspace.json": member, "deep/a.component.json": shell("a")}, []string{"", "net"}},
		"a component of the member":  {map[string]string{"chant.workspace.json": member, "net/a.component.json": shell("a")}, []string{"net"}},
		"a component of another one": {map[string]string{"chant.workspace.json": member, "own/chant.config.json": `{}`, "own/a.component.json": shell("a")}, []string{"net"}},
		"one in a hidden directory":  {map[string]string{"chant.workspace.json": member, ".old/a.component.json": shell("a")}, []string{"net"}},
		"the root as a member":       {map[string]string{"chant.workspace.json": `{"name":"e","schema":1,"members":[{"name":"estate","dir":".","kind":"chant"}]}`, "a.component.json": shell("a")}, []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, other := c.files["net/a.component.json"]; !other {
				c.files["net/.keep"] = ""
			}
			dir := checkout(t, c.files)
			w, err := Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			var loaded, told []string
			for _, p := range w.Projects {
				loaded = append(loaded, p.Member)
			}
			projects, err := Projects(w.Declaration, names(dir))
			for _, p := range projects {
				told = append(told, p.Name)
			}
			if diff := cmp.Diff(c.want, told); diff != "" || err != nil || !cmp.Equal(loaded, told) {
				t.Errorf("%v; loaded %q; %s", err, loaded, diff)
			}
		})
	}
}
