package digest

import (
	"slices"
	"unicode/utf8"
)

// Builder gathers the properties of one object, in an order of the caller's
// that JSON keeps and Object does not. Keys must be UTF-8 and all different.
// The zero Builder is ready; after Object it must not be added to.
type Builder struct{ t tree }

// Text adds a string, as [StringOf] makes it.
func (b *Builder) Text(key, s string) {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	kid := b.kid(key)
	kid.kind, kid.at, kid.n = String, uint32(len(b.t.text)), uint32(len(s))
	b.t.text = append(b.t.text, s...)
	b.t.cells = append(b.t.cells, kid)
}

// Bool adds true or false.
func (b *Builder) Bool(key string, v bool) {
	kid := b.kid(key)
	kid.kind, kid.truth = Bool, v
	b.t.cells = append(b.t.cells, kid)
}

// Value adds v, unless it is absent.
func (b *Builder) Value(key string, v Value) {
	if !v.IsAbsent() {
		b.t.addKid(b.kid(key), v)
	}
}

func (b *Builder) kid(key string) cell {
	if b.t.cells == nil { // room for most objects, with the one Object adds
		b.t.cells, b.t.text = make([]cell, 0, 16), make([]byte, 0, 256)
	}
	kid := cell{keyAt: uint32(len(b.t.text)), keyLen: uint32(len(key))}
	b.t.text = append(b.t.text, key...)
	return kid
}

// Len is the number of properties.
func (b *Builder) Len() int { return len(b.t.cells) }

// Has reports whether a property of that key was added.
func (b *Builder) Has(key string) bool {
	return slices.ContainsFunc(b.t.cells, func(c cell) bool { return string(b.t.key(&c)) == key })
}

// JSON is the object with its properties in the order they were added.
func (b *Builder) JSON() []byte {
	w := writer{exact: true}
	w.container(&b.t, &cell{kind: Object, n: uint32(len(b.t.cells))}) // exact text cannot fail
	return w.buf
}

// Object is the object gathered.
func (b *Builder) Object() Value {
	slices.SortFunc(b.t.cells, func(x, y cell) int { return compare(b.t.key(&x), b.t.key(&y)) })
	n := uint32(len(b.t.cells))
	b.t.cells = append(b.t.cells, cell{kind: Object, n: n})
	return Value{&b.t, n}
}
