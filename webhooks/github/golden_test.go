package github_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/github"
)

var update = flag.Bool("update", false, "write what is decoded into the golden files")

var instance = engine.Instance{Kind: engine.GitHub, Host: "github.com"}

// headers are what GitHub sends with an event.
func headers(event string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("X-GitHub-Event", event)
	h.Set("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	h.Set("X-GitHub-Hook-ID", "292430182")
	h.Set("X-GitHub-Hook-Installation-Target-Type", "integration")
	h.Set("X-GitHub-Hook-Installation-Target-ID", "12345")
	h.Set("X-Hub-Signature-256", "sha256=…")
	h.Set("User-Agent", "GitHub-Hookshot/044aadd")
	return h
}

// fixtures are testdata/<event>-<case>.json, each beside its golden file.
func fixtures(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.json")
	if err != nil || len(all) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var names []string
	for _, path := range all {
		if name := strings.TrimSuffix(filepath.Base(path), ".json"); !strings.HasSuffix(name, ".golden") {
			names = append(names, name)
		}
	}
	return names
}

func fixture(t testing.TB, name string) (event string, body []byte) {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	event, _, _ = strings.Cut(name, "-")
	return event, body
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

func show(t *testing.T, d webhooks.Delivery) []byte {
	t.Helper()
	text, err := json.MarshalIndent(shown{
		Event: d.Event, Action: d.Action, Installation: d.Installation, Repo: d.Repo, Sender: d.Sender, ViaApp: d.ViaApp,
		Decoded: fmt.Sprintf("%T", d.Decoded), Value: d.Decoded,
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return append(text, '\n')
}

func TestDeliveriesDecodeAsTheirGoldenFilesSay(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			event, body := fixture(t, name)
			d, err := github.Decode(instance, headers(event), body)
			if err != nil {
				t.Fatal(err)
			}
			got, path := show(t, d), filepath.Join("testdata", name+".golden.json")
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("decoded otherwise (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAStoredDeliveryDecodesAgainFromItsKeptHeader(t *testing.T) {
	t.Parallel()
	for _, name := range fixtures(t) {
		event, body := fixture(t, name)
		first, err := github.Decode(instance, headers(event), body)
		if err != nil {
			t.Fatal(err)
		}
		kept := http.Header{}
		for k, v := range first.Header {
			kept.Set(k, v)
		}
		again, err := github.Decode(instance, kept, body)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if _, ok := first.Header["X-Hub-Signature-256"]; ok {
			t.Errorf("%s: the signature is kept", name)
		}
	}
}

func TestABrokenDeliveryIsRefusedByName(t *testing.T) {
	t.Parallel()
	const repo = `"repository":{"id":42,"name":"infra","owner":{"login":"acme"}}`
	tests := map[string]struct {
		event, body string
		header      func(http.Header)
		want        string
	}{
		"cut short":                       {event: "push", body: `{"ref":"refs/heads/ma`, want: "not the JSON GitHub documents: jsontext: unexpected EOF"},
		"cut between members":             {event: "push", body: `{"ref":"refs/heads/main",` + repo, want: "unexpected EOF"},
		"a comma too many":                {event: "push", body: `{"ref":"x",}`, want: "invalid character ','"},
		"empty":                           {event: "push", body: ``, want: "EOF"},
		"a list":                          {event: "push", body: `[]`, want: "it is not an object"},
		"two objects":                     {event: "push", body: `{}{}`, want: "something follows the object"},
		"form encoded":                    {event: "push", body: `payload=%7B%7D`, header: func(h http.Header) { h.Set("Content-Type", "application/x-www-form-urlencoded") }, want: "set the content type of the webhook to application/json"},
		"no event name":                   {body: `{}`, want: "header X-GitHub-Event"},
		"no delivery id":                  {event: "push", body: `{}`, header: func(h http.Header) { h.Del("X-GitHub-Delivery") }, want: "header X-GitHub-Delivery"},
		"a delivery id of a kilobyte":     {event: "push", body: `{}`, header: func(h http.Header) { h.Set("X-GitHub-Delivery", strings.Repeat("x", 1024)) }, want: "header X-GitHub-Delivery"},
		"a number where an object is":     {event: "push", body: `{"repository":1}`, want: "repository: it is not an object"},
		"a text where a number is":        {event: "push", body: `{"repository":{"id":"42"}}`, want: `repository: id: "42" is no int64`},
		"a repository without an id":      {event: "push", body: `{"ref":"refs/heads/main","repository":{"name":"infra","owner":{"login":"acme"}}}`, want: "a push delivery without repository.id"},
		"no repository":                   {event: "push", body: `{"ref":"refs/heads/main"}`, want: "a push delivery without repository.id"},
		"no ref":                          {event: "push", body: `{` + repo + `}`, want: "a push delivery without ref"},
		"a pull request without a number": {event: "pull_request", body: `{"action":"opened","pull_request":null,` + repo + `}`, want: "without pull_request.number"},
		"a negative number":               {event: "pull_request", body: `{"action":"opened","pull_request":{"number":-1},` + repo + `}`, want: "without pull_request.number"},
		"a comment without an id":         {event: "issue_comment", body: `{"action":"created","issue":{"number":1},` + repo + `}`, want: "without comment.id"},
		"a check without its commit":      {event: "check_run", body: `{"action":"completed","check_run":{"id":1},` + repo + `}`, want: "without check_run.head_sha"},
		"an installation without an id":   {event: "installation", body: `{"action":"created"}`, want: "without installation.id"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := headers(tt.event)
			if tt.header != nil {
				tt.header(h)
			}
			_, err := github.Decode(instance, h, []byte(tt.body))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want an error with %q", err, tt.want)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, name := range fixtures(f) {
		event, body := fixture(f, name)
		f.Add(event, body)
	}
	f.Add("push", []byte(`{"repository":{"id":1e400}}`))
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		d, err := github.Decode(instance, headers(event), body)
		if err != nil {
			return
		}
		if d.Decoded == nil {
			t.Fatalf("no event and no error for %s: %s", event, body)
		}
		if !json.Valid(bytes.ToValidUTF8(body, []byte("?"))) {
			t.Fatalf("not JSON, and yet decoded as %T: %q", d.Decoded, body)
		}
		if c, ok := d.Decoded.(engine.CommandPosted); ok && (d.Repo.ID == 0 || c.Comment.ID == 0) {
			t.Fatalf("a command of nowhere: %+v", c)
		}
	})
}

// BenchmarkDecode is what stands between a signature and the inbox.
func BenchmarkDecode(b *testing.B) {
	event, body := fixture(b, "pull_request-opened")
	body = append(bytes.TrimRight(body, " \n}"), []byte(`,"padding":[`+strings.Repeat(`{"url":"https://api.github.com/repos/acme/infra","id":123456,"site_admin":false},`, 150)+`null]}}`)...)
	h := headers(event)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := github.Decode(instance, h, body); err != nil {
			b.Fatal(err)
		}
	}
}
