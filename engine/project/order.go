package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckDependencies refuses a component named twice, a dependency nobody
// declares and a cycle, over the whole graph (pr-loop §7.2). The error is
// Problems; a cycle is named by its path. Time is linear.
func CheckDependencies(components []*Component) error {
	return dependencyProblems(components).Err()
}

func dependencyProblems(components []*Component) Problems {
	byName := make(map[string]*Component, len(components))
	var ps Problems
	for _, c := range components {
		first, dup := byName[c.Name]
		if !dup {
			byName[c.Name] = c
		}
		if !dup || ps.Full() {
			continue
		}
		ps = append(ps, Problem{Code: CodeProjectInvalid, File: c.File, Line: c.Line, Field: "name",
			Message: fmt.Sprintf("component %q is declared in %s too", c.Name, first.File),
			Next:    "rename one of them"})
	}
	names := slices.Sorted(maps.Keys(byName))
	for _, c := range components {
		if !ps.Full() {
			ps = append(ps, unknownDependencies(c, byName, names)...)
		}
	}
	if len(ps) > 0 {
		return ps
	}
	if cycle := findCycle(components, byName); cycle != nil {
		c := byName[cycle[0]]
		return Problems{{Code: CodeProjectInvalid, File: c.File, Line: c.dependencyLine(cycle[1]), Field: "dependsOn",
			Message: "components depend on each other in a cycle: " + arrows(cycle),
			Next:    "remove one of these dependencies"}}
	}
	return nil
}

func unknownDependencies(c *Component, known map[string]*Component, names []string) Problems {
	var ps Problems
	for _, dep := range c.Dependencies() {
		if _, ok := known[dep]; ok || ps.Full() {
			continue
		}
		next := "declare it or remove the dependency"
		if s := closest(dep, names); s != "" {
			next = fmt.Sprintf("did you mean %q?", s)
		}
		ps = append(ps, Problem{Code: CodeProjectInvalid, File: c.File, Line: c.dependencyLine(dep), Field: "dependsOn",
			Message: fmt.Sprintf("component %q depends on %q, which is not declared in this project", c.Name, dep),
			Next:    next})
	}
	return ps
}

// dependencyLine is where the component names dep: in dependsOn, else in the
// first reference to it, else the component itself.
func (c *Component) dependencyLine(dep string) int {
	if list := c.Node.Get("dependsOn"); list != nil {
		for _, item := range list.Items {
			if item.Text == dep {
				return item.Line
			}
		}
	}
	for _, r := range c.refs {
		if r.Component == dep && r.Source != FromPhase {
			return r.Line
		}
	}
	return c.Line
}

// arrows shows a path, its middle left out when it is long.
func arrows(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s -> (%d more) -> %s", strings.Join(names[:most-1], " -> "), len(names)-most, names[len(names)-1])
	}
	return strings.Join(names, " -> ")
}

// findCycle walks dependencies depth first without recursion, in name order so
// that the cycle named is the same every time. The path starts and ends with
// the same name.
func findCycle(components []*Component, byName map[string]*Component) []string {
	names := make([]string, 0, len(components))
	for _, c := range components {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	const open, closed = 1, 2
	state := make(map[string]int, len(names))
	type frame struct {
		name string
		deps []string
	}
	for _, start := range names {
		if state[start] != 0 {
			continue
		}
		state[start] = open
		stack := []frame{{start, byName[start].Dependencies()}}
		for len(stack) > 0 {
			top := &stack[len(stack)-1]
			if len(top.deps) == 0 {
				state[top.name] = closed
				stack = stack[:len(stack)-1]
				continue
			}
			dep := top.deps[0]
			top.deps = top.deps[1:]
			switch state[dep] {
			case 0:
				state[dep] = open
				stack = append(stack, frame{dep, byName[dep].Dependencies()})
			case open:
				i := slices.IndexFunc(stack, func(f frame) bool { return f.name == dep })
				path := make([]string, 0, len(stack)-i+1)
				for _, f := range stack[i:] {
					path = append(path, f.name)
				}
				return append(path, dep)
			}
		}
	}
	return nil
}
