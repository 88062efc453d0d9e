package digest_test

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/digest"
)

func TestInexactIsANumberWhoseCanonicalTextIsAnotherNumber(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"12345678901234567890": true, "12345678901234567000": false, "1234567890123456789e1": true,
		"9007199254740992": false, "9007199254740993": true, "-9007199254740993": true, "9007199254740994": false,
		"0.1": false, "1.0": false, "-0": false, "0.12345678901234567890": true, "1e21": false, "1e-7": false,
		"1000000000000000000001": true, "1e400": true, "1e-400": true, "0e-400": false, "0.30000000000000004": false,
		`"12345678901234567890"`: false, "null": false, "true": false, "[12345678901234567890]": false,
	} {
		if got := digest.IsInexact(decode(t, text)); got != want {
			t.Errorf("IsInexact(%s) = %v, want %v", text, got, want)
		}
	}
	if digest.IsInexact(digest.Value{}) {
		t.Error("nothing is inexact")
	}
}

// rational is what a number's text means, by other means.
func rational(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return r
}

func numbers() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,21})(\.[0-9]{1,21})?([eE][-+]?[0-9]{1,2})?`)
}

func TestInexactAgreesWithRationalArithmetic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := numbers().Draw(t, "number")
		v := mustNumber(text)
		want := rational(t, text).Cmp(rational(t, canonical(t, v))) != 0
		if digest.IsInexact(v) != want {
			t.Fatalf("IsInexact(%s) = %v; its text is %s", text, !want, canonical(t, v))
		}
	})
}

func TestNumbersAreEqualByExactValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := numbers().Draw(t, "a")
		b := rapid.OneOf(numbers(), rapid.Just(a), rapid.Just(a+"0")).Draw(t, "b")
		v, err := digest.NumberOf(b)
		if err != nil {
			return
		}
		if got, want := digest.Equal(mustNumber(a), v), rational(t, a).Cmp(rational(t, b)) == 0; got != want {
			t.Fatalf("Equal(%s, %s) = %v", a, b, got)
		}
	})
}

func TestEqualAndEqualAsDoubles(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b             string
		exactly, doubles bool
	}{
		{`1`, `1.0`, true, true},
		{`100`, `1e2`, true, true},
		{`12345678901234567890`, `12345678901234567891`, false, true},
		{`0`, `-0`, true, true},
		{`1e400`, `1e500`, false, true},
		{`"1"`, `1`, false, false},
		{`{"a":1,"b":[1,2]}`, `{"b":[1,2],"a":1}`, true, true},
		{`[1,2]`, `[2,1]`, false, false},
		{`[1]`, `[1,null]`, false, false},
		{`{"a":null}`, `{}`, false, true},
		{`{"a":{"b":null,"c":1}}`, `{"a":{"c":1}}`, false, true},
		{`{"a":null,"b":1}`, `{"b":1,"c":null}`, false, true},
		{`{"a":1}`, `{"b":1}`, false, false},
		{`null`, `false`, false, false},
		{`[]`, `{}`, false, false},
		{`true`, `true`, true, true},
		{`true`, `false`, false, false},
	} {
		a, b := decode(t, test.a), decode(t, test.b)
		for range 2 {
			if got := digest.Equal(a, b); got != test.exactly {
				t.Errorf("Equal(%s, %s) = %v", a, b, got)
			}
			if got := digest.EqualAsDoubles(a, b); got != test.doubles {
				t.Errorf("EqualAsDoubles(%s, %s) = %v", a, b, got)
			}
			a, b = b, a
		}
	}
	var absent digest.Value
	if digest.Equal(absent, digest.NullValue()) || !digest.Equal(absent, absent) || !digest.EqualAsDoubles(absent, digest.NullValue()) {
		t.Error("absent is null only as a double")
	}
}
