package composed

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"github.com/chant-bot/chant/engine/digest"
)

// Given is what a member's variables are given, each source winning over those
// before it, as the tool does.
type Given struct {
	Env   []string // KEY=VALUE, of which TF_VAR_* matter
	Files []File   // of variables, in the tool's order
	Vars  map[string]digest.Value
	Reads []Read
}

// File is a file of variables.
type File struct {
	Name string
	Text []byte
}

// Read is a value that comes of another member's output.
type Read struct {
	Call   string   // the id of its module call
	Output string   // dot path: the output, and keys in it
	Path   []string // in Vars: the variable, then keys and indexes
}

// ReadError is a read that a module call can't express.
type ReadError struct{ Problem string }

func (e *ReadError) Error() string { return e.Problem }

// Arguments are the expressions of a member's module call, by variable: what
// each variable would have got in a root of its own.
func (c Config) Arguments(g Given) (map[string]string, error) {
	arguments := map[string]string{}
	for _, pair := range g.Env {
		name, text, _ := strings.Cut(pair, "=")
		if name, ok := strings.CutPrefix(name, "TF_VAR_"); ok && declared(c.Variables, name) {
			expression, err := fromText(c.Variables[name], text)
			if err != nil {
				return nil, fmt.Errorf("the variable %s of the environment: %w", name, err)
			}
			arguments[name] = expression
		}
	}
	for _, file := range g.Files {
		if err := c.fromFile(file, arguments); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(g.Vars)) {
		if g.Vars[name].IsAbsent() || slices.ContainsFunc(g.Reads, func(r Read) bool { return r.Path[0] == name }) {
			continue
		}
		expression, err := c.fromValue(name, g.Vars[name])
		if err != nil {
			return nil, err
		}
		arguments[name] = expression
	}
	return arguments, c.fromReads(g, arguments)
}

// Assignments are the text of a file that gives a root of its own the step's values, by
// variable: one line each, sorted. An absent value is left out.
func (c Config) Assignments(vars map[string]digest.Value) (string, error) {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		if vars[name].IsAbsent() {
			continue
		}
		expression, err := c.fromValue(name, vars[name])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s = %s\n", name, expression)
	}
	return b.String(), nil
}

// fromValue is the expression of a value that a step gives a variable. A text is what the
// variable would make of it on the command line, and so is a value that is no text where
// the variable takes one (components §3.2). Any other is itself: read as an expression, a
// text within it that looks like a template would become another one.
func (c Config) fromValue(name string, v digest.Value) (string, error) {
	kind, ok := c.Variables[name]
	if !ok {
		return "", fmt.Errorf("it declares no variable %s", name)
	}
	text, isText := v.Text()
	switch {
	case isText:
		expression, err := fromText(kind, text)
		if err != nil {
			return "", fmt.Errorf("the variable %s: %w", name, err)
		}
		return expression, nil
	case v.Kind() != digest.Null && (kind == Untyped || kind == Primitive):
		return quote(v.String()), nil
	}
	return literal(v), nil
}

// fromText is the expression of a variable's value that was given as text.
func fromText(kind Parsing, text string) (string, error) {
	if kind == Untyped || kind == Primitive {
		return quote(text), nil
	}
	e, diags := hclsyntax.ParseExpression([]byte(text), "value", startOf)
	if diags.HasErrors() {
		return "", errors.New(diags[0].Summary) // the detail may quote a secret
	}
	v, diags := e.Value(nil)
	if diags.HasErrors() {
		return "", errors.New(diags[0].Summary)
	}
	return string(hclwrite.TokensForValue(v).Bytes()), nil
}

// fromFile adds the variables of a file; those that are not declared the tool
// ignores too.
func (c Config) fromFile(file File, arguments map[string]string) error {
	if strings.HasSuffix(file.Name, ".json") {
		v, err := digest.Decode(file.Text)
		if err != nil || v.Kind() != digest.Object {
			return fmt.Errorf("%s is no JSON object: %w", file.Name, err)
		}
		for i, name := range v.Keys() {
			if declared(c.Variables, name) {
				arguments[name] = literal(v.At(i))
			}
		}
		return nil
	}
	parsed, diags := hclsyntax.ParseConfig(file.Text, file.Name, startOf)
	if diags.HasErrors() {
		return fmt.Errorf("reading %s: %w", file.Name, diags)
	}
	attributes, diags := parsed.Body.JustAttributes()
	if diags.HasErrors() {
		return fmt.Errorf("reading %s: %w", file.Name, diags)
	}
	for name, a := range attributes {
		v, diags := a.Expr.Value(nil)
		if diags.HasErrors() {
			return fmt.Errorf("reading %s of %s: %w", name, file.Name, diags)
		}
		if declared(c.Variables, name) {
			arguments[name] = string(hclwrite.TokensForValue(v).Bytes())
		}
	}
	return nil
}

// fromReads adds the variables that get outputs of other members. One without a
// type would get a text in a root of its own and something else here; what "any"
// makes of a text can't be known.
func (c Config) fromReads(g Given, arguments map[string]string) error {
	for _, read := range g.Reads {
		name := read.Path[0]
		kind, ok := c.Variables[name]
		switch {
		case !ok:
			return &ReadError{fmt.Sprintf("it declares no variable %s, which gets the output %s", name, read.Output)}
		case kind == Untyped || kind == Any:
			return &ReadError{fmt.Sprintf("its variable %s has no type; give it one", name)}
		case kind == Primitive && len(read.Path) > 1:
			return &ReadError{fmt.Sprintf("its variable %s is no collection, and gets the output %s within one", name, read.Output)}
		}
		t := tree{}
		for _, r := range g.Reads {
			if r.Path[0] == name {
				t = append(t, leaf{r.Path[1:], r.expression()})
			}
		}
		expression, err := t.expression(g.Vars[name])
		if err != nil {
			return &ReadError{fmt.Sprintf("its variable %s: %v", name, err)}
		}
		arguments[name] = expression
	}
	return nil
}

// expression is the read as the calling root writes it.
func (r Read) expression() string {
	keys := strings.Split(r.Output, ".")
	for i, key := range keys[1:] {
		keys[i+1] = "[" + quote(key) + "]"
	}
	return "module." + r.Call + "." + strings.Join(keys, "")
}

// leaf is an expression somewhere in a value.
type leaf struct {
	path       []string
	expression string
}

// tree is a value's leaves that are expressions.
type tree []leaf

// expression is the value v with the leaves put in.
func (t tree) expression(v digest.Value) (string, error) {
	if len(t) == 0 {
		return literal(v), nil
	}
	for _, l := range t {
		if len(l.path) == 0 {
			if len(t) > 1 {
				return "", errors.New("two outputs go to one place")
			}
			return l.expression, nil
		}
	}
	if v.Kind() == digest.Array {
		return t.list(v)
	}
	keys := v.Keys()
	for _, l := range t {
		if !slices.Contains(keys, l.path[0]) {
			keys = append(keys, l.path[0])
		}
	}
	items := make([]string, len(keys))
	for i, key := range keys {
		item, err := t.below(key).expression(v.Get(key))
		if err != nil {
			return "", err
		}
		items[i] = quote(key) + " = " + item
	}
	return "{" + strings.Join(items, ", ") + "}", nil
}

func (t tree) list(v digest.Value) (string, error) {
	for _, l := range t {
		if i, err := strconv.Atoi(l.path[0]); err != nil || i < 0 || i >= v.Len() {
			return "", fmt.Errorf("a list of %d has no place %s", v.Len(), l.path[0])
		}
	}
	items := make([]string, v.Len())
	for i := range items {
		item, err := t.below(strconv.Itoa(i)).expression(v.At(i))
		if err != nil {
			return "", err
		}
		items[i] = item
	}
	return "[" + strings.Join(items, ", ") + "]", nil
}

func (t tree) below(key string) tree {
	var below tree
	for _, l := range t {
		if l.path[0] == key {
			below = append(below, leaf{l.path[1:], l.expression})
		}
	}
	return below
}
