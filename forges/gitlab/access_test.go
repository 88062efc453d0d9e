package gitlab_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
	"github.com/chant-bot/chant/forges/gitlab"
)

// roundTripper is a function as a http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answering puts another answer in place of what paths with an end get.
func answering(end string, status int, body string, header ...string) func(*gitlab.Config) {
	return func(c *gitlab.Config) {
		next := c.Transport
		if next == nil {
			next = http.DefaultTransport
		}
		c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, end) {
				return next.RoundTrip(r)
			}
			w := httptest.NewRecorder()
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
			_, err := w.WriteString(body)
			return w.Result(), err
		})
	}
}

func TestSelfIsTheTokensBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := must(w.forge.Self(t.Context()))(t)
	if got != (engine.Actor{ID: w.bot.ID, Login: w.bot.Login, Bot: true}) {
		t.Fatalf("%+v", got)
	}
}

func TestPermissionIsTheHighestGrantNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops := w.Team("acme", "ops")
	carol, former, soon := w.User("carol"), w.User("former"), w.User("soon")
	ops.Add(carol)
	ops.Invite(w.User("dave"))
	w.repo.SetTeamPermission(ops, "admin")
	w.repo.SetPermission(w.User("erin"), "triage")
	w.repo.SetPermission(w.User("custom"), "security-manager")
	for u, day := range map[*forgetest.User]time.Time{former: time.Now(), soon: time.Now().AddDate(0, 0, 2)} {
		w.repo.SetPermission(u, "write")
		w.repo.EndMembership(u, day)
	}
	for login, want := range map[string]forges.Permission{
		"alice": forges.Write, "bob": forges.Admin, "carol": forges.Admin, "dave": forges.NoAccess, "erin": forges.Read,
		"custom": forges.Read, "former": forges.NoAccess, "soon": forges.Write,
	} {
		if got := must(w.forge.Permission(t.Context(), w.key, login))(t); got != want {
			t.Errorf("%s: %s, want %s", login, got, want)
		}
	}
	if _, err := w.forge.Permission(t.Context(), w.key, "nobody"); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("an unknown account: %v", err)
	}
	w.repo.SetPublic(true)
	if got := must(w.forge.Permission(t.Context(), w.key, "dave"))(t); got != forges.Read {
		t.Errorf("anybody in a public project: %s", got)
	}
}

func TestAMembershipThatIsNotActiveGrantsNothing(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"blocked":  `{"id":1,"access_level":50,"state":"blocked"}`,
		"awaiting": `{"id":1,"access_level":50,"state":"active","membership_state":"awaiting"}`,
		"minimal":  `{"id":1,"access_level":5,"state":"active","membership_state":"active"}`,
	} {
		w := newWorld(t)
		forge := w.connect(t, w.token, answering(fmt.Sprint("/members/all/", w.alice.ID), 200, body))
		if got := must(forge.Permission(t.Context(), w.key, "alice"))(t); got != forges.NoAccess {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestABlockedAccountReadsNoPublicProjectEither(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answering("/users", 200, `[{"id":1,"username":"gone","state":"blocked"}]`))
	w.repo.SetPublic(true)
	if got := must(w.forge.Permission(t.Context(), w.key, "gone"))(t); got != forges.NoAccess {
		t.Fatal(got)
	}
}

func TestAListWhosePagesGoRoundIsAnError(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answering("/merge_requests", 200, "[]", "X-Next-Page", "1"))
	if got, err := w.forge.OpenChanges(t.Context(), w.key); err == nil || !strings.Contains(err.Error(), "page 1 is followed by page 1") {
		t.Fatalf("%v %v", got, err)
	}
}

func TestATeamIsAGroupsOwnMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops := w.Team("acme", "ops")
	ops.Add(w.bob)
	ops.Invite(w.alice)
	for login, want := range map[string]bool{"bob": true, "alice": false, "nobody": false} {
		if got := must(w.forge.TeamMember(t.Context(), "acme", "ops", login))(t); got != want {
			t.Errorf("%s: %v", login, got)
		}
	}
	if got := must(w.forge.TeamMember(t.Context(), "acme", "hidden", "bob"))(t); got {
		t.Error("a member of a group we cannot see")
	}
}

func TestAMissingScopeOrRoleIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	reader, _ := w.repo.AccessToken("maintain", "read_api")
	var forbidden *forges.Forbidden
	forge := w.connect(t, reader)
	must(forge.Change(t.Context(), w.key, p.Number))(t)
	if _, err := forge.CreateNote(t.Context(), w.key, p.Number, "x"); !errors.As(err, &forbidden) || !strings.Contains(forbidden.Permission, "scope api") {
		t.Errorf("a note with read_api: %v", err)
	}
	reporter, _ := w.repo.AccessToken("read", "api")
	err := w.connect(t, reporter).SetStatus(t.Context(), w.key, p.Head(), status(forges.StatusPending, "x"))
	if !errors.As(err, &forbidden) || !strings.Contains(forbidden.Permission, "Developer") {
		t.Errorf("a status of a Reporter: %v", err)
	}
}

func TestARefusedTokenIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.connect(t, "glpat-revoked").Self(t.Context()); err == nil || !strings.Contains(err.Error(), "expired or been revoked") {
		t.Fatalf("got %v", err)
	}
}

func TestGitTakesTheTokenAsAPassword(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	header := must(w.forge.GitHeader(t.Context(), w.key))(t)
	raw := must(base64.StdEncoding.DecodeString(strings.TrimPrefix(header, "Authorization: Basic ")))(t)
	if string(raw) != "oauth2:"+w.token {
		t.Errorf("%q", raw)
	}
	cmd := exec.CommandContext(timeout(t), "git", "-c", "http.extraHeader="+header, "ls-remote", w.repo.GitURL())
	cmd.Env = append(cmd.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// client-go would send a refused write five times more (forge-facts 2.9).
func TestNothingIsSentTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.Faults.Fail(forgetest.Match{Method: "POST", Path: "/notes"}, 500, 1)
	if _, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x"); err == nil {
		t.Fatal("a refused note was taken for success")
	}
	w.Faults.LoseAnswer(forgetest.Match{Method: "POST", Path: "/notes"}, 1)
	if _, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x"); err == nil {
		t.Fatal("a lost answer was taken for success")
	}
	if sent, made := w.Count("POST", "/merge_requests/{number}/notes"), len(w.repo.Comments(p.Number)); sent != 2 || made != 1 {
		t.Fatalf("%d requests, %d notes", sent, made)
	}
}

// GitLab's limiter answers in plain text, and some name no time (forge-facts 2.8).
func TestEveryRateLimitIsATypedErrorAndStopsTheConnection(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	for name, limit := range map[string]func(*forgetest.Faults, forgetest.Match){
		"with a reset":       func(x *forgetest.Faults, m forgetest.Match) { x.PrimaryLimit(m, 429, reset, 1) },
		"with a retry-after": func(x *forgetest.Faults, m forgetest.Match) { x.SecondaryLimit(m, 429, "90", 1) },
		"bare":               func(x *forgetest.Faults, m forgetest.Match) { x.SecondaryLimit(m, 429, "", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pull(t, "topic")
			limit(w.Faults, forgetest.Match{Method: "POST", Path: "/notes"})
			for range 2 {
				_, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x")
				var limited *forges.RateLimited
				if !errors.As(err, &limited) || time.Until(limited.Until) < 20*time.Second {
					t.Fatalf("got %v", err)
				}
				if name == "with a reset" && time.Until(limited.Until) < 9*time.Minute {
					t.Fatalf("until %s", limited.Until)
				}
			}
			if n := w.Count("POST", "/merge_requests/{number}/notes"); n != 1 {
				t.Errorf("%d requests: the second should have been held back", n)
			}
		})
	}
}

// GitLab's own header of a token would follow a redirect to another host
// (forge-facts 2.9).
func TestARedirectNeitherLosesAWriteNorLeaksAToken(t *testing.T) {
	t.Parallel()
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a foreign host was asked, with %v", r.Header)
	}))
	defer foreign.Close()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for _, status := range []int{301, 302, 303} {
		w.Faults.Redirect(forgetest.Match{Method: "POST", Path: "/notes"}, status, w.APIURL()+"version", 1)
		if _, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x"); err == nil {
			t.Errorf("%d on a write was followed", status)
		}
	}
	for _, status := range []int{301, 302, 307} {
		w.Faults.Redirect(forgetest.Match{Method: "GET", Path: "/merge_requests/"}, status, foreign.URL+"/x", 1)
		if _, err := w.forge.Change(t.Context(), w.key, p.Number); err == nil {
			t.Errorf("%d to another host was followed", status)
		}
	}
	if n := len(w.repo.Comments(p.Number)); n != 0 {
		t.Errorf("%d notes", n)
	}
}

func TestAnUnchangedReadIsConditional(t *testing.T) {
	t.Parallel()
	unchanged := 0
	w := newWorld(t, func(c *gitlab.Config) {
		c.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusNotModified {
				unchanged++
			}
			return resp, err
		})
	})
	p := w.pull(t, "topic")
	first := must(w.forge.Change(t.Context(), w.key, p.Number))(t)
	if again := must(w.forge.Change(t.Context(), w.key, p.Number))(t); again != first || unchanged != 1 {
		t.Fatalf("%+v after %d answers without a body", again, unchanged)
	}
	must(p.Push(map[string]string{"n.tf": "n\n"}, w.alice))(t)
	if third := must(w.forge.Change(t.Context(), w.key, p.Number))(t); third.Head != p.Head() {
		t.Fatal("a changed merge request was answered from the cache")
	}
}

func TestAHeadThatGitLabStillPreparesIsRetried(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answering("/merge_requests/1", 200, `{"id":1,"iid":1,"state":"opened","sha":"","diff_refs":null}`))
	w.pull(t, "topic")
	_, err := w.forge.Change(t.Context(), w.key, 1)
	var rejected *forges.Rejected
	if err == nil || errors.Is(err, forges.ErrNotFound) || errors.As(err, &rejected) {
		t.Fatalf("got %v", err)
	}
}
