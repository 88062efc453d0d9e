package changeset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

type vector struct {
	Options struct {
		Chant string `json:"chant"`
	} `json:"options"`
	Parts             []changeset.Part `json:"parts"`
	ExpectedSetDigest digest.Digest    `json:"expectedSetDigest"`
	ExpectedDocument  digest.Value     `json:"expectedDocument"`
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

// asJSON is v as indented JSON with sorted keys, to compare and to show.
func asJSON(t *testing.T, v digest.Value) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPublishedDocuments(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/changeset-0[1-7]-*.json")
	if err != nil || len(files) != 5 {
		t.Fatalf("found %d vectors: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			var v vector
			readVector(t, file, &v)
			d, err := changeset.Compose(v.Parts, v.Options.Chant)
			if err != nil {
				t.Fatal(err)
			}
			written, err := digest.Decode(d.JSON())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(asJSON(t, v.ExpectedDocument), asJSON(t, written)); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
			if set, err := changeset.SetDigest(d.Members); err != nil || set != v.ExpectedSetDigest {
				t.Errorf("set digest is %s, %v; want %s", set, err, v.ExpectedSetDigest)
			}
			expected, err := changeset.Parse([]byte(v.ExpectedDocument.String()))
			if err != nil {
				t.Fatal(err)
			}
			if !d.Verify() || !expected.Verify() {
				t.Error("the document does not verify")
			}
			if diff := cmp.Diff(d, expected); diff != "" {
				t.Errorf("composed and parsed differ:\n%s", diff)
			}
		})
	}
}

// The third published case composed; here every duplicate is refused.
func TestPublishedRefusals(t *testing.T) {
	t.Parallel()
	var v struct {
		Cases []struct {
			Name   string           `json:"name"`
			Parts  []changeset.Part `json:"parts"`
			Result struct {
				Error string `json:"error"`
			} `json:"result"`
		} `json:"cases"`
	}
	readVector(t, "testdata/changeset-08-refusals.json", &v)
	if len(v.Cases) < 3 {
		t.Fatalf("the vector has %d cases", len(v.Cases))
	}
	for _, c := range v.Cases {
		want := c.Result.Error
		if want == "" {
			want = "the change set names member aaa twice"
		}
		d, err := changeset.Compose(c.Parts, "")
		if err == nil || err.Error() != want || d != nil {
			t.Errorf("%s: got %v, want %q", c.Name, err, want)
		}
	}
}
