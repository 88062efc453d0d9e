package project

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Workspace is everything one checkout declares.
type Workspace struct {
	Declaration *Declaration
	Projects    []Project
	// Others are directories with a chant.config file that no member names, and
	// members of kind workspace: they are projects of their own and nothing in
	// them is planned here.
	Others []string
}

// Project is the root of the workspace or one of its members of kind chant.
type Project struct {
	Member     string // "" for the root
	Dir        string // relative to the workspace, "." for the root
	Config     *Config
	Components []*Component
	Roots      map[string]Root // of the config and of inline dir steps
}

// NewProject gathers a project; config may be nil. Call Validate before use.
func NewProject(member, dir string, config *Config, components []*Component) Project {
	p := Project{Member: member, Dir: dir, Config: config, Components: components, Roots: map[string]Root{}}
	if config != nil && config.Terraform != nil {
		maps.Copy(p.Roots, config.Terraform.Roots)
	}
	for _, c := range components {
		for _, s := range c.Steps() {
			inline, ok := s.inlineRoot()
			if _, known := p.Roots[inline.Name]; ok && !known {
				p.Roots[inline.Name] = inline
			}
		}
	}
	return p
}

// inlineRoot is the root a terraform-apply step declares by dir (components
// decision 2).
func (s Step) inlineRoot() (Root, bool) {
	name, dir := s.RootOf(), s.Input.Get("dir")
	if name == "" || dir == nil {
		return Root{}, false
	}
	return Root{Name: name, Dir: path.Clean(dir.Text), File: s.File, Line: dir.Line}, true
}

// MemberOf returns the member whose directory holds a workspace-relative path,
// the deepest one; false when only the root does.
func (d *Declaration) MemberOf(file string) (WorkspaceMember, bool) {
	var owner WorkspaceMember
	found := false
	for _, m := range d.Members {
		if m.Dir != "." && inside(path.Clean(file), m.Dir) && (!found || len(m.Dir) > len(owner.Dir)) {
			owner, found = m, true
		}
	}
	return owner, found
}

// TouchedBy returns the components whose own declaration changed: their file is
// among the changed ones, or the config is and they use one of its roots. Paths
// are relative to the workspace. Sorted.
func (p Project) TouchedBy(changed []string) []string {
	files := make(map[string]bool, len(changed))
	for _, f := range changed {
		files[f] = true
	}
	names := []string{}
	for _, c := range p.Components {
		if files[c.File] || p.Config != nil && files[p.Config.File] && p.usesConfig(c) {
			names = append(names, c.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (p Project) usesConfig(c *Component) bool {
	return slices.ContainsFunc(c.Steps(), func(s Step) bool {
		root, ok := p.Roots[s.RootOf()]
		return ok && root.File == p.Config.File
	})
}

// Validate checks a project as a whole: the graph, and that every root a step
// names is declared once, claimed once and inside the checkout. The error is
// Problems.
func (p Project) Validate() error {
	ps := dependencyProblems(p.Components)
	claimed := map[string]Step{}
	owners := map[string]string{}
	for _, c := range p.Components {
		for _, s := range c.Steps() {
			if s.RootOf() == "" || ps.Full() {
				continue
			}
			ps = append(ps, p.checkRoot(s)...)
			if first, dup := claimed[s.RootOf()]; dup {
				ps = append(ps, s.rootProblem("root", "give each root one step in one component",
					"root %q is claimed by component %q at %s:%d too", s.RootOf(), owners[s.RootOf()], first.File, first.Line))
				continue
			}
			claimed[s.RootOf()], owners[s.RootOf()] = s, c.Name
		}
	}
	for _, c := range p.Components {
		if owner := owners[c.Name]; owner != "" && owner != c.Name && !claimsRoot(c) {
			ps = append(ps, Problem{Code: CodeProjectInvalid, File: c.File, Line: c.Line, Field: "name",
				Message: fmt.Sprintf("component %q has the name of a root of component %q, and both would be one member", c.Name, owner),
				Next:    "rename the component or the root"})
		}
	}
	ps = append(ps, p.confine()...)
	return ps.Err()
}

func claimsRoot(c *Component) bool {
	return slices.ContainsFunc(c.Steps(), func(s Step) bool { return s.RootOf() != "" })
}

func (s Step) rootProblem(field, next, format string, args ...any) Problem {
	line := s.Line
	if n := s.Input.Get(field); n != nil {
		line = n.Line
	}
	return Problem{Code: CodeProjectInvalid, File: s.File, Line: line, Field: "terraform-apply." + field,
		Message: fmt.Sprintf(format, args...), Next: next}
}

// checkRoot checks that the root a step names is declared, and the same way
// everywhere.
func (p Project) checkRoot(s Step) Problems {
	root, known := p.Roots[s.RootOf()]
	if !known {
		names := make([]string, 0, len(p.Roots))
		for name := range p.Roots {
			names = append(names, name)
		}
		slices.Sort(names)
		next := `declare it in chant.config.json under terraform.roots, or give the step a "dir"`
		if c := closest(s.RootOf(), names); c != "" {
			next = fmt.Sprintf("did you mean %q?", c)
		} else if len(names) > 0 {
			next += "; known roots: " + strings.Join(names, ", ")
		}
		return Problems{s.rootProblem("root", next, "there is no root %q", s.RootOf())}
	}
	var ps Problems
	if inline, ok := s.inlineRoot(); ok && inline.Dir != root.Dir {
		ps = append(ps, s.rootProblem("dir", "name the directory in one place", "root %q has directory %q in %s:%d", root.Name, root.Dir, root.File, root.Line))
	}
	if cwd := s.Input.Get("cwd"); cwd != nil && escapes(cwd.Text) {
		ps = append(ps, s.rootProblem("cwd", "declare the root in this project's chant.config.json", "%q leaves the project", cwd.Text))
	}
	return ps
}

// confine refuses roots and var files outside the checkout.
func (p Project) confine() Problems {
	var ps Problems
	for _, root := range p.Roots {
		dir := path.Join(p.Dir, root.Dir)
		if escapes(dir) {
			ps = append(ps, Problem{Code: CodeProjectInvalid, File: root.File, Line: root.Line, Field: "terraform.roots." + root.Name + ".dir",
				Message: fmt.Sprintf("%q leaves the checkout", root.Dir), Next: "move the root into the repository"})
			continue
		}
		for _, f := range root.VarFiles {
			if escapes(path.Join(dir, f)) {
				ps = append(ps, Problem{Code: CodeProjectInvalid, File: root.File, Line: root.Line, Field: "terraform.roots." + root.Name + ".varFiles",
					Message: fmt.Sprintf("%q leaves the checkout", f), Next: "move the var file into the repository"})
			}
		}
	}
	return ps
}
