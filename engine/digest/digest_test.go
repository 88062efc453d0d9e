package digest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/digest"
)

func TestParseTakesBothPrefixesAndNothingElse(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("0123456789abcdef", 4)
	for _, good := range []string{"jcs1-sha256:" + hex, "sha256:" + hex} {
		d, err := digest.Parse(good)
		if err != nil {
			t.Fatalf("Parse(%q): %v", good, err)
		}
		if d.String() != good || d.Hex() != hex || d.Short() != "0123456789ab" || d.IsZero() {
			t.Errorf("Parse(%q) = %q, hex %q, short %q", good, d, d.Hex(), d.Short())
		}
	}
	for _, bad := range []string{
		"", hex, "sha256:" + hex[1:], "sha256:" + hex + "0", "sha256:" + strings.ToUpper(hex), "jcs2-sha256:" + hex,
		" sha256:" + hex, "sha256:" + hex + "\n", "sha256:../" + hex[3:], "jcs1-jcs1-sha256:" + hex, strings.Repeat("x", 1000),
	} {
		if d, err := digest.Parse(bad); err == nil || !d.IsZero() {
			t.Errorf("Parse(%q) = %q, %v; want an error", bad, d, err)
		}
	}
}

func TestSameIgnoresThePrefix(t *testing.T) {
	t.Parallel()
	a, b := strings.Repeat("a", 64), strings.Repeat("b", 64)
	for _, test := range []struct {
		x, y string
		want bool
	}{
		{"jcs1-sha256:" + a, "jcs1-sha256:" + a, true},
		{"jcs1-sha256:" + a, "sha256:" + a, true},
		{"jcs1-sha256:" + a, "jcs1-sha256:" + b, false},
		{"sha256:" + a, "jcs1-sha256:" + b, false},
		{"", "", true},
		{"", "sha256:" + a, false},
	} {
		x, y := mustParse(t, test.x), mustParse(t, test.y)
		if digest.Same(x, y) != test.want || digest.Same(y, x) != test.want {
			t.Errorf("Same(%q, %q) is not %v both ways", test.x, test.y, test.want)
		}
	}
}

func mustParse(t *testing.T, s string) digest.Digest {
	t.Helper()
	var d digest.Digest
	if err := d.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestADigestIsAJSONStringAndItsAbsenceNullOrEmpty(t *testing.T) {
	t.Parallel()
	type document struct {
		Digest digest.Digest  `json:"digest"`
		Plan   *digest.Digest `json:"plan"`
		Left   digest.Digest  `json:"left,omitzero"`
	}
	d, err := digest.Of("k", digest.NullValue())
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []document{{}, {Digest: d, Plan: &d}} {
		text, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		var back document
		if err := json.Unmarshal(text, &back); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if back.Digest != doc.Digest || (back.Plan == nil) != (doc.Plan == nil) || strings.Contains(string(text), "left") {
			t.Errorf("%+v came back from %s as %+v", doc, text, back)
		}
	}
	if err := json.Unmarshal([]byte(`{"digest":"sha256:12"}`), &document{}); err == nil {
		t.Error("a short digest was read from JSON")
	}
}
