package declare

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/chant-bot/chant/engine/project"
)

const (
	declarationJSON  = "chant.workspace.json"
	declarationJSONC = "chant.workspace.jsonc"
)

// configNames are the names a project's config may have, at most one of them.
func configNames() []string {
	return []string{"chant.config.json", "chant.config.jsonc", "chant.config.yaml", "chant.config.yml"}
}

// Find walks up from a directory to the nearest one with a declaration, not
// beyond the one that holds .git (pr-loop §4.1). project.ErrNoDeclaration when
// there is none.
func Find(from string) (string, error) {
	dir, err := filepath.Abs(from)
	if err != nil {
		return "", fmt.Errorf("finding the declaration from %s: %w", from, err)
	}
	for {
		for _, name := range []string{declarationJSON, declarationJSONC} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
				return dir, nil
			}
		}
		_, err := os.Lstat(filepath.Join(dir, ".git"))
		if parent := filepath.Dir(dir); err != nil && parent != dir {
			dir = parent
			continue
		}
		return "", project.ErrNoDeclaration
	}
}

// LoadDeclaration reads the declaration alone, out of a git tree for example.
// read gives a file's content; false when it is not there. It returns
// project.ErrNoDeclaration, project.Problems, or an error of read.
func LoadDeclaration(read func(path string) ([]byte, bool, error)) (*project.Declaration, error) {
	var found string
	var content []byte
	for _, name := range []string{declarationJSON, declarationJSONC} {
		data, ok, err := read(name)
		if ps := (project.Problems)(nil); errors.As(err, &ps) {
			return nil, ps
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if !ok {
			continue
		}
		if found != "" {
			return nil, project.Problems{{Code: project.CodeAmbiguous, File: name,
				Message: "there is a " + found + " too", Next: "keep one of them"}}
		}
		found, content = name, data
	}
	if found == "" {
		return nil, project.ErrNoDeclaration
	}
	n, err := Parse(content, found)
	if err != nil {
		return nil, err
	}
	return project.ParseDeclaration(n)
}

// Load reads everything the checkout at dir declares. Errors as those of
// LoadDeclaration; Problems hold every fault of every file.
func Load(dir string) (*project.Workspace, error) { return LoadTrusting(dir, nil) }

// LoadTrusting is Load with identity, security and x-bot taken from base, the
// declaration at the base branch's tip (pr-loop decision 2); a nil base trusts
// the checkout itself.
func LoadTrusting(dir string, base *project.Declaration) (*project.Workspace, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the checkout: %w", err)
	}
	defer root.Close()
	l := &loader{root: root}
	d, err := LoadDeclaration(l.read)
	if err != nil {
		return nil, err
	}
	if base != nil {
		d = project.Trusting(d, base)
	}
	return l.workspace(d)
}

// loader reads one checkout. Every path goes through root, so nothing outside
// of it can be reached, whatever links the checkout holds.
type loader struct {
	root     *os.Root
	problems project.Problems
}

// read gives a file's content; false when there is none. A link is followed
// inside the checkout only.
func (l *loader) read(name string) ([]byte, bool, error) {
	f, err := l.root.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, lerr := l.root.Lstat(name); lerr == nil {
			return nil, false, project.Problems{{Code: project.CodePlacement, File: name, Message: "is a link to nowhere", Next: "remove it"}}
		}
		return nil, false, nil
	}
	if err != nil {
		if info, lerr := l.root.Lstat(name); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
			return nil, false, project.Problems{{Code: project.CodePlacement, File: name,
				Message: "is a link out of the checkout", Next: "put the file itself there"}}
		}
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, false, project.Problems{{Code: project.CodePlacement, File: name, Message: "is no regular file", Next: "put a file there"}}
	}
	data, err := readBounded(f, name)
	return data, err == nil, err
}

func readBounded(r io.Reader, shown string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", shown, err)
	}
	if len(data) > maxBytes {
		return nil, tooLarge(shown)
	}
	return data, nil
}

// note keeps problems for later and returns any other error.
func (l *loader) note(err error, code string) error {
	var ps project.Problems
	if !errors.As(err, &ps) {
		return err
	}
	for _, p := range ps {
		if p.Code == project.CodeUnparseable {
			p.Code = code
		}
		if !l.problems.Full() {
			l.problems = append(l.problems, p)
		}
	}
	return nil
}

func (l *loader) workspace(d *project.Declaration) (*project.Workspace, error) {
	w := &project.Workspace{Declaration: d}
	for _, m := range d.Members {
		switch {
		case !l.isDir(m.Dir):
			l.problems = append(l.problems, project.Problem{Code: project.CodePlacement, File: d.File, Line: m.Line, Field: "members",
				Message: fmt.Sprintf("member %q: %q is no directory of the checkout", m.Name, m.Dir), Next: "correct its dir or remove the member"})
		case m.Kind == "workspace":
			w.Others = append(w.Others, m.Dir)
		}
	}
	projects, err := Projects(d, l.list)
	if err != nil {
		return nil, err
	}
	globs := project.Globs(d)
	for _, m := range projects {
		if !l.isDir(m.Dir) {
			continue // said above
		}
		p, err := l.project(w, m, globs)
		if err != nil {
			return nil, err
		}
		w.Projects = append(w.Projects, p)
	}
	slices.Sort(w.Others)
	if err := l.problems.Err(); err != nil {
		return nil, err
	}
	return w, nil
}

func (l *loader) isDir(dir string) bool {
	info, err := l.root.Stat(dir)
	return err == nil && info.IsDir()
}

// project reads the config and the components of the root or a member.
func (l *loader) project(w *project.Workspace, m project.WorkspaceMember, globs []string) (project.Project, error) {
	config, err := l.config(m.Dir)
	if err != nil {
		return project.Project{}, err
	}
	files, err := l.componentFiles(w, m.Dir, globs)
	if err != nil {
		return project.Project{}, err
	}
	before := len(l.problems)
	var components []*project.Component
	for _, file := range files {
		n, err := l.parse(file)
		if err == nil {
			var c *project.Component
			if c, err = project.ParseComponent(n); err == nil {
				components = append(components, c)
			}
		}
		if err := l.note(err, project.CodeComponentInvalid); err != nil {
			return project.Project{}, err
		}
	}
	p := project.NewProject(m.Name, m.Dir, config, components)
	if len(l.problems) > before {
		return p, nil // the graph of what could be read would only add noise
	}
	if err := p.Validate(); err != nil {
		return p, l.note(err, project.CodeProjectInvalid)
	}
	l.checkRootDirs(p)
	return p, nil
}

func (l *loader) parse(file string) (*project.Node, error) {
	data, ok, err := l.read(file)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("reading %s: %w", file, fs.ErrNotExist)
	}
	return Parse(data, file)
}

func (l *loader) config(dir string) (*project.Config, error) {
	var config *project.Config
	var found string
	for _, name := range configNames() {
		file := path.Join(dir, name)
		data, ok, err := l.read(file)
		if err == nil && ok && found != "" {
			err = project.Problems{{Code: project.CodeConfigInvalid, File: file, Message: "there is a " + found + " too", Next: "keep one of them"}}
		}
		if err == nil && ok {
			found = file
			var n *project.Node
			if n, err = Parse(data, file); err == nil {
				config, err = project.ParseConfig(n)
			}
		}
		if err := l.note(err, project.CodeConfigInvalid); err != nil {
			return nil, err
		}
	}
	return config, nil
}

// componentFiles lists the component files of a project, in name order.
func (l *loader) componentFiles(w *project.Workspace, dir string, globs []string) ([]string, error) {
	found := walk{d: w.Declaration, list: l.list, globs: globs, most: maxFiles + 1}
	entries, err := l.list(dir)
	if err == nil {
		err = found.dir(dir, entries)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for components in %s: %w", dir, err)
	}
	if len(found.files) > maxFiles {
		return nil, project.Problems{{Code: project.CodeProjectInvalid, File: dir, Message: fmt.Sprintf("holds more than %d component files", maxFiles),
			Next: "narrow x-bot.components"}}
	}
	w.Others = append(w.Others, found.others...)
	return found.files, nil
}

// list implements Lister.
func (l *loader) list(dir string) ([]Entry, error) {
	found, err := fs.ReadDir(l.root.FS(), dir)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(found))
	for i, e := range found {
		entries[i] = Entry{Name: e.Name(), Dir: e.IsDir()}
	}
	return entries, nil
}

// checkRootDirs checks that the roots steps use are directories of the checkout;
// a link out of it is refused here, before any tool runs in it.
func (l *loader) checkRootDirs(p project.Project) {
	for _, c := range p.Components {
		for _, s := range c.Steps() {
			root, ok := p.Roots[s.RootOf()]
			if !ok || l.problems.Full() || l.isDir(path.Join(p.Dir, root.Dir)) {
				continue
			}
			l.problems = append(l.problems, project.Problem{Code: project.CodeProjectInvalid, File: root.File, Line: root.Line,
				Field: "root " + root.Name, Message: fmt.Sprintf("%q is no directory of the checkout", root.Dir), Next: "correct its dir"})
		}
	}
}
