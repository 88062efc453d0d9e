package forgetest_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chant-bot/chant/forges/forgetest"
)

// lab is a fake GitLab with a project whose webhook is listened to.
type lab struct {
	*forgetest.Forge

	repo   *forgetest.Repo
	alice  *forgetest.User
	answer *atomic.Int32
}

func newLab(t *testing.T, secret string) lab {
	t.Helper()
	began := time.Now() // and it stays that time: what is of one second has one event id
	f := forgetest.Must(forgetest.NewGitLab(forgetest.Options{Dir: t.TempDir(), Now: func() time.Time { return began }}))
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	l := lab{Forge: f, repo: forgetest.Must(f.CreateRepo("acme", "infra")), alice: f.User("alice"), answer: &atomic.Int32{}}
	l.answer.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(l.answer.Load())) }))
	t.Cleanup(server.Close)
	l.repo.SetPermission(l.alice, "write")
	forgetest.Must(l.repo.Commit("main", map[string]string{"a": "a\n"}, l.alice))
	f.Deliver(server.URL, secret)
	return l
}

// hooks are what was delivered since a number of deliveries, by event.
func (l lab) hooks(t *testing.T, since int) []forgetest.Delivery {
	t.Helper()
	if err := l.Quiesce(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l.Deliveries()[since:]
}

// attributes are the object_attributes of a webhook.
func attributes(t *testing.T, d forgetest.Delivery) map[string]any {
	t.Helper()
	var body struct {
		Attributes map[string]any `json:"object_attributes"`
	}
	if err := json.Unmarshal(d.Body, &body); err != nil {
		t.Fatal(err)
	}
	return body.Attributes
}

func (l lab) open(t *testing.T, branch string) *forgetest.Pull {
	t.Helper()
	forgetest.Must(l.repo.Commit(branch, map[string]string{branch: "b\n"}, l.alice))
	return forgetest.Must(l.repo.OpenPullRequest(l.alice, branch, "main", "Change "+branch))
}

func TestGitLabTellsOfAPushToAMergeRequestTwiceAndOnceWhatWasBefore(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	p := l.open(t, "topic")
	before, since := p.Head(), len(l.hooks(t, 0))
	forgetest.Must(p.Push(map[string]string{"c": "c\n"}, l.alice))
	var updates []map[string]any
	uuids := map[string]bool{}
	for _, d := range l.hooks(t, since) {
		uuids[d.Header.Get("X-Gitlab-Event-UUID")] = true
		if d.Event == "Merge Request Hook" {
			updates = append(updates, attributes(t, d))
		}
	}
	if len(updates) != 2 || updates[0]["oldrev"] != before || updates[1]["oldrev"] != nil {
		t.Fatalf("told of as %v", updates)
	}
	for _, u := range updates {
		if commit, ok := u["last_commit"].(map[string]any); !ok || commit["id"] != p.Head() {
			t.Errorf("last commit %v", u["last_commit"])
		}
	}
	if len(uuids) != 1 { // with the push hook's: no key to tell deliveries apart by
		t.Errorf("event ids %v", uuids)
	}
}

func TestGitLabTellsNothingOfMoreThanThreeReferencesInOnePush(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	sha, since := forgetest.Must(l.repo.Head("main")), len(l.hooks(t, 0))
	if err := l.repo.CreateTags(l.alice, sha, "a", "b", "c", "d"); err != nil {
		t.Fatal(err)
	}
	if got := l.hooks(t, since); len(got) != 0 {
		t.Errorf("%d deliveries for four tags", len(got))
	}
	if err := l.repo.CreateTags(l.alice, sha, "e", "f", "g"); err != nil {
		t.Fatal(err)
	}
	if got := l.hooks(t, since); len(got) != 3 || got[0].Event != "Tag Push Hook" {
		t.Errorf("%d deliveries for three tags", len(got))
	}
}

func TestGitLabsTokenStandsInClearAndASigningTokenSigns(t *testing.T) {
	t.Parallel()
	plain := newLab(t, "hush")
	plain.open(t, "topic")
	for _, d := range plain.hooks(t, 0) {
		if d.Header.Get("X-Gitlab-Token") != "hush" || d.Header.Get("Idempotency-Key") == "" || d.Header.Get("Webhook-Signature") != "" {
			t.Errorf("%v", d.Header)
		}
	}
	key := []byte("01234567890123456789012345678901")
	signed := newLab(t, "whsec_"+base64.StdEncoding.EncodeToString(key))
	signed.open(t, "topic")
	for _, d := range signed.hooks(t, 0) {
		mac := hmac.New(sha256.New, key)
		_, err := fmt.Fprintf(mac, "%s.%s.%s", d.Header.Get("Webhook-Id"), d.Header.Get("Webhook-Timestamp"), d.Body)
		want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
		if err != nil || d.Header.Get("Webhook-Signature") != want || d.Header.Get("X-Gitlab-Token") != "" {
			t.Errorf("%v", d.Header)
		}
	}
}

func TestGitLabSendsAResentDeliveryUnderItsKey(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	l.open(t, "topic")
	all := l.hooks(t, 0)
	if err := l.Redeliver(all[0].GUID); err != nil {
		t.Fatal(err)
	}
	again := l.hooks(t, len(all))
	if len(again) != 1 || again[0].Header.Get("Idempotency-Key") != all[0].Header.Get("Idempotency-Key") {
		t.Fatalf("%+v", again)
	}
}

func TestGitLabStopsCallingAReceiverThatFails(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	p := l.open(t, "topic")
	touch := func() int {
		since := len(l.hooks(t, 0))
		p.Touch("labeled", l.alice)
		return len(l.hooks(t, since))
	}
	l.hooks(t, 0) // those of the beginning were taken
	l.answer.Store(http.StatusInternalServerError)
	for i := range 4 {
		if touch() != 1 {
			t.Fatalf("failure %d was not even tried", i)
		}
	}
	if touch() != 0 {
		t.Error("called after four failures")
	}
	l.Advance(time.Minute)
	if touch() != 1 {
		t.Error("not called again after a minute")
	}
	l.Advance(time.Minute)
	if touch() != 0 {
		t.Error("the second pause is no longer than the first")
	}
	l.Advance(time.Minute)
	l.answer.Store(http.StatusOK)
	for range 2 {
		if touch() != 1 {
			t.Error("a success does not end it")
		}
	}
	l.answer.Store(http.StatusNotFound)
	for range 40 {
		touch()
		l.Advance(25 * time.Hour)
	}
	if touch() != 0 {
		t.Error("called after forty failures")
	}
}

func TestGitLabsMergeHookDoesNotHoldTheSquashedCommit(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	p := l.open(t, "topic")
	since := len(l.hooks(t, 0))
	forgetest.Must(p.Merge("squash", l.alice))
	for _, d := range l.hooks(t, since) {
		if d.Event != "Merge Request Hook" {
			continue
		}
		got := attributes(t, d)
		if _, has := got["squash_commit_sha"]; has || got["action"] != "merge" || got["merge_commit_sha"] != nil {
			t.Errorf("%v", got)
		}
		return
	}
	t.Fatal("no merge hook")
}

func TestGitLabWordsWhatPeopleDo(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	p := l.open(t, "topic")
	sha := p.Head()
	for name, c := range map[string]struct {
		do            func() error
		event, action string // "" for no delivery
	}{
		"approve":        {func() error { _, err := l.As(l.alice).Review(p, "APPROVE", ""); return err }, "Merge Request Hook", "approved"},
		"comment":        {func() error { _, err := l.As(l.alice).Comment(p, "hi"); return err }, "Note Hook", "create"},
		"inline":         {func() error { _, err := l.As(l.alice).ReviewComment(p, "topic", 1, "hi"); return err }, "Note Hook", "create"},
		"on a commit":    {func() error { _, err := l.As(l.alice).CommitComment(l.repo, sha, "hi"); return err }, "Note Hook", "create"},
		"a job":          {func() error { _, err := l.repo.SetCheck(sha, "unit", "completed", "success"); return err }, "Job Hook", ""},
		"a later commit": {func() error { _, err := l.repo.Commit("main", map[string]string{"z": "z\n"}, l.alice); return err }, "Push Hook", ""},
		"a rename":       {func() error { l.repo.Rename("platform"); return nil }, "", ""},
	} {
		since := len(l.hooks(t, 0))
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		got := l.hooks(t, since)
		switch {
		case c.event == "" && len(got) != 0:
			t.Errorf("%s: %d deliveries", name, len(got))
		case c.event != "" && (len(got) == 0 || got[0].Event != c.event):
			t.Errorf("%s: %+v", name, got)
		case c.action != "" && attributes(t, got[0])["action"] != c.action:
			t.Errorf("%s: action %v", name, attributes(t, got[0])["action"])
		}
	}
}

// ask calls the API as a person and returns the status, header and body.
func (l lab) ask(t *testing.T, method, path, body string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, l.APIURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Private-Token", l.Token(l.alice))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var text strings.Builder
	if err := resp.Write(&text); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, text.String()
}

func TestGitLabRefusesWritesUnderAFormerPath(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	l.open(t, "topic")
	l.repo.Rename("platform")
	if status, _, text := l.ask(t, "POST", "projects/acme%2Finfra/merge_requests/1/notes", `{"body":"x"}`); status != 405 || !strings.Contains(text, "Non GET methods") {
		t.Errorf("a write: %d %s", status, text)
	}
	status, header, _ := l.ask(t, "GET", "projects/acme%2Finfra/merge_requests/1?x=1", "")
	if want := fmt.Sprintf("%sprojects/%d/merge_requests/1?x=1", l.APIURL(), l.repo.ID); status != 301 || header.Get("Location") != want {
		t.Errorf("a read: %d to %s", status, header.Get("Location"))
	}
}

func TestGitLabTakesNoStateTwiceAndMakesAPipelineWhereThereIsNone(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	sha := l.open(t, "topic").Head()
	at := fmt.Sprintf("projects/%d/statuses/%s", l.repo.ID, sha)
	if status, _, text := l.ask(t, "POST", at, `{"state":"pending","name":"ci"}`); status != 201 || !strings.Contains(text, `"ref":"topic"`) {
		t.Errorf("the first: %d %s", status, text)
	}
	if status, _, text := l.ask(t, "POST", at, `{"state":"pending","name":"ci","description":"new"}`); status != 400 || !strings.Contains(text, "Cannot transition status via :enqueue from :pending") {
		t.Errorf("again: %d %s", status, text)
	}
	if status, _, _ := l.ask(t, "POST", at, `{"state":"success","name":"ci","pipeline_id":1}`); status != 404 {
		t.Errorf("a pipeline that does not match: %d", status)
	}
	if got := l.repo.Status(sha, "ci"); got.State != "pending" || got.Description != "" {
		t.Errorf("it stands as %+v", got)
	}
}

func TestGitLabsLimiterSpeaksPlainText(t *testing.T) {
	t.Parallel()
	l := newLab(t, "")
	l.Faults.SecondaryLimit(forgetest.Match{Path: "/user"}, 429, "60", 1)
	status, header, text := l.ask(t, "GET", "user", "")
	if status != 429 || !strings.HasSuffix(text, "Retry later\n") || header.Get("Retry-After") != "60" || header.Get("Content-Type") != "text/plain" {
		t.Fatalf("%d %v %q", status, header, text)
	}
}
