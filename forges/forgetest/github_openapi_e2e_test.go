//go:build e2e

package forgetest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// nodeModules is where prism and GitHub's API document are installed.
const nodeModules = "../../.tools/github-api/node_modules"

// startPrism checks every request and answer against GitHub's own document.
func startPrism(t *testing.T, upstream string) string {
	t.Helper()
	document := filepath.Join(nodeModules, "@octokit", "openapi", "generated", "api.github.com.json")
	if _, err := os.Stat(document); err != nil {
		t.Fatal("GitHub's API document is missing: run `npm ci --prefix .tools/github-api`")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(nodeModules, ".bin", "prism"), "proxy", document, upstream, "--host", "127.0.0.1", "--port", port)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	ready := make(chan bool, 1)
	go func() {
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Prism is listening") {
				ready <- true
			}
		}
	}()
	select {
	case <-ready:
	case <-time.After(2 * time.Minute):
		t.Fatal("prism did not start")
	}
	return "http://127.0.0.1:" + port + "/"
}

// TestAnswersFollowGitHubsDocument asks every kind of endpoint once through
// prism and reports what GitHub's own schema does not allow.
func TestAnswersFollowGitHubsDocument(t *testing.T) {
	w := newWorld(t)
	p, other := w.pull(t, "topic"), w.pull(t, "other")
	head := p.Head()
	comment := Must(w.As(w.bob).Comment(p, "hi"))
	inline := Must(w.As(w.bob).ReviewComment(p, "topic.tf", 1, "hi"))
	onCommit := Must(w.As(w.bob).CommitComment(w.repo, head, "hi"))
	review := Must(w.As(w.bob).Review(p, "APPROVE", "fine"))
	Must(w.repo.SetCheck(head, "unit", "completed", "success"))
	Must(w.repo.SetCheck(head, "e2e", "in_progress", ""))
	if err := w.repo.CreateTags(w.alice, head, "v1"); err != nil {
		t.Fatal(err)
	}
	w.Team("acme", "ops").Add(w.bob)
	Must(other.Merge("squash", w.bob))
	quiet(t, w.Forge)
	prism := startPrism(t, strings.TrimSuffix(w.APIURL(), "/"))
	app, token := w.jwt(t, -time.Minute, 5*time.Minute), w.token(t, nil)
	repo := "repos/acme/infra"
	deliveries := w.Deliveries()
	last := deliveries[len(deliveries)-1].ID
	for _, try := range []struct {
		token, method, path string
		body                any
	}{
		{app, "GET", "app", nil},
		{app, "GET", "app/installations", nil},
		{app, "GET", fmt.Sprintf("app/installations/%d", w.in.ID), nil},
		{app, "POST", fmt.Sprintf("app/installations/%d/access_tokens", w.in.ID), object{"repository_ids": []int64{w.repo.ID}}},
		{app, "GET", "app/hook/config", nil},
		{app, "GET", "app/hook/deliveries", nil},
		{app, "GET", fmt.Sprintf("app/hook/deliveries/%d", last), nil},
		{app, "POST", fmt.Sprintf("app/hook/deliveries/%d/attempts", last), nil},
		{app, "GET", repo + "/installation", nil},
		{token, "GET", "installation/repositories", nil},
		{token, "GET", "users/alice", nil},
		{w.Token(w.bob), "GET", "user/repos", nil},
		{token, "GET", "orgs/acme/teams/ops/memberships/bob", nil},
		{token, "GET", repo + "/collaborators/bob/permission", nil},
		{token, "GET", repo, nil},
		{token, "GET", repo + "/tags", nil},
		{token, "GET", repo + "/branches/main", nil},
		{token, "GET", repo + "/git/matching-refs/tags", nil},
		{token, "GET", repo + "/pulls?state=all", nil},
		{token, "GET", repo + "/pulls/1", nil},
		{token, "GET", repo + "/pulls/2", nil},
		{token, "GET", repo + "/pulls/1/commits", nil},
		{token, "GET", repo + "/pulls/1/files", nil},
		{token, "GET", repo + "/commits/" + head + "/pulls", nil},
		{token, "GET", repo + "/commits/" + head, nil},
		{token, "GET", repo + "/compare/main..." + head, nil},
		{token, "GET", repo + "/pulls/1/reviews", nil},
		{token, "GET", fmt.Sprintf("%s/pulls/1/reviews/%d", repo, review.ID), nil},
		{token, "POST", repo + "/pulls/1/reviews", object{"event": "COMMENT", "body": "x"}},
		{token, "GET", repo + "/issues/1/comments", nil},
		{token, "POST", repo + "/issues/1/comments", object{"body": "x"}},
		{token, "GET", fmt.Sprintf("%s/issues/comments/%d", repo, comment.ID), nil},
		{token, "PATCH", fmt.Sprintf("%s/issues/comments/%d", repo, comment.ID), object{"body": "y"}},
		{token, "POST", fmt.Sprintf("%s/issues/comments/%d/reactions", repo, comment.ID), object{"content": "eyes"}},
		{token, "GET", fmt.Sprintf("%s/issues/comments/%d/reactions", repo, comment.ID), nil},
		{token, "GET", repo + "/pulls/1/comments", nil},
		{token, "GET", fmt.Sprintf("%s/pulls/comments/%d", repo, inline.ID), nil},
		{token, "POST", fmt.Sprintf("%s/pulls/1/comments/%d/replies", repo, inline.ID), object{"body": "x"}},
		{token, "GET", fmt.Sprintf("%s/comments/%d", repo, onCommit.ID), nil},
		{token, "POST", repo + "/commits/" + head + "/comments", object{"body": "x"}},
		{token, "POST", repo + "/statuses/" + head, object{"state": "success", "context": "chant/plan", "description": "ok"}},
		{token, "GET", repo + "/commits/" + head + "/statuses", nil},
		{token, "GET", repo + "/commits/" + head + "/status", nil},
		{token, "GET", repo + "/commits/" + head + "/check-runs?filter=all", nil},
		{token, "POST", repo + "/git/refs", object{"ref": "refs/tags/v2", "sha": head}},
		{token, "PUT", fmt.Sprintf("%s/pulls/1/reviews/%d/dismissals", repo, review.ID), object{"message": "x"}},
		{token, "PUT", repo + "/pulls/1/merge", object{"sha": head}},
		{token, "GET", repo + "/pulls/99", nil},
	} {
		status, header, _ := w.ask(t, try.token, try.method, prism+try.path, try.body)
		if status >= 400 && status != http.StatusNotFound {
			t.Errorf("%s %s: %d", try.method, try.path, status)
		}
		for _, violation := range violations(t, header) {
			if try.path == "app/installations" && strings.Contains(violation, "0.account") {
				continue // the document asks for a user and an enterprise at once
			}
			t.Errorf("%s %s: %s", try.method, try.path, violation)
		}
	}
}

func violations(t *testing.T, header http.Header) []string {
	t.Helper()
	text := header.Get("Sl-Violations")
	if text == "" {
		return nil
	}
	var found []struct {
		Location []string
		Severity string
		Message  string
	}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return []string{text}
	}
	var out []string
	for _, v := range found {
		out = append(out, strings.Join(v.Location, ".")+": "+v.Message)
	}
	return out
}
