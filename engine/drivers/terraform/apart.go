package terraform

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
)

// backends finds the backend that a root declares, by text.
var backends = scan{isConfig, regexp.MustCompile(`backend\s+"(\w+)"`)}

// backendConfig are the settings that init is given. For a workspace that is to be
// apart, the folder that its backend keeps workspaces in is one of that workspace
// alone: init makes a workspace that is not there only beside no other.
func (w *workdir) backendConfig() (map[string]string, error) {
	root := w.t.Root
	if len(w.t.Apart) == 0 {
		return root.BackendConfig, nil
	}
	kinds, err := textMatches(os.DirFS(w.dir), ".", []scan{backends})
	if err != nil {
		return nil, fmt.Errorf("reading the backend of root %s: %w", root.Name, err)
	}
	settings := maps.Clone(root.BackendConfig)
	switch kinds = slices.Compact(kinds); {
	case slices.Equal(kinds, []string{"s3"}):
		if settings == nil {
			settings = map[string]string{}
		}
		settings["workspace_key_prefix"] = root.Workspace
	case slices.Equal(kinds, []string{"local"}) && settings["workspace_dir"] != "":
		settings["workspace_dir"] = filepath.Join(settings["workspace_dir"], root.Workspace)
	default:
		return nil, w.notApart("its backend is %q; use s3, or local with a workspace_dir in backendConfig of the root in chant.config.json: of no other settings it is proven that its state is apart from those of the declared environments", strings.Join(kinds, ", "))
	}
	return settings, nil
}

func (w *workdir) notApart(format string, args ...any) error {
	return engine.Tell(fmt.Errorf("root %s is not run in workspace %s: %s", w.t.Root.Name, w.t.Root.Workspace, fmt.Sprintf(format, args...)))
}

// Place initialises a root and says where its state is. A root that can't be initialised
// may be waiting for another one to make its backend.
func (d *Driver) Place(ctx context.Context, t engine.Target) (string, error) {
	w, err := d.open(ctx, t)
	if err != nil {
		return "", err
	}
	defer w.close()
	err = w.initialise(ctx, nil)
	if _, told := errors.AsType[*engine.Told](err); told {
		return "", nil
	}
	if err == nil {
		err = w.checkState()
	}
	if err != nil {
		return "", err
	}
	return w.place()
}

// place names where the state of an initialised root is: two roots with one name have
// one state.
func (w *workdir) place() (string, error) {
	if len(w.t.Apart) > 0 {
		return w.apart()
	}
	kind, config, err := w.backend()
	if err != nil {
		return "", err
	}
	path, err := w.localState()
	switch {
	case err != nil:
		return "", err
	case path == "": // not the local backend
		d, err := digest.Of("terraform-backend", digest.ArrayOf(digest.StringOf(kind), digest.StringOf(w.t.Root.Workspace), digest.StringOf(config.String())))
		return d.String(), err
	case !filepath.IsAbs(path):
		path = filepath.Join(w.rel, path)
	}
	return "local:" + path, nil
}

// apart says where the state of the root's workspace is and refuses one that is not
// proven to be apart from those of the declared roots in Target.Apart. A workspace is
// a state of its own by the tool's own rule; which backends keep that rule, and by
// which settings, is proven by a test on the real tool for each of workspacePlace.
// What the code itself may reach is the business of its credentials and its wall: the
// directory of a declared root's state is none that it may write to.
func (w *workdir) apart() (string, error) {
	if len(w.t.Apart) == 0 {
		return "", nil
	}
	kind, config, err := w.backend()
	if err != nil {
		return "", err
	}
	name := w.t.Root.Workspace
	for _, other := range w.t.Apart {
		if other.Workspace == name {
			return "", w.notApart("root %s is declared with this very workspace; give it another", other.Name)
		}
		for key, value := range other.BackendConfig {
			if slices.Contains(strings.Split(filepath.ToSlash(value), "/"), name) {
				return "", w.notApart("the backendConfig %q of root %s names it; rename that", key, other.Name)
			}
			if isOwnPath(other.Workspace, key) && w.d.mayWrite(value) {
				return "", w.notApart("it may write to the directory in which root %s keeps its state; let it write to another (writablePaths of the server's configuration, --writable on the command line)", other.Name)
			}
		}
	}
	place, ok := workspacePlace(kind, config, name)
	if !ok {
		return "", w.notApart("its backend %q could lead out of the workspace's own folder; give it a plain key, without \"..\"", kind)
	}
	return place, nil
}

// mayWrite tells whether planned code may write at an absolute path.
func (d *Driver) mayWrite(path string) bool {
	return slices.ContainsFunc(d.cfg.Writable, func(dir string) bool { return within(dir, path) })
}

// isOwnPath tells whether the local backend keeps a declared root's state at this
// setting.
func isOwnPath(workspace, key string) bool {
	if workspace == "" || workspace == "default" {
		return key == "path"
	}
	return key == "workspace_dir"
}

// workspacePlace is where a backend keeps the state of a named workspace; it is not
// ok where the settings could lead elsewhere, or the backend is not known here.
func workspacePlace(kind string, config digest.Value, workspace string) (string, bool) {
	text := func(key string) string {
		s, _ := config.Get(key).Text()
		return s
	}
	switch kind {
	case "local": // path is ignored in a named workspace
		dir := text("workspace_dir")
		return "local:" + filepath.Join(dir, workspace), filepath.IsAbs(dir) && filepath.Base(dir) == workspace
	case "s3":
		// The parts are joined as a path, so that one with ".." would lead out of the
		// workspace's folder and onto any key of the bucket.
		key := strings.Join([]string{text("workspace_key_prefix"), workspace, text("key")}, "/")
		return "s3:" + text("bucket") + "/" + key, text("key") != "" && path.Join(key) == key && strings.HasPrefix(key, workspace+"/")
	}
	return "", false
}
