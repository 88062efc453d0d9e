// Package demo is a small world to run the server in: a forge on loopback with
// people, an example repository whose terraform roots were applied before, and the
// server's configuration for it. `chant demo` plays the loop in it and the
// end-to-end tests use it too. It knows nothing of the server's inside.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chant-bot/chant/examples"
	"github.com/chant-bot/chant/forges/forgetest"
)

// Example is a repository of the folder examples, and how its team had applied it
// before it met chant.
type Example struct {
	Name    string
	Roots   []Root
	Volumes []string // attached to the machine, below /srv/volumes
	Alone   bool     // no root is planned together with another, whatever it reads
}

// Root is one of an example's, and the values its variables had when it was applied.
type Root struct {
	Name string
	Vars []string // name=value
}

// TwoRoots is the smallest example.
func TwoRoots() Example {
	return Example{Name: "two-roots", Roots: []Root{{Name: "net"}, {Name: "app", Vars: []string{"cidr=10.0.0.0/16"}}}}
}

// Composed is the example whose changes reach who reads what they move.
func Composed() Example {
	return Example{Name: "composed", Volumes: []string{"data-1"}, Roots: []Root{
		{Name: "net"},
		{Name: "app", Vars: []string{"cidr=10.0.0.0/16"}},
		{Name: "cert", Vars: []string{"zone=example.test"}},
		{Name: "listener", Vars: []string{"port=8080"}},
		{Name: "data", Vars: []string{"volumes=/srv/volumes"}},
		{Name: "jobs"},
	}}
}

// World is the forge, its people and the files around them.
type World struct {
	Example Example

	Dir   string // everything lives below it
	State string // where the roots keep their terraform state
	Forge *forgetest.Forge
	App   *forgetest.App
	Repo  *forgetest.Repo
	// Alice owns the organisation and reviews; Bob writes the changes.
	Alice, Bob *forgetest.User
	Terraform  string // binary
	Secret     string // of the webhook
}

// New makes a world below dir, with all roots of the example applied.
func New(ctx context.Context, dir, terraform string, example Example) (*World, error) {
	w := &World{Example: example, Dir: dir, State: filepath.Join(dir, "state"), Terraform: terraform, Secret: "a webhook secret of the demo"}
	if err := os.MkdirAll(w.State, 0o700); err != nil {
		return nil, fmt.Errorf("making the demo's directory: %w", err)
	}
	forge, err := forgetest.NewGitHub(forgetest.Options{Dir: filepath.Join(dir, "forge")})
	if err != nil {
		return nil, err
	}
	w.Forge = forge
	if err := w.populate(); err != nil {
		return nil, err
	}
	return w, w.ApplyFirst(ctx)
}

// Close ends the forge.
func (w *World) Close() error { return w.Forge.Close() }

// populate makes the people, the repository and the app.
func (w *World) populate() error {
	w.Alice, w.Bob = w.Forge.User("alice"), w.Forge.User("bob")
	w.Forge.Org("acme")
	var err error
	if w.Repo, err = w.Forge.CreateRepo("acme", "infra"); err != nil {
		return err
	}
	w.Repo.SetPermission(w.Alice, "admin")
	w.Repo.SetPermission(w.Bob, "write")
	files, err := w.Files()
	if err != nil {
		return err
	}
	if _, err := w.Repo.Commit("main", files, w.Alice); err != nil {
		return err
	}
	if w.App, err = w.Forge.CreateApp(forgetest.AppOptions{Slug: "chant", Owner: "acme"}); err != nil {
		return err
	}
	_, err = w.App.Install("acme")
	return err
}

// Files is the example repository with its state, and what it has in /srv, kept in
// this world.
func (w *World) Files() (map[string]string, error) {
	files, err := examples.Files(w.Example.Name)
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		files[name] = w.here(text)
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(files["chant.config.json"]), &config); err != nil {
		return nil, fmt.Errorf("the example's chant.config.json: %w", err)
	}
	roots, _ := config["terraform"].(map[string]any)["roots"].(map[string]any)
	for name, root := range roots {
		root.(map[string]any)["backendConfig"] = map[string]any{"path": w.StateFile(name)}
	}
	if w.Example.Alone {
		config["terraform"].(map[string]any)["compose"] = "off"
	}
	text, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return nil, err
	}
	files["chant.config.json"] = string(text) + "\n"
	return files, nil
}

// StateFile is where a root keeps its state.
func (w *World) StateFile(root string) string { return filepath.Join(w.State, root+".tfstate") }

func (w *World) here(text string) string { return strings.ReplaceAll(text, "/srv/", w.State+"/") }

// ApplyFirst applies the roots by hand, as a team had done before it met chant.
func (w *World) ApplyFirst(ctx context.Context) error {
	files, err := w.Files()
	if err != nil {
		return err
	}
	for _, volume := range w.Example.Volumes {
		if err := w.Attach(volume); err != nil {
			return err
		}
	}
	var all sync.WaitGroup
	failed := make([]error, len(w.Example.Roots))
	for i, root := range w.Example.Roots {
		all.Go(func() { failed[i] = w.applyByHand(ctx, root, files["roots/"+root.Name+"/main.tf"]) })
	}
	all.Wait()
	return errors.Join(failed...)
}

func (w *World) applyByHand(ctx context.Context, root Root, code string) error {
	dir := filepath.Join(w.Dir, "by-hand", root.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(code), 0o600); err != nil {
		return err
	}
	apply := []string{"apply", "-input=false", "-auto-approve"}
	for _, v := range root.Vars {
		apply = append(apply, "-var="+w.here(v))
	}
	for _, args := range [][]string{{"init", "-input=false", "-backend-config=path=" + w.StateFile(root.Name)}, apply} {
		if err := w.terraform(ctx, dir, args...); err != nil {
			return fmt.Errorf("applying %s by hand: %w", root.Name, err)
		}
	}
	return nil
}

// Attach does what nobody's code does: it attaches a volume to the machine.
func (w *World) Attach(volume string) error {
	dir := filepath.Join(w.State, "volumes", volume)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "attached"), nil, 0o600)
}

func (w *World) terraform(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, w.Terraform, args...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.Dir, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", w.Terraform, args[0], err, out)
	}
	return nil
}

// Applied reads what terraform's own state says a resource of a root holds.
func (w *World) Applied(root, resource string) (string, error) {
	data, err := os.ReadFile(w.StateFile(root))
	if err != nil {
		return "", err
	}
	var state struct {
		Resources []struct {
			Name      string
			Instances []struct {
				Attributes struct {
					Input struct{ Value string }
				}
			}
		}
	}
	if err := json.Unmarshal(data, &state); err != nil {
		return "", fmt.Errorf("state of %s: %w", root, err)
	}
	for _, r := range state.Resources {
		if r.Name == resource && len(r.Instances) == 1 {
			return r.Instances[0].Attributes.Input.Value, nil
		}
	}
	return "", fmt.Errorf("state of %s has no %s", root, resource)
}

// Config writes the server's configuration for this world and returns its path.
func (w *World) Config(listen string) (string, error) {
	key := filepath.Join(w.Dir, "app.pem")
	if err := os.WriteFile(key, w.App.PrivateKeyPEM(), 0o600); err != nil {
		return "", err
	}
	text := fmt.Sprintf(`listen: %s
externalUrl: http://%s
stateDir: %s
repositories: [acme/infra]
terraform: %s
writablePaths: [%s]
isolation: none
sweepInterval: 1h
logLevel: debug
github:
  appId: %d
  privateKey: file:%s
  webhookSecrets: [%q]
  apiUrl: %s
  webUrl: %s
`, listen, listen, filepath.Join(w.Dir, "server"), w.Terraform, w.State, w.App.ID, key, w.Secret,
		strings.TrimSuffix(w.Forge.APIURL(), "/"), w.Forge.URL())
	path := filepath.Join(w.Dir, "chant.yaml")
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// Await polls the forge until done says so. The forge is another process's
// business in real life, so what it shows is all there is to wait for.
func Await(ctx context.Context, what string, done func() (bool, error)) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := done()
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", what, err)
		}
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		case <-ticker.C:
		}
	}
}
