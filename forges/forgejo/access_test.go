package forgejo_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

func TestPermissionsAreTheHighestGrantAndUnknownAccountsNotFound(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
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
}

func TestOnlyAnAdministratorMayAskWhatOthersMayDo(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			w.repo.SetPermission(w.bot, "write")
			_, err := w.conn.Permission(t.Context(), w.key, "alice")
			forbidden, ok := errors.AsType[*forges.Forbidden](err)
			if !ok || !strings.HasPrefix(forbidden.Permission, "administrator of the repository") {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestTeamsAreSeenByTheirMembersAndByOwners(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
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
}

func isForbidden(err error) bool {
	_, ok := errors.AsType[*forges.Forbidden](err)
	return ok
}

func TestAMissingScopeIsNamed(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
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
}

func TestARefusedTokenIsSaid(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			_, err := w.connect(t, "wrong").Self(t.Context())
			if err == nil || !strings.Contains(err.Error(), "refused the token") {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestSelfIsAskedOnce(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
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
}

func TestTheAccountsRepositoriesAreListed(t *testing.T) {
	t.Parallel()
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, start)
			must(w.CreateRepo("secret", "vault"))(t)
			if got := must(w.conn.Installed(t.Context()))(t); len(got) != 1 || got[0] != w.key {
				t.Fatalf("%+v", got)
			}
		})
	}
}
