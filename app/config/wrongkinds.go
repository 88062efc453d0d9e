package config

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
)

// wrongKind is a value of a file that is of another kind than its key takes.
type wrongKind struct {
	key  string // such as github.appId or credentials[0].env
	text string // as the YAML library says it, with the line
}

// wrongKinds finds the keys of what the YAML library names by line only. A value that
// comes from elsewhere in the file, by an anchor, is not found.
func wrongKinds(text []byte) []wrongKind {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Content) == 0 {
		return nil
	}
	return wrongIn(nil, "", file.Content[0], reflect.TypeFor[Config]())
}

func wrongIn(out []wrongKind, key string, n *yaml.Node, t reflect.Type) []wrongKind {
	switch {
	case isText(t):
	case t.Kind() == reflect.Struct && n.Kind == yaml.MappingNode:
		for name, value := range pairs(n) {
			for f := range t.Fields() {
				if f.Tag.Get("yaml") == name {
					out = wrongIn(out, under(key, name), value, f.Type)
				}
			}
		}
		return out
	case t.Kind() == reflect.Map && n.Kind == yaml.MappingNode:
		for name, value := range pairs(n) {
			out = wrongIn(out, under(key, name), value, t.Elem())
		}
		return out
	case t.Kind() == reflect.Slice && n.Kind == yaml.SequenceNode:
		for i, item := range n.Content {
			out = wrongIn(out, fmt.Sprintf("%s[%d]", key, i), item, t.Elem())
		}
		return out
	}
	if te, ok := errors.AsType[*yaml.TypeError](n.Decode(reflect.New(t).Interface())); ok {
		for _, text := range te.Errors {
			out = append(out, wrongKind{key, text})
		}
	}
	return out
}

// pairs are the keys of a mapping with their values, in the order of the file.
func pairs(n *yaml.Node) func(yield func(string, *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		for pair := range slices.Chunk(n.Content, 2) {
			if !yield(pair[0].Value, pair[1]) {
				return
			}
		}
	}
}

func under(key, name string) string {
	if key == "" {
		return name
	}
	return key + "." + name
}
