package terraform

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// jsonModuleCalls finds what the rule of components §4.3 misses.
var jsonModuleCalls = scan{isJSONConfig, regexp.MustCompile(`"source"\s*:\s*"(\.{1,2}(?:/[^"]*)?)"`)}

// references finds mentions of files outside a module's own directory, such as
// file("../policy.json") or a provisioner's "sh ../deploy.sh".
var references = scan{
	func(name string) bool { return isConfig(name) || isJSONConfig(name) },
	regexp.MustCompile(`((?:\.\./)+[\w.@+/-]*)`),
}

func isJSONConfig(name string) bool {
	return strings.HasSuffix(name, ".tf.json") || strings.HasSuffix(name, ".tofu.json")
}

// SourcePaths lists the paths whose git objects make a member's source
// (pr-loop §5.11), relative to the checkout, sorted, existing ones only: the
// watched paths and the lock file, and, since here a path too many costs an
// approval while one too few could hide a change, module calls in JSON, files
// mentioned by "../" paths, and the targets of links. A root that builds a path
// out of its modules' directories in a way the text does not show is not seen
// through.
func SourcePaths(projectDir string, root project.Root, checkout fs.FS) ([]string, error) {
	start := path.Join(projectDir, root.Dir)
	dirs, err := moduleDirs(checkout, start, moduleCalls, jsonModuleCalls)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of root %s: %w", root.Name, err)
	}
	found := append(slices.Clone(dirs), varFiles(projectDir, root)...)
	found = append(found, path.Join(start, lockFileName))
	for _, dir := range dirs {
		mentions, err := textMatches(checkout, dir, []scan{references})
		if err != nil {
			return nil, fmt.Errorf("reading root %s: %w", root.Name, err)
		}
		for _, m := range mentions {
			// Relative to the module, and for path.root to the root.
			found = append(found, mentioned(checkout, path.Join(dir, m), path.Join(start, m))...)
		}
	}
	found, err = withLinkTargets(checkout, found)
	if err != nil {
		return nil, fmt.Errorf("reading root %s: %w", root.Name, err)
	}
	slices.Sort(found)
	return slices.Compact(found), nil
}

// mentioned returns the candidates that exist, else the directories they would
// be in: the text may be cut off at an expression.
func mentioned(checkout fs.FS, candidates ...string) []string {
	var found, above []string
	for _, p := range candidates {
		if exists(checkout, p) {
			found = append(found, p)
		}
		above = append(above, path.Dir(p))
	}
	if len(found) > 0 {
		return found
	}
	return above
}

func exists(checkout fs.FS, p string) bool {
	if !fs.ValidPath(p) {
		return false
	}
	_, err := fs.Lstat(checkout, p)
	return err == nil
}

// withLinkTargets keeps the paths that exist and adds what links in them point
// to, directly or through further links.
func withLinkTargets(checkout fs.FS, paths []string) ([]string, error) {
	var kept []string
	for len(paths) > 0 {
		p := paths[0]
		paths = paths[1:]
		if !exists(checkout, p) || slices.Contains(kept, p) {
			continue
		}
		kept = append(kept, p)
		err := fs.WalkDir(checkout, p, func(at string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case e.IsDir() && (e.Name() == dataDir || e.Name() == ".git"):
				return fs.SkipDir
			case e.Type()&fs.ModeSymlink == 0:
				return nil
			}
			target, err := fs.ReadLink(checkout, at)
			if err == nil {
				paths = append(paths, path.Join(path.Dir(at), target))
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return kept, nil
}
