package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/forges/forgetest"
)

// world is a forge on loopback with one repository of many roots, the program
// that serves it, and the post between them.
type world struct {
	*server
	dir, state string
	roots      int
	forge      *forgetest.Forge
	app        *forgetest.App
	repo       *forgetest.Repo
	alice, bob *forgetest.User
	post       *postOffice
	firstStart time.Duration
}

// pool is how many planners the server may run at once, and how many the raw
// runs beside it.
const pool = 2

// settings of a world.
type settings struct {
	roots     int
	terraform string
	planEnv   map[string]string // what plans find in their environment
	logIn     string            // variable that names a file where planners may write
}

func newWorld(ctx context.Context, b *bench, s settings) (*world, error) {
	w := &world{roots: s.roots, post: &postOffice{}}
	if err := w.build(ctx, b, s); err != nil {
		w.close()
		return nil, fmt.Errorf("making a forge and a server: %w", err)
	}
	return w, nil
}

func (w *world) build(ctx context.Context, b *bench, s settings) (err error) {
	if w.dir, err = b.tempDir("world"); err != nil {
		return err
	}
	w.state = filepath.Join(w.dir, "state")
	if err := os.Mkdir(w.state, 0o700); err != nil {
		return err
	}
	if w.forge, err = forgetest.NewGitHub(forgetest.Options{Dir: filepath.Join(w.dir, "forge")}); err != nil {
		return err
	}
	if err := w.populate(); err != nil {
		return err
	}
	if w.server, err = newServer(b.chant, filepath.Join(w.dir, "server")); err != nil {
		return err
	}
	if err := w.configure(ctx, s); err != nil {
		return err
	}
	address, err := w.post.open(w.server.url() + "/webhooks/github")
	if err != nil {
		return err
	}
	if w.firstStart, err = w.server.start(ctx); err != nil {
		return err
	}
	w.app.Deliver(address, secret)
	if err := w.swept(ctx); err != nil {
		return err
	}
	return w.quiet(ctx)
}

// swept waits for the sweep a server starts with, which comes when it has found
// that it is alone: later it would find what a measurement is about to tell.
func (w *world) swept(ctx context.Context) error {
	return w.await(ctx, "the first sweep", func() (bool, error) {
		var n int
		err := w.server.ask(ctx, "SELECT count(*) FROM river_job WHERE kind = 'sweep' AND state = 'completed'", &n)
		return n > 0, err
	})
}

// close ends everything; what it says cannot change a figure any more.
func (w *world) close() {
	if w.server != nil {
		_ = w.server.stop()
	}
	w.post.close()
	if w.forge != nil {
		_ = w.forge.Close()
	}
	_ = os.RemoveAll(w.dir)
}

const secret = "the webhook secret of a benchmark" //nolint:gosec // of its own forge

func (w *world) populate() error {
	w.alice, w.bob = w.forge.User("alice"), w.forge.User("bob")
	w.forge.Org("acme")
	var err error
	if w.repo, err = w.forge.CreateRepo("acme", "infra"); err != nil {
		return err
	}
	w.repo.SetPermission(w.alice, "admin")
	w.repo.SetPermission(w.bob, "write")
	files, err := w.files("first")
	if err != nil {
		return err
	}
	if _, err := w.repo.Commit("main", files, w.alice); err != nil {
		return err
	}
	if w.app, err = w.forge.CreateApp(forgetest.AppOptions{Slug: "chant", Owner: "acme"}); err != nil {
		return err
	}
	_, err = w.app.Install("acme")
	return err
}

// rootName numbers the roots.
func rootName(i int) string { return fmt.Sprintf("r%02d", i) }

// files is the repository whose roots all hold a value.
func (w *world) files(value string) (map[string]string, error) {
	files := map[string]string{"chant.workspace.json": declaration}
	roots := map[string]any{}
	for i := range w.roots {
		name := rootName(i)
		roots[name] = map[string]any{"dir": "roots/" + name, "backendConfig": map[string]any{"path": w.stateFile(w.state, name)}}
		files[name+".component.json"] = fmt.Sprintf(component, name, name)
		files[rootFile(name)] = rootText(value)
	}
	text, err := json.Marshal(map[string]any{
		"lexicons": []string{"terraform"}, "terraform": map[string]any{"binary": "terraform", "roots": roots},
	})
	files["chant.config.json"] = string(text)
	return files, err
}

func (w *world) stateFile(dir, root string) string { return filepath.Join(dir, root+".tfstate") }

func rootFile(name string) string { return "roots/" + name + "/main.tf" }

func rootText(value string) string {
	return fmt.Sprintf("terraform {\n  backend \"local\" {}\n}\n\nresource \"terraform_data\" \"this\" {\n  input = %q\n}\n", value)
}

const declaration = `{
  "name": "bench",
  "schema": 1,
  "minReader": "0.108.0",
  "ci": {"green": {"branch": "main", "window": "24h", "phases": {"check": ["unit"]}, "require": ["check"]}},
  "x-bot": {"envs": [{"name": "prod", "branch": "main", "applyOnMerge": true}]}
}`

const component = `{"name": %q, "dependsOn": [], "deploy": [{"phase": "Apply", "steps": [{"kind": "terraform-apply", "root": %q}]}]}`

// configure writes chant.yaml. JSON is YAML.
func (w *world) configure(ctx context.Context, s settings) error {
	key := filepath.Join(w.dir, "app.pem")
	if err := os.WriteFile(key, w.app.PrivateKeyPEM(), 0o600); err != nil {
		return err
	}
	config := map[string]any{
		"repositories": []string{"acme/infra"}, "terraform": s.terraform, "writablePaths": []string{w.state},
		"isolation": isolation(ctx), "workers": pool, "sweepInterval": "24h",
		"github": map[string]any{
			"appId": w.app.ID, "privateKey": "file:" + key, "webhookSecrets": []string{secret},
			"apiUrl": strings.TrimSuffix(w.forge.APIURL(), "/"), "webUrl": w.forge.URL(),
		},
	}
	if s.logIn != "" {
		s.planEnv[s.logIn] = filepath.Join(w.state, plannersLog)
	}
	if len(s.planEnv) > 0 {
		config["credentials"] = []any{map[string]any{"repository": "acme/infra", "env": "prod", "plan": map[string]any{"env": s.planEnv}}}
	}
	return w.server.configure(config)
}

// isolation is the wall a server takes by itself, or none where this machine
// has none that works.
func isolation(ctx context.Context) string {
	if _, err := exec.DetectWall(ctx, exec.WallAuto); err != nil {
		return exec.WallNone
	}
	return exec.WallAuto
}

// change sets the value of the first n roots on a branch and opens a pull
// request of it.
func (w *world) change(branch, value string, n int) (*forgetest.Pull, error) {
	files := map[string]string{}
	for i := range n {
		files[rootFile(rootName(i))] = rootText(value)
	}
	if _, err := w.repo.Commit(branch, files, w.bob); err != nil {
		return nil, err
	}
	return w.repo.OpenPullRequest(w.bob, branch, "main", "Change to "+value)
}

// quiet waits until every delivery was answered and nothing is left to do.
func (w *world) quiet(ctx context.Context) error {
	return w.await(ctx, "the server to have nothing to do", func() (bool, error) {
		if err := w.forge.Quiesce(ctx); err != nil {
			return false, err
		}
		left, err := w.server.left(ctx)
		return left == 0, err
	})
}

// noted tells whether the plan of a head stands on the pull request.
func (w *world) noted(pr *forgetest.Pull) bool {
	for _, c := range w.repo.Comments(pr.Number) {
		if strings.HasPrefix(c.Body, "<!-- chant-pr:") {
			return true
		}
	}
	return false
}
