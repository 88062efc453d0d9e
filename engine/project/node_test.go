package project

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

// node decodes JSON text into a Node with lines, for tests; drivers/declare does
// it for real files.
func node(t *testing.T, file, text string) *Node {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	b := builder{t: t, dec: dec, text: text, file: file}
	return b.value()
}

type builder struct {
	t    *testing.T
	dec  *json.Decoder
	text string
	file string
}

func (b builder) token() json.Token {
	tok, err := b.dec.Token()
	if err != nil {
		b.t.Fatalf("test input %s: %v", b.text, err)
	}
	return tok
}

func (b builder) line() int { return 1 + strings.Count(b.text[:b.dec.InputOffset()], "\n") }

func (b builder) value() *Node {
	tok := b.token()
	n := &Node{File: b.file, Line: b.line(), Column: 1}
	switch v := tok.(type) {
	case bool:
		n.Kind, n.Bool = Bool, v
	case json.Number:
		n.Kind, n.Text = Number, v.String()
	case string:
		n.Kind, n.Text = String, v
	case json.Delim:
		b.container(n, v)
	}
	return n
}

func (b builder) container(n *Node, open json.Delim) {
	n.Kind = Array
	if open == '{' {
		n.Kind = Object
	}
	for b.dec.More() {
		if n.Kind == Array {
			n.Items = append(n.Items, b.value())
			continue
		}
		name, _ := b.token().(string)
		line := b.line()
		n.Fields = append(n.Fields, Field{Name: name, Line: line, Value: b.value()})
	}
	b.token()
}

// wantProblem checks that err has a problem whose text holds every part.
func wantProblem(t *testing.T, err error, parts ...string) {
	t.Helper()
	var ps Problems
	if !errors.As(err, &ps) || len(ps) == 0 {
		t.Fatalf("got error %v, want problems", err)
	}
	for _, p := range ps {
		found := true
		for _, part := range parts {
			found = found && strings.Contains(p.String(), part)
		}
		if found {
			return
		}
	}
	t.Errorf("no problem holds all of %q; got:\n%v", parts, err)
}

func declare(t *testing.T, text string) *Declaration {
	t.Helper()
	d, err := ParseDeclaration(node(t, "chant.workspace.json", text))
	if err != nil {
		t.Fatalf("declaration refused: %v", err)
	}
	return d
}

func component(t *testing.T, text string) *Component {
	t.Helper()
	n := node(t, "x.component.json", text)
	if name := n.Get("name"); name != nil {
		n = node(t, name.Text+".component.json", text)
	}
	c, err := ParseComponent(n)
	if err != nil {
		t.Fatalf("component refused: %v", err)
	}
	return c
}
