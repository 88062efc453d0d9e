package digest

import (
	"bytes"
	"strconv"
	"strings"
)

// maxExact is the number of significant decimal digits that every double
// keeps apart.
const maxExact = 15

// isCanonicalNumber reports whether text, a JSON number, is surely its own
// ECMAScript form: plain notation, at most 15 digits, no needless zeros. Two
// such texts are never the same double, so the shortest text of the double is
// this one. It may say false of other canonical texts.
func isCanonicalNumber(text []byte) bool {
	digits := text
	if digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) > maxExact+1 || string(text) == "-0" {
		return false
	}
	point := -1
	for i, c := range digits {
		switch {
		case c == '.':
			point = i
		case c < '0' || c > '9':
			return false
		}
	}
	if point < 0 {
		return len(digits) <= maxExact
	}
	// Below 1e-6 the form is exponential, and "0.0" has needless zeros.
	return digits[len(digits)-1] != '0' && !bytes.HasPrefix(digits, []byte("0.000000"))
}

// appendDouble appends text read as a double, in the form of ECMAScript's
// Number::toString; false when the double is not finite.
func appendDouble(buf []byte, text string) ([]byte, bool) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return buf, false
	}
	switch abs := max(f, -f); {
	case abs == 0:
		return append(buf, '0'), true
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(buf, f, 'f', -1, 64), true
	}
	start := len(buf)
	buf = strconv.AppendFloat(buf, f, 'e', -1, 64)
	// Go writes at least two exponent digits, ECMAScript as few as it can.
	if e := len(buf) - 2; e > start && buf[e] == '0' && (buf[e-1] == '+' || buf[e-1] == '-') {
		buf = append(buf[:e], buf[e+1])
	}
	return buf, true
}

// IsInexact reports whether v is a number whose exact value is not that of its
// canonical text, so that two such numbers can share a digest:
// 12345678901234567890 is one, 12345678901234567000 is not (change-set,
// decisions). A number without a canonical text is inexact.
func IsInexact(v Value) bool {
	text, ok := v.NumberText()
	if !ok || isCanonicalNumber([]byte(text)) {
		return false
	}
	var room [32]byte
	canonical, ok := appendDouble(room[:0], text)
	return !ok || !sameDecimal(text, string(canonical))
}

// decimal is the value sign * 0.digits * 10^exp; digits has no zero at either
// end, and is empty for zero.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// decimalOf reads a JSON number exactly. Exponents are at most six digits, so
// exp cannot overflow.
func decimalOf(text string) decimal {
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		d.exp, _ = strconv.Atoi(text[e+1:])
		text = text[:e]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	d.exp += len(whole)
	d.digits = whole + fraction
	trimmed := strings.TrimLeft(d.digits, "0")
	d.exp -= len(d.digits) - len(trimmed)
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func sameDecimal(a, b string) bool { return a == b || decimalOf(a) == decimalOf(b) }

// shortNumber keeps a hostile number from filling an error.
func shortNumber(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}
