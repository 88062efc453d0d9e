package digest_test

import (
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/digest"
)

func decode(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatalf("Decode(%q): %v", text, err)
	}
	return v
}

func TestDecodeRefusesWhatIsNotOneJSONValue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                               "offset 0, $: ends where a value is due",
		` `:                              "offset 1, $: ends where a value is due",
		`1 2`:                            "text after the value",
		`{"a":1}}`:                       "text after the value",
		`[1,]`:                           "$[1]: ']' where a value is due",
		`[,1]`:                           "$[0]: ',' where a value is due",
		`{"a":1,}`:                       "'}' where a property name is due",
		`{"a" 1}`:                        "'1' where a colon is due",
		`{"a":[1 2]}`:                    "$.a: '2' where a comma or ] is due",
		`{"a":{"b":[0,tru]}}`:            "$.a.b[1]: 't' where true is due",
		`[0,[1,[2,3,x]],4]`:              "$[1][1][2]: 'x' where a value is due",
		`nul`:                            "where null is due",
		`"a`:                             "string without an end",
		`"a\`:                            "string without an end",
		"\"a\nb\"":                       "control character",
		`"\x"`:                           "unknown escape",
		`"\u12g4"`:                       "four hex digits",
		`"\u12`:                          "four hex digits",
		`{"odd key":"\udc00"}`:           `$["odd key"]: lone surrogate \udc00`,
		`["\ud83d\ud83d"]`:               `$[0]: lone surrogate \ud83d`,
		`{"a":{"\ud800":1}}`:             `$.a: lone surrogate`,
		"{\"a\":\"\xff\"}":               "$.a: string that is not UTF-8",
		"{\"a\":\"\xed\xa0\x80\"}":       "$.a: string that is not UTF-8",
		"{\"a\":\xff}":                   "$.a: '\ufffd' where a value is due",
		"\xef\xbb\xbf1":                  "where a value is due",
		"\x001":                          "where a value is due",
		`01`:                             "number",
		`-`:                              "number",
		`+1`:                             "where a value is due",
		`1.`:                             "number",
		`.5`:                             "where a value is due",
		`1e`:                             "number",
		`1e+`:                            "number",
		`1e1234567`:                      "exponent",
		`NaN`:                            "where a value is due",
		`'a'`:                            "where a value is due",
		strings.Repeat("[", 1001):        "nested deeper than 1000",
		strings.Repeat(`{"a":`, 100_000): "nested deeper than 1000",
		`{"` + strings.Repeat("é", 999) + `":x}`: "...",
	} {
		v, err := digest.Decode([]byte(text))
		if err == nil || !v.IsAbsent() {
			t.Errorf("Decode(%.40q) = %v; want an error", text, v)
			continue
		}
		if !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("Decode(%.40q) says %.200q; want %q in it", text, err, want)
		}
	}
}

func TestDecodeKeepsEveryKindOfValue(t *testing.T) {
	t.Parallel()
	v := decode(t, ` {"n":null,"t":true,"f":false,"i":12345678901234567890,"s":"a\u00e9\ud83d\ude00\/\"\\\b\f\n\r\tz","a":[1,[],{}],"o":{"x":-0.50}} `)
	if got, want := strings.Join(v.Keys(), ""), "afinost"; got != want || v.Len() != len(want) {
		t.Errorf("keys are %q, want %q", got, want)
	}
	if !v.Get("n").IsNull() || v.Get("n").IsAbsent() || v.Get("n").Kind() != digest.Null {
		t.Error("null was not kept")
	}
	if b, ok := v.Get("t").Bool(); !b || !ok {
		t.Error("true was not kept")
	}
	if b, ok := v.Get("f").Bool(); b || !ok {
		t.Error("false was not kept")
	}
	if s, ok := v.Get("s").Text(); !ok || s != "aé😀/\"\\\b\f\n\r\tz" {
		t.Errorf("string is %q", s)
	}
	if s, ok := v.Get("i").NumberText(); !ok || s != "12345678901234567890" {
		t.Errorf("number is %q", s)
	}
	if a := v.Get("a"); a.Len() != 3 || a.At(1).Kind() != digest.Array || a.At(2).Kind() != digest.Object || !a.At(3).IsAbsent() || !a.At(-1).IsAbsent() {
		t.Errorf("array is %v", a)
	}
	if s, _ := v.Get("o").Get("x").NumberText(); s != "-0.50" {
		t.Errorf("nested number is %q", s)
	}
	for _, absent := range []digest.Value{v.Get("none"), v.Get("s").Get("x"), v.Get("a").Get("0"), {}} {
		if !absent.IsAbsent() || !absent.IsZero() || !absent.IsNull() || absent.Kind() != digest.Absent || absent.Len() != 0 || absent.Keys() != nil {
			t.Errorf("%v is not absent", absent)
		}
	}
}

func TestOfAKeyThatStandsTwiceTheLastWins(t *testing.T) {
	t.Parallel()
	v := decode(t, `{"b":1,"a":1,"\u0061":2,"c":[{"x":1,"x":{"y":2}}],"a":3}`)
	if got, want := v.String(), `{"a":3,"b":1,"c":[{"x":{"y":2}}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAValueDoesNotChangeWithTheBytesItCameFrom(t *testing.T) {
	t.Parallel()
	data := []byte(`{"a":"\u0062","c":1}`)
	v, err := digest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) != `{"a":"\u0062","c":1}` {
		t.Errorf("Decode changed its input to %s", data)
	}
	clear(data)
	if got := v.String(); got != `{"a":"b","c":1}` {
		t.Errorf("value became %s", got)
	}
}

func TestNumberOfTakesJSONNumbersOnly(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"0", "-0", "12345678901234567890", "1.50", "1e400", "-1E-5"} {
		v, err := digest.NumberOf(good)
		if text, _ := v.NumberText(); err != nil || text != good {
			t.Errorf("NumberOf(%q) = %v, %v", good, v, err)
		}
	}
	for _, bad := range []string{"", "-", "01", "1 ", " 1", "1.", "0x1", "Infinity", "1e1234567", strings.Repeat("9", 100) + "x"} {
		if v, err := digest.NumberOf(bad); err == nil || !v.IsAbsent() {
			t.Errorf("NumberOf(%q) = %v, want an error", bad, v)
		}
	}
}
