package digest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
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
	if !p.document() {
		return Value{}, p.err()
	}
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
	room := countValues(data)
	return &parser{
		text: bytes.Clone(data), checked: utf8.Valid(data),
		cells: make([]cell, room), open: room,
	}
}

// countValues is how many values data can hold: every one but the root follows
// its own comma or opening bracket.
func countValues(data []byte) int {
	most := 1 + bytes.Count(data, []byte{','}) + bytes.Count(data, []byte{'['}) + bytes.Count(data, []byte{'{'})
	if most <= len(data)/12 {
		return most
	}
	// Many: worth leaving out those that stand in strings.
	n := 1
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case ',', '[', '{':
			n++
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}

func (p *parser) err() error {
	return fmt.Errorf("JSON at offset %d, %s: %s", p.at, joinPath(p.path), p.problem)
}

func (p *parser) fail(at int, problem string) bool {
	p.at, p.problem = at, problem
	return false
}

func (p *parser) document() bool {
	p.open--
	root := &p.cells[p.open]
	if !p.value(root) {
		return false
	}
	p.space()
	if p.pos != len(p.text) {
		return p.fail(p.pos, "text after the value")
	}
	p.cells[p.kept] = *root
	return true
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

// value reads the next value into c, of which it leaves the key alone.
func (p *parser) value(c *cell) bool {
	switch b := p.peek(); b {
	case '"':
		var ok bool
		c.kind = String
		c.at, c.n, c.plain, ok = p.string()
		return ok
	case '{':
		c.kind = Object
		return p.container(c, '}')
	case '[':
		c.kind = Array
		return p.container(c, ']')
	case 't':
		c.kind, c.truth = Bool, true
		return p.literal("true")
	case 'f':
		c.kind = Bool
		return p.literal("false")
	case 'n':
		c.kind = Null
		return p.literal("null")
	default:
		if b != '-' && (b < '0' || b > '9') {
			return p.unexpected("a value")
		}
		return p.number(c)
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

// container reads an array or object, whose opening byte is next, into c.
func (p *parser) container(c *cell, closing byte) bool {
	if p.depth++; p.depth > maxDepth {
		return p.fail(p.pos, fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	p.pos++
	base := p.open
	sorted := true
	for p.peek() != closing || p.open != base {
		p.open--
		at := p.open
		kid := &p.cells[at]
		*kid = cell{}
		if c.kind == Object {
			if !p.key(kid) {
				return false
			}
			sorted = sorted && (at+1 == base || compare(p.keyOf(&p.cells[at+1]), p.keyOf(kid)) < 0)
		}
		if !p.value(kid) {
			p.path = append(p.path, step(c.kind, p.keyOf(kid), base-at-1))
			return false
		}
		b := p.peek()
		if b == closing {
			break
		}
		if b != ',' {
			return p.unexpected("a comma or " + string(rune(closing)))
		}
		p.pos++
	}
	p.pos++
	p.depth--
	p.keep(c, base, sorted)
	return true
}

// keep moves the kids of a container that closes to the front, in order.
func (p *parser) keep(c *cell, base int, sorted bool) {
	kids := p.cells[p.kept : p.kept+copy(p.cells[p.kept:], p.cells[p.open:base])]
	p.open = base
	slices.Reverse(kids)
	if !sorted {
		kids = p.sortKids(kids)
	}
	c.at, c.n = uint32(p.kept), uint32(len(kids))
	p.kept += len(kids)
}

// keyOf is the key that c stands under.
func (p *parser) keyOf(c *cell) []byte { return p.text[c.keyAt : c.keyAt+c.keyLen] }

// sortKids orders kids by key and keeps the last of equal keys.
func (p *parser) sortKids(kids []cell) []cell {
	if len(kids) <= 24 {
		p.insertionSort(kids)
	} else {
		slices.SortFunc(kids, func(a, b cell) int {
			return cmp.Or(compare(p.keyOf(&a), p.keyOf(&b)), cmp.Compare(a.keyAt, b.keyAt))
		})
	}
	kept := 1
	for i := 1; i < len(kids); i++ {
		if bytes.Equal(p.keyOf(&kids[kept-1]), p.keyOf(&kids[i])) {
			kept--
		}
		kids[kept] = kids[i]
		kept++
	}
	return kids[:kept]
}

// insertionSort is stable, and on the few properties most objects have it is
// several times faster than the general sort.
func (p *parser) insertionSort(kids []cell) {
	for i := 1; i < len(kids); i++ {
		kid := kids[i]
		key := p.keyOf(&kid)
		j := i
		for ; j > 0 && compare(p.keyOf(&kids[j-1]), key) > 0; j-- {
			kids[j] = kids[j-1]
		}
		kids[j] = kid
	}
}

// key reads a property name and its colon into c.
func (p *parser) key(c *cell) bool {
	if p.peek() != '"' {
		return p.unexpected("a property name")
	}
	var ok bool
	if c.keyAt, c.keyLen, c.keyPlain, ok = p.string(); !ok {
		return false
	}
	if p.peek() != ':' {
		return p.unexpected("a colon")
	}
	p.pos++
	return true
}

func (p *parser) number(c *cell) bool {
	end, ok := p.scanNumber(p.pos)
	if !ok {
		return p.fail(p.pos, "malformed number, or an exponent of more than six digits")
	}
	c.kind, c.at, c.n = Number, uint32(p.pos), uint32(end-p.pos)
	p.pos = end
	return true
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
