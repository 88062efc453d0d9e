package project

import (
	"slices"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Inputs is what references are resolved against. Any part may be nil.
type Inputs struct {
	Outputs   map[string]map[string]digest.Value // component, output
	Published map[string]map[string]digest.Value // component, uri|digest|key
	Phases    map[string]digest.Value            // phase of the same component: its merged output
	Env       string                             // what $env.name reads
	Vars      map[string]digest.Value            // what any other $env reads
}

// Resolve replaces every reference of a step's input, however deep, by its
// value (pr-loop §7.1). The result has every field of the step save kind. A
// reference without a value is dropped from its object, null in a list, and
// returned in unresolved in the order written: never plan as if it were not
// there. A value that is null is a value. The error is a number no JSON parser
// would take, which a parsed component does not have.
func Resolve(s Step, in Inputs) (resolved map[string]digest.Value, unresolved []Read, err error) {
	w := wiring{in: in}
	resolved = map[string]digest.Value{}
	if s.Input == nil {
		return resolved, nil, nil
	}
	for _, f := range s.Input.Fields {
		if f.Name == "kind" {
			continue
		}
		v, err := w.resolve(f.Value, []string{f.Name})
		if err != nil {
			return nil, nil, err
		}
		if !v.IsAbsent() {
			resolved[f.Name] = v
		}
	}
	return resolved, w.unresolved, nil
}

type wiring struct {
	in         Inputs
	unresolved []Read
}

func (w *wiring) resolve(n *Node, path []string) (digest.Value, error) {
	switch n.Kind {
	case String:
		if read, ok, _ := textReference(n.Text); ok {
			return w.value(read, n, path), nil
		}
	case Object:
		if read, ok := outputReference(n); ok {
			return w.value(read, n, path), nil
		}
		members := make(map[string]digest.Value, len(n.Fields))
		for _, f := range n.Fields {
			v, err := w.resolve(f.Value, append(slices.Clip(path), f.Name))
			if err != nil {
				return digest.Value{}, err
			}
			members[f.Name] = v
		}
		return digest.ObjectOf(members), nil
	case Array:
		items := make([]digest.Value, len(n.Items))
		for i, item := range n.Items {
			v, err := w.resolve(item, append(slices.Clip(path), strconv.Itoa(i)))
			if err != nil {
				return digest.Value{}, err
			}
			if v.IsAbsent() {
				v = digest.NullValue()
			}
			items[i] = v
		}
		return digest.ArrayOf(items...), nil
	}
	return n.ToValue()
}

// value looks a reference up and notes it when it has no value.
func (w *wiring) value(read Read, n *Node, path []string) digest.Value {
	var v digest.Value
	switch read.Source {
	case FromOutput:
		v = lookup(w.in.Outputs[read.Component], read.Output)
	case FromPublish:
		v = w.in.Published[read.Component][read.Output]
	case FromPhase:
		v = walk(w.in.Phases[read.Component], read.Output)
	case FromEnv:
		if read.Output == "name" && w.in.Env != "" {
			v = digest.StringOf(w.in.Env)
		} else {
			v = lookup(w.in.Vars, read.Output)
		}
	}
	if v.IsAbsent() {
		read.Path, read.Step, read.Line = path, -1, n.Line
		w.unresolved = append(w.unresolved, read)
	}
	return v
}

// lookup finds a dot path below a map; a key that holds the dots itself wins.
func lookup(values map[string]digest.Value, path string) digest.Value {
	if v, ok := values[path]; ok {
		return v
	}
	first, rest, deeper := strings.Cut(path, ".")
	v := values[first]
	if !deeper {
		return v
	}
	return walk(v, rest)
}

// walk follows a dot path; a decimal part indexes a list.
func walk(v digest.Value, path string) digest.Value {
	for part := range strings.SplitSeq(path, ".") {
		if v.Kind() == digest.Array {
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= v.Len() {
				return digest.Value{}
			}
			v = v.At(i)
			continue
		}
		v = v.Get(part)
	}
	return v
}
