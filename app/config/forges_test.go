package config_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
)

const threeForges = `
externalUrl: https://chant.example.com
stateDir: /state
repositories: [github.com/acme/infra, git.example.com/acme/infra, gitlab.com/acme/platform/infra, ghe.example.com/acme/infra]
github: {token: a, webhookSecrets: [s]}
gitlab: {token: b, webhookSecrets: [s]}
forgejo: {token: c, webhookSecrets: [s], webUrl: "https://git.example.com"}
otherForges: {github: [{token: d, webhookSecrets: [s], webUrl: "https://GHE.example.com"}]}
`

func TestANameStandsForARepositoryOfOneForge(t *testing.T) {
	t.Parallel()
	one, err := load(t, minimal+"github: {token: a, webhookSecrets: [s]}\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	lab, err := load(t, strings.Replace(minimal, "acme/infra", "acme/platform/infra", 1)+"gitlab: {token: a, webhookSecrets: [s]}\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	many, err := load(t, threeForges, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	hub, gitlab := engine.Instance{Kind: engine.GitHub, Host: "github.com"}, engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}
	forgejo, ghe := engine.Instance{Kind: engine.Forgejo, Host: "git.example.com"}, engine.Instance{Kind: engine.GitHub, Host: "ghe.example.com"}
	for _, tt := range []struct {
		name  string
		named func(string) (engine.Repo, error)
		text  string
		want  engine.Repo
		err   string
	}{
		{"the one forge needs no host", one.Named, "acme/infra", engine.Repo{Instance: hub, Owner: "acme", Name: "infra"}, ""},
		{"the one forge with its host", one.Named, "GitHub.com/acme/infra", engine.Repo{Instance: hub, Owner: "acme", Name: "infra"}, ""},
		{"another host", one.Named, "gitlab.com/acme/infra", engine.Repo{}, "is not on github.com"},
		{"a group within a group", lab.Named, "acme/platform/infra", engine.Repo{Instance: gitlab, Owner: "acme/platform", Name: "infra"}, ""},
		{"of many by host", many.Named, "git.example.com/acme/infra", engine.Repo{Instance: forgejo, Owner: "acme", Name: "infra"}, ""},
		{"the second of a kind", many.Named, "ghe.example.com/acme/infra", engine.Repo{Instance: ghe, Owner: "acme", Name: "infra"}, ""},
		{"of many without a host", many.Named, "acme/infra", engine.Repo{}, "does not start with the host of a configured forge"},
		{"a host alone", many.Named, "github.com/infra", engine.Repo{}, "want owner/name"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.named(tt.text)
			if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
				t.Fatalf("got %v, want %q", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestForgesAreToldApart(t *testing.T) {
	t.Parallel()
	c, err := load(t, threeForges, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range c.Forges() {
		got = append(got, f.Key+" "+f.Instance.String()+" "+string(f.Token.Value()))
	}
	want := []string{"github github:github.com a", "gitlab gitlab:gitlab.com b", "forgejo forgejo:git.example.com c", "otherForges.github[0] github:ghe.example.com d"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, tt := range map[string]struct{ replace, by, want string }{
		"two of one host":           {"https://GHE.example.com", "https://github.com", "otherForges.github[0].webUrl: github.com is the host of github already"},
		"an app on GitLab":          {"{token: b,", "{appId: 1,", "gitlab: appId and privateKey are for GitHub; set token"},
		"no host":                   {", webUrl: \"https://git.example.com\"", "", "forgejo.webUrl: want an http or https address"},
		"one more, not configured":  {"token: d, ", "", "otherForges.github[0]: set token"},
		"a secret that is no value": {"{token: c, webhookSecrets: [s]", "{token: c", "forgejo.webhookSecrets: set at least one"},
	} {
		_, err := load(t, strings.Replace(threeForges, tt.replace, tt.by, 1), nil, nil)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", name, err, tt.want)
		}
	}
	if strings.Contains(c.Redacted(), "token: d") {
		t.Error("a secret of another forge is shown")
	}
}
