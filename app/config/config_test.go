package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/engine"
)

// minimal is the smallest file that is valid.
const minimal = `
externalUrl: https://chant.example.com
repositories: [acme/infra]
`

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func environment(vars map[string]string) []string {
	var out []string
	for name, value := range vars {
		out = append(out, name+"="+value)
	}
	return out
}

func load(t *testing.T, text string, vars, set map[string]string) (*config.Config, error) {
	t.Helper()
	return config.Load(config.Source{Path: write(t, "chant.yaml", text), Environ: environment(vars), Set: set})
}

func TestFlagsWinOverEnvironmentWinsOverFile(t *testing.T) {
	t.Parallel()
	text := minimal + "workers: 3\nlogLevel: debug\ndefaultEnv: one\n"
	vars := map[string]string{"CHANT_WORKERS": "4", "CHANT_DEFAULT_ENV": "two", "CHANT_REPOSITORIES": "acme/a, acme/b"}
	c, err := load(t, text, vars, map[string]string{"defaultEnv": "three"})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{c.LogLevel, c.Workers, c.DefaultEnv, c.Repositories}
	if diff := cmp.Diff([]any{"debug", 4, "three", []string{"acme/a", "acme/b"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMistakeIsNamed(t *testing.T) {
	t.Parallel()
	app := "github: {appId: 1, privateKey: \"-----BEGIN X\", webhookSecrets: [abc]}\n"
	tests := map[string]struct {
		text string
		vars map[string]string
		set  map[string]string
		want string
	}{
		"an unknown key names its line and what is known": {text: minimal + "lisen: x\n", want: `line 4: unknown key "lisen"; known here: listen, `},
		"an unknown key inside":                           {text: minimal + "github:\n  appID: 1\n", want: `line 5: unknown key "appID"; known here: appId, `},
		"a key given twice":                               {text: minimal + "workers: 1\nworkers: 2\n", want: `"workers" already defined`},
		"a text for a number":                             {text: minimal + "workers: many\n", want: "line 4: workers: want a whole number"},
		"two documents":                                   {text: minimal + "---\nworkers: 1\n", want: "more than one document"},
		"a list for a text":                               {text: minimal + "github: {appId: 1, webUrl: [a]}\n", want: "line 4: github.webUrl: want one text"},
		"a text for a list":                               {text: minimal + "writablePaths: /srv\n", want: "line 4: writablePaths: want a list"},
		"a text for keys":                                 {text: minimal + "github: x\n", want: "line 4: github: want keys with values"},
		"a list for an item":                              {text: minimal + "writablePaths:\n  - /srv\n  - [a]\n", want: "line 6: writablePaths[1]: want one text"},
		"keys for a secret":                               {text: minimal + "credentials:\n  - repository: acme/infra\n    plan: {env: {TOKEN: {a: b}}}\n", want: "line 6: credentials[0].plan.env.TOKEN: a secret is one text"},
		"a duration without a unit":                       {text: minimal + "sweepInterval: \"10\"\n", want: "line 4: sweepInterval: want a duration with its unit, such as 30s, 5m or 720h"},
		"no repositories":                                 {text: "externalUrl: https://x.example\n", want: "repositories: list what this server serves"},
		"no address":                                      {text: "repositories: [a/b]\n", want: "externalUrl: set the http"},
		"an address with a slash":                         {text: "externalUrl: https://x.example/\nrepositories: [a/b]\n", want: "externalUrl: leave the slash"},
		"a repository without an owner":                   {text: "externalUrl: https://x.example\nrepositories: [infra]\n", want: `repositories[0]: want owner/name or host/owner/name, not "infra"`},
		"a repository twice, in another spelling":         {text: "externalUrl: https://x.example\nrepositories: [a/b, github.com/A/b]\n", want: `repositories[1]: "github.com/A/b" is listed twice`},
		"a repository of another host":                    {text: "externalUrl: https://x.example\nrepositories: [git.example/a/b]\n", want: `repositories[0]: "git.example/a/b" is not on github.com`},
		"both app and token":                              {text: minimal + strings.Replace(app, "appId: 1", "appId: 1, token: t", 1), want: "github: set appId or token, not both"},
		"an app without its key":                          {text: minimal + "github: {appId: 1, webhookSecrets: [abc]}\n", want: "github: appId and privateKey go together"},
		"a path where a key belongs":                      {text: minimal + "github: {appId: 1, privateKey: /etc/key.pem, webhookSecrets: [abc]}\n", want: "did you mean file:/path?"},
		"an app without a webhook secret":                 {text: minimal + "github: {token: t}\n", want: "github.webhookSecrets: set at least one"},
		"a secret's variable is not set":                  {text: minimal + "github: {token: \"env:NOPE\"}\n", want: "github.token: the environment variable NOPE is not set"},
		"a secret's file is missing":                      {text: minimal + "github: {token: \"file:none\"}\n", want: "github.token: open "},
		"an unknown wall":                                 {text: minimal + "isolation: docker\n", want: "isolation: want one of auto"},
		"planned code could write the state":              {text: minimal + "stateDir: /var/lib/chant\nwritablePaths: [/var/lib]\n", want: "writablePaths[0]: /var/lib and the state directory overlap"},
		"planned code could write providers":              {text: minimal + "writablePaths: [/srv]\nproviderMirror: /srv/providers\n", want: "writablePaths[0]: /srv and providerMirror overlap"},
		"a mirror in the state":                           {text: minimal + "stateDir: /var/lib/chant\nproviderMirror: /var/lib/chant/providers\n", want: "providerMirror: /var/lib/chant/providers and the state directory overlap"},
		"a relative mirror":                               {text: minimal + "providerMirror: providers\n", want: "providerMirror: want an absolute path"},
		"a relative writable path":                        {text: minimal + "writablePaths: [state]\n", want: "writablePaths[0]: want an absolute path"},
		"deliveries forgotten while they can come again":  {text: minimal + "deliveries: {retention: 24h}\n", want: "deliveries.retention: want at least 192h"},
		"pages open to other machines":                    {text: minimal + "listen: :8080\n", want: "pages.token: set one"},
		"a short token":                                   {text: minimal + "pages: {token: short}\n", want: "pages.token: want at least 16"},
		"credentials of a repository not served":          {text: minimal + "credentials: [{repository: acme/other, env: prod}]\n", want: `credentials[0].repository: "acme/other" is not among`},
		"credentials twice":                               {text: minimal + "credentials: [{repository: acme/infra, env: prod}, {repository: Acme/infra, env: prod}]\n", want: "credentials[1]: Acme/infra has two entries for prod"},
		"a plan that would hold what applies":             {text: minimal + "credentials: [{repository: acme/infra, env: prod, plan: {file: /c}, apply: {file: /c}}]\n", want: "credentials[0]: plan and apply use one file"},
		"two sources in one set":                          {text: minimal + "credentials: [{repository: acme/infra, env: prod, plan: {file: /c, command: [x]}}]\n", want: "credentials[0].plan: give one of"},
		"a variable that steers terraform":                {text: minimal + "credentials: [{repository: acme/infra, env: prod, plan: {env: {TF_CLI_ARGS_plan: x}}}]\n", want: `credentials[0].plan.env: "TF_CLI_ARGS_plan" cannot be passed on`},
		"a database of another kind":                      {text: minimal + "database: mysql://x/y\n", want: "database: want a path, or a URL such as postgres://"},
		"a database server without a database":            {text: minimal + "database: postgres://chant@db\n", want: "database: want a path, or a URL such as postgres://"},
		"a password in the database's URL":                {text: minimal + "database: postgres://chant:hunter2@db/chant\n", want: "database: leave the password out of the URL"},
		"a password among the URL's parameters":           {text: minimal + "database: postgres://chant@db/chant?password=hunter2\n", want: "database: leave the password out of the URL"},
		"a database password without a user":              {text: minimal + "database: postgres://db/chant\ndatabasePassword: x\n", want: "database: name the user"},
		"a database password for a file":                  {text: minimal + "databasePassword: x\n", want: "databasePassword: is for a database at a postgres:// URL only"},
		"a bad variable":                                  {text: minimal, vars: map[string]string{"CHANT_WORKERS": "x"}, want: "environment variable CHANT_WORKERS: want a whole number"},
		"an unknown flag":                                 {text: minimal, set: map[string]string{"nope": "x"}, want: "flag nope: there is no such setting"},
		"a flag that is nearly one":                       {text: minimal, set: map[string]string{"github.appid": "1"}, want: "flag github.appid: there is no such setting; did you mean github.appId?"},
		"a variable without a unit":                       {text: minimal, vars: map[string]string{"CHANT_SWEEP_INTERVAL": "10"}, want: "environment variable CHANT_SWEEP_INTERVAL: want a duration with its unit"},
		"a variable nobody reads":                         {text: minimal, vars: map[string]string{"CHANT_EXTERNAL_ULR": "x"}, want: "environment variable CHANT_EXTERNAL_ULR: there is no such setting, and no secret is read from it; did you mean CHANT_EXTERNAL_URL?"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := load(t, tt.text, tt.vars, tt.set)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant an error with %q", err, tt.want)
			}
		})
	}
}

func TestEveryMistakeOfTheFileIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, minimal+"sweepInterval: 10\nlisen: x\nworkers: many\ngithub: {token: [a]}\n", nil, nil)
	invalid, ok := errors.AsType[*config.Invalid](err)
	if !ok {
		t.Fatalf("got %v", err)
	}
	for _, line := range []string{"line 4: sweepInterval: ", "line 5: unknown key \"lisen\"", "line 6: workers: ", "line 7: github.token: "} {
		if !strings.Contains(invalid.Error(), "\n  "+line) {
			t.Errorf("%q is not among\n%v", line, invalid)
		}
	}
}

func TestAMistakeIsNamedOnce(t *testing.T) {
	t.Parallel()
	_, err := load(t, "externalUrl: https://x.example\ngithub: {appId: 1, privateKey: \"file:none.pem\", webhookSecrets: [\"env:NONE\"]}\nlisten: :80\npages: {token: \"env:NO\"}\n",
		map[string]string{"CHANT_WORKERS": "x", "CHANT_HOME": "/"}, nil)
	var got []string
	for line := range strings.SplitSeq(fmt.Sprint(err), "\n  ") {
		key, _, _ := strings.Cut(line, ": ")
		got = append(got, key)
	}
	want := []string{
		"environment variable CHANT_WORKERS", "github.privateKey", "github.webhookSecrets[0]", "pages.token",
		"environment variable CHANT_HOME", "repositories",
	}
	if diff := cmp.Diff(want, got[1:]); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
}

func TestAVariableThatSomebodyReadsIsNoMistake(t *testing.T) {
	t.Parallel()
	vars := map[string]string{
		"CHANT_FORGE_TOKEN": "x", "CHANT_CONFIG": "x", "CHANT_TOKEN_OF_MINE": "x", "OTHER": "x", // ours, and one the file names
		"CHANT_SERVICE_HOST": "x", "CHANT_SERVICE_PORT_HTTP": "x", "CHANT_PORT": "x", "CHANT_PORT_8080_TCP": "x", // of Kubernetes
	}
	if _, err := load(t, minimal+"github: {token: \"env:CHANT_TOKEN_OF_MINE\", webhookSecrets: [x]}\n", vars, nil); err != nil {
		t.Error(err)
	}
}

func TestAMistypedVariableIsRefusedWithoutAConfiguration(t *testing.T) {
	t.Parallel()
	err := config.Mistyped([]string{"CHANT_WRITEABLE=/s", "CHANT_PASSENV=X", "CHANT_WRITABLE=/s", "CHANT_WEBHOOK_SECRET=s", "CHANT_TERRAFORM=tofu", "HANT_ENV=x"})
	want := "nothing reads the environment variable CHANT_PASSENV; did you mean CHANT_PASS_ENV?\n" +
		"nothing reads the environment variable CHANT_WRITEABLE; did you mean CHANT_WRITABLE?"
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if err := config.Mistyped([]string{"CHANT_CONFIG=x", "CHANT_SOMETHING_ELSE=y"}); err != nil {
		t.Error(err)
	}
}

func TestASecretIsNeverPrinted(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2-hunter2-hunter2"
	file := write(t, "token", hidden+"\n")
	text := minimal + fmt.Sprintf(`
github: {token: "file:%s", webhookSecrets: [%s, "env:HOOK"]}
pages: {token: %s}
credentials: [{repository: acme/infra, env: prod, plan: {env: {KEY: %s}}}]
`, file, hidden, hidden, hidden)
	c, err := load(t, text, map[string]string{"HOOK": hidden}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range append(c.GitHub.WebhookSecrets, c.GitHub.Token, c.Pages.Token, c.Credentials[0].Plan.Env["KEY"]) {
		if string(s.Value()) != hidden {
			t.Errorf("secret %s resolved to something else", s)
		}
	}
	for name, shown := range map[string]string{
		"Redacted": c.Redacted(), "%v": fmt.Sprintf("%v", c), "%+v": fmt.Sprintf("%+v", *c), "%#v": fmt.Sprintf("%#v", *c),
	} {
		if strings.Contains(shown, "hunter2") {
			t.Errorf("%s shows a secret:\n%s", name, shown)
		}
	}
	for _, want := range []string{"token: file:" + file, "- env:HOOK", "- '[redacted]'"} {
		if !strings.Contains(c.Redacted(), want) {
			t.Errorf("Redacted lacks %q:\n%s", want, c.Redacted())
		}
	}
}

func TestAnErrorQuotesNoSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"github: {webhookSecrets: hunter2}\n",
		"github: {token: [hunter2]}\n",
		"github: {token: {a: hunter2}}\n",
		"pages: hunter2\n",
		"github: {token: *hunter2}\n",
		"github: {token: \"hunter2\": x}\n",
		"workers: !!int hunter2\n",
		"workers: \"a\\nhunter2\"\n",
		"sweepInterval: hunter2\n",
		"github: {webhookSecrets: [{hunter2: x}]}\n",
	} {
		_, err := load(t, minimal+text, nil, nil)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want an error that does not quote the value", strings.TrimSpace(text), err)
		}
	}
}

// docs/postgresql.md: the password of a database comes from a file or the environment,
// also where a command line names the database.
func TestTheDatabaseOfACommandLineTakesThePasswordOfTheEnvironment(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "password"), []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ database, password, want, wrong string }{
		"as itself":       {database: "postgres://chant@db/chant", password: "hunter2", want: "postgres://chant:hunter2@db/chant"},
		"in a file":       {database: "postgres://chant@db/chant", password: "file:password", want: "postgres://chant:hunter2@db/chant"},
		"nowhere":         {database: "postgres://chant@db/chant", want: "postgres://chant@db/chant"},
		"in no file":      {database: "postgres://chant@db/chant", password: "file:none", wrong: "environment variable CHANT_DATABASE_PASSWORD cannot be read: open "},
		"in the URL":      {database: "postgres://chant:hunter2@db/chant", wrong: "database: leave the password out of the URL"},
		"as a parameter":  {database: "postgres://db/chant?password=hunter2", wrong: "database: leave the password out of the URL"},
		"for nobody":      {database: "postgres://db/chant", password: "hunter2", wrong: "database: name the user"},
		"of another kind": {database: "mysql://db/chant", wrong: "database: want a path, or a URL such as postgres://"},
	} {
		got, err := config.DataSourceAt(tt.database, dir, []string{"CHANT_DATABASE_PASSWORD=" + tt.password})
		if tt.wrong == "" && (err != nil || got != tt.want) || tt.wrong != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.wrong) || strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestTheDatabaseIsAFileUnlessItIsAURL(t *testing.T) {
	t.Parallel()
	file := write(t, "password", "hunter2 @/:?\n")
	for text, want := range map[string]string{
		"":                       "/var/lib/chant/chant.db",
		"database: /data/x.db\n": "/data/x.db",
		"database: postgres://chant@db/chant?a=b\n":                           "postgres://chant@db/chant?a=b",
		"database: postgresql://chant@db:5433/chant\n":                        "postgresql://chant@db:5433/chant",
		"database: postgres://chant@db/chant\ndatabasePassword: file:" + file: "postgres://chant:hunter2%20%40%2F%3A%3F@db/chant",
	} {
		c, err := load(t, minimal+text, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.DataSource(); got != want {
			t.Errorf("%s: the database is at %s, want %s", text, got, want)
		}
		if strings.Contains(c.Redacted(), "hunter2") {
			t.Errorf("the password is printed:\n%s", c.Redacted())
		}
	}
}

func TestARepositoryIsAllowedByHostAndNameInAnySpelling(t *testing.T) {
	t.Parallel()
	c, err := load(t, minimal, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	github := engine.Instance{Kind: engine.GitHub, Host: "github.com"}
	other := engine.Instance{Kind: engine.GitHub, Host: "git.example"}
	tests := []struct {
		repo engine.Repo
		want bool
	}{
		{engine.Repo{Instance: github, ID: 1, Owner: "acme", Name: "infra"}, true},
		{engine.Repo{Instance: github, ID: 1, Owner: "Acme", Name: "INFRA"}, true},
		{engine.Repo{Instance: github, ID: 2, Owner: "acme", Name: "infra2"}, false},
		{engine.Repo{Instance: other, ID: 1, Owner: "acme", Name: "infra"}, false},
		{engine.Repo{}, false},
	}
	for _, tt := range tests {
		if got := c.Allows(tt.repo); got != tt.want {
			t.Errorf("Allows(%s %s) = %v", tt.repo.Instance, tt.repo.FullName(), got)
		}
	}
}

func TestCredentialsAreOfOneRepositoryAndEnvironment(t *testing.T) {
	t.Parallel()
	c, err := load(t, minimal+"credentials: [{repository: github.com/acme/infra, env: prod, plan: {file: /plan}, apply: {file: /apply}}]\n", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	repo := engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}, ID: 1, Owner: "acme", Name: "infra"}
	if got := c.CredentialsOf(repo, "prod"); got.Plan.File != "/plan" || got.Apply.File != "/apply" {
		t.Errorf("prod: %+v", got)
	}
	for _, got := range []config.Credentials{c.CredentialsOf(repo, "staging"), c.CredentialsOf(engine.Repo{Owner: "acme", Name: "infra"}, "prod")} {
		if got.Plan.File != "" || got.Apply.File != "" {
			t.Errorf("credentials leak to %s %s", got.Repository, got.Env)
		}
	}
}

func TestExampleLoadsAndNamesEverySetting(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "chant.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := t.TempDir()
	for name, content := range map[string]string{
		"app.pem": "-----BEGIN RSA PRIVATE KEY-----\n", "webhook-secret.old": "old", "network-read.key": "key",
	} {
		if err := os.WriteFile(filepath.Join(secrets, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	local := strings.ReplaceAll(string(text), "file:/etc/chant/", "file:"+secrets+"/")
	c, err := load(t, local, map[string]string{"CHANT_WEBHOOK_SECRET": "new", "CHANT_PAGES_TOKEN": "0123456789abcdef"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]byte{[]byte("new"), []byte("old")}, c.GitHub.Secrets()); diff != "" {
		t.Error(diff)
	}
	for _, f := range config.Fields() {
		key := f.Key[strings.LastIndex(f.Key, ".")+1:]
		if !strings.Contains(string(text), key+":") {
			t.Errorf("the example does not name %s", f.Key)
		}
		if f.Help == "" {
			t.Errorf("%s has no help", f.Key)
		}
	}
}

func TestFieldsNameTheirVariables(t *testing.T) {
	t.Parallel()
	got := map[string]string{}
	for _, f := range config.Fields() {
		got[f.Key] = f.Env
	}
	for key, want := range map[string]string{
		"listen": "CHANT_LISTEN", "externalUrl": "CHANT_EXTERNAL_URL", "github.appId": "CHANT_GITHUB_APP_ID",
		"github.webhookSecrets": "CHANT_GITHUB_WEBHOOK_SECRETS", "deliveries.retention": "CHANT_DELIVERIES_RETENTION",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if _, ok := got["credentials"]; ok {
		t.Error("credentials cannot be given as one text")
	}
}

func TestADurationIsWrittenAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"720h", "5m", "1h30m", "10s", "1h0m10s", "1m30s", "0s", "100ms"} {
		var d config.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var again config.Duration
		if err := again.UnmarshalText([]byte(d.String())); err != nil || again != d || len(d.String()) > len(text) {
			t.Errorf("%s is written %s: %v", text, d, err)
		}
	}
}
