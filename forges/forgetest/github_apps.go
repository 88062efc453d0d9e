package forgetest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"time"
)

const tokenLife = time.Hour

// AppOptions describe a GitHub App.
type AppOptions struct {
	Slug string
	// Owner is the account that owns it; empty means the slug's own.
	Owner string
	// Permissions by API name ("pull_requests") and level ("read", "write");
	// nil means DefaultPermissions.
	Permissions map[string]string
	// Events subscribed to; nil means DefaultEvents.
	Events []string
}

// DefaultPermissions are those chant asks for.
func DefaultPermissions() map[string]string {
	return map[string]string{
		"metadata": "read", "contents": "write", "pull_requests": "write", "issues": "write",
		"statuses": "write", "checks": "read", "actions": "read", "merge_queues": "read", "members": "read",
	}
}

// DefaultEvents are those chant subscribes to.
func DefaultEvents() []string {
	return []string{
		"pull_request", "pull_request_review", "pull_request_review_comment", "issue_comment", "commit_comment",
		"push", "create", "delete", "check_run", "check_suite", "status", "workflow_run", "merge_group", "repository",
	}
}

// App is a GitHub App.
type App struct {
	ID   int64
	Slug string

	f           *Forge
	owner       *User
	bot         *User
	key         *rsa.PrivateKey
	permissions map[string]string
	events      []string
	hook        *hook
}

// Installation is an app installed on an account.
type Installation struct {
	ID int64

	app         *App
	account     *User
	all         bool
	repos       map[int64]bool
	permissions map[string]string
	suspended   bool
}

// CreateApp registers an app with a key of its own.
func (f *Forge) CreateApp(o AppOptions) (*App, error) {
	if o.Slug == "" {
		return nil, fmt.Errorf("creating an app: a slug is needed")
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("making the key of app %s: %w", o.Slug, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	owner := o.Owner
	if owner == "" {
		owner = o.Slug + "-owner"
	}
	app := &App{ID: f.nextID(), Slug: o.Slug, f: f, key: key, permissions: o.Permissions, events: o.Events}
	app.owner = f.account(owner, typeUser)
	app.bot = f.account(o.Slug+"[bot]", typeBot)
	if app.permissions == nil {
		app.permissions = DefaultPermissions()
	}
	if app.events == nil {
		app.events = DefaultEvents()
	}
	f.apps[app.ID] = app
	return app, nil
}

// BotUser is the account the app acts as.
func (a *App) BotUser() *User { return a.bot }

// PrivateKeyPEM is the key GitHub gives once, in its form.
func (a *App) PrivateKeyPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(a.key)})
}

// Deliver sets the app's webhook. An empty URL turns it off.
func (a *App) Deliver(url, secret string) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	a.hook = a.f.newHook(url, secret, a)
}

// Install installs the app on an account: on all its repositories, also later
// ones, or on the ones given.
func (a *App) Install(account string, repos ...*Repo) (*Installation, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	owner := a.f.accounts[lower(account)]
	if owner == nil {
		return nil, notFound()
	}
	in := &Installation{
		ID: a.f.nextID(), app: a, account: owner, all: len(repos) == 0,
		repos: map[int64]bool{}, permissions: maps.Clone(a.permissions),
	}
	for _, r := range repos {
		in.repos[r.ID] = true
	}
	a.f.installs[in.ID] = in
	github{a.f}.emitInstallation("created", in)
	return in, nil
}

// SetPermissions changes what the owner granted; tokens given before keep what
// they had.
func (in *Installation) SetPermissions(permissions map[string]string) {
	f := in.app.f
	f.mu.Lock()
	defer f.mu.Unlock()
	in.permissions = maps.Clone(permissions)
	github{f}.emitInstallation("new_permissions_accepted", in)
}

// Suspend stops tokens and events; with false it lets them run again.
func (in *Installation) Suspend(suspended bool) {
	f := in.app.f
	f.mu.Lock()
	defer f.mu.Unlock()
	in.suspended = suspended
	action := "unsuspend"
	if suspended {
		action = "suspend"
	}
	github{f}.emitInstallation(action, in)
}

// AddRepo and RemoveRepo change an installation on selected repositories.
func (in *Installation) AddRepo(r *Repo) { in.change(r, true) }

// RemoveRepo takes a repository away from the installation.
func (in *Installation) RemoveRepo(r *Repo) { in.change(r, false) }

func (in *Installation) change(r *Repo, serve bool) {
	f := in.app.f
	f.mu.Lock()
	defer f.mu.Unlock()
	in.repos[r.ID] = serve
	github{f}.emitInstallationRepos(in, r, serve)
}

// Uninstall removes the installation; its tokens stop working at once.
func (in *Installation) Uninstall() {
	f := in.app.f
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.installs, in.ID)
	maps.DeleteFunc(f.tokens, func(_ string, g *grant) bool { return g.installation == in })
	github{f}.emitInstallation("deleted", in)
}

// serves says whether the installation may see a repository.
func (in *Installation) serves(r *Repo) bool {
	return in.account == r.owner && !in.suspended && (in.all || in.repos[r.ID])
}

// installationOf finds the app's installation that serves a repository.
func (a *App) installationOf(r *Repo) *Installation {
	for _, id := range slices.Sorted(maps.Keys(a.f.installs)) {
		if in := a.f.installs[id]; in.app == a && in.serves(r) {
			return in
		}
	}
	return nil
}

// newToken makes an installation token in the long form GitHub gives since
// 2026: ghs_<app id>_<a JWT>, with dots. The caller holds mu.
func (f *Forge) newToken(in *Installation, permissions map[string]string, repos map[int64]bool) (string, time.Time) {
	head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","typ":"JWT"}`))
	claims, _ := json.Marshal(map[string]any{"iid": in.ID, "jti": randomText(12)})
	text := fmt.Sprintf("ghs_%d_%s.%s.%s", in.app.ID, head, base64.RawURLEncoding.EncodeToString(claims), randomText(64))
	expires := f.now().Add(tokenLife)
	f.tokens[text] = &grant{
		user: in.app.bot, app: in.app, installation: in,
		permissions: permissions, repos: repos, expires: expires,
	}
	return text, expires
}
