package usecase

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/declare"
)

// declares matches what makes a terraform root manage something.
var declares = regexp.MustCompile(`(?m)^\s*(resource|module)\s+"`)

// deletedRoots refuses a change that stops declaring a root which still manages
// something: what it made would stand on with nobody planning it. A root is
// removed in two steps, emptied and applied first. Only a change that touches a
// declaration can drop a root, so what stood before is read only then.
func (in PlanInput) deletedRoots(ctx context.Context, from string, files []string) error {
	if !slices.ContainsFunc(files, isDeclaration) {
		return nil
	}
	dir := filepath.Join(in.RunDir, "base-tree")
	if err := os.MkdirAll(in.RunDir, 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := in.Site.Clone.Worktree(ctx, from, dir); err != nil {
		return err
	}
	before, err := declare.Load(dir)
	if err != nil {
		if ForPeople(err) != nil {
			return nil // it declared nothing that reads; there is nothing to compare with
		}
		return err
	}
	was, err := findProject(before, in.Project.Member)
	if err != nil {
		return nil
	}
	for name, root := range was.Roots {
		if _, still := in.Project.Roots[name]; still || !manages(filepath.Join(dir, was.Dir, root.Dir)) {
			continue
		}
		return Refusef("%s:%d: root %q is no longer declared, and what it made would be left behind; first merge a change that empties %s, let it apply, then remove the root",
			root.File, root.Line, name, path.Join(was.Dir, root.Dir))
	}
	return nil
}

func isDeclaration(file string) bool {
	base := path.Base(file)
	return strings.HasPrefix(base, "chant.") || strings.Contains(base, ".component.")
}

// manages tells whether a root directory's configuration holds a resource or a
// module.
func manages(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		name := e.Name()
		if !e.Type().IsRegular() || !strings.HasSuffix(name, ".tf") && !strings.HasSuffix(name, ".tofu") && !strings.HasSuffix(name, ".json") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || declares.Match(text) || strings.HasSuffix(name, ".tf.json") {
			return true
		}
	}
	return false
}
