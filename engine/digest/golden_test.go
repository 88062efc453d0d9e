package digest_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine/digest"
)

type vector struct {
	Kind      string       `json:"kind"`
	Subject   digest.Value `json:"subject"`
	Canonical string       `json:"canonical"`
	Expected  string       `json:"expected"`
}

func TestPublishedDigests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/digest-*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d vectors: %v", len(files), err)
	}
	for _, file := range files {
		if strings.Contains(file, "lone-surrogate") || strings.Contains(file, "undefined") {
			continue // below: what JSON cannot hold
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var v vector
			readVector(t, file, &v)
			checkDigest(t, v.Kind, v.Subject, v.Canonical, v.Expected)
			text, err := v.Subject.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if d, err := digest.OfBytes(v.Kind, text); err != nil || d.String() != v.Expected {
				t.Errorf("from bytes the digest is %s, %v; want %s", d, err, v.Expected)
			}
		})
	}
}

func readVector(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func checkDigest(t *testing.T, kind string, subject digest.Value, canonical, expected string) {
	t.Helper()
	d, err := digest.Of(kind, subject)
	if err != nil || d.String() != expected {
		t.Errorf("digest is %s, %v; want %s", d, err, expected)
	}
	whole, err := digest.Canonical(digest.ObjectOf(map[string]digest.Value{"kind": digest.StringOf(kind), "subject": subject}))
	if err != nil || string(whole) != canonical {
		t.Errorf("canonical text is %s, %v; want %s", whole, err, canonical)
	}
}

// The vector of undefined values holds JavaScript; these are the same values
// built by hand.
func TestAbsentPropertiesAreDroppedAndAbsentElementsAreNull(t *testing.T) {
	t.Parallel()
	var vectors struct {
		Cases []struct{ JS, Canonical, Expected string } `json:"cases"`
	}
	readVector(t, "testdata/digest-12-undefined.json", &vectors)
	built := map[string]digest.Value{
		"{a:undefined,b:1}": digest.ObjectOf(map[string]digest.Value{"a": {}, "b": digest.IntOf(1)}),
		"[undefined,1]":     digest.ArrayOf(digest.Value{}, digest.IntOf(1)),
		"undefined":         {},
	}
	if len(vectors.Cases) != len(built) {
		t.Fatalf("the vector has %d cases, want %d", len(vectors.Cases), len(built))
	}
	for _, c := range vectors.Cases {
		value, ok := built[c.JS]
		if !ok {
			t.Fatalf("no value built for %s", c.JS)
		}
		checkDigest(t, "k", value, c.Canonical, c.Expected)
	}
}

// The published algorithm writes half a character as an escape; other readers
// replace it. A value that two readers see differently is refused.
func TestALoneSurrogateIsRefusedByPath(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/digest-06-lone-surrogate.json")
	if err != nil {
		t.Fatal(err)
	}
	_, err = digest.Decode(data)
	if err == nil || !strings.Contains(err.Error(), "$.subject") || !strings.Contains(err.Error(), `lone surrogate \ud800`) {
		t.Errorf("error is %v; want the path and the surrogate", err)
	}
}
