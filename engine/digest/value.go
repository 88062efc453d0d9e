package digest

import (
	"cmp"
	"fmt"
	"sort"
	"strconv"
	"unicode/utf8"
)

// Kind is what a Value is.
type Kind uint8

// The kinds of a Value. Absent is that of the zero Value: no JSON at all.
const (
	Absent Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object

	// reference is a cell that stands for a Value of another tree.
	reference
)

func (k Kind) String() string {
	return [...]string{"absent", "null", "boolean", "number", "string", "array", "object", "reference"}[k]
}

// Value is one JSON value, immutable and exact. The zero Value is absent. A
// Value keeps the whole text it was decoded with alive.
type Value struct {
	t *tree
	i uint32
}

// tree holds values without a pointer per value, so that a plan of a million
// values costs the collector nothing. Offsets are 32 bits wide; decode refuses
// longer texts.
type tree struct {
	text  []byte
	cells []cell
	refs  []Value
}

// cell is one value and the key it stands under in an object. The kids of a
// container are neighbours; those of an object are sorted by key in code-unit
// order and no key stands twice.
type cell struct {
	keyAt, keyLen uint32 // in text
	// String: its characters in text. Number: its decimal text. Array and
	// Object: the first kid in cells, and how many. reference: at is in refs.
	at, n uint32
	kind  Kind
	truth bool
	// plain: the characters need no escape in JSON, so writing them is a copy.
	plain, keyPlain bool
}

func (t *tree) chars(c *cell) []byte { return t.text[c.at : c.at+c.n] }
func (t *tree) key(c *cell) []byte   { return t.text[c.keyAt : c.keyAt+c.keyLen] }
func (t *tree) kids(c *cell) []cell  { return t.cells[c.at : c.at+c.n] }

// value is the Value at index i of t, with a reference followed.
func (t *tree) value(i uint32) Value {
	if c := &t.cells[i]; c.kind == reference {
		return t.refs[c.at]
	}
	return Value{t, i}
}

func (v Value) cell() *cell { return &v.t.cells[v.i] }

// Kind reports what v is.
func (v Value) Kind() Kind {
	if v.t == nil {
		return Absent
	}
	return v.cell().kind
}

// IsAbsent reports whether there is no value, not even null.
func (v Value) IsAbsent() bool { return v.t == nil }

// IsZero is IsAbsent under the name that encoding/json's omitzero asks for.
func (v Value) IsZero() bool { return v.t == nil }

// IsNull reports whether v is null or absent.
func (v Value) IsNull() bool { return v.Kind() <= Null }

// Get is the property named key; absent when v is no object or has none.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	kids := v.t.kids(v.cell())
	i := sort.Search(len(kids), func(i int) bool { return compare(v.t.key(&kids[i]), key) >= 0 })
	if i == len(kids) || string(v.t.key(&kids[i])) != key {
		return Value{}
	}
	return v.t.value(v.cell().at + uint32(i))
}

// Len is the number of elements or properties; 0 for scalars.
func (v Value) Len() int {
	if k := v.Kind(); k != Array && k != Object {
		return 0
	}
	return int(v.cell().n)
}

// At is the i-th element of an array, or the value of an object's i-th key in
// the order of Keys; absent when out of range.
func (v Value) At(i int) Value {
	if i < 0 || i >= v.Len() {
		return Value{}
	}
	return v.t.value(v.cell().at + uint32(i))
}

// Keys are the property names in code-unit order; nil when v is no object.
func (v Value) Keys() []string {
	if v.Kind() != Object {
		return nil
	}
	keys := make([]string, v.Len())
	for i := range keys {
		keys[i] = string(v.keyAt(i))
	}
	return keys
}

// keyAt is the i-th key of an object.
func (v Value) keyAt(i int) []byte { return v.t.key(&v.t.kids(v.cell())[i]) }

// Text is the characters of a string; false for every other kind.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return string(v.t.chars(v.cell())), true
}

// Bool is the truth value of a boolean; ok is false for every other kind.
func (v Value) Bool() (b, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.cell().truth, true
}

// NumberText is a number as it was written; false for every other kind.
func (v Value) NumberText() (string, bool) {
	if v.Kind() != Number {
		return "", false
	}
	return string(v.t.chars(v.cell())), true
}

// Equal is [Equal] as a method, so that go-cmp compares Values.
func (v Value) Equal(w Value) bool { return Equal(v, w) }

// String is v as JSON, for people; "" when absent.
func (v Value) String() string {
	if v.IsAbsent() {
		return ""
	}
	text, _ := v.MarshalJSON() // exact text cannot fail
	return string(text)
}

func scalar(c cell, text string) Value {
	c.n = uint32(len(text))
	return Value{t: &tree{text: []byte(text), cells: []cell{c}}}
}

// NullValue is JSON null.
func NullValue() Value { return scalar(cell{kind: Null}, "") }

// BoolOf is true or false.
func BoolOf(b bool) Value { return scalar(cell{kind: Bool, truth: b}, "") }

// StringOf is the string s. A byte that is not UTF-8 becomes U+FFFD, as in
// encoding/json.
func StringOf(s string) Value {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return scalar(cell{kind: String}, s)
}

// IntOf is the integer i.
func IntOf(i int64) Value { return scalar(cell{kind: Number}, strconv.FormatInt(i, 10)) }

// NumberOf is the number written as text, in JSON's grammar.
func NumberOf(text string) (Value, error) {
	p := parser{text: []byte(text)}
	if end, ok := p.scanNumber(0); !ok || end != len(text) {
		return Value{}, fmt.Errorf("%s is not a JSON number", strconv.Quote(shortNumber(text)))
	}
	return scalar(cell{kind: Number}, text), nil
}

// ArrayOf is the array of items. An absent item becomes null, as in
// JavaScript.
func ArrayOf(items ...Value) Value {
	t := &tree{cells: make([]cell, 0, len(items)+1), refs: make([]Value, 0, len(items))}
	t.cells = append(t.cells, cell{kind: Array, at: 1, n: uint32(len(items))})
	for _, item := range items {
		t.addKid(cell{}, item)
	}
	return Value{t: t}
}

// ObjectOf is the object of fields. Absent ones are left out.
func ObjectOf(fields map[string]Value) Value {
	var b Builder
	for key, value := range fields {
		b.Value(key, value)
	}
	return b.Object()
}

func (t *tree) addKid(kid cell, v Value) {
	if v.IsAbsent() {
		kid.kind = Null
	} else {
		kid.kind, kid.at = reference, uint32(len(t.refs))
		t.refs = append(t.refs, v)
	}
	t.cells = append(t.cells, kid)
}

// Compare orders strings by UTF-16 code units, as JavaScript and RFC 8785
// sort. Both must be UTF-8.
func Compare(a, b string) int { return compare(a, b) }

func compare[A, B string | []byte](a A, b B) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return cmp.Compare(len(a), len(b))
	}
	// UTF-8 orders by code point. Code units differ from that in one case:
	// surrogates (lead byte F0 and up) come before U+E000..U+FFFF (EE, EF).
	x, y := a[i], b[i]
	if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
		x, y = y, x
	}
	return cmp.Compare(x, y)
}
