package demo_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chant-bot/chant/app/demo"
	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/examples"
)

// loadedExample is an example as a repository that has its files is read, and its
// README.
func loadedExample(t *testing.T, name string) (p project.Project, readme string) {
	t.Helper()
	files, err := examples.Files(name)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for path, text := range files {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w, err := declare.Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(w.Projects) != 1 || len(w.Others) != 0 {
		t.Fatalf("%d projects and %v beside, want one", len(w.Projects), w.Others)
	}
	return w.Projects[0], files["README.md"]
}

func TestTheReadmeOfComposedSaysWhatFollows(t *testing.T) {
	t.Parallel()
	p, readme := loadedExample(t, "composed")
	example := demo.Composed()
	if len(p.Roots) != len(example.Roots) {
		t.Errorf("the example has %d roots, of which the demo applies %d", len(p.Roots), len(example.Roots))
	}
	for _, root := range example.Roots {
		s, err := graph.SelectChanges(p.Components, graph.Changes{Roots: []string{root.Name}})
		if err != nil {
			t.Fatal(err)
		}
		c, err := compose.Of(compose.Input{Components: p.Components, Selection: s, Kinds: map[string]compose.Ability{"terraform-apply": {Groups: true}}})
		if err != nil {
			t.Fatal(err)
		}
		cells := []string{root.Name, "", "", "", ""}
		for i, wave := range c.Waves {
			cells[i+1] = strings.Join(wave, ", ")
		}
		for _, group := range c.Groups {
			cells[4] += strings.Join(group.Members, ", ")
		}
		if row := row(cells); !strings.Contains(readme, row) {
			t.Errorf("the README has no line\n%s", row)
		}
	}
	for _, c := range p.Components {
		if !strings.Contains(readme, row([]string{c.Name})) {
			t.Errorf("the README does not tell of %s", c.Name)
		}
	}
}

// row is the start of a line of a table.
func row(cells []string) string {
	var b strings.Builder
	b.WriteString("\n|")
	for _, c := range cells {
		if c == "" {
			b.WriteString(" |")
			continue
		}
		fmt.Fprintf(&b, " `%s` |", strings.ReplaceAll(c, ", ", "`, `"))
	}
	return b.String()
}

func TestEachFallbackIsExplained(t *testing.T) {
	t.Parallel()
	code, err := os.ReadFile(filepath.Join("..", "..", "engine", "report", "report.go"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "composed.md"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := regexp.MustCompile(`FallbackKind = "(.+)"`).FindAllSubmatch(code, -1)
	for _, kind := range kinds {
		if !strings.Contains(string(doc), row([]string{string(kind[1])})) {
			t.Errorf("docs/composed.md does not say what to do about %s", kind[1])
		}
	}
	if len(kinds) < 13 {
		t.Errorf("%d kinds are found in the code", len(kinds))
	}
}
