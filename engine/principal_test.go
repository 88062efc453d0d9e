package engine_test

import (
	"testing"

	"github.com/chant-bot/chant/engine"
)

func TestPrincipals(t *testing.T) {
	t.Parallel()
	com := engine.Instance{Kind: engine.GitHub, Host: "github.com"}
	own := engine.Instance{Kind: engine.GitHub, Host: "ghe.corp"}
	if got := com.Principal("Alice"); got != "github:alice" {
		t.Errorf("on github.com the host is left out: %q", got)
	}
	if got := own.Principal("Alice"); got != "github@ghe.corp:alice" {
		t.Errorf("elsewhere the host is named: %q", got)
	}
	for _, c := range []struct {
		in       engine.Instance
		who      string
		login    string
		isOurs   bool
		whatRule string
	}{
		{com, "github:Alice", "alice", true, "a principal of this instance names its account"},
		{own, "github:alice", "", false, "an account of another instance is nobody here"},
		{com, "alice", "", false, "a bare name is no account"},
		{com, "github:@org/team", "", false, "a team is no account"},
		{com, "github:", "", false, "an empty login is no account"},
	} {
		login, ours := c.in.Login(c.who)
		if ours != c.isOurs || ours && login != c.login {
			t.Errorf("%s: Login(%q) = %q, %v", c.whatRule, c.who, login, ours)
		}
	}
	if org, team, ok := com.Team("github:@Org/Platform"); !ok || org != "org" || team != "platform" {
		t.Errorf("Team = %q, %q, %v", org, team, ok)
	}
	if _, _, ok := own.Team("github:@org/team"); ok {
		t.Error("a team of another instance is no team here")
	}
	if login, ok := com.LoginOfEmail("49699333+alice@users.noreply.github.com"); !ok || login != "alice" {
		t.Errorf("a numbered noreply address names its account: %q, %v", login, ok)
	}
	if _, ok := com.LoginOfEmail("alice@users.noreply.github.com.evil.example"); ok {
		t.Error("only the forge's own addresses name an account")
	}
}
