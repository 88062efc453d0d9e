package forgejo_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
)

func TestARepositoryIsFoundByItsNamesAndByItsID(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			for _, asked := range []engine.Repo{
				{Instance: instance, ID: w.repo.ID, Owner: "old", Name: "name"}, {Instance: instance, Owner: "acme", Name: "infra"},
			} {
				got, info, err := w.conn.Repository(t.Context(), asked)
				want := forges.RepoInfo{DefaultBranch: "main", CloneURL: w.repo.GitURL(), HTMLURL: w.URL() + "/acme/infra"}
				if err != nil || got != w.key || info != want {
					t.Errorf("%+v: %+v %+v %v", asked, got, info, err)
				}
			}
			for _, name := range []string{"..", ".", "a/b", "a b", ""} {
				if _, _, err := w.conn.Repository(t.Context(), engine.Repo{Instance: instance, Owner: "acme", Name: name}); err == nil {
					t.Errorf("%q was asked for", name)
				}
			}
		})
	}
}

func TestARenamedRepositoryIsFoundAndItsOldNameNeverWrittenTo(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			w.change(t, p) // the names are known now
			w.repo.Rename("platform")
			if got := w.change(t, p); got.Repo.Name != "platform" {
				t.Fatalf("by the redirect: %+v", got.Repo)
			}
			must(w.conn.CreateNote(t.Context(), w.key, p.Number, "renamed"))(t)

			imposter := must(w.CreateRepo("acme", "infra"))(t)
			must(imposter.Commit("main", map[string]string{"a": "a"}, w.alice))(t)
			must(imposter.Commit("evil", map[string]string{"b": "b"}, w.alice))(t)
			must(imposter.OpenPullRequest(w.alice, "evil", "main", "Not the one"))(t)
			imposter.SetPermission(w.bot, "admin")
			must(w.conn.CreateNote(t.Context(), w.key, p.Number, "taken"))(t)
			if got := w.change(t, p); got.Repo.ID != w.repo.ID || got.Number != p.Number {
				t.Fatalf("read %+v", got)
			}
			if strays := imposter.Comments(1); len(strays) != 0 {
				t.Fatalf("wrote to the wrong repository: %+v", strays)
			}
			must(w.repo.CommentWith(p.Number, "taken"))(t)
		})
	}
}

// Reading a pull request proves the names for what is then said of it, and for no
// longer; a write that fails proves nothing any more.
func TestAWriteRestsOnNamesThatWereProvenAMomentAgo(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			asked := func(want int) {
				t.Helper()
				must(w.conn.CreateNote(t.Context(), w.key, p.Number, "said"))(t)
				if got := w.Count("GET", "/repositories/{id}"); got != want {
					t.Errorf("asked for the names %d times, want %d", got, want)
				}
			}
			w.change(t, p)
			before := w.Count("GET", "/repositories/{id}")
			asked(before)
			w.Faults.Fail(forgetest.Match{Method: "POST", Path: "/comments"}, http.StatusBadGateway, 1)
			if _, err := w.conn.CreateNote(t.Context(), w.key, p.Number, "lost"); err == nil {
				t.Error("a write that failed is no error")
			}
			asked(before + 1)

			w.change(t, p)
			w.repo.Rename("platform")
			imposter := must(w.CreateRepo("acme", "infra"))(t)
			imposter.SetPermission(w.bot, "admin")
			must(imposter.Commit("main", map[string]string{"a": "a"}, w.alice))(t)
			must(imposter.Commit("evil", map[string]string{"b": "b"}, w.alice))(t)
			must(imposter.OpenPullRequest(w.alice, "evil", "main", "Not the one"))(t)
			w.Advance(6 * time.Second)
			asked(before + 2)
			if strays := imposter.Comments(1); len(strays) != 0 {
				t.Errorf("wrote to the wrong repository: %+v", strays)
			}
		})
	}
}

// What is believed of the names for a minute may be wrong where another
// repository took them in between; a pull request that is another's shows it.
func TestAChangeOfARepositoryThatTookTheNameIsNotRead(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			w.change(t, p)
			w.repo.Rename("platform")
			imposter := must(w.CreateRepo("acme", "infra"))(t)
			imposter.SetPermission(w.bot, "admin")
			must(imposter.Commit("main", map[string]string{"a": "a"}, w.alice))(t)
			must(imposter.Commit("evil", map[string]string{"b": "b"}, w.alice))(t)
			must(imposter.OpenPullRequest(w.alice, "evil", "main", "Not the one"))(t)
			if got := w.change(t, p); got.Repo.ID != w.repo.ID || got.Number != p.Number {
				t.Fatalf("%+v", got)
			}
		})
	}
}

func TestAReadAsksForTheNamesOnceAMinute(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			for range 3 {
				w.verdicts(t, p)
			}
			if asked := w.Count("GET", "/repositories/{id}"); asked != 1 {
				t.Fatalf("asked %d times", asked)
			}
			w.Advance(2 * time.Minute)
			w.verdicts(t, p)
			if asked := w.Count("GET", "/repositories/{id}"); asked != 2 {
				t.Fatalf("asked %d times", asked)
			}
		})
	}
}

func TestRateLimitsAreTypedAndHeld(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			w.Faults.SecondaryLimit(forgetest.Match{Path: "/user"}, http.StatusTooManyRequests, "30", 1)
			_, err := w.conn.Self(t.Context())
			limited, ok := errors.AsType[*forges.RateLimited](err)
			if !ok || limited.Until.Sub(w.Now()).Round(time.Second) != 30*time.Second {
				t.Fatalf("%v", err)
			}
			if _, err := w.conn.Self(t.Context()); err == nil || w.Count("GET", "/user") != 1 {
				t.Fatalf("went on while limited: %v", err)
			}
		})
	}
}

// The server still works on a push: that passes, so it is worth a retry and
// neither a refusal nor a thing that is gone.
func TestAConflictAndAServersFaultAreWorthARetryAndNotRepeatedHere(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			p := w.pull(t, "topic")
			for _, status := range []int{409, 500, 502, 503} {
				w.ResetCounts()
				w.Faults.Fail(forgetest.Match{Method: "POST", Path: "/comments"}, status, 1)
				_, err := w.conn.CreateNote(t.Context(), w.key, p.Number, "x")
				_, rejected := errors.AsType[*forges.Rejected](err)
				if err == nil || rejected || errors.Is(err, forges.ErrNotFound) || isForbidden(err) {
					t.Errorf("%d: %v", status, err)
				}
				if sent := w.Writes(); sent != 1 {
					t.Errorf("%d: sent %d times", status, sent)
				}
			}
			w.Faults.Fail(forgetest.Match{Path: "/pulls/1"}, 409, 1)
			if _, err := w.conn.Change(t.Context(), w.key, 1); err == nil || errors.Is(err, forges.ErrNotFound) {
				t.Errorf("a read: %v", err)
			}
		})
	}
}

func TestAWriteIsNotRedirectedAndNoTokenLeavesTheHost(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			var leaked string
			other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				leaked += r.Header.Get("Authorization")
			}))
			defer other.Close()
			p := w.pull(t, "topic")
			w.Faults.Redirect(forgetest.Match{Method: "POST"}, http.StatusMovedPermanently, w.APIURL()+"user", 1)
			if _, err := w.conn.CreateNote(t.Context(), w.key, p.Number, "x"); err == nil {
				t.Error("a write became a read")
			}
			w.Faults.Redirect(forgetest.Match{Path: "/user"}, http.StatusFound, other.URL+"/user", 1)
			if _, err := w.conn.Self(t.Context()); err == nil || leaked != "" {
				t.Errorf("followed to another host with %q: %v", leaked, err)
			}
		})
	}
}

func TestGitTakesTheHeader(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			header := must(w.conn.GitHeader(t.Context(), w.key))(t)
			cmd := exec.CommandContext(t.Context(), "git", "-c", "http.extraHeader="+header, "ls-remote", w.repo.GitURL(), "refs/heads/main")
			cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin", "GIT_TERMINAL_PROMPT=0"}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.HasPrefix(string(out), must(w.repo.Head("main"))(t)) {
				t.Fatalf("%s %v", out, err)
			}
			_, encoded, _ := strings.Cut(header, "Basic ")
			if plain := must(base64.StdEncoding.DecodeString(encoded))(t); !strings.Contains(string(plain), ":") {
				t.Fatalf("%q", plain)
			}
		})
	}
}
