package declare

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/chant-bot/chant/engine/project"
)

// parseYAML reads one YAML document of JSON's kinds. Aliases expand within
// bounds; duplicate keys, merge keys, own tags and a second document are refused.
func parseYAML(data []byte, file string) (*project.Node, error) {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, unparseable(file, 1, "", "is empty")
		}
		return nil, yamlFault(file, err)
	}
	var second yaml.Node
	if err := dec.Decode(&second); err == nil {
		return nil, unparseable(file, second.Line, "keep one document a file", "a second document begins")
	} else if !errors.Is(err, io.EOF) {
		return nil, yamlFault(file, err)
	}
	if len(doc.Content) != 1 {
		return nil, unparseable(file, 1, "", "is empty")
	}
	c := &converter{file: file, open: map[*yaml.Node]bool{}}
	n, err := c.node(doc.Content[0], 0)
	if err != nil {
		return nil, err
	}
	return n, nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line ([0-9]+): )?(?s:(.*))$`)

func yamlFault(file string, err error) error {
	m := yamlLine.FindStringSubmatch(err.Error())
	if m == nil {
		return unparseable(file, 0, "", "%s", err)
	}
	line, _ := strconv.Atoi(m[1]) // 0 when the decoder gives none
	return unparseable(file, line, "", "%s", strings.ReplaceAll(m[2], "\n", " "))
}

type converter struct {
	file  string
	nodes int
	open  map[*yaml.Node]bool // aliases being expanded
}

func (c *converter) node(y *yaml.Node, depth int) (*project.Node, error) {
	if c.nodes++; c.nodes > maxNodes {
		return nil, unparseable(c.file, y.Line, "split the file", "holds more than %d values, aliases expanded", maxNodes)
	}
	if depth > maxDepth {
		return nil, unparseable(c.file, y.Line, "", "is nested deeper than %d levels", maxDepth)
	}
	n := &project.Node{File: c.file, Line: y.Line, Column: y.Column}
	switch y.Kind {
	case yaml.AliasNode:
		return c.alias(y, depth)
	case yaml.ScalarNode:
		return n, c.scalar(n, y)
	case yaml.SequenceNode:
		n.Kind = project.Array
		if y.ShortTag() != "!!seq" {
			return nil, c.tag(y)
		}
		for _, item := range y.Content {
			v, err := c.node(item, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, v)
		}
		return n, nil
	case yaml.MappingNode:
		n.Kind = project.Object
		if y.ShortTag() != "!!map" {
			return nil, c.tag(y)
		}
		return n, c.mapping(n, y, depth)
	}
	return nil, unparseable(c.file, y.Line, "", "is no JSON value")
}

func (c *converter) alias(y *yaml.Node, depth int) (*project.Node, error) {
	if y.Alias == nil || c.open[y.Alias] {
		return nil, unparseable(c.file, y.Line, "write the value out", "alias *%s holds itself", y.Value)
	}
	c.open[y.Alias] = true
	defer delete(c.open, y.Alias)
	return c.node(y.Alias, depth)
}

func (c *converter) mapping(n *project.Node, y *yaml.Node, depth int) error {
	lines := map[string]int{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		key := y.Content[i]
		switch {
		case key.ShortTag() == "!!merge":
			return unparseable(c.file, key.Line, "write the fields out", "merge keys (<<) are not supported")
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			return unparseable(c.file, key.Line, "put the key in quotes", "a key must be a string")
		}
		if len(key.Value) > maxKey {
			return unparseable(c.file, key.Line, "", "a key is longer than %d bytes", maxKey)
		}
		if first, dup := lines[key.Value]; dup {
			return unparseable(c.file, key.Line, "remove one of them", "key %q stands twice, first on line %d", key.Value, first)
		}
		lines[key.Value] = key.Line
		v, err := c.node(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		n.Fields = append(n.Fields, project.Field{Name: key.Value, Line: key.Line, Value: v})
	}
	return nil
}

func (c *converter) scalar(n *project.Node, y *yaml.Node) error {
	n.Text = y.Value
	switch y.ShortTag() {
	case "!!str", "!!timestamp": // a bare date is the text it is
		n.Kind = project.String
	case "!!null":
		n.Kind, n.Text = project.Null, ""
	case "!!bool":
		n.Kind, n.Text = project.Bool, ""
		n.Bool = strings.EqualFold(y.Value, "true")
	case "!!int", "!!float":
		// A number must mean the same in JSON: 0o17, 1_000 and .inf do not.
		n.Kind = project.Number
		if !json.Valid([]byte(y.Value)) {
			return unparseable(c.file, y.Line, "write it as JSON would, or in quotes", "%q is no JSON number", y.Value)
		}
	default:
		return c.tag(y)
	}
	return nil
}

func (c *converter) tag(y *yaml.Node) error {
	return unparseable(c.file, y.Line, "remove the tag", "tag %s is not supported", y.ShortTag())
}
