package github_test

import (
	"bytes"
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/github"
	"github.com/chant-bot/chant/webhooks/internal/hooktest"
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

func decode(h http.Header, body []byte) (webhooks.Delivery, error) {
	return github.Decode(instance, h, body)
}

func TestDeliveriesDecodeAsTheirGoldenFilesSay(t *testing.T) {
	t.Parallel()
	for _, f := range hooktest.Fixtures(t, headers) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			hooktest.Golden(t, f, decode, *update)
		})
	}
}

func TestAStoredDeliveryDecodesAgainFromItsKeptHeader(t *testing.T) {
	t.Parallel()
	for _, f := range hooktest.Fixtures(t, headers) {
		hooktest.DecodesAgain(t, f, decode, "X-Hub-Signature-256")
	}
}

func TestABrokenDeliveryIsRefusedByName(t *testing.T) {
	t.Parallel()
	const repo = `"repository":{"id":42,"name":"infra","owner":{"login":"acme"}}`
	hooktest.RefusedByName(t, map[string]hooktest.Broken{
		"cut short":                       {Event: "push", Body: `{"ref":"refs/heads/ma`, Want: "not the JSON GitHub documents: jsontext: unexpected EOF"},
		"cut between members":             {Event: "push", Body: `{"ref":"refs/heads/main",` + repo, Want: "unexpected EOF"},
		"a comma too many":                {Event: "push", Body: `{"ref":"x",}`, Want: "invalid character ','"},
		"empty":                           {Event: "push", Body: ``, Want: "EOF"},
		"a list":                          {Event: "push", Body: `[]`, Want: "it is not an object"},
		"two objects":                     {Event: "push", Body: `{}{}`, Want: "something follows the object"},
		"form encoded":                    {Event: "push", Body: `payload=%7B%7D`, Header: func(h http.Header) { h.Set("Content-Type", "application/x-www-form-urlencoded") }, Want: "set the content type of the webhook to application/json"},
		"no event name":                   {Body: `{}`, Want: "header X-GitHub-Event"},
		"no delivery id":                  {Event: "push", Body: `{}`, Header: func(h http.Header) { h.Del("X-GitHub-Delivery") }, Want: "header X-GitHub-Delivery"},
		"a delivery id of a kilobyte":     {Event: "push", Body: `{}`, Header: func(h http.Header) { h.Set("X-GitHub-Delivery", strings.Repeat("x", 1024)) }, Want: "header X-GitHub-Delivery"},
		"a number where an object is":     {Event: "push", Body: `{"repository":1}`, Want: "repository: it is not an object"},
		"a text where a number is":        {Event: "push", Body: `{"repository":{"id":"42"}}`, Want: `repository.id: "42" is no int64`},
		"a repository without an id":      {Event: "push", Body: `{"ref":"refs/heads/main","repository":{"name":"infra","owner":{"login":"acme"}}}`, Want: "a push delivery without repository.id"},
		"no repository":                   {Event: "push", Body: `{"ref":"refs/heads/main"}`, Want: "a push delivery without repository.id"},
		"no ref":                          {Event: "push", Body: `{` + repo + `}`, Want: "a push delivery without ref"},
		"a pull request without a number": {Event: "pull_request", Body: `{"action":"opened","pull_request":null,` + repo + `}`, Want: "without pull_request.number"},
		"a negative number":               {Event: "pull_request", Body: `{"action":"opened","pull_request":{"number":-1},` + repo + `}`, Want: "without pull_request.number"},
		"a comment without an id":         {Event: "issue_comment", Body: `{"action":"created","issue":{"number":1},` + repo + `}`, Want: "without comment.id"},
		"a check without its commit":      {Event: "check_run", Body: `{"action":"completed","check_run":{"id":1},` + repo + `}`, Want: "without check_run.head_sha"},
		"an installation without an id":   {Event: "installation", Body: `{"action":"created"}`, Want: "without installation.id"},
	}, headers, decode)
}

func FuzzDecode(f *testing.F) {
	for _, fixture := range hooktest.Fixtures(f, headers) {
		f.Add(fixture.Header.Get("X-GitHub-Event"), fixture.Body)
	}
	f.Add("push", []byte(`{"repository":{"id":1e400}}`))
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		if d, err := decode(headers(event), body); err == nil {
			hooktest.Sound(t, d, body)
		}
	})
}

// BenchmarkDecode is what stands between a signature and the inbox.
func BenchmarkDecode(b *testing.B) {
	body := hooktest.Read(b, "testdata/pull_request-opened.json")
	body = append(bytes.TrimRight(body, " \n}"), []byte(`,"padding":[`+strings.Repeat(`{"url":"https://api.github.com/repos/acme/infra","id":123456,"site_admin":false},`, 150)+`null]}}`)...)
	h := headers("pull_request")
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(h, body); err != nil {
			b.Fatal(err)
		}
	}
}
