package forgetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v4"
)

// ask sends one API request as a client would and decodes the answer.
func (w world) ask(t *testing.T, token, method, path string, body any) (int, http.Header, map[string]any) {
	t.Helper()
	status, header, data := w.raw(t, token, method, path, body)
	var out map[string]any
	if bytes.HasPrefix(data, []byte("{")) {
		if err := json.Unmarshal(data, &out); err != nil {
			t.Fatal(err)
		}
	}
	return status, header, out
}

func (w world) raw(t *testing.T, token, method, path string, body any, headers ...string) (int, http.Header, []byte) {
	t.Helper()
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			t.Fatal(err)
		}
	}
	address := path
	if !strings.HasPrefix(path, "http") {
		address = w.APIURL() + path
	}
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, answer
}

// jwt signs as the app with its times moved.
func (w world) jwt(t *testing.T, issued, ends time.Duration) string {
	t.Helper()
	now := time.Now()
	claims := jwt.RegisteredClaims{
		Issuer: fmt.Sprint(w.app.ID), IssuedAt: jwt.NewNumericDate(now.Add(issued)), ExpiresAt: jwt.NewNumericDate(now.Add(ends)),
	}
	text, err := jwt.NewWithClaims(jwt.SigningMethodRS256, claims).SignedString(w.app.key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (w world) token(t *testing.T, narrow any) string {
	t.Helper()
	path := fmt.Sprintf("app/installations/%d/access_tokens", w.in.ID)
	status, _, answer := w.ask(t, w.jwt(t, -time.Minute, time.Minute), "POST", path, narrow)
	if status != 201 {
		t.Fatalf("no token: %d %v", status, answer)
	}
	return answer["token"].(string)
}

func TestAppTokensAreCheckedForKeyAndTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"good":                  {w.jwt(t, -time.Minute, 5*time.Minute), 200},
		"issued in the future":  {w.jwt(t, time.Minute, 5*time.Minute), 401},
		"ended":                 {w.jwt(t, -5*time.Minute, -time.Second), 401},
		"too long":              {w.jwt(t, -time.Minute, 11*time.Minute), 401},
		"an installation token": {w.token(t, nil), 401},
		"nothing":               {"", 401},
	} {
		if status, _, answer := w.ask(t, c.token, "GET", "app", nil); status != c.want {
			t.Errorf("%s: %d %v", name, status, answer)
		}
	}
}

func TestInstallationTokensAreLongOpaqueAndEndAfterAnHour(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(t, nil)
	if !strings.HasPrefix(token, fmt.Sprintf("ghs_%d_", w.app.ID)) || strings.Count(token, ".") != 2 || len(token) < 100 {
		t.Fatalf("token %q", token)
	}
	if status, _, _ := w.ask(t, token, "GET", "repos/acme/infra", nil); status != 200 {
		t.Fatalf("fresh: %d", status)
	}
	w.Advance(time.Hour)
	if status, _, _ := w.ask(t, token, "GET", "repos/acme/infra", nil); status != 401 {
		t.Fatalf("after an hour: %d", status)
	}
}

func TestANarrowedTokenCannotExceedTheGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := Must(w.CreateRepo("acme", "web"))
	foreign := Must(w.CreateRepo("other", "secret"))
	token := w.token(t, object{"repository_ids": []int64{w.repo.ID}, "permissions": object{"contents": "read"}})
	for path, want := range map[string]int{
		"repos/acme/infra": 200, "repos/acme/infra/branches/main": 200, "repos/acme/infra/pulls": 403,
		"repos/acme/web": 404, "repos/other/secret": 404,
	} {
		if status, _, _ := w.ask(t, token, "GET", path, nil); status != want {
			t.Errorf("%s: %d, want %d", path, status, want)
		}
	}
	path := fmt.Sprintf("app/installations/%d/access_tokens", w.in.ID)
	for name, narrow := range map[string]any{
		"permission": object{"permissions": object{"administration": "read"}},
		"level":      object{"permissions": object{"checks": "write"}},
		"repository": object{"repository_ids": []int64{other.ID, foreign.ID}},
	} {
		if status, _, _ := w.ask(t, w.jwt(t, -time.Minute, time.Minute), "POST", path, narrow); status != 422 {
			t.Errorf("%s beyond the grant: %d", name, status)
		}
	}
}

func TestAMissingPermissionIs403AndAHiddenRepository404(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in.SetPermissions(map[string]string{"metadata": "read", "pull_requests": "write"})
	p := w.pull(t, "topic")
	c := Must(w.As(w.bob).Comment(p, "hi"))
	token := w.token(t, nil)
	head := p.Head()
	for _, try := range []struct {
		method, path string
		body         any
		want         int
	}{
		{"POST", "/issues/1/comments", object{"body": "x"}, 201},
		{"POST", fmt.Sprintf("/issues/comments/%d/reactions", c.ID), object{"content": "eyes"}, 403},
		{"POST", "/statuses/" + head, object{"state": "success"}, 403},
		{"GET", "/commits/" + head + "/check-runs", nil, 403},
		{"POST", "/commits/" + head + "/comments", object{"body": "x"}, 403},
		{"PUT", "/pulls/1/merge", object{}, 403},
		{"GET", "/pulls/1", nil, 200},
	} {
		status, header, answer := w.ask(t, token, try.method, "repos/acme/infra"+try.path, try.body)
		if status != try.want {
			t.Errorf("%s %s: %d %v", try.method, try.path, status, answer)
		}
		if status == 403 && (answer["message"] != "Resource not accessible by integration" || header.Get("X-Accepted-Github-Permissions") == "") {
			t.Errorf("%s: %v", try.path, answer)
		}
	}
	stranger := w.Token(w.User("stranger"))
	if status, _, _ := w.ask(t, stranger, "GET", "repos/acme/infra", nil); status != 404 {
		t.Errorf("a stranger gets %d", status)
	}
}

func TestARenamedRepositoryRedirectsUntilItsNameIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pull(t, "topic")
	token := w.token(t, nil)
	w.repo.Rename("platform")
	status, header, answer := w.ask(t, token, "GET", "repos/acme/infra/pulls/1?x=1", nil)
	if want := fmt.Sprintf("%srepositories/%d/pulls/1?x=1", w.APIURL(), w.repo.ID); status != 301 || header.Get("Location") != want || answer["url"] != want {
		t.Errorf("read: %d %v", status, header)
	}
	status, header, _ = w.ask(t, token, "POST", "repos/acme/infra/issues/1/comments", object{"body": "x"})
	if status != 307 {
		t.Errorf("write: %d", status)
	}
	if status, _, _ = w.ask(t, token, "POST", header.Get("Location"), object{"body": "x"}); status != 201 {
		t.Errorf("at the new address: %d", status)
	}
	Must(w.CreateRepo("acme", "infra"))
	if status, _, _ = w.ask(t, token, "GET", "repos/acme/infra/pulls/1", nil); status != 404 {
		t.Errorf("once the name is taken: %d", status)
	}
}

func TestAMergedStateIsShownAsGitHubShowsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	token := w.token(t, nil)
	_, _, first := w.ask(t, token, "GET", "repos/acme/infra/pulls/1", nil)
	_, _, second := w.ask(t, token, "GET", "repos/acme/infra/pulls/1", nil)
	if first["mergeable"] != nil || second["mergeable"] != true || second["merge_commit_sha"] == nil {
		t.Errorf("mergeable was %v, then %v with %v", first["mergeable"], second["mergeable"], second["merge_commit_sha"])
	}
	if status, _, _ := w.ask(t, token, "PUT", "repos/acme/infra/pulls/1/merge", object{"sha": zeroSHA}); status != 409 {
		t.Errorf("merging another head: %d", status)
	}
	status, _, merged := w.ask(t, token, "PUT", "repos/acme/infra/pulls/1/merge", object{"sha": p.Head(), "merge_method": "squash"})
	if status != 200 || merged["sha"] != p.MergeCommit() || merged["sha"] == second["merge_commit_sha"] {
		t.Errorf("merged: %d %v", status, merged)
	}
	if status, _, _ := w.ask(t, token, "PUT", "repos/acme/infra/pulls/1/merge", object{}); status != 405 {
		t.Errorf("merging twice: %d", status)
	}
	_, _, list := w.raw(t, token, "GET", "repos/acme/infra/pulls?state=closed", nil)
	if bytes.Contains(list, []byte(`"merged":`)) || !bytes.Contains(list, []byte(`"merged_at":"`)) {
		t.Errorf("a list item has merged_at and no merged flag: %s", list)
	}
}

func TestAuthorsCannotApproveThemselves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for event, want := range map[string]int{"APPROVE": 422, "REQUEST_CHANGES": 422, "COMMENT": 0} {
		_, err := w.As(w.alice).Review(p, event, "me")
		var refused *APIError
		if errors.As(err, &refused) != (want != 0) || refused != nil && refused.Status != want {
			t.Errorf("%s: %v", event, err)
		}
	}
}

func TestReviewStatesAreLowerCaseInEventsAndUpperInREST(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	quiet(t, w.Forge)
	w.box.clear()
	pending := Must(w.As(w.bob).StartReview(p, "wait"))
	quiet(t, w.Forge)
	if got := w.box.events(); len(got) != 0 {
		t.Errorf("a pending review sent %v", got)
	}
	if err := w.As(w.bob).Submit(pending, "APPROVED"); err != nil {
		t.Fatal(err)
	}
	quiet(t, w.Forge)
	if !strings.Contains(w.box.got[0].body, `"state":"approved"`) {
		t.Errorf("event %s", w.box.got[0].body)
	}
	_, _, list := w.raw(t, w.token(t, nil), "GET", "repos/acme/infra/pulls/1/reviews", nil)
	if !bytes.Contains(list, []byte(`"state":"APPROVED"`)) {
		t.Errorf("REST %s", list)
	}
}

func TestReactionsAreIdempotent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := Must(w.As(w.bob).Comment(w.pull(t, "topic"), "hi"))
	token := w.token(t, nil)
	path := fmt.Sprintf("repos/acme/infra/issues/comments/%d/reactions", c.ID)
	for _, want := range []int{201, 200} {
		if status, _, _ := w.ask(t, token, "POST", path, object{"content": "eyes"}); status != want {
			t.Errorf("%d, want %d", status, want)
		}
	}
	if status, _, _ := w.ask(t, token, "POST", path, object{"content": "shrug"}); status != 422 {
		t.Errorf("an unknown reaction: %d", status)
	}
}

func TestStatusesHaveGitHubsLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	sha := Must(w.repo.Head("main"))
	token := w.token(t, nil)
	post := func(body object) int {
		status, _, _ := w.ask(t, token, "POST", "repos/acme/infra/statuses/"+sha, body)
		return status
	}
	_, _, none := w.ask(t, token, "GET", "repos/acme/infra/commits/main/status", nil)
	if none["state"] != "pending" {
		t.Errorf("without a status the state is %v", none["state"])
	}
	for name, c := range map[string]struct {
		body object
		want int
	}{
		"140 runes":     {object{"state": "success", "description": strings.Repeat("ü", 140), "context": "a"}, 201},
		"141 runes":     {object{"state": "success", "description": strings.Repeat("ü", 141), "context": "a"}, 422},
		"long context":  {object{"state": "success", "context": strings.Repeat("c", 256)}, 422},
		"state":         {object{"state": "waiting"}, 422},
		"target":        {object{"state": "success", "target_url": "javascript:x"}, 422},
		"empty target":  {object{"state": "success", "target_url": "", "context": "b"}, 201},
		"case of names": {object{"state": "failure", "context": "A"}, 201},
	} {
		if got := post(c.body); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	w.mu.Lock()
	for range maxStatuses {
		w.repo.statuses = append(w.repo.statuses, &status{Status: Status{Context: "Full"}, sha: sha})
	}
	w.mu.Unlock()
	if got := post(object{"state": "success", "context": "full"}); got != 422 {
		t.Errorf("status 1001 of a context: %d", got)
	}
}

func TestListsArePagedByLinksThatNameTheRepositoryByID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for i := range 105 {
		Must(w.As(w.bob).Comment(p, fmt.Sprint(i)))
	}
	token := w.token(t, nil)
	_, header, data := w.raw(t, token, "GET", "repos/acme/infra/issues/1/comments?per_page=500", nil)
	var page []map[string]any
	if err := json.Unmarshal(data, &page); err != nil || len(page) != 100 {
		t.Fatalf("a page of %d: %v", len(page), err)
	}
	next := fmt.Sprintf("<%srepositories/%d/issues/1/comments?page=2", w.APIURL(), w.repo.ID)
	if !strings.HasPrefix(header.Get("Link"), next) || !strings.Contains(header.Get("Link"), `rel="next"`) {
		t.Fatalf("Link %q", header.Get("Link"))
	}
}

func TestConditionalReadsAreFree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(t, nil)
	_, header, _ := w.raw(t, token, "GET", "repos/acme/infra", nil)
	etag, spent := header.Get("ETag"), w.Spent(w.in)
	status, _, body := w.raw(t, token, "GET", "repos/acme/infra", nil, "If-None-Match", etag)
	if status != 304 || len(body) != 0 || w.Spent(w.in) != spent {
		t.Errorf("%d with %d bytes, spent %d", status, len(body), w.Spent(w.in)-spent)
	}
	if status, _, _ = w.raw(t, w.token(t, nil), "GET", "repos/acme/infra", nil, "If-None-Match", etag); status != 200 {
		t.Errorf("another token's etag gave %d", status)
	}
}
