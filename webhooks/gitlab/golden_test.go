package gitlab_test

import (
	"flag"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/gitlab"
	"github.com/chant-bot/chant/webhooks/internal/hooktest"
)

var update = flag.Bool("update", false, "write what is decoded into the golden files")

var (
	instance = engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}
	infra    = engine.Repo{Instance: instance, ID: 42, Owner: "acme/team", Name: "infra"}
)

// hooks are the names in the header by the kind in the body.
var hooks = map[string]string{
	"merge_request": "Merge Request Hook",
	"note":          "Note Hook",
	"push":          "Push Hook",
	"tag_push":      "Tag Push Hook",
	"pipeline":      "Pipeline Hook",
	"build":         "Job Hook",
	"emoji":         "Emoji Hook",
	"issue":         "Issue Hook",
	"system":        "System Hook",
	"new_event":     "New Event Hook",
}

// headers are what GitLab sends with an event.
func headers(kind string) http.Header {
	h := http.Header{}
	h.Set("Content-Type", "application/json")
	h.Set("User-Agent", "GitLab/18.2.0")
	h.Set("X-Gitlab-Event", hooks[kind])
	h.Set("X-Gitlab-Event-UUID", "13792a34-cac6-4fda-95a8-c58e00a3954e")
	h.Set("X-Gitlab-Webhook-UUID", "02affd2d-2cba-4033-917d-ec22d5dc4b38")
	h.Set("X-Gitlab-Instance", "https://gitlab.com")
	h.Set("Idempotency-Key", "f5e57ab3-26b5-4d1e-8d36-50a9e45a5c31")
	h.Set("X-Gitlab-Token", "…")
	return h
}

func decode(h http.Header, body []byte) (webhooks.Delivery, error) {
	return gitlab.Decode(instance, h, body)
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
		hooktest.DecodesAgain(t, f, decode, "X-Gitlab-Token")
	}
}

// runatlantis/atlantis#3089: two update hooks of one push, whichever is first.
func TestOfADoubledUpdateHookOneSaysThatTheHeadMoved(t *testing.T) {
	t.Parallel()
	var moved []engine.Event
	for _, name := range []string{"merge_request-pushed", "merge_request-pushed_again"} {
		d, err := decode(headers("merge_request"), hooktest.Read(t, "testdata/"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		if _, ignored := d.Decoded.(engine.Ignored); !ignored {
			moved = append(moved, d.Decoded)
		}
	}
	if diff := cmp.Diff([]engine.Event{engine.ChangeUpdated{Repo: infra, Number: 5, Head: strings.Repeat("a", 40)}}, moved); diff != "" {
		t.Error(diff)
	}
}

// runatlantis/atlantis#3566.
func TestAnUpdateOfAnythingButHeadTargetAndDraftPlansNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"labels", "reviewers", "milestone", "locked", "description", "nothing_said"} {
		d, err := decode(headers("merge_request"), hooktest.Read(t, "testdata/merge_request-"+name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		want := engine.Event(engine.Ignored{Reason: "Merge Request Hook update: moves neither head, target branch nor draft state"})
		if diff := cmp.Diff(want, d.Decoded); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// Forge-facts 2.1.
func TestADeliveryIsKnownAgainByItsIDAndByWhatItSaysWhenItHasNone(t *testing.T) {
	t.Parallel()
	body := string(hooktest.Read(t, "testdata/push-branch.json"))
	id := func(change func(http.Header), body string) string {
		h := headers("push")
		change(h)
		d, err := decode(h, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		return d.GUID
	}
	without := func(h http.Header) { h.Del("Idempotency-Key") }
	none := id(without, body)
	if got := id(func(http.Header) {}, body); got != "f5e57ab3-26b5-4d1e-8d36-50a9e45a5c31" {
		t.Errorf("the id is %q, want the Idempotency-Key", got)
	}
	if got := id(func(h http.Header) { without(h); h.Set("webhook-id", "w1") }, body); got != "w1" {
		t.Errorf("the id is %q, want the signed one", got)
	}
	if got := id(func(h http.Header) { without(h); h.Set("X-Gitlab-Event-UUID", "other") }, body); got != none || !strings.HasPrefix(got, "sha256:") {
		t.Errorf("sent again: %q and %q", none, got)
	}
	for what, got := range map[string]string{
		"another body":    id(without, body+" "),
		"another event":   id(func(h http.Header) { without(h); h.Set("X-Gitlab-Event", "Wiki Page Hook") }, body),
		"another project": id(without, strings.ReplaceAll(body, "42", "43")),
	} {
		if got == none {
			t.Errorf("%s has the same id %q", what, got)
		}
	}
}

func TestABrokenDeliveryIsRefusedByName(t *testing.T) {
	t.Parallel()
	const where = `"project":{"id":42,"path_with_namespace":"acme/infra"}`
	hooktest.RefusedByName(t, map[string]hooktest.Broken{
		"cut short":                        {Event: "push", Body: `{"ref":"refs/heads/ma`, Want: "not the JSON GitLab documents: jsontext: unexpected EOF"},
		"not used and cut short":           {Event: "issue", Body: `{"object_kind":`, Want: "not the JSON GitLab documents"},
		"form encoded":                     {Event: "push", Body: `a=b`, Header: func(h http.Header) { h.Set("Content-Type", "application/x-www-form-urlencoded") }, Want: "set the content type of the webhook to application/json"},
		"no event name":                    {Event: "none", Body: `{}`, Want: "header X-Gitlab-Event"},
		"an id of a kilobyte":              {Event: "push", Body: `{}`, Header: func(h http.Header) { h.Set("Idempotency-Key", strings.Repeat("x", 1024)) }, Want: "header Idempotency-Key"},
		"two ids":                          {Event: "push", Body: `{}`, Header: func(h http.Header) { h.Set("webhook-id", "w1") }, Want: "name two deliveries"},
		"a custom template":                {Event: "push", Body: `{"text":"hello"}`, Want: "remove the custom template of the webhook"},
		"the body of another event":        {Event: "note", Body: `{"object_kind":"push",` + where + `}`, Want: `a Note Hook delivery of kind "push", want "note"`},
		"a text where a number is":         {Event: "push", Body: `{"project_id":"42"}`, Want: `project_id: "42" is no int64`},
		"no ref":                           {Event: "push", Body: `{"object_kind":"push",` + where + `}`, Want: "a Push Hook delivery without ref"},
		"a merge request without a number": {Event: "merge_request", Body: `{"object_kind":"merge_request",` + where + `}`, Want: "without object_attributes.iid"},
		"a note without an id":             {Event: "note", Body: `{"object_kind":"note",` + where + `}`, Want: "without object_attributes.id"},
		"a note on no merge request":       {Event: "note", Body: `{"object_kind":"note","object_attributes":{"id":1,"noteable_type":"MergeRequest"},` + where + `}`, Want: "without merge_request.iid"},
		"a note on no commit":              {Event: "note", Body: `{"object_kind":"note","object_attributes":{"id":1,"noteable_type":"Commit"},` + where + `}`, Want: "without object_attributes.commit_id"},
		"a pipeline without its commit":    {Event: "pipeline", Body: `{"object_kind":"pipeline",` + where + `}`, Want: "without object_attributes.sha"},
		"a job without its commit":         {Event: "build", Body: `{"object_kind":"build",` + where + `}`, Want: "a Job Hook delivery without sha"},
	}, headers, decode)
}

func FuzzDecode(f *testing.F) {
	for _, fixture := range hooktest.Fixtures(f, headers) {
		f.Add(fixture.Header.Get("X-Gitlab-Event"), true, fixture.Body)
	}
	f.Fuzz(func(t *testing.T, event string, withID bool, body []byte) {
		h := headers("push")
		h.Set("X-Gitlab-Event", event)
		if !withID {
			h.Del("Idempotency-Key")
		}
		if d, err := decode(h, body); err == nil {
			hooktest.Sound(t, d, body)
		}
	})
}
