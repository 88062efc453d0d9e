package digest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth bounds nesting, so that no input exhausts the stack. Plans nest a
// few dozen levels.
const maxDepth = 1000

// Decode reads one JSON value that is all of data. Of a key that stands twice
// the last wins, as in JavaScript. Refused, with the path or offset named: text
// that is not JSON, more than one value, invalid UTF-8, a lone surrogate,
// nesting deeper than 1000 and texts of 4 GiB. The Value does not alias data.
func Decode(data []byte) (Value, error) {
	if len(data) > math.MaxUint32 {
		return Value{}, errors.New("JSON of 4 GiB or more")
	}
	p := newParser(data)
	root, ok := p.document()
	if !ok {
		return Value{}, p.err()
	}
	p.cells[p.kept] = root
	return Value{&tree{text: p.text, cells: p.cells}, uint32(p.kept)}, nil
}

// parser is one run over text. Its methods return false after noting what is
// wrong; callers add their step to the path on the way out.
type parser struct {
	text    []byte // a copy of the input, in which strings are unescaped in place
	pos     int
	depth   int
	checked bool // text is valid UTF-8 as a whole

	// cells has room for every value there can be. Kids of closed containers
	// fill it from the front, up to kept; kids of open ones lie from open to
	// the end, the latest first.
	cells      []cell
	kept, open int

	problem string
	at      int
	path    []string // innermost first
}

func newParser(data []byte) *parser {
	// Every value but the root follows its own comma or opening bracket.
	room := 1 + bytes.Count(data, []byte{','}) + bytes.Count(data, []byte{'['}) + bytes.Count(data, []byte{'{'})
	return &parser{
		text: bytes.Clone(data), checked: utf8.Valid(data),
		cells: make([]cell, room), open: room,
	}
}

func (p *parser) err() error {
	return fmt.Errorf("JSON at offset %d, %s: %s", p.at, joinPath(p.path), p.problem)
}

func (p *parser) fail(at int, problem string) bool {
	p.at, p.problem = at, problem
	return false
}

func (p *parser) document() (cell, bool) {
	c, ok := p.value()
	if !ok {
		return c, false
	}
	p.space()
	if p.pos != len(p.text) {
		return c, p.fail(p.pos, "text after the value")
	}
	return c, true
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\n', '\r', '\t':
			p.pos++
		default:
			return
		}
	}
}

// peek is the next byte that is not white space; 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.text) && p.text[p.pos] > ' ' {
		return p.text[p.pos]
	}
	p.space()
	if p.pos == len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) value() (cell, bool) {
	switch c := p.peek(); c {
	case '"':
		at, n, plain, ok := p.string()
		return cell{kind: String, at: at, n: n, plain: plain}, ok
	case '{':
		return p.container(Object, '}')
	case '[':
		return p.container(Array, ']')
	case 't':
		return cell{kind: Bool, truth: true}, p.literal("true")
	case 'f':
		return cell{kind: Bool}, p.literal("false")
	case 'n':
		return cell{kind: Null}, p.literal("null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return cell{}, p.unexpected("a value")
		}
		return p.number()
	}
}

func (p *parser) unexpected(want string) bool {
	if p.pos == len(p.text) {
		return p.fail(p.pos, "ends where "+want+" is due")
	}
	r, _ := utf8.DecodeRune(p.text[p.pos:])
	return p.fail(p.pos, fmt.Sprintf("%q where %s is due", r, want))
}

func (p *parser) literal(word string) bool {
	if len(p.text)-p.pos < len(word) || string(p.text[p.pos:p.pos+len(word)]) != word {
		return p.unexpected(word)
	}
	p.pos += len(word)
	return true
}

// container reads an array or object whose opening byte is next.
func (p *parser) container(kind Kind, closing byte) (cell, bool) {
	if p.depth++; p.depth > maxDepth {
		return cell{}, p.fail(p.pos, fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	p.pos++
	base := p.open
	sorted := true
	for p.peek() != closing || p.open != base {
		var key cell
		if kind == Object {
			var ok bool
			if key, ok = p.key(); !ok {
				return cell{}, false
			}
			sorted = sorted && (p.open == base || p.compareKeys(&p.cells[p.open], &key) < 0)
		}
		kid, ok := p.value()
		if !ok {
			p.path = append(p.path, step(kind, p.text[key.keyAt:key.keyAt+key.keyLen], base-p.open))
			return cell{}, false
		}
		kid.keyAt, kid.keyLen, kid.keyPlain = key.keyAt, key.keyLen, key.keyPlain
		p.open--
		p.cells[p.open] = kid
		c := p.peek()
		if c == closing {
			break
		}
		if c != ',' {
			return cell{}, p.unexpected("a comma or " + string(rune(closing)))
		}
		p.pos++
	}
	p.pos++
	p.depth--
	return p.keep(kind, base, sorted), true
}

// keep moves the kids of a container that closes to the front, in order.
func (p *parser) keep(kind Kind, base int, sorted bool) cell {
	kids := p.cells[p.kept : p.kept+copy(p.cells[p.kept:], p.cells[p.open:base])]
	p.open = base
	slices.Reverse(kids)
	if !sorted {
		kids = p.sortKids(kids)
	}
	c := cell{kind: kind, at: uint32(p.kept), n: uint32(len(kids))}
	p.kept += len(kids)
	return c
}

func (p *parser) compareKeys(a, b *cell) int {
	return compare(p.text[a.keyAt:a.keyAt+a.keyLen], p.text[b.keyAt:b.keyAt+b.keyLen])
}

// sortKids orders kids by key and keeps the last of equal keys.
func (p *parser) sortKids(kids []cell) []cell {
	slices.SortStableFunc(kids, func(a, b cell) int { return p.compareKeys(&a, &b) })
	kept := kids[:0]
	for i, kid := range kids {
		if i+1 < len(kids) && p.compareKeys(&kids[i+1], &kid) == 0 {
			continue
		}
		kept = append(kept, kid)
	}
	return kept
}

// key reads a property name and its colon.
func (p *parser) key() (c cell, ok bool) {
	if p.peek() != '"' {
		return c, p.unexpected("a property name")
	}
	if c.keyAt, c.keyLen, c.keyPlain, ok = p.string(); !ok {
		return c, false
	}
	if p.peek() != ':' {
		return c, p.unexpected("a colon")
	}
	p.pos++
	return c, true
}

// string reads a string whose opening quote is next, and unescapes it where it
// stands: no escape is shorter than the character it means.
func (p *parser) string() (at, n uint32, plain, ok bool) {
	start := p.pos + 1
	end := p.run(start)
	switch {
	case end == len(p.text):
		return 0, 0, false, p.fail(p.pos, "string without an end")
	case p.text[end] == '"':
		plain = true
		p.pos = end + 1
	default:
		if end, ok = p.unescape(end); !ok {
			return 0, 0, false, false
		}
	}
	if !p.checked && !utf8.Valid(p.text[start:end]) {
		return 0, 0, false, p.fail(start, "string that is not UTF-8")
	}
	return uint32(start), uint32(end - start), plain, true
}

// run is where the characters from i on that stand for themselves end.
func (p *parser) run(i int) int {
	for i < len(p.text) && p.text[i] >= ' ' && p.text[i] != '"' && p.text[i] != '\\' {
		i++
	}
	return i
}

// unescape moves the rest of a string, whose first escape or forbidden byte is
// at i, to where it belongs and returns its end there.
func (p *parser) unescape(i int) (end int, ok bool) {
	end = i
	for {
		switch {
		case i == len(p.text):
			return 0, p.fail(i, "string without an end")
		case p.text[i] == '"':
			p.pos = i + 1
			return end, true
		case p.text[i] < ' ':
			return 0, p.fail(i, "control character in a string")
		}
		var r rune
		if r, i, ok = p.escape(i + 1); !ok {
			return 0, false
		}
		end = len(utf8.AppendRune(p.text[:end], r))
		next := p.run(i)
		end += copy(p.text[end:], p.text[i:next])
		i = next
	}
}

// escape reads the escape whose letter is at i, and returns the character and
// where the text goes on.
func (p *parser) escape(i int) (rune, int, bool) {
	if i == len(p.text) {
		return 0, 0, p.fail(i, "string without an end")
	}
	switch c := p.text[i]; c {
	case '"', '\\', '/':
		return rune(c), i + 1, true
	case 'b':
		return '\b', i + 1, true
	case 'f':
		return '\f', i + 1, true
	case 'n':
		return '\n', i + 1, true
	case 'r':
		return '\r', i + 1, true
	case 't':
		return '\t', i + 1, true
	case 'u':
		return p.escapeU(i + 1)
	}
	return 0, 0, p.fail(i, "unknown escape in a string")
}

// escapeU reads the hex digits at i, and those of a second surrogate.
func (p *parser) escapeU(i int) (rune, int, bool) {
	r, ok := p.hex4(i)
	if !ok {
		return 0, 0, p.fail(i, `\u without four hex digits`)
	}
	i += 4
	if !utf16.IsSurrogate(r) {
		return r, i, true
	}
	full := rune(utf8.RuneError)
	if i+1 < len(p.text) && p.text[i] == '\\' && p.text[i+1] == 'u' {
		if low, ok := p.hex4(i + 2); ok {
			full = utf16.DecodeRune(r, low)
		}
	}
	if full == utf8.RuneError {
		return 0, 0, p.fail(i-6, fmt.Sprintf(`lone surrogate \u%04x: half a character, which has no canonical text`, r))
	}
	return full, i + 6, true
}

func (p *parser) hex4(i int) (rune, bool) {
	if i+4 > len(p.text) {
		return 0, false
	}
	var r rune
	for _, c := range p.text[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func (p *parser) number() (cell, bool) {
	end, ok := p.scanNumber(p.pos)
	if !ok {
		return cell{}, p.fail(p.pos, "malformed number, or an exponent of more than six digits")
	}
	c := cell{kind: Number, at: uint32(p.pos), n: uint32(end - p.pos)}
	p.pos = end
	return c, true
}

// scanNumber returns where the number that starts at i ends. An exponent of
// more than six digits is refused: it would make exact comparison expensive
// and no planner writes one.
func (p *parser) scanNumber(i int) (end int, ok bool) {
	if p.is(i, "-") {
		i++
	}
	whole := i
	if i = p.digits(i); i == whole || p.text[whole] == '0' && i > whole+1 {
		return i, false
	}
	if p.is(i, ".") {
		fraction := i + 1
		if i = p.digits(fraction); i == fraction {
			return i, false
		}
	}
	if p.is(i, "eE") {
		i++
		if p.is(i, "+-") {
			i++
		}
		exponent := i
		if i = p.digits(exponent); i == exponent || i > exponent+6 {
			return i, false
		}
	}
	return i, true
}

func (p *parser) is(i int, set string) bool {
	return i < len(p.text) && strings.IndexByte(set, p.text[i]) >= 0
}

func (p *parser) digits(i int) int {
	for i < len(p.text) && '0' <= p.text[i] && p.text[i] <= '9' {
		i++
	}
	return i
}
