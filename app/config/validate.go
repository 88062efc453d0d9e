package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	repoPattern = regexp.MustCompile(`^(?:[A-Za-z0-9.-]+(?::\d+)?/)?(?:[A-Za-z0-9_.-]+/)+[A-Za-z0-9_.-]+$`)
	envPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	keyPattern  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// minToken is the shortest token taken for the pages.
const minToken = 16

// mistakes checks every field and what fields mean together. Each mistake starts
// with its key, and none quotes a secret. Allows answers only after it.
func (c *Config) mistakes() []error {
	v := &validator{}
	c.server(v)
	c.repositories(v)
	c.forges(v)
	c.walls(v)
	c.credentials(v)
	return v.errs
}

type validator struct{ errs []error }

func (v *validator) check(ok bool, key, format string, args ...any) {
	if !ok {
		v.errs = append(v.errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
}

func (c *Config) server(v *validator) {
	host, _, err := net.SplitHostPort(c.Listen)
	v.check(err == nil, "listen", "want host:port or :port, such as 127.0.0.1:8080")
	v.check(isWebURL(c.ExternalURL), "externalUrl", "set the http or https address this server is reached at, without a query")
	v.check(!strings.HasSuffix(c.ExternalURL, "/"), "externalUrl", "leave the slash at its end out")
	v.check(filepath.IsAbs(c.StateDir), "stateDir", "want an absolute path")
	c.database(v)
	v.check(c.Workers > 0, "workers", "want at least 1")
	v.check(c.Terraform != "", "terraform", "name the binary, terraform or tofu")
	v.check(c.Deliveries.Retention.Std() >= minRetention, "deliveries.retention",
		"want at least %s: a forge can send a delivery again for a week, and it must be known then", minRetention)
	v.check(c.SweepInterval.Std() >= 10*time.Second, "sweepInterval", "want at least 10s")
	v.check(new(slog.Level).UnmarshalText([]byte(c.LogLevel)) == nil, "logLevel", "want debug, info, warn or error")
	token := len(c.Pages.Token.Value())
	v.check(token == 0 || token >= minToken, "pages.token", "want at least %d characters", minToken)
	reporting := len(c.Reports.Token.Value())
	v.check(reporting == 0 || reporting >= minToken, "reports.token", "want at least %d characters", minToken)
	v.check(token > 0 || err != nil || isLoopback(host), "pages.token", "set one: listen is reachable from other machines")
}

// database never quotes the URL: it may hold a password all the same.
func (c *Config) database(v *validator) {
	if !c.onPostgres() {
		v.check(c.Database == "" || filepath.IsAbs(c.Database), "database", "want an absolute path, or a postgres:// URL")
		v.check(c.DBPassword.IsZero(), "databasePassword", "is for a database at a postgres:// URL only")
		return
	}
	u, err := url.Parse(c.Database)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" || len(u.Path) < 2 {
		v.check(false, "database", "want a path, or a URL such as postgres://chant@db.example.com/chant")
		return
	}
	_, inURL := u.User.Password()
	v.check(!inURL && !u.Query().Has("password"), "database", "leave the password out of the URL, and give it as databasePassword (CHANT_DATABASE_PASSWORD)")
	v.check(c.DBPassword.IsZero() || u.User.Username() != "", "database", "name the user whose databasePassword it is, as in postgres://chant@db.example.com/chant")
}

func (c *Config) repositories(v *validator) {
	v.check(len(c.Repositories) > 0, "repositories", "list what this server serves, as owner/name; there is no default")
	c.allowed = make(map[string]bool, len(c.Repositories))
	for i, repo := range c.Repositories {
		key := fmt.Sprintf("repositories[%d]", i)
		if v.check(repoPattern.MatchString(repo), key, "want owner/name or host/owner/name, not %q", repo); !repoPattern.MatchString(repo) {
			continue
		}
		if _, err := c.Named(repo); err != nil {
			v.check(false, key, "%v", err)
			continue
		}
		folded := foldRepo(c.qualified(repo))
		v.check(!c.allowed[folded], key, "%q is listed twice", repo)
		c.allowed[folded] = true
	}
	v.check(envPattern.MatchString(c.DefaultEnv), "defaultEnv", "want letters, digits, dots, dashes and underscores")
}

func (c *Config) walls(v *validator) {
	kinds := []string{"auto", "bwrap", "systemd", "user", "none"}
	v.check(slices.Contains(kinds, c.Isolation), "isolation", "want one of %s", strings.Join(kinds, ", "))
	for i, path := range c.WritablePaths {
		key := fmt.Sprintf("writablePaths[%d]", i)
		v.check(filepath.IsAbs(path), key, "want an absolute path")
		v.check(!overlaps(path, c.StateDir), key, "%s and the state directory overlap: planned code could write our state", path)
		v.check(c.onPostgres() || !overlaps(path, c.databasePath()), key, "%s holds the database", path)
		v.check(c.ProviderMirror == "" || !overlaps(path, c.ProviderMirror), key, "%s and providerMirror overlap: planned code could write the providers that apply", path)
	}
	v.check(c.ProviderMirror == "" || filepath.IsAbs(c.ProviderMirror), "providerMirror", "want an absolute path")
	v.check(c.ProviderMirror == "" || !overlaps(c.ProviderMirror, c.StateDir), "providerMirror", "%s and the state directory overlap: planned code could read our state", c.ProviderMirror)
}

func (c *Config) credentials(v *validator) {
	seen := map[string]bool{}
	for i, set := range c.Credentials {
		key := fmt.Sprintf("credentials[%d]", i)
		folded := foldRepo(c.qualified(set.Repository))
		v.check(c.allowed[folded], key+".repository", "%q is not among repositories", set.Repository)
		v.check(envPattern.MatchString(set.Env), key+".env", "name the environment")
		v.check(!seen[folded+"\n"+set.Env], key, "%s has two entries for %s", set.Repository, set.Env)
		seen[folded+"\n"+set.Env] = true
		set.Plan.validate(v, key+".plan")
		set.Apply.validate(v, key+".apply")
		v.check(set.Plan.File == "" || set.Plan.File != set.Apply.File, key, "plan and apply use one file: code of a pull request would hold what applies")
		v.check(len(set.Plan.Command) == 0 || !slices.Equal(set.Plan.Command, set.Apply.Command), key, "plan and apply use one command: code of a pull request would hold what applies")
	}
}

func (s CredentialsSet) validate(v *validator, key string) {
	sources := 0
	for _, given := range []bool{s.File != "", len(s.Command) > 0, len(s.Env) > 0} {
		if given {
			sources++
		}
	}
	v.check(sources <= 1, key, "give one of file, command and env")
	v.check(s.File == "" || filepath.IsAbs(s.File), key+".file", "want an absolute path")
	for name := range s.Env {
		v.check(keyPattern.MatchString(name) && !Reserved(name), key+".env", "%q cannot be passed on", name)
	}
}

// Reserved tells whether a variable steers the tools we run, or us, rather than
// a provider: it is never passed on, wherever it comes from (soundness, walls).
func Reserved(name string) bool {
	upper := strings.ToUpper(name)
	if slices.Contains([]string{"PATH", "HOME", "TMPDIR", "TF_REATTACH_PROVIDERS", "TF_CLI_CONFIG_FILE", "TF_DATA_DIR", "TF_WORKSPACE", "TF_PLUGIN_CACHE_DIR"}, upper) {
		return true
	}
	for _, prefix := range []string{"TF_CLI_ARGS", "LD_", "DYLD_", "CHANT_", "GIT_"} {
		if strings.HasPrefix(upper, prefix) {
			return true
		}
	}
	return false
}

func isWebURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.RawQuery == "" && u.Fragment == "" && u.User == nil
}

func hostOf(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// overlaps tells whether one path is the other or inside it.
func overlaps(a, b string) bool {
	inside := func(path, dir string) bool {
		rel, err := filepath.Rel(dir, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
	}
	return inside(a, b) || inside(b, a)
}
