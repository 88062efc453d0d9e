package project

import (
	"fmt"

	"github.com/chant-bot/chant/engine/digest"
)

// Kind is the JSON kind of a Node.
type Kind int

// The kinds of a Node.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"null", "a boolean", "a number", "a string", "a list", "an object"}

func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Node is one decoded JSON or YAML value that knows where it stands. Whoever
// builds a Node refuses duplicate keys and bounds its size and depth.
type Node struct {
	File   string // as shown to people, relative to the checkout
	Line   int    // 1-based
	Column int    // 1-based
	Kind   Kind
	Text   string // of a string; the exact JSON text of a number
	Bool   bool
	Items  []*Node // of an array
	Fields []Field // of an object, in the order written
}

// Field is one member of an object.
type Field struct {
	Name  string
	Line  int
	Value *Node
}

// Get returns the value of a field, nil when n is no object or has no such
// field.
func (n *Node) Get(name string) *Node {
	if n == nil || n.Kind != Object {
		return nil
	}
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			return n.Fields[i].Value
		}
	}
	return nil
}

// ToValue returns the node as an exact JSON value. A nil node is absent.
func (n *Node) ToValue() (digest.Value, error) {
	if n == nil {
		return digest.Value{}, nil
	}
	switch n.Kind {
	case Bool:
		return digest.BoolOf(n.Bool), nil
	case Number:
		v, err := digest.NumberOf(n.Text)
		if err != nil {
			return digest.Value{}, fmt.Errorf("%s:%d: number %q: %w", n.File, n.Line, n.Text, err)
		}
		return v, nil
	case String:
		return digest.StringOf(n.Text), nil
	case Array:
		items := make([]digest.Value, 0, len(n.Items))
		for _, item := range n.Items {
			v, err := item.ToValue()
			if err != nil {
				return digest.Value{}, err
			}
			items = append(items, v)
		}
		return digest.ArrayOf(items...), nil
	case Object:
		members := make(map[string]digest.Value, len(n.Fields))
		for _, f := range n.Fields {
			v, err := f.Value.ToValue()
			if err != nil {
				return digest.Value{}, err
			}
			members[f.Name] = v
		}
		return digest.ObjectOf(members), nil
	default:
		return digest.NullValue(), nil
	}
}
