package terraform

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// scan finds the first group of a pattern in the text of certain files.
type scan struct {
	wanted  func(name string) bool
	pattern *regexp.Regexp
}

// moduleCalls finds local module calls by text, as components §4.3 rules: a
// commented-out one is found too. A bare ".." counts besides.
var moduleCalls = scan{isConfig, regexp.MustCompile(`source\s*=\s*"(\.{1,2}(?:/[^"]*)?)"`)}

func isConfig(name string) bool {
	return strings.HasSuffix(name, ".tf") || strings.HasSuffix(name, ".tofu")
}

// Watched lists the paths whose change changes a root (components §4.3): its
// directory, every local module reached from it, and its var files. project is
// the project's directory in the checkout, "." for the root; the paths are
// relative to it, sorted, and may start with "../".
func Watched(projectDir string, root project.Root, checkout fs.FS) ([]string, error) {
	dirs, err := moduleDirs(checkout, path.Join(projectDir, root.Dir), moduleCalls)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of root %s: %w", root.Name, err)
	}
	var watched []string
	for _, p := range append(dirs, varFiles(projectDir, root)...) {
		watched = append(watched, relative(projectDir, p))
	}
	slices.Sort(watched)
	return slices.Compact(watched), nil
}

func varFiles(projectDir string, root project.Root) []string {
	var files []string
	for _, f := range root.VarFiles {
		files = append(files, path.Join(projectDir, root.Dir, f))
	}
	return files
}

// moduleDirs walks local module calls breadth-first from a directory; paths
// are relative to the checkout.
func moduleDirs(checkout fs.FS, start string, scans ...scan) ([]string, error) {
	dirs := []string{start}
	for i := 0; i < len(dirs); i++ {
		sources, err := textMatches(checkout, dirs[i], scans)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			dir := path.Join(dirs[i], strings.ReplaceAll(source, "//", "/"))
			if isDir(checkout, dir) && !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return dirs, nil
}

// textMatches runs the scans over the directory's own files. A directory that
// does not exist has no match.
func textMatches(tree fs.FS, dir string, scans []scan) ([]string, error) {
	if !fs.ValidPath(dir) {
		return nil, fmt.Errorf("%s is outside the checkout", dir)
	}
	entries, err := fs.ReadDir(tree, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, e := range entries {
		for _, sc := range scans {
			if e.IsDir() || !sc.wanted(e.Name()) {
				continue
			}
			text, err := fs.ReadFile(tree, path.Join(dir, e.Name()))
			if err != nil {
				continue // a link out of the checkout, or to nothing
			}
			for _, m := range sc.pattern.FindAllSubmatch(text, -1) {
				found = append(found, string(m[1]))
			}
		}
	}
	return found, nil
}

func isDir(tree fs.FS, dir string) bool {
	if !fs.ValidPath(dir) {
		return false
	}
	info, err := fs.Stat(tree, dir)
	return err == nil && info.IsDir()
}

// relative rewrites a path of the checkout to one of the project.
func relative(projectDir, p string) string {
	up := ""
	for base := projectDir; ; base = path.Dir(base) {
		if base == "." {
			return path.Join(up, p)
		}
		if rest, ok := strings.CutPrefix(p+"/", base+"/"); ok {
			return path.Join(up, rest, ".")
		}
		up += "../"
	}
}

// Changed names the roots, sorted, that some changed path touches: it equals a
// watched path or lies under it. Changed paths are relative to the project,
// slash-separated, and may start with "../".
func Changed(projectDir string, roots map[string]project.Root, checkout fs.FS, changed []string) ([]string, error) {
	var touched []string
	for _, name := range slices.Sorted(maps.Keys(roots)) {
		watched, err := Watched(projectDir, roots[name], checkout)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changed, func(p string) bool { return touches(watched, p) }) {
			touched = append(touched, name)
		}
	}
	return touched, nil
}

func touches(watched []string, changed string) bool {
	changed = path.Clean(changed)
	return slices.ContainsFunc(watched, func(w string) bool {
		below, ok := changed, true
		if w != "." {
			below, ok = strings.CutPrefix(changed+"/", w+"/")
		}
		return ok && !strings.HasPrefix(below+"/", "../")
	})
}
