package forgetest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// inbox is a receiver that remembers what it got.
type inbox struct {
	*httptest.Server

	mu  sync.Mutex
	got []received
}

type received struct {
	header http.Header
	body   string
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	box := &inbox{}
	box.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the test ended while it was under way
		}
		box.mu.Lock()
		defer box.mu.Unlock()
		box.got = append(box.got, received{r.Header.Clone(), string(body)})
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(box.Close)
	return box
}

// events lists "event" or "event action" in order of arrival.
func (b *inbox) events() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out []string
	for _, r := range b.got {
		name := r.header.Get("X-Github-Event")
		if _, rest, ok := strings.Cut(r.body, `"action":"`); ok {
			action, _, _ := strings.Cut(rest, `"`)
			name += " " + action
		}
		out = append(out, name)
	}
	return out
}

func (b *inbox) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got = nil
}

func quiet(t *testing.T, f *Forge) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if err := f.Quiesce(ctx); err != nil {
		t.Fatal(err)
	}
}

// world is a fake with one repository, an app and two people.
type world struct {
	*Forge

	repo       *Repo
	app        *App
	in         *Installation
	alice, bob *User
	box        *inbox
}

func newWorld(t *testing.T) world {
	t.Helper()
	f := Start(t)
	w := world{Forge: f, alice: f.User("alice"), bob: f.User("bob"), box: newInbox(t)}
	w.repo = Must(f.CreateRepo("acme", "infra"))
	w.repo.SetPermission(w.alice, "write")
	w.repo.SetPermission(w.bob, "write")
	Must(w.repo.Commit("main", map[string]string{"a.tf": "a = 1\n"}, w.alice))
	w.app = Must(f.CreateApp(AppOptions{Slug: "chant"}))
	w.in = Must(w.app.Install("acme"))
	w.app.Deliver(w.box.URL, "whs")
	quiet(t, f)
	w.box.clear()
	return w
}

func (w world) pull(t *testing.T, branch string) *Pull {
	t.Helper()
	Must(w.repo.Commit(branch, map[string]string{branch + ".tf": "b = 2\n"}, w.alice))
	return Must(w.repo.OpenPullRequest(w.alice, branch, "main", "Change "+branch))
}

func gitRun(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(dir), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=alice", "GIT_AUTHOR_EMAIL=alice@example.com", "GIT_COMMITTER_NAME=alice", "GIT_COMMITTER_EMAIL=alice@example.com",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func gitErr(dir string, args ...string) error {
	_, err := gitRun(dir, args...)
	return err
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := gitRun(dir, args...)
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

func withToken(url, token string) string {
	return strings.Replace(url, "http://", "http://x-access-token:"+token+"@", 1)
}

func TestAPushOverHTTPIsAPushOfTheTokensOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, t.TempDir(), "clone", "--quiet", withToken(w.repo.GitURL(), w.Token(w.alice)), dir)
	if err := os.WriteFile(filepath.Join(dir, "b.tf"), []byte("b = 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "checkout", "--quiet", "-b", "topic")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "--quiet", "-m", "Add b")
	git(t, dir, "push", "--quiet", "origin", "topic")
	quiet(t, w.Forge)
	if got := strings.Join(w.box.events(), ","); got != "push,create" {
		t.Fatalf("events %q", got)
	}
	if head := Must(w.repo.Head("topic")); head != git(t, dir, "rev-parse", "HEAD") {
		t.Fatalf("topic is at %s", head)
	}
}

func TestAPullRequestWalksToItsMerge(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"merge", "squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pull(t, "topic")
			Must(p.Push(map[string]string{"c.tf": "c = 3\n"}, w.alice))
			Must(w.As(w.bob).Review(p, "APPROVE", "fine"))
			sha := Must(p.Merge(method, w.bob))
			quiet(t, w.Forge)
			if head := Must(w.repo.Head("main")); head != sha || !p.Merged() {
				t.Fatalf("main is at %s, merged as %s", head, sha)
			}
			if got := Must(w.repo.ReadFile("main", "c.tf")); got != "c = 3\n" {
				t.Fatalf("c.tf is %q", got)
			}
			want := "push,create,pull_request opened,push,pull_request synchronize,pull_request_review submitted,pull_request closed,push"
			if got := strings.Join(w.box.events(), ","); got != want {
				t.Fatalf("events %q", got)
			}
		})
	}
}
