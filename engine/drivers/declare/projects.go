package declare

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// Entry is one name in a directory.
type Entry struct {
	Name string
	Dir  bool
}

// Lister lists a directory of a checkout or of a git tree, sorted by name. "."
// is the top.
type Lister func(dir string) ([]Entry, error)

// Projects answers which projects a workspace has by the names in it alone, so
// that a tree answers as its checkout would.
func Projects(d *project.Declaration, list Lister) ([]project.WorkspaceMember, error) {
	return d.Projects(func() (bool, error) { return rootHolds(d, list) })
}

func rootHolds(d *project.Declaration, list Lister) (bool, error) {
	top, err := list(".")
	if err != nil {
		return false, err
	}
	if holdsConfig(top, configNames()) {
		return true, nil
	}
	w := walk{d: d, list: list, globs: project.Globs(d), most: 1}
	err = w.dir(".", top)
	return len(w.files) > 0, err
}

func holdsConfig(entries []Entry, names []string) bool {
	return slices.ContainsFunc(entries, func(e Entry) bool { return slices.Contains(names, e.Name) })
}

// walk looks for component files, in name order. Dot directories, node_modules,
// members' directories and projects of their own are left out; links to
// directories are not followed.
type walk struct {
	d      *project.Declaration
	list   Lister
	globs  []string
	most   int // it stops above
	files  []string
	others []string // projects of their own
}

func (w *walk) dir(dir string, entries []Entry) error {
	for _, e := range entries {
		name := path.Join(dir, e.Name)
		if !e.Dir {
			if slices.ContainsFunc(w.globs, func(g string) bool { return project.MatchGlob(g, name) }) {
				w.files = append(w.files, name)
			}
		} else if err := w.enter(name); err != nil {
			return err
		}
		if len(w.files) >= w.most {
			return nil
		}
	}
	return nil
}

func (w *walk) enter(name string) error {
	if base := path.Base(name); strings.HasPrefix(base, ".") || base == "node_modules" {
		return nil
	}
	if m, ok := w.d.MemberOf(name); ok && m.Dir == name {
		return nil
	}
	entries, err := w.list(name)
	if err != nil {
		return fmt.Errorf("looking for components in %s: %w", name, err)
	}
	// A directory with a config is a project of its own (components §5).
	if holdsConfig(entries, append(configNames(), "chant.config.ts")) {
		w.others = append(w.others, name)
		return nil
	}
	return w.dir(name, entries)
}
