// Package hooktest is what the tests of every decoder do alike.
package hooktest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

// Decode is the decoder under test, for one instance.
type Decode func(h http.Header, body []byte) (webhooks.Delivery, error)

// Fixture is one recorded delivery: testdata/<Name>.json, its golden file beside it.
type Fixture struct {
	Name   string
	Header http.Header
	Body   []byte
}

// Fixtures reads testdata. headers are what the forge sends with the event of a
// fixture's name, which is all before the first dash.
func Fixtures(t testing.TB, headers func(event string) http.Header) []Fixture {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	if err != nil || len(all) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var found []Fixture
	for _, path := range all {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if strings.HasSuffix(name, ".golden") {
			continue
		}
		event, _, _ := strings.Cut(name, "-")
		found = append(found, Fixture{Name: name, Header: headers(event), Body: Read(t, path)})
	}
	return found
}

// Read is the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// shown is a delivery with the kind of its event.
type shown struct {
	Event, Action string
	Installation  int64
	Repo          engine.Repo
	Sender        engine.Actor
	ViaApp        int64
	Decoded       string
	Value         engine.Event
}

// Golden compares what a fixture decodes to with its golden file; update writes
// that file instead.
func Golden(t *testing.T, f Fixture, decode Decode, update bool) {
	t.Helper()
	d, err := decode(f.Header, f.Body)
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(shown{
		Event: d.Event, Action: d.Action, Installation: d.Installation, Repo: d.Repo, Sender: d.Sender, ViaApp: d.ViaApp,
		Decoded: fmt.Sprintf("%T", d.Decoded), Value: d.Decoded,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, '\n')
	path := filepath.Join("testdata", f.Name+".golden.json")
	if update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(Read(t, path)), string(got)); diff != "" {
		t.Errorf("decoded otherwise (-want +got):\n%s", diff)
	}
}

// DecodesAgain proves that what is kept of a header decodes the delivery once
// more, and that secret, a field of it, is not kept.
func DecodesAgain(t *testing.T, f Fixture, decode Decode, secret string) {
	t.Helper()
	first, err := decode(f.Header, f.Body)
	if err != nil {
		t.Fatal(err)
	}
	kept := http.Header{}
	for k, v := range first.Header {
		kept.Set(k, v)
	}
	again, err := decode(kept, f.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("%s: %s", f.Name, diff)
	}
	if f.Header.Get(secret) == "" || first.Header[http.CanonicalHeaderKey(secret)] != "" {
		t.Errorf("%s: %s is kept, or was never sent", f.Name, secret)
	}
}

// Broken is a delivery that cannot be decoded.
type Broken struct {
	Event, Body string
	Header      func(http.Header) // changes it; may be nil
	Want        string            // in the error
}

// RefusedByName proves that the error of every broken delivery says what is
// wrong with it.
func RefusedByName(t *testing.T, tests map[string]Broken, headers func(event string) http.Header, decode Decode) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := headers(tt.Event)
			if tt.Header != nil {
				tt.Header(h)
			}
			_, err := decode(h, []byte(tt.Body))
			if err == nil || !strings.Contains(err.Error(), tt.Want) {
				t.Errorf("got %v, want an error with %q", err, tt.Want)
			}
		})
	}
}

// Sound proves what holds of a delivery whatever the body is.
func Sound(t *testing.T, d webhooks.Delivery, body []byte) {
	t.Helper()
	if d.Decoded == nil || d.GUID == "" {
		t.Fatalf("no event, no id and no error for %s: %s", d.Event, body)
	}
	if !json.Valid(bytes.ToValidUTF8(body, []byte("?"))) {
		t.Fatalf("not JSON, and yet decoded as %T: %q", d.Decoded, body)
	}
	if ignored, ok := d.Decoded.(engine.Ignored); ok && ignored.Reason == "" {
		t.Fatalf("ignored for no reason: %s", body)
	}
	if c, ok := d.Decoded.(engine.CommandPosted); ok && (d.Repo.ID == 0 || c.Comment.ID == 0) {
		t.Fatalf("a command of nowhere: %+v", c)
	}
}
