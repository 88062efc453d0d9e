package digest

import (
	"fmt"
	"slices"
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
)

func (k Kind) String() string {
	return [...]string{"absent", "null", "boolean", "number", "string", "array", "object"}[k]
}

// Value is one JSON value, immutable and exact. The zero Value is absent. A
// Value keeps the text it was decoded from alive.
type Value struct{ n *node }

// node is one value; kids of an object are sorted by key in code-unit order
// and no key stands twice.
type node struct {
	kind  Kind
	truth bool
	// plain: text needs no escape in JSON, so writing it is a copy. keyPlain
	// says the same of the key this node stands under.
	plain, keyPlain bool
	text            string // String: its characters; Number: its decimal text
	kids            []member
}

// member is an element of an array (key unused) or a property of an object.
type member struct {
	key string
	node
}

// Kind reports what v is.
func (v Value) Kind() Kind {
	if v.n == nil {
		return Absent
	}
	return v.n.kind
}

// IsAbsent reports whether there is no value, not even null.
func (v Value) IsAbsent() bool { return v.n == nil }

// IsZero is IsAbsent under the name that encoding/json's omitzero asks for.
func (v Value) IsZero() bool { return v.n == nil }

// IsNull reports whether v is null or absent.
func (v Value) IsNull() bool { return v.Kind() <= Null }

// Get is the property named key; absent when v is no object or has none.
func (v Value) Get(key string) Value {
	if v.Kind() != Object {
		return Value{}
	}
	kids := v.n.kids
	i := sort.Search(len(kids), func(i int) bool { return Compare(kids[i].key, key) >= 0 })
	if i == len(kids) || kids[i].key != key {
		return Value{}
	}
	return Value{&kids[i].node}
}

// Len is the number of elements or properties; 0 for scalars.
func (v Value) Len() int {
	if v.n == nil {
		return 0
	}
	return len(v.n.kids)
}

// At is the i-th element of an array, or the value of an object's i-th key in
// the order of Keys; absent when out of range.
func (v Value) At(i int) Value {
	if i < 0 || i >= v.Len() {
		return Value{}
	}
	return Value{&v.n.kids[i].node}
}

// Keys are the property names in code-unit order; nil when v is no object.
func (v Value) Keys() []string {
	if v.Kind() != Object {
		return nil
	}
	keys := make([]string, len(v.n.kids))
	for i := range v.n.kids {
		keys[i] = v.n.kids[i].key
	}
	return keys
}

// Text is the characters of a string; false for every other kind.
func (v Value) Text() (string, bool) {
	if v.Kind() != String {
		return "", false
	}
	return v.n.text, true
}

// Bool is the truth value of a boolean; ok is false for every other kind.
func (v Value) Bool() (b, ok bool) {
	if v.Kind() != Bool {
		return false, false
	}
	return v.n.truth, true
}

// NumberText is a number as it was written; false for every other kind.
func (v Value) NumberText() (string, bool) {
	if v.Kind() != Number {
		return "", false
	}
	return v.n.text, true
}

// Equal is [Equal] as a method, so that go-cmp compares Values.
func (v Value) Equal(w Value) bool { return Equal(v, w) }

// NullValue is JSON null.
func NullValue() Value { return Value{&node{kind: Null}} }

// BoolOf is true or false.
func BoolOf(b bool) Value { return Value{&node{kind: Bool, truth: b}} }

// StringOf is the string s. A byte that is not UTF-8 becomes U+FFFD, as in
// encoding/json.
func StringOf(s string) Value {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	return Value{&node{kind: String, text: s}}
}

// IntOf is the integer i.
func IntOf(i int64) Value {
	return Value{&node{kind: Number, text: strconv.FormatInt(i, 10)}}
}

// NumberOf is the number written as text, in JSON's grammar.
func NumberOf(text string) (Value, error) {
	p := parser{src: text}
	end, ok := p.scanNumber(0)
	if !ok || end != len(text) {
		return Value{}, fmt.Errorf("%q is not a JSON number", text)
	}
	return Value{&node{kind: Number, text: text}}, nil
}

// ArrayOf is the array of items. An absent item becomes null, as in
// JavaScript.
func ArrayOf(items ...Value) Value {
	kids := make([]member, len(items))
	for i, item := range items {
		if item.n == nil {
			kids[i].kind = Null
			continue
		}
		kids[i].node = *item.n
	}
	return Value{&node{kind: Array, kids: kids}}
}

// ObjectOf is the object of fields. Absent ones are left out.
func ObjectOf(fields map[string]Value) Value {
	kids := make([]member, 0, len(fields))
	for key, field := range fields {
		if field.n != nil {
			kids = append(kids, member{key: key, node: *field.n})
		}
	}
	slices.SortFunc(kids, func(a, b member) int { return Compare(a.key, b.key) })
	return Value{&node{kind: Object, kids: kids}}
}

// Compare orders strings by UTF-16 code units, as JavaScript and RFC 8785
// sort. Both must be UTF-8.
func Compare(a, b string) int {
	n := min(len(a), len(b))
	i := 0
	for i < n && a[i] == b[i] {
		i++
	}
	if i == n {
		return len(a) - len(b)
	}
	// UTF-8 orders by code point. Code units differ from that in one case:
	// surrogates (lead byte F0 and up) come before U+E000..U+FFFF (EE, EF).
	x, y := a[i], b[i]
	if x >= 0xEE && y >= 0xEE && (x >= 0xF0) != (y >= 0xF0) {
		x, y = y, x
	}
	return int(x) - int(y)
}
