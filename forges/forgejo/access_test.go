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

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgetest"
)

func TestStatusesAreWrittenAndReadBack(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		p := w.pull(t, "topic")
		pending := forges.Status{Context: "chant/plan", State: forges.StatusPending, Description: "planning"}
		done := forges.Status{Context: "chant/plan", State: forges.StatusSuccess, Description: "planned", TargetURL: "https://chant.acme.test/1"}
		for _, s := range []forges.Status{pending, done} {
			if err := w.conn.SetStatus(t.Context(), w.key, p.Head(), s); err != nil {
				t.Fatal(err)
			}
		}
		if got := must(w.conn.Status(t.Context(), w.key, p.Head(), "chant/plan"))(t); got != done {
			t.Fatalf("%+v", got)
		}
		if _, err := w.conn.Status(t.Context(), w.key, p.Head(), "chant/apply"); !errors.Is(err, forges.ErrNotFound) {
			t.Fatalf("one nobody wrote: %v", err)
		}
	})
}

// The servers take all of these (fact 7).
func TestAStatusNoOtherForgeTakesIsNotSent(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		p := w.pull(t, "topic")
		long := strings.Repeat("é", 256)
		for name, s := range map[string]forges.Status{
			"no state":             {Context: "c", State: "green"},
			"needs a context":      {State: forges.StatusSuccess},
			"than 255 characters":  {Context: long, State: forges.StatusSuccess},
			"than 140 characters":  {Context: "c", State: forges.StatusSuccess, Description: long[:2*141]},
			"no address of a page": {Context: "c", State: forges.StatusSuccess, TargetURL: "javascript:alert(1)"},
		} {
			rejected, ok := errors.AsType[*forges.Rejected](w.conn.SetStatus(t.Context(), w.key, p.Head(), s))
			if !ok || !strings.Contains(rejected.Message, name) {
				t.Errorf("%s: %v", name, rejected)
			}
		}
		if sent := w.Writes(); sent != 0 {
			t.Errorf("%d were sent", sent)
		}
		if err := w.conn.SetStatus(t.Context(), w.key, p.Head(), forges.Status{Context: long[:2*255], Description: long[:2*140], State: forges.StatusError}); err != nil {
			t.Errorf("one at the bounds: %v", err)
		}
	})
}

func TestWhatCISaysIsReadFromStatusesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		p := w.pull(t, "topic")
		if err := w.conn.SetStatus(t.Context(), w.key, p.Head(), forges.Status{Context: "chant/apply", State: forges.StatusPending}); err != nil {
			t.Fatal(err)
		}
		must(w.repo.SetCheck(p.Head(), "unit / test (push)", "in_progress", ""))(t)
		must(w.repo.SetCheck(p.Head(), "unit / test (push)", "completed", "success"))(t)
		must(w.repo.SetCheck(p.Head(), "lint", "completed", "timed_out"))(t)
		must(w.repo.SetCheck(p.Head(), "e2e", "queued", ""))(t)
		link := w.URL() + "/acme/infra/actions/runs/1/jobs/0"
		want := []green.CheckRun{
			{ID: 5, Name: "e2e", Status: "in_progress", URL: link},
			{ID: 4, Name: "lint", Status: "completed", Conclusion: "failure", URL: link},
			{ID: 3, Name: "unit / test (push)", Status: "completed", Conclusion: "success", URL: link},
			{ID: 2, Name: "unit / test (push)", Status: "in_progress", URL: link},
		}
		got := must(w.conn.CheckRuns(t.Context(), w.key, p.Head()))(t)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(green.CheckRun{}, "CompletedAt")); diff != "" {
			t.Fatal(diff)
		}
		for _, run := range got {
			if _, err := time.Parse(time.RFC3339, run.CompletedAt); (run.Status == "completed") != (err == nil) {
				t.Errorf("%s completed at %q", run.Name, run.CompletedAt)
			}
		}
	})
}

func TestAStateNobodyKnowsIsNoSuccess(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		p := w.pull(t, "topic")
		for _, state := range []string{"warning", "green", ""} {
			w.post(t, "/repos/acme/infra/statuses/"+p.Head(), `{"context":"x","state":"`+state+`"}`)
		}
		for _, run := range must(w.conn.CheckRuns(t.Context(), w.key, p.Head()))(t) {
			if run.Status != "completed" || run.Conclusion == "success" || run.Conclusion == "skipped" {
				t.Errorf("%+v", run)
			}
		}
	})
}

// post writes as alice would by hand.
func (w world) post(t *testing.T, path, body string) {
	t.Helper()
	req := must(http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(w.APIURL(), "/")+path, strings.NewReader(body)))(t)
	req.Header.Set("Authorization", "token "+w.Token(w.alice))
	resp := must(http.DefaultClient.Do(req))(t)
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusCreated {
		t.Fatalf("%d %v", resp.StatusCode, err)
	}
}

func TestPermissionsAreTheHighestGrantAndUnknownAccountsNotFound(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		ops := w.Team("acme", "ops")
		carol := w.User("carol")
		ops.Add(carol)
		w.repo.SetTeamPermission(ops, "admin")
		w.repo.SetPermission(w.User("erin"), "read")
		w.User("dave")
		for login, want := range map[string]forges.Permission{
			"alice": forges.Write, "carol": forges.Admin, "erin": forges.Read, "dave": forges.NoAccess, "acme": forges.Admin,
		} {
			if got := must(w.conn.Permission(t.Context(), w.key, login))(t); got != want {
				t.Errorf("%s: %s, want %s", login, got, want)
			}
		}
		if _, err := w.conn.Permission(t.Context(), w.key, "nobody"); !errors.Is(err, forges.ErrNotFound) {
			t.Errorf("an unknown account: %v", err)
		}
		if _, err := w.conn.Permission(t.Context(), w.key, "../../x"); err == nil || errors.Is(err, forges.ErrNotFound) {
			t.Errorf("a path: %v", err)
		}
	})
}

func TestOnlyAnAdministratorMayAskWhatOthersMayDo(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		w.repo.SetPermission(w.bot, "write")
		_, err := w.conn.Permission(t.Context(), w.key, "alice")
		forbidden, ok := errors.AsType[*forges.Forbidden](err)
		if !ok || !strings.HasPrefix(forbidden.Permission, "administrator of the repository") {
			t.Fatalf("%v", err)
		}
	})
}

func TestTeamsAreSeenByTheirMembersAndByOwners(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		ops, owners := w.Team("acme", "Ops"), w.Team("acme", "Owners")
		ops.Add(w.bob)
		ask := func(team, login string) (bool, error) { return w.conn.TeamMember(t.Context(), "acme", team, login) }
		if _, err := ask("ops", "bob"); !isForbidden(err) {
			t.Fatalf("from outside the organisation: %v", err)
		}
		w.Team("acme", "bots").Add(w.bot)
		if _, err := ask("ops", "bob"); !isForbidden(err) {
			t.Fatalf("from outside the team: %v", err)
		}
		owners.Add(w.bot)
		for login, want := range map[string]bool{"bob": true, "alice": false, "nobody": false} {
			if got, err := ask("ops", login); err != nil || got != want {
				t.Errorf("%s: %v %v", login, got, err)
			}
		}
		if got, err := ask("none", "bob"); err != nil || got {
			t.Errorf("in a team that is not there: %v %v", got, err)
		}
		if got, err := w.conn.TeamMember(t.Context(), "nowhere", "ops", "bob"); err != nil || got {
			t.Errorf("in an organisation that is not there: %v %v", got, err)
		}
	})
}

func isForbidden(err error) bool {
	_, ok := errors.AsType[*forges.Forbidden](err)
	return ok
}

func TestAMissingScopeIsNamed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		p := w.pull(t, "topic")
		conn := w.connect(t, w.ScopedToken(w.bot, "read:repository", "read:user"))
		if _, _, err := conn.Repository(t.Context(), w.key); err != nil {
			t.Fatal(err)
		}
		_, note := conn.CreateNote(t.Context(), w.key, p.Number, "x")
		_, find := conn.FindNote(t.Context(), w.key, p.Number, "x")
		status := conn.SetStatus(t.Context(), w.key, p.Head(), forges.Status{Context: "c", State: forges.StatusSuccess})
		for needs, err := range map[string]error{"scope write:issue": note, "scope read:issue": find, "scope write:repository": status} {
			forbidden, ok := errors.AsType[*forges.Forbidden](err)
			if !ok || !strings.HasPrefix(forbidden.Permission, needs) {
				t.Errorf("%s: %v", needs, err)
			}
		}
	})
}

func TestARefusedTokenIsSaid(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		_, err := w.connect(t, "wrong").Self(t.Context())
		if err == nil || !strings.Contains(err.Error(), "refused the token") {
			t.Fatalf("%v", err)
		}
	})
}

func TestSelfIsAskedOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		for range 2 {
			if got := must(w.conn.Self(t.Context()))(t); got != (engine.Actor{ID: w.bot.ID, Login: "chant"}) {
				t.Fatalf("%+v", got)
			}
		}
		if asked := w.Count("GET", "/user"); asked != 1 {
			t.Fatalf("asked %d times", asked)
		}
	})
}

func TestTheAccountsRepositoriesAreListed(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		must(w.CreateRepo("secret", "vault"))(t)
		if got := must(w.conn.Installed(t.Context()))(t); len(got) != 1 || got[0] != w.key {
			t.Fatalf("%+v", got)
		}
	})
}

func TestARepositoryIsFoundByItsNamesAndByItsID(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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

func TestARenamedRepositoryIsFoundAndItsOldNameNeverWrittenTo(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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
		if got := w.change(t, p); got.Repo.ID != w.repo.ID || got.Title != "Change topic" {
			t.Fatalf("read %+v", got)
		}
		if strays := imposter.Comments(1); len(strays) != 0 {
			t.Fatalf("wrote to the wrong repository: %+v", strays)
		}
		must(w.repo.CommentWith(p.Number, "taken"))(t)
	})
}

// What is believed of the names for a minute may be wrong where another
// repository took them in between; a pull request that is another's shows it.
func TestAChangeOfARepositoryThatTookTheNameIsNotRead(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
		p := w.pull(t, "topic")
		w.change(t, p)
		w.repo.Rename("platform")
		imposter := must(w.CreateRepo("acme", "infra"))(t)
		imposter.SetPermission(w.bot, "admin")
		must(imposter.Commit("main", map[string]string{"a": "a"}, w.alice))(t)
		must(imposter.Commit("evil", map[string]string{"b": "b"}, w.alice))(t)
		must(imposter.OpenPullRequest(w.alice, "evil", "main", "Not the one"))(t)
		if got := w.change(t, p); got.Repo.ID != w.repo.ID || got.Title != "Change topic" {
			t.Fatalf("%+v", got)
		}
	})
}

func TestAReadAsksForTheNamesOnceAMinute(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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

func TestRateLimitsAreTypedAndHeld(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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

// The server still works on a push: that passes, so it is worth a retry and
// neither a refusal nor a thing that is gone.
func TestAConflictAndAServersFaultAreWorthARetryAndNotRepeatedHere(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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

func TestAWriteIsNotRedirectedAndNoTokenLeavesTheHost(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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

func TestGitTakesTheHeader(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, w world) {
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
