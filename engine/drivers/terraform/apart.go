package terraform

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
)

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
	refuse := func(format string, args ...any) (string, error) {
		return "", engine.Tell(fmt.Errorf("root %s is not run in workspace %s: %s", w.t.Root.Name, name, fmt.Sprintf(format, args...)))
	}
	for _, other := range w.t.Apart {
		if other.Workspace == name {
			return refuse("root %s is declared with this very workspace; give it another", other.Name)
		}
		for key, value := range other.BackendConfig {
			if slices.Contains(strings.Split(filepath.ToSlash(value), "/"), name) {
				return refuse("the backendConfig %q of root %s names it; rename that", key, other.Name)
			}
			if isOwnPath(other.Workspace, key) && w.d.mayWrite(value) {
				return refuse("it may write to the directory in which root %s keeps its state; let it write to another (writablePaths of the server's configuration, --writable on the command line)", other.Name)
			}
		}
	}
	place, ok := workspacePlace(kind, config, name)
	if !ok {
		return refuse("that backend %q keeps its state apart from that of the declared environments is not proven; use backend s3 with a plain key, or local with a workspace_dir", kind)
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
		return "local:" + filepath.Join(dir, workspace), filepath.IsAbs(dir) && filepath.Clean(dir) == dir
	case "s3":
		// The parts are joined as a path, so that one with ".." would lead out of the
		// workspace's folder and onto any key of the bucket.
		prefix := text("workspace_key_prefix")
		if prefix == "" {
			prefix = "env:"
		}
		plain := prefix + "/" + workspace + "/" + text("key")
		return "s3:" + text("bucket") + "/" + plain, text("key") != "" && path.Join(plain) == plain && !strings.HasPrefix(plain, "../")
	}
	return "", false
}
