package digest

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string whose opening quote is next, and unescapes it where it
// stands: no escape is shorter than the character it means.
func (p *parser) string() (at, n uint32, plain, ok bool) {
	start := p.pos + 1
	end := plainRun(p.text, start)
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

// plainRun is where the characters from i on that stand for themselves end. It
// looks at eight bytes at a time while there are as many.
func plainRun(text []byte, i int) int {
	for ; i+8 <= len(text); i += 8 {
		if special := specialBytes(binary.LittleEndian.Uint64(text[i:])); special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for i < len(text) && text[i] >= ' ' && text[i] != '"' && text[i] != '\\' {
		i++
	}
	return i
}

// specialBytes has the high bit set in the lowest byte of x that ends a run of
// plain characters: a quote, a backslash or a control character. Bits above it
// mean nothing.
func specialBytes(x uint64) uint64 {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	quote, backslash := x^(ones*'"'), x^(ones*'\\')
	return ((x-ones*' ')&^x | (quote-ones)&^quote | (backslash-ones)&^backslash) & highs
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
		next := plainRun(p.text, i)
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
