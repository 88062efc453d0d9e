package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/sealed"
	"github.com/chant-bot/chant/engine/drivers/terraform"
)

// RunOptions say how code of the repository is run.
type RunOptions struct {
	Isolation      string   `placeholder:"KIND" help:"Wall around planned code: auto, bwrap, systemd, user or none. Default: auto; in CI, where the runner is the wall, none when no wall works there."`
	Terraform      string   `env:"CHANT_TERRAFORM" placeholder:"BINARY" help:"terraform or tofu, a name on PATH or a path, instead of the one the project names."`
	Writable       []string `env:"CHANT_WRITABLE" placeholder:"DIR" help:"Directory outside the checkout that planned code may write, such as one of local state. It has to be there. May be repeated."`
	ProviderMirror string   `env:"CHANT_PROVIDER_MIRROR" placeholder:"DIR" help:"Directory of providers, laid out as the planner's filesystem mirror, which is then the only place they come from. Default: each from its registry."`
	PassEnv        []string `env:"CHANT_PASS_ENV" placeholder:"NAME" help:"Environment variables handed to terraform, names or patterns such as AWS_*, instead of the default list of providers' variables."`
}

// check refuses what nothing can be planned with, before a planner says so in its
// own words.
func (o RunOptions) check(h *Host) error {
	switch o.Isolation {
	case "", exec.WallAuto, exec.WallBwrap, exec.WallSystemd, exec.WallUser, exec.WallNone:
	default:
		return Misuse("--isolation %q is unknown; use auto, bwrap, systemd, user or none", o.Isolation)
	}
	for _, dir := range o.Writable {
		if err := h.isDirectory("--writable", dir); err != nil {
			return err
		}
	}
	if o.ProviderMirror != "" {
		return h.isDirectory("--provider-mirror", o.ProviderMirror)
	}
	return nil
}

func (h *Host) isDirectory(flag, dir string) error {
	if info, err := os.Stat(h.path(dir)); err != nil || !info.IsDir() {
		return Misuse("%s %s is no directory; make it, or leave it out", flag, h.path(dir))
	}
	return nil
}

// stage makes the use cases of one command. Plans and applies work on files
// exported from the commit, never on the checkout itself: what is planned is
// what was committed, and what the code leaves behind stays out of the way.
func (h *Host) stage(ctx context.Context, c *checkout, o RunOptions, defaultEnv string) (*usecase.Stage, *drivers, error) {
	return h.stageWith(ctx, c, o, defaultEnv, h.credentials(o.PassEnv))
}

func (h *Host) stageWith(ctx context.Context, c *checkout, o RunOptions, defaultEnv string, credentials jobCredentials) (*usecase.Stage, *drivers, error) {
	if err := o.check(h); err != nil {
		return nil, nil, err
	}
	wall, err := h.wall(ctx, o.Isolation)
	if err != nil {
		return nil, nil, err
	}
	d := &drivers{
		options: o, state: c.state, wall: wall, pool: exec.NewPool(runtime.NumCPU()), env: h.plainEnv(),
		made: map[string]usecase.Driver{},
	}
	d.readable = namedFiles(slices.Concat(d.env, credentials))
	for _, dir := range o.Writable {
		d.writable = append(d.writable, h.path(dir))
	}
	if o.ProviderMirror != "" {
		d.mirror = h.path(o.ProviderMirror)
	}
	return &usecase.Stage{
		Drivers: d, Credentials: credentials, Dir: filepath.Join(c.state, "runs"),
		Version: h.Version, DefaultEnv: defaultEnv, Now: h.Now, NewID: uuid.NewString, Fault: h.fault,
	}, d, nil
}

// wall finds the wall. Without a word from the person a CI job runs on where no
// wall works, since its runner is one and is thrown away; a person's own machine
// is not, and must be named.
func (h *Host) wall(ctx context.Context, want string) (exec.Wall, error) {
	if want != "" || h.env("CI") == "" || h.env("CI") == "false" {
		wall, err := exec.DetectWall(ctx, want)
		if err != nil {
			return nil, fmt.Errorf("%w (--isolation none)", err)
		}
		return wall, nil
	}
	wall, err := exec.DetectWall(ctx, exec.WallAuto)
	if err != nil {
		h.warnf("planned code runs without a wall of its own in this CI job: %v", err)
		return exec.DetectWall(ctx, exec.WallNone)
	}
	return wall, nil
}

// drivers makes one terraform driver an env and binary, all within one pool.
type drivers struct {
	options  RunOptions
	state    string
	wall     exec.Wall
	pool     *exec.Pool
	writable []string
	mirror   string
	readable []string
	env      []string

	mu   sync.Mutex
	made map[string]usecase.Driver
}

// notIsolated tells that nothing stands between planned code and this process.
func (d *drivers) notIsolated() bool { return d.wall.Name() == exec.WallNone }

// For implements usecase.Drivers.
func (d *drivers) For(_ engine.Repo, env, binary string, kind usecase.CredentialKind) (usecase.Driver, error) {
	if d.options.Terraform != "" {
		binary = d.options.Terraform
	}
	if binary == "" {
		binary = "terraform"
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	key := env + "\x00" + binary + "\x00" + string(kind)
	if made := d.made[key]; made != nil {
		return made, nil
	}
	// The state directory belongs to this checkout alone, so the env is scope
	// enough, with and without a forge.
	made, err := terraform.New(terraform.Config{
		Binary: binary, StateDir: filepath.Join(d.state, "locks"), Scope: "checkout " + env,
		Wall: d.wall, Pool: d.pool, Limits: exec.DefaultLimits(), Env: d.env,
		Writable: d.writable, ReadOnly: d.readable, CacheDir: d.cacheDir(env, kind), Mirror: d.mirror,
	})
	if told, ok := errors.AsType[*engine.Told](err); ok {
		return nil, engine.Tell(fmt.Errorf("%w; install it, or name another with --terraform", told))
	}
	if err != nil {
		return nil, err
	}
	seal, err := sealed.OwnKey(filepath.Join(d.state, "groups.key"))
	if err != nil {
		return nil, err
	}
	composer, err := made.Composer(seal)
	if err != nil {
		return nil, err
	}
	d.made[key] = composer
	return composer, nil
}

// cacheDir keeps downloaded providers, apart for what plans and what applies: the
// code of a plan was approved by nobody. Behind isolation by user a directory
// that several users read from is left out.
func (d *drivers) cacheDir(env string, kind usecase.CredentialKind) string {
	if d.wall.Name() == exec.WallUser {
		return ""
	}
	return filepath.Join(d.state, "providers", url.PathEscape(env)+"-"+string(kind))
}

// plainEnv is what every child needs to reach the network as this process does.
func (h *Host) plainEnv() []string {
	var out []string
	for _, name := range []string{"HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v := h.env(name); v != "" {
			out = append(out, name+"="+v)
		}
	}
	return out
}

// providerVariables are what the common providers and backends read their
// credentials from. TF_VAR_* is not among them: what changes a plan belongs into
// the repository, where its source is seen.
func providerVariables() []string {
	return []string{
		"AWS_*", "ARM_*", "AZURE_*", "GOOGLE_*", "GCLOUD_*", "CLOUDSDK_*", "OCI_*", "ALICLOUD_*",
		"TF_TOKEN_*", "TF_HTTP_*", "PG_CONN_STR", "CONSUL_HTTP_*", "VAULT_*", "KUBE_*", "KUBECONFIG",
		"CLOUDFLARE_*", "DIGITALOCEAN_*", "HCLOUD_*", "FASTLY_*", "DATADOG_*", "DD_*",
	}
}

// jobCredentials hands out what of this process's environment terraform may
// see. A job has one set: give plan jobs and apply jobs different ones.
type jobCredentials []string

// For implements usecase.Credentials.
func (c jobCredentials) For(context.Context, engine.Repo, string, usecase.CredentialKind) ([]string, error) {
	return c, nil
}

// credentials picks the variables that are handed on. What steers our tools, the
// forge's tokens and what the CI runner itself uses never are.
func (h *Host) credentials(patterns []string) jobCredentials {
	if len(patterns) == 0 {
		patterns = providerVariables()
	}
	var out jobCredentials
	for _, pair := range h.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && handedOn(name) && matchesAny(patterns, name) {
			out = append(out, pair)
		}
	}
	return out
}

func handedOn(name string) bool {
	if config.Reserved(name) || name == "CI_JOB_TOKEN" {
		return false
	}
	for _, prefix := range []string{"GITHUB_", "GH_", "GITLAB_", "FORGEJO_", "GITEA_", "RUNNER_", "ACTIONS_RUNTIME_"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return true
}

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); err == nil && ok {
			return true
		}
	}
	return false
}

// namedFiles are the files that variables name by their whole value, such as a
// key file or a token that a job mounts: behind a wall they have to be opened.
func namedFiles(pairs []string) []string {
	var out []string
	for _, pair := range pairs {
		_, value, _ := strings.Cut(pair, "=")
		if !filepath.IsAbs(value) || filepath.Clean(value) != value || slices.Contains(out, value) {
			continue
		}
		if info, err := os.Stat(value); err == nil && info.Mode().IsRegular() {
			out = append(out, value)
		}
	}
	return out
}

// runDir is a fresh directory for the files of one run.
func (c *checkout) runDir() (dir string, remove func(), err error) {
	parent := filepath.Join(c.state, "runs")
	if err := os.MkdirAll(parent, 0o711); err != nil { //nolint:gosec // a directory
		return "", nil, fmt.Errorf("making the directory of runs: %w", err)
	}
	dir = filepath.Join(parent, rand.Text()[:12])
	if err := os.Mkdir(dir, 0o711); err != nil { //nolint:gosec // a directory
		return "", nil, fmt.Errorf("making the directory of the run: %w", err)
	}
	return dir, func() {
		if !terraform.UnsettledIn(filepath.Join(dir, "groups")) { // else it holds states still
			_ = git.RemoveWorktree(dir)
		}
	}, nil
}
