package digest_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/gowebpki/jcs"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/digest"
)

func canonical(t interface {
	Helper()
	Fatalf(string, ...any)
}, v digest.Value) string {
	t.Helper()
	text, err := digest.Canonical(v)
	if err != nil {
		t.Fatalf("Canonical(%v): %v", v, err)
	}
	return string(text)
}

func TestNumbersAreWrittenAsECMAScriptDoes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "0", "-0.0": "0", "0e5": "0", "1.0": "1", "1.50": "1.5", "-0.5": "-0.5",
		"1e21": "1e+21", "1E20": "100000000000000000000", "123456789012345678901": "123456789012345680000",
		"0.000001": "0.000001", "0.0000010": "0.000001", "0.0000001": "1e-7", "1e-7": "1e-7", "1.5e-10": "1.5e-10",
		"9007199254740993": "9007199254740992", "12345678901234567890": "12345678901234567000",
		"999999999999999": "999999999999999", "0.1234567890123456789": "0.12345678901234568",
		"5e-324": "5e-324", "1e-400": "0", "1.7976931348623157e308": "1.7976931348623157e+308",
		"0.00000123": "0.00000123", "0.000000123": "1.23e-7", "123456.0": "123456", "1000000000000000000000": "1e+21",
		"-1e-7": "-1e-7", "1e100": "1e+100", "1e+09": "1000000000",
	} {
		if got := canonical(t, decode(t, text)); got != want {
			t.Errorf("%s is written %s, want %s", text, got, want)
		}
	}
}

func TestANumberBeyondADoubleIsRefusedByPath(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{"a":[0,{"b c":1e400}]}`, `{"a":[0,{"b c":-1` + strings.Repeat("0", 400) + `}]}`} {
		v := decode(t, text)
		_, err := digest.Canonical(v)
		if err == nil || !strings.Contains(err.Error(), `$.a[1]["b c"]: number`) || len(err.Error()) > 200 {
			t.Errorf("Canonical says %v; want the path", err)
		}
		if _, err := digest.Of("terraform-plan", v); err == nil || !strings.Contains(err.Error(), `digesting a terraform-plan: $.a[1]["b c"]`) {
			t.Errorf("Of says %v; want the kind and the path", err)
		}
		if _, err := digest.OfBytes("terraform-plan", []byte(text)); err == nil {
			t.Error("OfBytes took it")
		}
	}
}

func TestKeysAreSortedByCodeUnits(t *testing.T) {
	t.Parallel()
	v := decode(t, `{"\ufb33":1,"\ud83d\ude00":2,"\u20ac":3,"\r":4,"1":5,"\u0080":6,"\u00f6":7,"":8,"\ue000":9,"\uffff":10,"a\ue000":11,"a\ud83d\ude00":12}`)
	want := "{\"\":8,\"\\r\":4,\"1\":5,\"a\U0001f600\":12,\"a\ue000\":11,\"\u0080\":6,\"\u00f6\":7,\"\u20ac\":3,\"\U0001f600\":2,\"\ue000\":9,\"\ufb33\":1,\"\uffff\":10}"
	if got := canonical(t, v); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestCompareIsTheOrderOfUTF16(t *testing.T) {
	t.Parallel()
	text := rapid.StringOf(rapid.RuneFrom([]rune("ab\x00é\ud7ff\ue000\ufb33\uffff😀\U0010ffff")))
	rapid.Check(t, func(t *rapid.T) {
		a, b := text.Draw(t, "a"), text.Draw(t, "b")
		want := slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
		if got := digest.Compare(a, b); got != want {
			t.Fatalf("Compare(%q, %q) = %d, want %d", a, b, got, want)
		}
	})
}

// values draws any JSON value.
func values() *rapid.Generator[digest.Value] {
	key := rapid.SampledFrom([]string{"", "a", "b", "a-b", "a_b", "A", "é", "\ue000", "😀", "\n", "long key"})
	leaf := rapid.OneOf(
		rapid.Just(digest.NullValue()),
		rapid.Map(rapid.Bool(), digest.BoolOf),
		rapid.Map(rapid.String(), digest.StringOf),
		rapid.Map(rapid.Int64(), digest.IntOf),
		rapid.Map(rapid.SampledFrom([]string{"0.1", "1e21", "-0", "12345678901234567890", "1.10", "1e-7"}), mustNumber),
	)
	return rapid.Custom(func(t *rapid.T) digest.Value { return drawValue(t, key, leaf, 4) })
}

func drawValue(t *rapid.T, key *rapid.Generator[string], leaf *rapid.Generator[digest.Value], depth int) digest.Value {
	shape := rapid.IntRange(0, 3).Draw(t, "shape")
	if depth == 0 || shape < 2 {
		return leaf.Draw(t, "leaf")
	}
	if shape == 2 {
		items := make([]digest.Value, rapid.IntRange(0, 4).Draw(t, "items"))
		for i := range items {
			items[i] = drawValue(t, key, leaf, depth-1)
		}
		return digest.ArrayOf(items...)
	}
	fields := map[string]digest.Value{}
	for _, k := range rapid.SliceOfDistinct(key, rapid.ID[string]).Draw(t, "keys") {
		fields[k] = drawValue(t, key, leaf, depth-1)
	}
	return digest.ObjectOf(fields)
}

func mustNumber(text string) digest.Value {
	v, err := digest.NumberOf(text)
	if err != nil {
		panic(err)
	}
	return v
}

// shuffled is v as JSON with the keys of every object in any order and white
// space around everything.
func shuffled(t *rapid.T, v digest.Value, b *strings.Builder) {
	b.WriteString(rapid.SampledFrom([]string{"", " ", "\n\t"}).Draw(t, "space"))
	switch v.Kind() {
	case digest.Array:
		b.WriteString("[")
		for i := range v.Len() {
			if i > 0 {
				b.WriteString(" ,")
			}
			shuffled(t, v.At(i), b)
		}
		b.WriteString("]")
	case digest.Object:
		b.WriteString("{")
		for i, key := range rapid.Permutation(v.Keys()).Draw(t, "order") {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(digest.StringOf(key).String() + " :")
			shuffled(t, v.Get(key), b)
		}
		b.WriteString("} ")
	default:
		b.WriteString(v.String())
	}
}

func TestTheOrderOfKeysDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "value")
		var b strings.Builder
		shuffled(t, v, &b)
		w, err := digest.Decode([]byte(b.String()))
		if err != nil {
			t.Fatalf("Decode(%q): %v", b.String(), err)
		}
		if !digest.Equal(v, w) || !digest.EqualAsDoubles(v, w) || canonical(t, v) != canonical(t, w) {
			t.Fatalf("%s became %s", v, w)
		}
		x, errX := digest.Of("k", v)
		y, errY := digest.OfBytes("k", []byte(b.String()))
		if errX != nil || errY != nil || x != y {
			t.Fatalf("digests %s (%v) and %s (%v) differ", x, errX, y, errY)
		}
	})
}

func TestCanonicalTextIsItsOwnCanonicalText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := canonical(t, values().Draw(t, "value"))
		again, err := digest.Decode([]byte(text))
		if err != nil || canonical(t, again) != text {
			t.Fatalf("%s became %s (%v)", text, again, err)
		}
	})
}

// FuzzDecode: no input panics; what is taken has stable canonical text, equal
// to that of another implementation.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"b":[1,2.50,-0,1e21,1e-7],"a":{"\u20ac":"\ud83d\ude00\n\/"},"a":null}`, `"\ud800"`, `[[[[`, `1e400`, `12345678901234567890`,
		`{"":true,"\u0000":false}`, "\"\xff\"", `[1,]`, `{"a":"\"\\"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := digest.Decode(data)
		if err != nil {
			return
		}
		exact := v.String()
		if back := decode(t, exact); !digest.Equal(v, back) || back.String() != exact {
			t.Errorf("%s came back as %s", exact, back)
		}
		text, err := digest.Canonical(v)
		if err != nil {
			return // a number beyond a double
		}
		if again := canonical(t, decode(t, string(text))); again != string(text) {
			t.Errorf("canonical text %s became %s", text, again)
		}
		// The other one refuses keys that stand twice; it is asked about the
		// value as decoded.
		theirs, err := jcs.Transform([]byte(exact))
		if err == nil && string(theirs) != string(text) {
			t.Errorf("%s is %s here and %s elsewhere", exact, text, theirs)
		}
	})
}
