package terraform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
)

// workdir is one target opened for a few runs of the tool: its directory is
// locked and it has a scratch directory.
type workdir struct {
	d       *Driver
	t       engine.Target
	tree    *os.Root // the worktree: nothing of it is reached through links out
	base    *os.Root // what is read of it beyond the target's own directories
	rel     string   // the root's directory, relative to the worktree
	dir     string   // the same, absolute
	scratch string   // a directory for the runs' own files
	private *os.Root // the scratch directory, whatever its path leads to later
	runDir  *os.Root
	env     []string
	unlock  func()
	more    []string // further directories that its runs may write to
	secrets []string // further values masked in what its runs say
}

// open validates the target. The caller must close the workdir.
func (d *Driver) open(ctx context.Context, t engine.Target) (*workdir, error) {
	w := &workdir{d: d, t: t}
	for _, secret := range t.Secrets {
		w.secrets = append(w.secrets, textsIn(secret)...)
	}
	if err := w.locate(); err != nil {
		w.close()
		return nil, err
	}
	unlock, err := d.dirs.lock(ctx, w.dir)
	if err != nil {
		w.close()
		return nil, fmt.Errorf("waiting for the directory of root %s: %w", t.Root.Name, err)
	}
	w.unlock = unlock
	if err := w.prepare(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// locate finds the root's directory and its var files inside the worktree.
func (w *workdir) locate() error {
	root := w.t.Root
	tree, err := os.OpenRoot(w.t.Worktree)
	if err != nil {
		return fmt.Errorf("opening the checkout of root %s: %w", root.Name, err)
	}
	w.tree = tree
	if w.base, err = os.OpenRoot(cmp.Or(w.t.Base, w.t.Worktree)); err != nil {
		return fmt.Errorf("opening the checkout of root %s: %w", root.Name, err)
	}
	if w.rel, err = filepath.Rel(w.t.Worktree, filepath.Join(w.t.ProjectDir, filepath.FromSlash(root.Dir))); err != nil {
		return fmt.Errorf("finding the directory of root %s: %w", root.Name, err)
	}
	w.dir = filepath.Join(w.t.Worktree, w.rel)
	info, err := tree.Stat(w.rel)
	if err != nil || !info.IsDir() {
		return engine.Tell(fmt.Errorf("%s:%d: the directory %q of root %s is not a directory of the checkout; correct \"dir\"", root.File, root.Line, root.Dir, root.Name))
	}
	for _, file := range root.VarFiles {
		if _, err := w.base.Stat(filepath.Join(w.rel, filepath.FromSlash(file))); err != nil || filepath.IsAbs(file) {
			return engine.Tell(fmt.Errorf("%s:%d: the var file %q of root %s is not in the checkout; correct \"varFiles\"", root.File, root.Line, file, root.Name))
		}
	}
	return nil
}

func (w *workdir) prepare() error {
	fail := func(err error) error { return fmt.Errorf("preparing root %s: %w", w.t.Root.Name, err) }
	if err := checkPairs(w.d.cfg.Env); err != nil {
		return engine.Tell(fail(err))
	}
	if err := checkPairs(w.t.Credentials); err != nil {
		return engine.Tell(fail(err))
	}
	if err := w.openDirs(); err != nil {
		return fail(err)
	}
	if err := w.writeCLIConfig(true); err != nil {
		return err
	}
	w.env = exec.BaseEnv(filepath.Join(w.scratch, "home"), filepath.Join(w.scratch, "tmp"),
		"TF_CLI_CONFIG_FILE="+filepath.Join(w.scratch, cliConfigFile), "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1")
	if w.t.Root.Workspace != "" {
		w.env = append(w.env, "TF_WORKSPACE="+w.t.Root.Workspace)
	}
	w.env = append(append(w.env, w.d.cfg.Env...), w.t.Credentials...)
	return nil
}

// openDirs makes the run's and the scratch directory and holds on to both
// before any code of a checkout runs.
func (w *workdir) openDirs() error {
	// Others may pass through, for isolation by user, but not look in.
	err := os.MkdirAll(w.t.RunDir, 0o711) //nolint:gosec // a directory
	if err != nil {
		return err
	}
	if w.runDir, err = os.OpenRoot(w.t.RunDir); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp(w.d.cfg.TempDir, "chant-")
	if err != nil {
		return err
	}
	if w.scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return err
	}
	if w.private, err = os.OpenRoot(w.scratch); err != nil {
		return err
	}
	return errors.Join(w.private.Mkdir("home", 0o700), w.private.Mkdir("tmp", 0o700))
}

const cliConfigFile = "cli.tfrc"

// writeCLIConfig puts the tool's configuration into the scratch directory.
func (w *workdir) writeCLIConfig(useCache bool) error {
	err := errors.Join(
		w.private.RemoveAll(cliConfigFile),
		w.private.WriteFile(cliConfigFile, []byte(cliConfig(w.d.cfg, useCache)), 0o644),
	)
	if err != nil {
		return fmt.Errorf("preparing root %s: %w", w.t.Root.Name, err)
	}
	return nil
}

func (w *workdir) close() {
	if w.unlock != nil {
		w.unlock()
	}
	if w.scratch != "" {
		_ = os.RemoveAll(w.scratch)
	}
	for _, dir := range []*os.Root{w.tree, w.base, w.private, w.runDir} {
		if dir != nil {
			_ = dir.Close()
		}
	}
}

// call is one run of the tool.
type call struct {
	args     []string
	sink     engine.Sink // nil: nothing is shown
	json     bool        // the output is a document: only certain secrets are masked
	exact    bool        // the output is a state: it is stored again, so nothing is masked
	reads    []string    // further readable paths
	stdin    string      // a pipe that is held open and read from
	detached bool
}

// seldomCollect has the tool collect garbage a few times less often: a third of
// the processor time of a run that starts no provider is that.
const seldomCollect = "GOGC=400"

// light tells whether a run starts no provider, so that its memory stays small.
// Init and output never do, others only where init installed any.
func (w *workdir) light(c call) bool {
	if c.args[0] == "init" || c.args[0] == "output" {
		return true
	}
	_, err := w.tree.Stat(filepath.Join(w.rel, dataDir, "providers"))
	return errors.Is(err, fs.ErrNotExist)
}

// command builds the walled command of a call.
func (w *workdir) command(c call) (exec.Cmd, error) {
	cmd := exec.Cmd{Args: append([]string{w.d.binary}, c.args...), Dir: w.dir, Env: w.env}
	switch {
	case c.exact:
	case c.json:
		cmd.Scrub = documentSecrets(w.t.Credentials)
	default:
		cmd.Scrub = append(textSecrets(w.t.Credentials), w.secrets...)
	}
	if c.stdin != "" {
		// Opened for writing too, so that it never ends by itself.
		cmd.Args = append([]string{"/bin/sh", "-c", `pipe=$1; shift; exec "$@" <>"$pipe"`, "sh", c.stdin}, cmd.Args...)
	}
	if w.light(c) {
		cmd.Env = append([]string{seldomCollect}, w.env...) // an operator's own word comes later and wins
	}
	cmd.OnLine = shownLines(c.sink)
	cfg := w.d.cfg
	view := exec.View{
		ReadWrite: append(append(w.own(), w.scratch), w.more...),
		ReadOnly:  append([]string{w.d.binary}, c.reads...),
		Shared:    cfg.Writable,
		Limits:    cfg.Limits, Detached: c.detached,
	}
	if w.t.Base != "" {
		view.Base = exec.Mount{From: w.t.Base, At: w.t.Worktree}
	}
	view.ReadOnly = append(view.ReadOnly, cfg.ReadOnly...)
	for _, dir := range []string{cfg.CacheDir, cfg.Mirror} {
		if dir != "" {
			view.ReadOnly = append(view.ReadOnly, dir)
		}
	}
	cmd, err := cfg.Wall.Wrap(cmd, view)
	if err != nil {
		return exec.Cmd{}, fmt.Errorf("isolating root %s: %w", w.t.Root.Name, err)
	}
	return cmd, nil
}

// own are the directories of the worktree that its code may write to.
func (w *workdir) own() []string {
	if w.t.Base == "" {
		return []string{w.t.Worktree}
	}
	own := make([]string, 0, len(w.t.Own))
	for _, dir := range w.t.Own {
		own = append(own, filepath.Join(w.t.Worktree, filepath.FromSlash(dir)))
	}
	return own
}

// run runs the tool once in a slot of the pool. The exit code is the caller's
// to judge.
func (w *workdir) run(ctx context.Context, c call) (exec.Result, error) {
	cmd, err := w.command(c)
	if err != nil {
		return exec.Result{}, err
	}
	var res exec.Result
	err = w.d.cfg.Pool.Do(ctx, func() error {
		res, err = exec.Run(ctx, cmd)
		return err
	})
	if err != nil {
		return res, fmt.Errorf("%s of root %s: %w", w.name(c), w.t.Root.Name, err)
	}
	return res, nil
}

// readOnly is what the system says of a write outside a member's own directories.
const readOnly = "read-only file system"

// failure is a run that did not exit as wanted, in the tool's own words. Where
// the checkout and the scratch directory are is nobody's business.
func (w *workdir) failure(c call, res exec.Result) error {
	res.Stderr = withoutState(res.Stderr)
	err := res.Err(w.name(c))
	// Without who holds it, it is a backend that gives nobody the lock.
	if text := err.Error(); strings.Contains(text, "acquiring the state lock") && strings.Contains(text, "Lock Info:") {
		err = fmt.Errorf("somebody else has its state locked, so nothing was done with it; when that ended, try again, and where nobody works on it any more, free it with %s force-unlock: %w", w.d.planner, err)
	}
	err = fmt.Errorf("root %s: %w", w.t.Root.Name, err)
	if w.t.Base != "" && strings.Contains(strings.ToLower(err.Error()), readOnly) {
		err = fmt.Errorf("%w\n\nOf the checkout, code of root %s may write below %s only: its own directory and those of the local modules it calls", err, w.t.Root.Name, strings.Join(w.t.Own, ", "))
	}
	text := err.Error()
	for _, dir := range []string{w.t.Worktree, w.scratch, w.t.RunDir} {
		if dir != "" {
			text = strings.ReplaceAll(strings.ReplaceAll(text, dir+string(filepath.Separator), ""), dir, ".")
		}
	}
	if text != err.Error() {
		err = errors.New(text)
	}
	return engine.Tell(err)
}

func (w *workdir) name(c call) string { return w.d.planner + " " + c.args[0] }

// existingBytes bounds the small files of ours and the tool's that are read
// back from a worktree.
const existingBytes = 1 << 20

// readSmall reads a small regular file of the worktree; found is false when it
// is absent.
func (w *workdir) readSmall(rel string) (data []byte, found bool, err error) {
	f, err := openRegular(w.tree, rel)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	data, err = readAtMost(f, existingBytes)
	return data, true, err
}

const minTextSecret = 4

// textSecrets are the credential values masked in text for people.
func textSecrets(pairs []string) []string {
	var values []string
	for _, pair := range pairs {
		if _, v, _ := strings.Cut(pair, "="); len(v) >= minTextSecret {
			values = append(values, v)
		}
	}
	return values
}

const minDocumentSecret = 12

// publicSuffixes end the names of credential keys whose values are no secrets.
var publicSuffixes = [...]string{
	"_REGION", "_PROFILE", "_PROJECT", "_ZONE", "_LOCATION", "_ENVIRONMENT", "_URL", "_ENDPOINT", "_ADDR", "_HOST", "_USER",
	"_USERNAME", "_EMAIL", "_ACCOUNT", "_ACCOUNT_ID", "_TENANT_ID", "_SUBSCRIPTION_ID", "_CLIENT_ID", "_ROLE_ARN",
}

// documentSecrets are the credential values masked in plans and outputs. Plans
// are compared, and two values masked alike would compare equal, so what is
// public or short enough to occur by chance is left alone: a region, a path.
func documentSecrets(pairs []string) []string {
	var values []string
	for _, pair := range pairs {
		key, v, _ := strings.Cut(pair, "=")
		public := len(v) < minDocumentSecret || filepath.IsAbs(v)
		for _, suffix := range publicSuffixes {
			public = public || strings.HasSuffix(key, suffix)
		}
		if !public {
			values = append(values, v)
		}
	}
	return values
}
