package forgetest

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func (w world) page(t *testing.T, path string) (int, string) {
	t.Helper()
	resp, err := http.Get(w.URL() + path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func (w world) press(t *testing.T, path, origin string, form url.Values) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.URL()+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Origin", origin)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func TestAPersonWalksThroughAPullRequestInABrowser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	Must(w.As(w.alice).Comment(p, "<script>alert(1)</script>"))
	const path = "/acme/infra/pull/1"
	for _, do := range []url.Values{
		{"as": {"bob"}, "do": {"comment"}, "body": {"chant help"}},
		{"as": {"bob"}, "do": {"approve"}, "body": {"fine"}},
		{"as": {"bob"}, "do": {"merge"}},
		{"as": {"bob"}, "do": {"check"}, "body": {"unit"}},
	} {
		if status := w.press(t, path, w.URL(), do); status != 200 {
			t.Fatalf("%v: %d", do, status)
		}
	}
	status, body := w.page(t, path)
	for _, want := range []string{"chant help", "reviewed: approved", "merged as " + p.MergeCommit(), "unit", "&lt;script&gt;"} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d: the page lacks %q", status, want)
		}
	}
	if _, list := w.page(t, "/acme/infra"); !strings.Contains(list, path) {
		t.Error("the repository's page does not link the pull request")
	}
	if runs := w.repo.checksOf(p.MergeCommit(), true); len(runs) != 1 {
		t.Errorf("%d check runs on the landed commit", len(runs))
	}
}

func TestAForeignSiteOrAStrangerPressesNoButton(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.pull(t, "topic")
	const path = "/acme/infra/pull/1"
	form := url.Values{"as": {"bob"}, "do": {"comment"}, "body": {"x"}}
	if status := w.press(t, path, "http://evil.test", form); status != 403 {
		t.Errorf("a foreign site: %d", status)
	}
	w.User("stranger")
	form.Set("as", "stranger")
	if status := w.press(t, path, w.URL(), form); status != 403 {
		t.Errorf("a stranger: %d", status)
	}
	if n := len(w.repo.Comments(1)); n != 0 {
		t.Errorf("%d comments", n)
	}
}
