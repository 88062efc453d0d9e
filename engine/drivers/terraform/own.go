package terraform

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// Own implements engine.Planner. A root may write to its own directory and to
// those of the local modules it calls: archives and provisioners commonly write
// to path.module. It has all of the checkout where the wall can't show the rest
// read-only, and where the root is at the top or a symbolic link leads to one of
// them.
func (d *Driver) Own(checkout, projectDir string, root project.Root) ([]string, error) {
	all := []string{"."}
	if !d.cfg.Wall.Mounts() {
		return all, nil
	}
	tree := os.DirFS(checkout)
	dirs, err := moduleDirs(tree, path.Join(projectDir, root.Dir), moduleCalls, jsonModuleCalls)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of root %s: %w", root.Name, err)
	}
	slices.Sort(dirs) // a directory comes before those in it
	var own []string
	for _, dir := range dirs {
		if dir == "." || !plainDir(tree, dir) {
			return all, nil
		}
		if !slices.ContainsFunc(own, func(o string) bool { return strings.HasPrefix(dir, o+"/") }) {
			own = append(own, dir)
		}
	}
	return own, nil
}

// Parallel implements engine.Planner: while one member's tool runs, another may
// prepare its files or read what it planned.
func (d *Driver) Parallel() int { return 2 * d.cfg.Pool.Size() }

// plainDir tells whether a directory is there and no link leads to it.
func plainDir(tree fs.FS, dir string) bool {
	for ; dir != "."; dir = path.Dir(dir) {
		info, err := fs.Lstat(tree, dir)
		if err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}
