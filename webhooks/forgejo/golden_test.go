package forgejo_test

import (
	"encoding/json"
	"flag"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/forgejo"
	"github.com/chant-bot/chant/webhooks/internal/hooktest"
)

var update = flag.Bool("update", false, "write what is decoded into the golden files")

var instance = engine.Instance{Kind: engine.Forgejo, Host: "code.example.org"}

// recordedSecret made the signatures of the recorded deliveries.
const recordedSecret = "whs"

// headers are what Gitea sends with an event, and Forgejo with one that only it
// has.
func headers(event string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	prefixes := []string{"X-Gitea-", "X-Gogs-", "X-GitHub-"}
	if strings.HasPrefix(event, "action_run_") {
		prefixes = append(prefixes, "X-Forgejo-")
	}
	for _, prefix := range prefixes {
		h.Set(prefix+"Delivery", "46bfe5bd-c952-4eaf-b817-0cf8da6ad223")
		h.Set(prefix+"Event", event)
		h.Set(prefix+"Event-Type", event)
		if prefix != "X-GitHub-" {
			h.Set(prefix+"Signature", "…")
		}
	}
	h.Set("X-Hub-Signature", "sha1=…")
	h.Set("X-Hub-Signature-256", "sha256=…")
	return h
}

func decode(h http.Header, body []byte) (webhooks.Delivery, error) {
	return forgejo.Decode(instance, h, body)
}

// recorded are deliveries of a real Forgejo 11.0.15, byte for byte.
func recorded(t testing.TB) []hooktest.Fixture {
	t.Helper()
	all, err := filepath.Glob("testdata/forgejo-11/*.headers.json")
	if err != nil || len(all) == 0 {
		t.Fatalf("no recorded deliveries: %v", err)
	}
	var found []hooktest.Fixture
	for _, path := range all {
		base := strings.TrimSuffix(path, ".headers.json")
		var sent map[string]string
		if err := json.Unmarshal(hooktest.Read(t, path), &sent); err != nil {
			t.Fatal(err)
		}
		h := http.Header{}
		for k, v := range sent {
			h.Set(k, v)
		}
		found = append(found, hooktest.Fixture{
			Name: strings.TrimPrefix(base, "testdata/"), Header: h, Body: hooktest.Read(t, base+".body.json"),
		})
	}
	return found
}

func every(t testing.TB) []hooktest.Fixture {
	t.Helper()
	return append(recorded(t), hooktest.Fixtures(t, headers)...)
}

func TestDeliveriesDecodeAsTheirGoldenFilesSay(t *testing.T) {
	t.Parallel()
	for _, f := range every(t) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			hooktest.Golden(t, f, decode, *update)
		})
	}
}

func TestAStoredDeliveryDecodesAgainFromItsKeptHeader(t *testing.T) {
	t.Parallel()
	for _, f := range every(t) {
		hooktest.DecodesAgain(t, f, decode, "X-Gitea-Signature")
	}
}

func TestRecordedDeliveriesVerifyAndNoOtherBodyDoes(t *testing.T) {
	t.Parallel()
	dec := forgejo.New(instance, [][]byte{[]byte("newer"), []byte(recordedSecret)})
	for _, f := range recorded(t) {
		if err := dec.Verify(f.Header, f.Body); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if err := dec.Verify(f.Header, append(f.Body, ' ')); err == nil {
			t.Errorf("%s: another body verifies", f.Name)
		}
	}
}

// seoes/proval#23.
func TestTheForgesOwnHeaderNamesTheEvent(t *testing.T) {
	t.Parallel()
	body := hooktest.Read(t, "testdata/pull_request-synchronized.json")
	want := engine.ChangeUpdated{Repo: engine.Repo{Instance: instance, ID: 42, Owner: "acme", Name: "infra"}, Number: 5}
	tests := map[string]func(http.Header){
		"broad event, precise type":    func(h http.Header) { h.Set("X-Gitea-Event-Type", "pull_request_sync") },
		"precise event":                func(h http.Header) { h.Set("X-Gitea-Event", "pull_request_sync") },
		"GitHub's copy says otherwise": func(h http.Header) { h.Set("X-GitHub-Event", "push") },
		"Gitea's copy says otherwise": func(h http.Header) {
			h.Set("X-Forgejo-Event", "pull_request")
			h.Set("X-Forgejo-Delivery", "d1")
			h.Set("X-Gitea-Event", "push")
		},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := headers("pull_request")
			change(h)
			d, err := decode(h, body)
			if err != nil || d.Decoded != engine.Event(want) {
				t.Errorf("got %+v, %v", d.Decoded, err)
			}
		})
	}
}

func TestABrokenDeliveryIsRefusedByName(t *testing.T) {
	t.Parallel()
	const repo = `"repository":{"id":42,"name":"infra","owner":{"login":"acme"}}`
	hooktest.RefusedByName(t, map[string]hooktest.Broken{
		"cut short":                       {Event: "push", Body: `{"ref":"refs/heads/ma`, Want: "not the JSON Forgejo documents: jsontext: unexpected EOF"},
		"form encoded":                    {Event: "push", Body: `payload=%7B%7D`, Header: func(h http.Header) { h.Set("Content-Type", "application/x-www-form-urlencoded") }, Want: "set the content type of the webhook to application/json"},
		"GitHub's header alone":           {Event: "push", Body: `{}`, Header: func(h http.Header) { h.Del("X-Gitea-Event") }, Want: "header X-Gitea-Event"},
		"no delivery id":                  {Event: "push", Body: `{}`, Header: func(h http.Header) { h.Del("X-Gitea-Delivery") }, Want: "header X-Gitea-Delivery"},
		"a text where a number is":        {Event: "push", Body: `{"repository":{"id":"42"}}`, Want: `repository.id: "42" is no int64`},
		"no repository":                   {Event: "push", Body: `{"ref":"refs/heads/main"}`, Want: "a push delivery without repository.id"},
		"no ref":                          {Event: "push", Body: `{` + repo + `}`, Want: "a push delivery without ref"},
		"a deleted nothing":               {Event: "delete", Body: `{` + repo + `}`, Want: "a delete delivery without ref"},
		"a pull request without a number": {Event: "pull_request", Body: `{"action":"opened",` + repo + `}`, Want: "without pull_request.number"},
		"a review of nothing":             {Event: "pull_request_approved", Body: `{"action":"reviewed",` + repo + `}`, Want: "without pull_request.number"},
		"a comment without an id":         {Event: "issue_comment", Body: `{"action":"created","is_pull":true,"issue":{"number":1},` + repo + `}`, Want: "without comment.id"},
		"a comment on nothing":            {Event: "issue_comment", Body: `{"action":"created","is_pull":true,"comment":{"id":1},` + repo + `}`, Want: "without issue.number"},
		"a status without its commit":     {Event: "status", Body: `{"state":"success",` + repo + `}`, Want: "a status delivery without sha"},
		"a workflow without its commit":   {Event: "workflow_run", Body: `{"workflow_run":{"id":1},` + repo + `}`, Want: "without workflow_run.head_sha"},
		"a job without its commit":        {Event: "workflow_job", Body: `{"workflow_job":{"id":1},` + repo + `}`, Want: "without workflow_job.head_sha"},
		"a run without its commit":        {Event: "action_run_failure", Body: `{"run":{"id":1},` + repo + `}`, Want: "without run.commit_sha"},
	}, headers, decode)
}

func FuzzDecode(f *testing.F) {
	for _, fixture := range every(f) {
		f.Add(fixture.Header.Get("X-Gitea-Event"), fixture.Body)
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		if d, err := decode(headers(event), body); err == nil {
			hooktest.Sound(t, d, body)
		}
	})
}
