package digest

import (
	"fmt"
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
// that is not JSON, more than one value, invalid UTF-8, a lone surrogate, and
// nesting deeper than 1000. The Value does not alias data.
func Decode(data []byte) (Value, error) {
	p := newParser(string(data))
	n, ok := p.document()
	if !ok {
		return Value{}, p.err()
	}
	return Value{&n}, nil
}

// parser is one run over src. Its methods return false after noting what is
// wrong; callers add their step to the path on the way out.
type parser struct {
	src     string
	pos     int
	depth   int
	checked bool // src is valid UTF-8 as a whole

	stack []member // kids of the containers still open
	arena []member // room for the kids of closed ones
	block int      // size of the next arena

	problem string
	at      int
	path    []string // innermost first
}

func newParser(src string) *parser {
	return &parser{src: src, checked: utf8.ValidString(src), block: min(len(src)/32+1, 2048)}
}

func (p *parser) err() error {
	return fmt.Errorf("JSON at offset %d, %s: %s", p.at, joinPath(p.path), p.problem)
}

func (p *parser) fail(at int, problem string) bool {
	p.at, p.problem = at, problem
	return false
}

func (p *parser) document() (node, bool) {
	n, ok := p.value()
	if !ok {
		return n, false
	}
	p.space()
	if p.pos != len(p.src) {
		return n, p.fail(p.pos, "text after the value")
	}
	return n, true
}

func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\n', '\r', '\t':
			p.pos++
		default:
			return
		}
	}
}

// peek is the next byte that is not white space; 0 at the end.
func (p *parser) peek() byte {
	if p.pos < len(p.src) && p.src[p.pos] > ' ' {
		return p.src[p.pos]
	}
	p.space()
	if p.pos == len(p.src) {
		return 0
	}
	return p.src[p.pos]
}

func (p *parser) value() (node, bool) {
	switch c := p.peek(); c {
	case '"':
		text, plain, ok := p.string()
		return node{kind: String, text: text, plain: plain}, ok
	case '{':
		return p.container(Object, '}')
	case '[':
		return p.container(Array, ']')
	case 't':
		return node{kind: Bool, truth: true}, p.literal("true")
	case 'f':
		return node{kind: Bool}, p.literal("false")
	case 'n':
		return node{kind: Null}, p.literal("null")
	default:
		if c != '-' && (c < '0' || c > '9') {
			return node{}, p.unexpected("a value")
		}
		return p.number()
	}
}

func (p *parser) unexpected(want string) bool {
	if p.pos == len(p.src) {
		return p.fail(p.pos, "ends where "+want+" is due")
	}
	r, _ := utf8.DecodeRuneInString(p.src[p.pos:])
	return p.fail(p.pos, fmt.Sprintf("%q where %s is due", r, want))
}

func (p *parser) literal(word string) bool {
	if !strings.HasPrefix(p.src[p.pos:], word) {
		return p.unexpected(word)
	}
	p.pos += len(word)
	return true
}

// container reads an array or object whose opening byte is next. Its kids
// gather on the shared stack and move to the arena when their number is known.
func (p *parser) container(kind Kind, closing byte) (node, bool) {
	start := p.pos
	if p.depth++; p.depth > maxDepth {
		return node{}, p.fail(start, fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	p.pos++
	base := len(p.stack)
	sorted := true
	if p.peek() == closing {
		p.pos++
		p.depth--
		return node{kind: kind}, true
	}
	for {
		var kid member
		plain, ok := false, true
		if kind == Object {
			kid.key, plain, ok = p.key()
			sorted = sorted && (len(p.stack) == base || Compare(p.stack[len(p.stack)-1].key, kid.key) < 0)
		}
		if !ok {
			return node{}, false
		}
		if kid.node, ok = p.value(); !ok {
			p.path = append(p.path, step(kind, kid.key, len(p.stack)-base))
			return node{}, false
		}
		kid.keyPlain = plain
		p.stack = append(p.stack, kid)
		c := p.peek()
		if c == closing {
			break
		}
		if c != ',' {
			return node{}, p.unexpected("a comma or " + string(rune(closing)))
		}
		p.pos++
	}
	p.pos++
	p.depth--
	kids := p.stack[base:]
	if !sorted {
		kids = sortMembers(kids)
	}
	n := node{kind: kind, kids: p.keep(kids)}
	p.stack = p.stack[:base]
	return n, true
}

// sortMembers orders kids by key and keeps the last of equal keys.
func sortMembers(kids []member) []member {
	slices.SortStableFunc(kids, func(a, b member) int { return Compare(a.key, b.key) })
	kept := kids[:0]
	for i, kid := range kids {
		if i+1 < len(kids) && kids[i+1].key == kid.key {
			continue
		}
		kept = append(kept, kid)
	}
	return kept
}

// keep copies kids off the stack into memory of exactly their number, cut from
// blocks so that a plan of a million values is a few thousand allocations.
func (p *parser) keep(kids []member) []member {
	if len(kids) > p.block/4 {
		return slices.Clone(kids)
	}
	if cap(p.arena)-len(p.arena) < len(kids) {
		p.arena = make([]member, 0, p.block)
	}
	start := len(p.arena)
	p.arena = append(p.arena, kids...)
	return p.arena[start:len(p.arena):len(p.arena)]
}

// key reads a property name and its colon.
func (p *parser) key() (key string, plain, ok bool) {
	if p.peek() != '"' {
		return "", false, p.unexpected("a property name")
	}
	if key, plain, ok = p.string(); !ok {
		return "", false, false
	}
	if p.peek() != ':' {
		return "", false, p.unexpected("a colon")
	}
	p.pos++
	return key, plain, true
}

// string reads a string whose opening quote is next. Without escapes it is a
// piece of src.
func (p *parser) string() (text string, plain, ok bool) {
	start := p.pos + 1
	i := start
	for i < len(p.src) && p.src[i] >= ' ' && p.src[i] != '"' && p.src[i] != '\\' {
		i++
	}
	switch {
	case i == len(p.src):
		return "", false, p.fail(p.pos, "string without an end")
	case p.src[i] == '"':
		text, plain = p.src[start:i], true
		p.pos = i + 1
	default:
		if text, ok = p.escaped(start, i); !ok {
			return "", false, false
		}
	}
	if !p.checked && !utf8.ValidString(text) {
		return "", false, p.fail(start, "string that is not UTF-8")
	}
	return text, plain, true
}

// escaped reads the rest of a string from start, whose first escape or
// forbidden byte is at i.
func (p *parser) escaped(start, i int) (string, bool) {
	buf := make([]byte, 0, 64)
	for {
		buf = append(buf, p.src[start:i]...)
		switch {
		case i == len(p.src):
			return "", p.fail(i, "string without an end")
		case p.src[i] == '"':
			p.pos = i + 1
			return string(buf), true
		case p.src[i] < ' ':
			return "", p.fail(i, "control character in a string")
		}
		var ok bool
		if buf, start, ok = p.escape(buf, i+1); !ok {
			return "", false
		}
		i = start
		for i < len(p.src) && p.src[i] >= ' ' && p.src[i] != '"' && p.src[i] != '\\' {
			i++
		}
	}
}

// escape appends the character of the escape whose letter is at i, and returns
// where the text goes on.
func (p *parser) escape(buf []byte, i int) ([]byte, int, bool) {
	if i == len(p.src) {
		return nil, 0, p.fail(i, "string without an end")
	}
	switch c := p.src[i]; c {
	case '"', '\\', '/':
		buf = append(buf, c)
	case 'b':
		buf = append(buf, '\b')
	case 'f':
		buf = append(buf, '\f')
	case 'n':
		buf = append(buf, '\n')
	case 'r':
		buf = append(buf, '\r')
	case 't':
		buf = append(buf, '\t')
	case 'u':
		r, ok := p.hex4(i + 1)
		if !ok {
			return nil, 0, p.fail(i, `\u without four hex digits`)
		}
		i += 5
		if !utf16.IsSurrogate(r) {
			return utf8.AppendRune(buf, r), i, true
		}
		low, ok := rune(0), false
		if strings.HasPrefix(p.src[i:], `\u`) {
			low, ok = p.hex4(i + 2)
		}
		full := utf16.DecodeRune(r, low)
		if !ok || full == utf8.RuneError {
			return nil, 0, p.fail(i-6, fmt.Sprintf(`lone surrogate \u%04x: half a character, which has no canonical text`, r))
		}
		return utf8.AppendRune(buf, full), i + 6, true
	default:
		return nil, 0, p.fail(i, "unknown escape in a string")
	}
	return buf, i + 1, true
}

func (p *parser) hex4(i int) (rune, bool) {
	if i+4 > len(p.src) {
		return 0, false
	}
	var r rune
	for _, c := range []byte(p.src[i : i+4]) {
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

func (p *parser) number() (node, bool) {
	end, ok := p.scanNumber(p.pos)
	if !ok {
		return node{}, p.fail(p.pos, "malformed number, or an exponent of more than six digits")
	}
	n := node{kind: Number, text: p.src[p.pos:end]}
	p.pos = end
	return n, true
}

// scanNumber returns where the number that starts at i ends. An exponent of
// more than six digits is refused: it would make exact comparison expensive
// and no planner writes one.
func (p *parser) scanNumber(i int) (end int, ok bool) {
	digits := func() int {
		from := i
		for i < len(p.src) && '0' <= p.src[i] && p.src[i] <= '9' {
			i++
		}
		return i - from
	}
	next := func(set string) bool {
		if i < len(p.src) && strings.IndexByte(set, p.src[i]) >= 0 {
			i++
			return true
		}
		return false
	}
	next("-")
	if !next("0") && digits() == 0 {
		return i, false
	}
	if next(".") && digits() == 0 {
		return i, false
	}
	if next("eE") {
		next("+-")
		if n := digits(); n == 0 || n > 6 {
			return i, false
		}
	}
	return i, true
}
