//go:build e2e

package gitea_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app"
	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/forges/forgejo/giteatest"
)

type object = giteatest.Object

// world is a real Gitea with one repository, and the server beside it.
type world struct {
	*giteatest.Server
	*relay

	t     *testing.T
	dir   string
	repo  string // owner/name, as it is called now
	token string // of the account we write as
	stop  func()
}

const hookSecret = "the webhook secret of a journey"

// terraform is the planner of the tests.
func terraform(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := osexec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("neither terraform nor tofu is on PATH; install one of them to run this test")
	return ""
}

// newWorld makes a repository of some files, with people, a CI and the webhook
// that docs/install-forgejo.md asks for. Below dir/state the roots keep theirs.
func newWorld(t *testing.T, dir string, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, dir: dir, repo: "acme/infra", stop: func() {}}
	w.Server = giteatest.Start(t, "alice", "bob", "ci", "chant")
	w.relay = newRelay(t, w.URL)
	t.Cleanup(func() { w.stop() })
	w.token = w.Token(t, "chant", "write:repository", "write:issue", "read:user")
	w.Do(t, giteatest.Admin, "POST", "orgs", object{"username": "acme"}, nil)
	w.Do(t, giteatest.Admin, "POST", "orgs/acme/repos", object{"name": "infra", "auto_init": true, "default_branch": "main", "private": true}, nil)
	for user, permission := range map[string]string{"alice": "write", "bob": "write", "ci": "write", "chant": "admin"} {
		w.Do(t, giteatest.Admin, "PUT", "repos/acme/infra/collaborators/"+user, object{"permission": permission}, nil)
	}
	w.commit("alice", "main", files)
	w.hook()
	return w
}

// hook makes the webhook, and looks for each event in what was made: Gitea leaves
// out one it does not know without a word, and adds what a coarse one stands for.
func (w *world) hook() {
	w.t.Helper()
	events := []string{
		"create", "delete", "issue_comment", "pull_request", "pull_request_comment", "pull_request_review", "pull_request_sync", "push", "status",
	}
	var made struct{ Events []string }
	w.Do(w.t, giteatest.Admin, "POST", "orgs/acme/hooks", object{
		"type": "gitea", "active": true, "events": events,
		"config": object{"url": w.hooks.URL, "content_type": "json", "secret": hookSecret},
	}, &made)
	for _, event := range events {
		if !slices.Contains(made.Events, event) {
			w.t.Fatalf("the webhook is not for %s: %v", event, made.Events)
		}
	}
}

// serve starts the server. A sweep may come more often than a file may say.
func (w *world) serve(sweep time.Duration) {
	w.t.Helper()
	c := must(config.Load(config.Source{Path: w.configure()}))(w.t)
	c.SweepInterval = config.Duration(sweep)
	file := must(os.OpenFile(w.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600))(w.t)
	log := slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug}))
	made := must(app.New(w.t.Context(), c, "test", log))(w.t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	ready, done := make(chan string, 1), make(chan error, 1)
	go func() { done <- made.Run(ctx, func(addr string) { ready <- addr }) }()
	w.stop = func() {
		w.stop = func() {}
		cancel()
		if err := <-done; err != nil {
			w.t.Error(err)
		}
		_ = file.Close()
		if w.t.Failed() {
			text := must(os.ReadFile(w.logPath()))(w.t)
			w.t.Logf("server log:\n%s", text[max(0, len(text)-12000):])
		}
	}
	select {
	case addr := <-ready:
		w.to("http://" + addr + "/webhooks/forgejo")
	case err := <-done:
		w.t.Fatal(err)
	}
}

func (w *world) logPath() string { return filepath.Join(w.dir, "server.log") }

// logged tells whether a line of the server's log matches.
func (w *world) logged(pattern string) bool {
	return regexp.MustCompile(`(?m)^.*` + pattern).Match(must(os.ReadFile(w.logPath()))(w.t))
}

// configure writes chant.yaml; JSON is YAML. The name is the one the repository
// had first.
func (w *world) configure() string {
	w.t.Helper()
	isolation := exec.WallAuto
	if _, err := exec.DetectWall(w.t.Context(), exec.WallAuto); err != nil {
		isolation = exec.WallNone
	}
	text := must(json.Marshal(object{
		"listen": "127.0.0.1:0", "externalUrl": "http://chant.test", "stateDir": filepath.Join(w.dir, "server"),
		"repositories": []string{"acme/infra"}, "terraform": terraform(w.t), "writablePaths": []string{filepath.Join(w.dir, "state")},
		"isolation": isolation, "workers": pool, "logLevel": "debug",
		"forgejo": object{"token": w.token, "webhookSecrets": []string{hookSecret}, "webUrl": w.URL, "apiUrl": w.api.URL + "/api/v1/"},
	}))(w.t)
	path := filepath.Join(w.dir, "chant.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// as sends a request about the repository, as a user.
func (w *world) as(user, method, path string, body, into any) {
	w.t.Helper()
	w.Do(w.t, user, method, "repos/"+w.repo+"/"+path, body, into)
}

// read reads the file of a branch, and its id, "" where there is none.
func (w *world) read(branch, path string) (text, id string) {
	var got struct{ Content, SHA string }
	if w.Try(w.t, "alice", http.MethodGet, "repos/"+w.repo+"/contents/"+path+"?ref="+url.QueryEscape(branch), nil, &got) != nil {
		return "", ""
	}
	return string(must(base64.StdEncoding.DecodeString(got.Content))(w.t)), got.SHA
}

// commit writes files on top of main, on a branch that is made when it is not
// main, and returns the commit.
func (w *world) commit(user, branch string, files map[string]string) string {
	w.t.Helper()
	var writes []object
	for path, text := range files {
		write := object{"operation": "create", "path": path, "content": base64.StdEncoding.EncodeToString([]byte(text))}
		if _, id := w.read("main", path); id != "" {
			write["operation"], write["sha"] = "update", id
		}
		writes = append(writes, write)
	}
	body := object{"branch": "main", "message": "Change " + branch, "files": writes}
	if branch != "main" {
		body["new_branch"] = branch
	}
	var made struct {
		Commit struct{ SHA string } `json:"commit"`
	}
	w.as(user, "POST", "contents", body, &made)
	return made.Commit.SHA
}

// pull is a pull request, and the head it was opened with.
type pull struct {
	number int
	head   string
}

func (p pull) op() string { return fmt.Sprintf("pr-%d", p.number) }

// propose opens a pull request of bob's. Right after a push Gitea may not know
// the branch yet.
func (w *world) propose(branch, title string, files map[string]string) pull {
	w.t.Helper()
	p := pull{head: w.commit("bob", branch, files)}
	var made struct{ Number int }
	giteatest.Eventually(w.t, "the branch "+branch, func() bool {
		return w.Try(w.t, "bob", "POST", "repos/"+w.repo+"/pulls", object{"head": branch, "base": "main", "title": title}, &made) == nil
	})
	p.number = made.Number
	return p
}

// edits is a file of main with one text in place of another.
func (w *world) edits(path, old, now string) map[string]string {
	w.t.Helper()
	text, _ := w.read("main", path)
	if !strings.Contains(text, old) {
		w.t.Fatalf("%s does not contain %q: %s", path, old, text)
	}
	return map[string]string{path: strings.ReplaceAll(text, old, now)}
}
