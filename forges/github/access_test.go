package github_test

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
	"github.com/chant-bot/chant/forges/github"
)

func TestSelfIsTheAppsBot(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := must(w.forge.Self(t.Context()))(t)
	if got != (engine.Actor{ID: w.app.BotUser().ID, Login: "chant[bot]", Bot: true}) {
		t.Fatalf("%+v", got)
	}
}

func TestATokenServesEverythingItsAccountSees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	all := connect(t, github.Config{Instance: instance, APIURL: w.APIURL(), Token: w.Token(w.bob)})
	forge := must(all.For(t.Context(), w.key))(t)
	if self := must(forge.Self(t.Context()))(t); self.ID != w.bob.ID {
		t.Fatalf("self is %+v", self)
	}
	if repos := must(forge.Installed(t.Context()))(t); len(repos) != 1 || repos[0] != w.key {
		t.Fatalf("%+v", repos)
	}
	if header := must(forge.GitHeader(t.Context(), w.key))(t); !strings.HasPrefix(header, "Authorization: Basic ") {
		t.Fatalf("header %q", header)
	}
}

func TestPermissionsAreTheHighestGrantAndUnknownOnesNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ops := w.Team("acme", "ops")
	carol := w.User("carol")
	ops.Add(carol)
	ops.Invite(w.User("dave"))
	w.repo.SetTeamPermission(ops, "admin")
	w.repo.SetPermission(w.User("erin"), "triage")
	for login, want := range map[string]forges.Permission{
		"alice": forges.Write, "bob": forges.Write, "carol": forges.Admin, "dave": forges.NoAccess, "erin": forges.Read,
	} {
		if got := must(w.forge.Permission(t.Context(), w.key, login))(t); got != want {
			t.Errorf("%s: %s, want %s", login, got, want)
		}
	}
	if _, err := w.forge.Permission(t.Context(), w.key, "nobody"); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("an unknown account: %v", err)
	}
	for login, want := range map[string]bool{"carol": true, "dave": false, "alice": false} {
		if got := must(w.forge.TeamMember(t.Context(), "acme", "ops", login))(t); got != want {
			t.Errorf("%s in ops: %v", login, got)
		}
	}
}

func TestAMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *forgetest.AppOptions) {
		o.Permissions = map[string]string{"metadata": "read", "pull_requests": "write"}
	})
	p := w.pull(t, "topic")
	c := must(w.As(w.bob).Comment(p, "hi"))(t)
	must(w.forge.CreateNote(t.Context(), w.key, p.Number, "pull requests alone are enough for a note"))(t)
	ref := engine.CommentRef{Kind: engine.IssueComment, ID: c.ID, Number: p.Number}
	var forbidden *forges.Forbidden
	if err := w.forge.React(t.Context(), w.key, ref, forges.Seen); !errors.As(err, &forbidden) || forbidden.Permission != "issues=write" {
		t.Errorf("a reaction needs Issues: %v", err)
	}
	if _, err := w.forge.GitHeader(t.Context(), w.key); !errors.As(err, &forbidden) || !strings.Contains(forbidden.Permission, "contents") {
		t.Errorf("git access: %v", err)
	}
}

func TestGitAccessIsNarrowedToOneRepositoryAndItsContents(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := must(w.CreateRepo("acme", "web"))(t)
	header := must(w.forge.GitHeader(t.Context(), w.key))(t)
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(header, "Authorization: Basic "))
	if err != nil {
		t.Fatal(err)
	}
	token := strings.TrimPrefix(string(raw), "x-access-token:")
	lsRemote := func(url string) error {
		cmd := exec.CommandContext(timeout(t), "git", "-c", "http.extraHeader="+header, "ls-remote", url)
		cmd.Env = append(cmd.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_CONFIG_NOSYSTEM=1")
		return cmd.Run()
	}
	if err := lsRemote(w.repo.GitURL()); err != nil {
		t.Errorf("its own repository: %v", err)
	}
	if lsRemote(other.GitURL()) == nil {
		t.Error("the token opens another repository")
	}
	req := must(http.NewRequestWithContext(timeout(t), http.MethodGet, w.APIURL()+"repos/acme/infra/pulls", nil))(t)
	req.Header.Set("Authorization", "Bearer "+token)
	resp := must(http.DefaultClient.Do(req))(t)
	if err := resp.Body.Close(); err != nil || resp.StatusCode != http.StatusForbidden {
		t.Errorf("the token reads pull requests: %d %v", resp.StatusCode, err)
	}
}

func TestWhenContentsAreReadOnlyGitMayStillRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *forgetest.AppOptions) {
		o.Permissions = map[string]string{"metadata": "read", "contents": "read"}
	})
	must(w.forge.GitHeader(t.Context(), w.key))(t)
}

func TestAnExpiredTokenIsReplacedAfterOneRefusal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	must(w.forge.Change(t.Context(), w.key, p.Number))(t)
	w.Advance(61 * time.Minute)
	if _, err := w.forge.Change(t.Context(), w.key, p.Number); err == nil {
		t.Fatal("an expired token was taken")
	}
	must(w.forge.Change(t.Context(), w.key, p.Number))(t)
	if n := w.Count("POST", "/app/installations/{installation}/access_tokens"); n != 2 {
		t.Fatalf("%d tokens", n)
	}
}

func TestAWrongClockIsSaid(t *testing.T) {
	t.Parallel()
	for _, skew := range []time.Duration{-time.Minute, 5 * time.Minute} {
		w := newWorld(t)
		w.Faults.ClockSkew(skew)
		_, err := w.forge.Installed(t.Context())
		if err == nil || !strings.Contains(err.Error(), "clock") {
			t.Errorf("skew %s: %v", skew, err)
		}
	}
}

func TestASuspendedInstallationIsForbiddenAndAGoneOneNotFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in.Suspend(true)
	var forbidden *forges.Forbidden
	if _, err := w.forge.Installed(t.Context()); !errors.As(err, &forbidden) {
		t.Errorf("suspended: %v", err)
	}
	w.in.Uninstall()
	if _, err := w.forge.Installed(t.Context()); !errors.Is(err, forges.ErrNotFound) {
		t.Errorf("gone: %v", err)
	}
}

func TestAnInstallationChangeIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in.Uninstall()
	again := must(w.app.Install("acme"))(t)
	w.all.Forget(w.in.ID)
	forge := must(w.all.For(t.Context(), w.key))(t)
	must(forge.Installed(t.Context()))(t)
	if forge != w.all.Installation(again.ID) {
		t.Fatal("served through the old installation")
	}
}

func TestAnInstallationMadeAnewIsFoundWithoutAWord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.in.Uninstall()
	must(w.app.Install("acme"))(t)
	if _, err := w.forge.Installed(t.Context()); !errors.Is(err, forges.ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	forge := must(w.all.For(t.Context(), w.key))(t)
	must(forge.Installed(t.Context()))(t)
}

func TestATransferredRepositoryIsFoundAtItsNewInstallationInTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	now := time.Now()
	all := connect(t, github.Config{
		Instance: instance, APIURL: w.APIURL(), AppID: w.app.ID, PrivateKey: w.app.PrivateKeyPEM(), Now: func() time.Time { return now },
	})
	must(all.For(t.Context(), w.key))(t)
	w.repo.Transfer("globex")
	there := must(w.app.Install("globex"))(t)
	now = now.Add(11 * time.Minute)
	if forge := must(all.For(t.Context(), w.key))(t); forge != all.Installation(there.ID) {
		t.Fatal("still served by the old owner's installation")
	}
}

func TestEveryRateLimitIsATypedErrorAndStopsTheConnection(t *testing.T) {
	t.Parallel()
	reset := time.Now().Add(10 * time.Minute).Truncate(time.Second)
	cases := map[string]func(*forgetest.Faults, forgetest.Match){
		"primary 403":              func(x *forgetest.Faults, m forgetest.Match) { x.PrimaryLimit(m, 403, reset, 1) },
		"primary 429":              func(x *forgetest.Faults, m forgetest.Match) { x.PrimaryLimit(m, 429, reset, 1) },
		"secondary 403 with time":  func(x *forgetest.Faults, m forgetest.Match) { x.SecondaryLimit(m, 403, "90", 1) },
		"secondary 429 with time":  func(x *forgetest.Faults, m forgetest.Match) { x.SecondaryLimit(m, 429, "90", 1) },
		"secondary 403 by message": func(x *forgetest.Faults, m forgetest.Match) { x.SecondaryLimit(m, 403, "", 1) },
		"secondary 429 by message": func(x *forgetest.Faults, m forgetest.Match) { x.SecondaryLimit(m, 429, "", 1) },
	}
	for name, limit := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			p := w.pull(t, "topic")
			limit(w.Faults, forgetest.Match{Method: "POST", Path: "/comments"})
			for range 2 {
				_, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x")
				var limited *forges.RateLimited
				if !errors.As(err, &limited) || time.Until(limited.Until) < 20*time.Second {
					t.Fatalf("got %v", err)
				}
			}
			if n := w.Count("POST", "/issues/{number}/comments"); n != 1 {
				t.Errorf("%d requests: the second should have been held back", n)
			}
		})
	}
}

func TestAWriteIsNeverSentTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	w.Faults.LoseAnswer(forgetest.Match{Method: "POST", Path: "/comments"}, 1)
	if _, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x"); err == nil {
		t.Fatal("a lost answer was taken for success")
	}
	if n := len(w.repo.Comments(p.Number)); n != 1 {
		t.Fatalf("%d comments", n)
	}
}

func TestARedirectNeitherLosesAWriteNorLeaksAToken(t *testing.T) {
	t.Parallel()
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a foreign host was asked, Authorization %q", r.Header.Get("Authorization"))
	}))
	defer foreign.Close()
	w := newWorld(t)
	p := w.pull(t, "topic")
	for _, status := range []int{301, 302, 303} {
		w.Faults.Redirect(forgetest.Match{Method: "POST", Path: "/comments"}, status, w.APIURL()+"repos/acme/infra", 1)
		if _, err := w.forge.CreateNote(t.Context(), w.key, p.Number, "x"); err == nil {
			t.Errorf("%d on a write was followed", status)
		}
	}
	for _, status := range []int{301, 302, 307} {
		w.Faults.Redirect(forgetest.Match{Method: "GET", Path: "/pulls/"}, status, foreign.URL+"/x", 1)
		if _, err := w.forge.Change(t.Context(), w.key, p.Number); err == nil {
			t.Errorf("%d to another host was followed", status)
		}
	}
	if n := len(w.repo.Comments(p.Number)); n != 0 {
		t.Errorf("%d comments", n)
	}
}

func TestAnUnchangedReadCostsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.pull(t, "topic")
	read := func() engine.Change { return must(w.forge.Change(t.Context(), w.key, p.Number))(t) }
	read()
	first := read() // the first read made the test merge, which the second shows
	spent := w.Spent(w.in)
	if second := read(); second != first || w.Spent(w.in) != spent {
		t.Fatalf("spent %d before and %d after", spent, w.Spent(w.in))
	}
	must(p.Push(map[string]string{"n.tf": "n\n"}, w.alice))(t)
	if third := read(); third.Head != p.Head() || w.Spent(w.in) == spent {
		t.Fatal("a changed pull request was answered from the cache")
	}
}

func TestAConfigurationIsCheckedBeforeAnythingIsSent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]github.Config{
		"nothing":      {Instance: instance},
		"both":         {Instance: instance, Token: "t", AppID: 1, PrivateKey: []byte("x")},
		"bad key":      {Instance: instance, AppID: 1, PrivateKey: []byte("x")},
		"other kind":   {Instance: engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}, Token: "t"},
		"bad address":  {Instance: instance, Token: "t", APIURL: "api.github.com"},
		"with a login": {Instance: instance, Token: "t", APIURL: "https://u:p@api.github.com"},
	} {
		if _, err := github.New(c); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
