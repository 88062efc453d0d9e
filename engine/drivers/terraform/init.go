package terraform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// cliConfig is the tool's own configuration, in place of the machine's. The
// cache is given as a mirror, which the tool only reads: its own plugin cache
// is rewritten in place and breaks the runs beside it.
func cliConfig(cfg Config, useCache bool) string {
	var b strings.Builder
	b.WriteString("disable_checkpoint = true\n")
	mirror := func(dir, rest string) {
		fmt.Fprintf(&b, "provider_installation {\n  filesystem_mirror {\n    path = %s\n  }\n%s}\n", quoteHCL(dir), rest)
	}
	switch {
	case cfg.Mirror != "":
		mirror(cfg.Mirror, "")
	case cfg.CacheDir != "" && useCache:
		mirror(cfg.CacheDir, "  direct {}\n")
	}
	return b.String()
}

// quoteHCL writes a string literal in which HCL reads no template.
func quoteHCL(s string) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(strconv.Quote(s))
}

// init initialises the working directory and refuses a root whose state would
// be lost with the checkout.
func (w *workdir) init(ctx context.Context, sink engine.Sink) error {
	if err := w.initialise(ctx, sink); err != nil {
		return err
	}
	if err := w.checkState(); err != nil {
		return err
	}
	_, err := w.apart()
	return err
}

// initialise is init wherever the state is kept.
func (w *workdir) initialise(ctx context.Context, sink engine.Sink) error {
	if err := w.forget(); err != nil {
		return err
	}
	settings, err := w.backendConfig()
	if err != nil {
		return err
	}
	args := []string{"init", "-input=false", "-no-color"}
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-backend-config="+key+"="+settings[key])
	}
	c := call{args: args, sink: sink}
	res, err := w.initWithCache(ctx, c)
	for range storeObjects {
		if err != nil || res.ExitCode == 0 || !storeIsBeingMade.Match(res.Stderr) {
			break
		}
		res, err = w.initWithCache(ctx, c)
	}
	if err != nil {
		return err
	}
	if res.ExitCode != 0 {
		return w.failure(c, res)
	}
	return nil
}

// storeIsBeingMade is what init says when another root's init is making the same
// thing in a new PostgreSQL database: its CREATE ... IF NOT EXISTS is not safe beside
// itself, and the loser is told so, or of the catalogue's index. The winner's is there then.
var storeIsBeingMade = regexp.MustCompile(`"pg_(class_relname_nsp|namespace_nspname|type_typname_nsp)_index"|pq: (relation|schema) "[^"]+" already exists`)

// storeObjects are the things that an init makes in a new database, each of which it
// may lose to another: a sequence, a schema, a table, its index.
const storeObjects = 4

// initWithCache runs init with the providers that earlier inits downloaded, and
// keeps what this one downloads. A lock file without a checksum that fits an
// unpacked package makes the tool refuse the cache's; then it downloads.
func (w *workdir) initWithCache(ctx context.Context, c call) (exec.Result, error) {
	cfg := w.d.cfg
	if cfg.CacheDir == "" || cfg.Mirror != "" {
		return w.run(ctx, c)
	}
	download, err := w.mayDownload()
	if err != nil {
		return exec.Result{}, err
	}
	if download {
		l, err := exec.LockFile(ctx, filepath.Join(cfg.CacheDir, ".lock"))
		if err != nil {
			return exec.Result{}, fmt.Errorf("init of root %s: %w", w.t.Root.Name, err)
		}
		defer l.Unlock()
	}
	res, err := w.run(ctx, c)
	if err == nil && res.ExitCode != 0 && strings.Contains(string(res.Stderr), lockMismatch) {
		if err := w.writeCLIConfig(false); err != nil {
			return exec.Result{}, err
		}
		res, err = w.run(ctx, c)
	}
	if err != nil || res.ExitCode != 0 {
		return res, err
	}
	return res, w.keepProviders()
}

// lockMismatch is what terraform and tofu say of a package whose checksums the
// lock file lacks.
const lockMismatch = "checksums previously recorded in the dependency lock file"

// dataDir is where the tool keeps a working directory's own state.
const dataDir = ".terraform"

// forget removes what an earlier init of the directory, or the repository
// itself, left there. Backend and workspace: two roots may share a directory,
// and init must not ask about migrating between them. Modules: init takes what is
// there for what it would download, wherever the repository says that is, and
// that would be no part of the source (soundness I1). Providers, when they are
// kept in the cache: only what init itself downloads may get there.
func (w *workdir) forget() error {
	names := []string{"terraform.tfstate", "environment", "modules"}
	if w.d.cfg.CacheDir != "" {
		names = append(names, "providers")
	}
	for _, name := range names {
		if err := w.tree.RemoveAll(filepath.Join(w.rel, dataDir, name)); err != nil {
			return fmt.Errorf("preparing root %s: %w", w.t.Root.Name, err)
		}
	}
	return nil
}

// checkState refuses a local backend whose state file is not in a declared
// writable directory: it would vanish with the checkout or the wall's mounts,
// and what was applied would be forgotten.
func (w *workdir) checkState() error {
	kind, config, err := w.backend()
	if err != nil {
		return err
	}
	if kind != "local" && kind != "" {
		return nil
	}
	key := "path"
	if !w.inDefaultWorkspace() {
		key = "workspace_dir" // the local backend ignores path in other workspaces
	}
	path, _ := config.Get(key).Text()
	for _, dir := range w.d.cfg.Writable {
		if path != "" && within(dir, path) {
			return nil
		}
	}
	file := "a local file"
	if path != "" {
		file += fmt.Sprintf(" (%s)", path)
	}
	return engine.Tell(fmt.Errorf("root %s keeps its state in %s that is not kept: use a remote backend, or give backend \"local\" an absolute %q (backendConfig of the root in chant.config.json) inside a directory that plans may write (writablePaths of the server's configuration, --writable on the command line)",
		w.t.Root.Name, file, key))
}

func (w *workdir) inDefaultWorkspace() bool {
	return w.t.Root.Workspace == "" || w.t.Root.Workspace == "default"
}

// backend is what an initialised directory has as its backend: the kind, empty
// for one that declares none, and its configuration.
func (w *workdir) backend() (kind string, config digest.Value, err error) {
	data, found, err := w.readSmall(filepath.Join(w.rel, dataDir, "terraform.tfstate"))
	if err != nil {
		return "", digest.Value{}, fmt.Errorf("reading the backend of root %s: %w", w.t.Root.Name, err)
	}
	if !found {
		return "", digest.Value{}, nil
	}
	v, err := digest.Decode(data)
	if err != nil {
		return "", digest.Value{}, fmt.Errorf("reading the backend of root %s: %w", w.t.Root.Name, err)
	}
	kind, _ = v.Get("backend").Get("type").Text()
	return kind, v.Get("backend").Get("config"), nil
}

// within tells whether an absolute path lies in a directory.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel)
}

const lockFileName = ".terraform.lock.hcl"

// keepLockFile saves the provider selections of the plan: an apply from a fresh
// checkout must select the same.
func (w *workdir) keepLockFile() error {
	data, found, err := w.readSmall(filepath.Join(w.rel, lockFileName))
	if err == nil && found {
		err = w.runDir.WriteFile(locksFile, data, 0o600)
	}
	if err != nil {
		return fmt.Errorf("saving the lock file of root %s: %w", w.t.Root.Name, err)
	}
	return nil
}

// restoreLockFile puts the plan's provider selections in place.
func (w *workdir) restoreLockFile() error {
	data, err := w.runDir.ReadFile(locksFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	name := filepath.Join(w.rel, lockFileName)
	var now []byte
	if err == nil {
		now, _, err = w.readSmall(name)
	}
	// The same bytes are left alone: they may belong to the run's user.
	if err == nil && !bytes.Equal(now, data) {
		err = errors.Join(w.tree.RemoveAll(name), w.tree.WriteFile(name, data, 0o644))
	}
	if err != nil {
		return fmt.Errorf("restoring the lock file of root %s: %w", w.t.Root.Name, err)
	}
	return nil
}
