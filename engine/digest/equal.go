package digest

import (
	"bytes"
	"strconv"
)

// Equal reports whether a and b are the same JSON value: objects whatever the
// order of keys, numbers by exact decimal value. Absent is not null.
func Equal(a, b Value) bool { return exactly.equal(a, b) }

// EqualAsDoubles is the comparison of change-set §4.1: numbers as IEEE
// doubles, and null equal to absent at any depth.
func EqualAsDoubles(a, b Value) bool { return asDoubles.equal(a, b) }

// comparison says what Equal and EqualAsDoubles differ in.
type comparison bool

const (
	exactly   comparison = false
	asDoubles comparison = true
)

func (c comparison) equal(a, b Value) bool {
	if c == asDoubles && a.IsNull() && b.IsNull() {
		return true
	}
	if a.Kind() != b.Kind() {
		return false
	}
	switch a.Kind() {
	case Absent, Null:
		return true
	case Bool:
		return a.cell().truth == b.cell().truth
	case String:
		return bytes.Equal(a.t.chars(a.cell()), b.t.chars(b.cell()))
	case Number:
		return c.equalNumbers(string(a.t.chars(a.cell())), string(b.t.chars(b.cell())))
	case Array:
		return c.equalArrays(a, b)
	default:
		return c.equalObjects(a, b)
	}
}

func (c comparison) equalNumbers(a, b string) bool {
	if c == exactly {
		return sameDecimal(a, b)
	}
	// Beyond the range both are infinite, as in JavaScript.
	x, _ := strconv.ParseFloat(a, 64)
	y, _ := strconv.ParseFloat(b, 64)
	return x == y
}

func (c comparison) equalArrays(a, b Value) bool {
	if a.Len() != b.Len() {
		return false
	}
	for i := range a.Len() {
		if !c.equal(a.At(i), b.At(i)) {
			return false
		}
	}
	return true
}

// equalObjects walks two sorted key lists side by side.
func (c comparison) equalObjects(a, b Value) bool {
	i, j := 0, 0
	for i < a.Len() || j < b.Len() {
		var order int
		switch {
		case i == a.Len():
			order = 1
		case j == b.Len():
			order = -1
		default:
			order = compare(a.keyAt(i), b.keyAt(j))
		}
		var x, y Value
		if order <= 0 {
			x = a.At(i)
			i++
		}
		if order >= 0 {
			y = b.At(j)
			j++
		}
		if !c.equal(x, y) {
			return false
		}
	}
	return true
}
