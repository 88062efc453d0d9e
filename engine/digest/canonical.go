package digest

import (
	"crypto/sha256"
	"fmt"
	"hash"
)

// Canonical is v as RFC 8785 text with JavaScript's rules (change-set §1). An
// absent v gives no bytes. A number beyond the range of a double is an error
// that names its path.
func Canonical(v Value) ([]byte, error) {
	var w writer
	if !w.value(v) {
		return nil, w.err()
	}
	return w.buf, nil
}

// Of is the digest of {kind, subject} (change-set §1). An absent subject is
// left out.
func Of(kind string, subject Value) (Digest, error) {
	if subject.IsAbsent() {
		h := newHash(kind)
		h.raw("}")
		return h.sum(), nil
	}
	h := NewHash(kind)
	h.Value(subject)
	return h.Sum()
}

// OfBytes is Of over the value that subjectJSON holds.
func OfBytes(kind string, subjectJSON []byte) (Digest, error) {
	subject, err := Decode(subjectJSON)
	if err != nil {
		return Digest{}, fmt.Errorf("reading the subject of a %s digest: %w", kind, err)
	}
	return Of(kind, subject)
}

// Hash makes the digest of a subject too large to hold as one Value. The
// caller writes the subject's canonical text piece by piece and answers for
// the order of keys.
type Hash struct {
	kind string
	w    writer
}

// NewHash starts the digest of a subject of that kind.
func NewHash(kind string) *Hash {
	h := newHash(kind)
	h.raw(`,"subject":`)
	return h
}

func newHash(kind string) *Hash {
	h := &Hash{kind: kind, w: writer{sink: sha256.New()}}
	h.raw(`{"kind":`)
	h.Value(StringOf(kind))
	return h
}

// Raw writes canonical text as it stands.
func (h *Hash) Raw(text string) { h.raw(text) }

func (h *Hash) raw(text string) { h.w.raw(text) }

// Value writes one value. An error is kept for Sum.
func (h *Hash) Value(v Value) {
	if h.w.problem == "" {
		h.w.value(v)
	}
}

// Sum is the digest of what was written. It errs when a Value could not be.
func (h *Hash) Sum() (Digest, error) {
	if h.w.problem != "" {
		return Digest{}, fmt.Errorf("digesting a %s: %w", h.kind, h.w.err())
	}
	h.raw("}")
	return h.sum(), nil
}

func (h *Hash) sum() Digest {
	h.w.flush()
	return fromSum(h.w.sink.Sum(nil))
}

// writer writes canonical text into buf, and on into sink if there is one.
type writer struct {
	buf  []byte
	sink hash.Hash
	// exact writes numbers as they were written instead of as doubles.
	exact bool

	problem string
	path    []string // innermost first
}

// flushAt is how much text gathers before it is hashed.
const flushAt = 16 << 10

func (w *writer) flush() {
	w.sink.Write(w.buf)
	w.buf = w.buf[:0]
}

func (w *writer) raw(text string) {
	if w.sink != nil && len(w.buf)+len(text) > flushAt {
		w.flush()
	}
	w.buf = append(w.buf, text...)
}

func (w *writer) err() error { return fmt.Errorf("%s: %s", joinPath(w.path), w.problem) }

func (w *writer) bytes(text []byte) {
	if w.sink != nil && len(w.buf)+len(text) > flushAt {
		w.flush()
	}
	w.buf = append(w.buf, text...)
}

func (w *writer) value(v Value) bool {
	if v.IsAbsent() {
		return true
	}
	return w.cell(v.t, v.cell())
}

func (w *writer) cell(t *tree, c *cell) bool {
	switch c.kind {
	case Null:
		w.raw("null")
	case Bool:
		if c.truth {
			w.raw("true")
		} else {
			w.raw("false")
		}
	case Number:
		return w.number(t.chars(c))
	case String:
		w.string(t.chars(c), c.plain)
	case reference:
		return w.value(t.refs[c.at])
	default:
		return w.container(t, c)
	}
	return true
}

func (w *writer) container(t *tree, c *cell) bool {
	opening, closing := byte('{'), byte('}')
	if c.kind == Array {
		opening, closing = '[', ']'
	}
	w.buf = append(w.buf, opening)
	kids := t.kids(c)
	for i := range kids {
		kid := &kids[i]
		if i > 0 {
			w.buf = append(w.buf, ',')
		}
		if c.kind == Object {
			w.string(t.key(kid), kid.keyPlain)
			w.buf = append(w.buf, ':')
		}
		if !w.cell(t, kid) {
			w.path = append(w.path, step(c.kind, t.key(kid), i))
			return false
		}
	}
	w.buf = append(w.buf, closing)
	return true
}

func (w *writer) number(text []byte) bool {
	if w.exact || isCanonicalNumber(text) {
		w.bytes(text)
		return true
	}
	var ok bool
	if w.buf, ok = appendDouble(w.buf, string(text)); !ok {
		w.problem = "number " + shortNumber(string(text)) + " is beyond the range of a double"
	}
	return ok
}

// string writes text in quotes. Escaped are the quote, the backslash and what
// is below U+0020, and nothing else.
func (w *writer) string(text []byte, plain bool) {
	w.buf = append(w.buf, '"')
	if plain {
		w.bytes(text)
		w.buf = append(w.buf, '"')
		return
	}
	for i := 0; i < len(text); i++ {
		end := plainRun(text, i)
		w.bytes(text[i:end])
		if i = end; i < len(text) {
			w.raw(escapeOf(text[i]))
		}
	}
	w.buf = append(w.buf, '"')
}

func escapeOf(c byte) string {
	switch c {
	case '"':
		return `\"`
	case '\\':
		return `\\`
	case '\b':
		return `\b`
	case '\t':
		return `\t`
	case '\n':
		return `\n`
	case '\f':
		return `\f`
	case '\r':
		return `\r`
	}
	const digits = "0123456789abcdef"
	return `\u00` + string([]byte{digits[c>>4], digits[c&15]})
}
