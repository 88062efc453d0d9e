// Package config is the server's configuration: one documented struct, filled
// from a file, then the environment, then flags, and checked as a whole. It
// reads the files its secrets refer to and nothing else, and never prints a
// secret.
package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/chant-bot/chant/engine"
)

// Config is everything an operator can say. Keys are those of chant.yaml; a
// value that is one text, number or list of texts can also come from the
// environment variable Fields names.
type Config struct {
	Listen         string          `yaml:"listen" help:"Address to serve HTTP on."`
	ExternalURL    string          `yaml:"externalUrl" help:"Address people and the forge reach this server at, without a path at its end. Links in notes and statuses start with it."`
	StateDir       string          `yaml:"stateDir" help:"Directory for the database, clones, worktrees and plans. Nothing else may write there."`
	Database       string          `yaml:"database" help:"Path of an SQLite database, or the postgres:// URL of a PostgreSQL database, without its password. Empty: chant.db in the state directory."`
	DBPassword     Secret          `yaml:"databasePassword" help:"Password of the PostgreSQL database's user."`
	Repositories   []string        `yaml:"repositories" help:"Repositories served, as owner/name or host/owner/name. Required: anyone may install a public app, only these are listened to."`
	DefaultEnv     string          `yaml:"defaultEnv" help:"Environment of a repository that declares none."`
	GitHub         Forge           `yaml:"github" help:"The connection to GitHub."`
	GitLab         Forge           `yaml:"gitlab" help:"The connection to GitLab."`
	Forgejo        Forge           `yaml:"forgejo" help:"The connection to Forgejo or Gitea."`
	OtherForges    OtherForges     `yaml:"otherForges" help:"Further servers of the same kinds."`
	Credentials    []Credentials   `yaml:"credentials" help:"What plans and applies may use, per repository and environment. None configured means none."`
	Isolation      string          `yaml:"isolation" help:"Wall around code of a repository: auto takes the first that works of bwrap, systemd and user; none means no wall and must be said."`
	WritablePaths  []string        `yaml:"writablePaths" help:"Absolute paths outside the worktree that planned code may write, such as a local state directory. Never the state directory."`
	ProviderMirror string          `yaml:"providerMirror" help:"Absolute path of a directory of providers, laid out as the planner's filesystem mirror, which is then the only place they come from. Empty: each from its registry."`
	GroupKey       Secret          `yaml:"groupKey" help:"Key of 64 hexadecimal digits that seals what is kept of an apply of a group while it is under way. Empty: one of our own, in the state directory."`
	Workers        int             `yaml:"workers" help:"Plans that run at the same time, and as many applies beside them."`
	Terraform      string          `yaml:"terraform" help:"terraform or tofu: a name on PATH or an absolute path."`
	Deliveries     Deliveries      `yaml:"deliveries" help:"What is kept of webhook deliveries."`
	Pages          Pages           `yaml:"pages" help:"The pages for people."`
	Reports        Reports         `yaml:"reports" help:"Runs elsewhere that report here what they do."`
	SweepInterval  Duration        `yaml:"sweepInterval" help:"How often everything open is looked at again, in case a delivery was lost."`
	LogLevel       string          `yaml:"logLevel" help:"debug, info, warn or error."`
	allowed        map[string]bool // of repositories, by foldRepo
}

// Credentials are the two sets of one repository and environment. A plan runs
// code of a pull request: its set should only be able to read.
type Credentials struct {
	Repository string         `yaml:"repository" help:"Repository, written as in repositories."`
	Env        string         `yaml:"env" help:"Environment."`
	Plan       CredentialsSet `yaml:"plan" help:"For planning, of approved and unapproved code."`
	Apply      CredentialsSet `yaml:"apply" help:"For applying an approved plan only."`
}

// CredentialsSet says where KEY=VALUE pairs come from: exactly one of a file
// with a pair a line, a command that prints such lines, run anew each time, and
// the pairs themselves. All empty is the empty set.
type CredentialsSet struct {
	File    string            `yaml:"file" help:"Absolute path of a file with one KEY=VALUE a line."`
	Command []string          `yaml:"command" help:"Command that prints such lines, for example to make credentials that expire soon."`
	Env     map[string]Secret `yaml:"env" help:"The pairs themselves."`
}

// Deliveries is about webhook deliveries.
type Deliveries struct {
	Retention Duration `yaml:"retention" help:"How long deliveries are kept. While one is kept it is known when it is sent again."`
}

// Pages is about the pages for people.
type Pages struct {
	Token Secret `yaml:"token" help:"Token that opens the pages. Empty: they can be read without one only on a loopback address."`
}

// Reports is about runs elsewhere, such as CI jobs, that report here.
type Reports struct {
	Token Secret `yaml:"token" help:"Token such a run shows (CHANT_REPORT_TOKEN there). What it reports is shown and decides nothing. Empty: no report is taken."`
}

// minRetention is longer than any forge sends a delivery again: GitHub
// Enterprise Server does for 7 days (forge-facts 1.5).
const minRetention = 8 * 24 * time.Hour

// Default is the configuration of an empty file.
func Default() Config {
	return Config{
		Listen:        "127.0.0.1:8080",
		StateDir:      "/var/lib/chant",
		DefaultEnv:    "prod",
		GitHub:        Forge{WebURL: "https://github.com"},
		GitLab:        Forge{WebURL: "https://gitlab.com"},
		Isolation:     "auto",
		Workers:       2,
		Terraform:     "terraform",
		Deliveries:    Deliveries{Retention: Duration(30 * 24 * time.Hour)},
		SweepInterval: Duration(5 * time.Minute),
		LogLevel:      "info",
	}
}

// DataSource is where the database is: the path of an SQLite database, or the URL
// of a PostgreSQL database with its password, which is not to be printed.
func (c *Config) DataSource() string {
	if !c.onPostgres() {
		return c.databasePath()
	}
	u, err := url.Parse(c.Database)
	if err != nil || c.DBPassword.IsZero() { // err: mistakes has named it
		return c.Database
	}
	u.User = url.UserPassword(u.User.Username(), string(c.DBPassword.Value()))
	return u.String()
}

// DataSourceAt is the DataSource of a database that no file names, with the password
// that the environment holds. Where that is a file, its path is relative to dir.
func DataSourceAt(database, dir string, environ []string) (string, error) {
	c := &Config{Database: database}
	env, name := variables(environ), envName("databasePassword")
	if text := env[name]; text != "" {
		c.DBPassword = Secret{text: text}
		if err := c.DBPassword.resolve(dir, env); err != nil {
			return "", fmt.Errorf("environment variable %s cannot be read: %w", name, err)
		}
	}
	v := &validator{}
	c.database(v)
	return c.DataSource(), errors.Join(v.errs...)
}

func (c *Config) onPostgres() bool { return strings.Contains(c.Database, "://") }

// databasePath is where an SQLite database is.
func (c *Config) databasePath() string {
	if c.Database != "" {
		return c.Database
	}
	return filepath.Join(c.StateDir, "chant.db")
}

// Allows tells whether a repository is served here, by its present name.
// Whoever knows it under an earlier name by its ID asks with that name too.
func (c *Config) Allows(r engine.Repo) bool {
	return c.allowed[foldRepo(r.Instance.Host+"/"+r.FullName())]
}

// CredentialsOf finds the sets of a repository and environment; two empty sets
// when none are configured.
func (c *Config) CredentialsOf(r engine.Repo, env string) Credentials {
	key := foldRepo(r.Instance.Host + "/" + r.FullName())
	for _, set := range c.Credentials {
		if set.Env == env && foldRepo(c.qualified(set.Repository)) == key {
			return set
		}
	}
	return Credentials{Repository: r.FullName(), Env: env}
}

// qualified is host/owner/name, "" for a name that stands for nothing.
func (c *Config) qualified(name string) string {
	repo, err := c.Named(name)
	if err != nil {
		return ""
	}
	return repo.Instance.Host + "/" + repo.FullName()
}

// foldRepo makes names that mean the same repository equal.
func foldRepo(qualified string) string { return strings.ToLower(qualified) }

// Duration is a time.Duration written like "5m" or "720h".
type Duration time.Duration

// Std is the standard library's kind.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String is "5m" and not "5m0s", as people write it.
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads a duration as time.ParseDuration does.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return errors.New("want a duration with its unit, such as 30s, 5m or 720h")
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalYAML reads one text, and says in which line it could not.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	if err := d.UnmarshalText([]byte(node.Value)); err != nil {
		return mistake(node, err.Error())
	}
	return nil
}
