package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/sealed"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
	"github.com/chant-bot/chant/engine/project"
)

// composeDir is where generated roots are, in the project's directory.
const composeDir = ".chant-compose"

// Grouper implements engine.Grouper: it plans and applies a generated root that
// calls each member as a module, over the members' states joined, and gives each
// member its part of the state back (pr-loop decision 9).
type Grouper struct {
	d   *Driver
	key sealed.Key
	// passed is told each step of an apply between which a crash must lose nothing.
	passed func(step string)
}

var _ engine.Grouper = (*Grouper)(nil)

// Grouper makes a grouper of the driver's roots. The key seals the journals of
// applies under way, which hold states.
func (d *Driver) Grouper(key sealed.Key) (*Grouper, error) {
	if d.cfg.StateDir == "" || key.IsZero() {
		return nil, errors.New("making a terraform grouper: it needs a state directory and a key, for the journals of its applies")
	}
	return &Grouper{d: d, key: key, passed: func(string) {}}, nil
}

// Composer is a driver that plans and applies several roots as one, too.
type Composer struct {
	*Driver
	engine.Grouper
}

// Composer makes one of the driver. The key is as for Grouper.
func (d *Driver) Composer(key sealed.Key) (*Composer, error) {
	g, err := d.Grouper(key)
	if err != nil {
		return nil, err
	}
	return &Composer{d, g}, nil
}

// group is one group's directories, opened for a few runs of the tool.
type group struct {
	g       *Grouper
	t       engine.GroupTarget
	root    *workdir // the generated root
	members []*member
	sink    engine.Sink // nil: nothing is shown
	names   *strings.Replacer
	// keepRoot leaves the generated root's directory, and what may be there, in place.
	keepRoot bool
	// hides are the members that may show a secret, by name, as far as it is known.
	hides map[string]bool
}

// member is one member of an opened group.
type member struct {
	engine.GroupMember
	at   int    // in the group
	id   string // of its module call
	w    *workdir
	hold *hold
}

var groupName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// checkGroup refuses a target that no caller should make.
func checkGroup(t engine.GroupTarget) error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("opening the group %s: %s", t.Group, fmt.Sprintf(format, args...))
	}
	if !groupName.MatchString(t.Group) || len(t.Members) == 0 {
		return fail("want a word as its name, and members")
	}
	var before []string
	for _, m := range t.Members {
		first := t.Members[0].Target
		switch {
		case m.Target.Worktree != first.Worktree || m.Target.ProjectDir != first.ProjectDir || m.Target.Base != "":
			return fail("its members have no worktree in common that holds every file")
		case !slices.Equal(m.Target.Credentials, first.Credentials):
			return fail("its members have different credentials")
		case slices.Contains(before, m.Target.Member):
			return fail("it has the member %s twice", m.Target.Member)
		case m.Target.Destroy:
			return fail("%s is to be destroyed, which is not done in a group", m.Target.Member)
		}
		for _, r := range m.Reads {
			if !slices.Contains(before, r.Member) || len(r.Path) == 0 {
				return fail("%s reads the output %s of %s, which is no member before it", m.Target.Member, r.Output, r.Member)
			}
		}
		for _, name := range m.After {
			if !slices.Contains(before, name) {
				return fail("%s comes after %s, which is no member before it", m.Target.Member, name)
			}
		}
		before = append(before, m.Target.Member)
	}
	return nil
}

// open opens the members' directories and makes that of the generated root. The
// caller must close the group.
func (g *Grouper) open(ctx context.Context, t engine.GroupTarget, sink engine.Sink) (*group, error) {
	if err := checkGroup(t); err != nil {
		return nil, err
	}
	grp := &group{g: g, t: t}
	var names []string
	for i, m := range t.Members {
		id := fmt.Sprintf("m%d", i+1)
		names = append(names, "module."+id+".", m.Target.Member+": ", states.OutputName(id, ""), m.Target.Member+": ")
		grp.members = append(grp.members, &member{GroupMember: m, at: i, id: id})
	}
	grp.names = strings.NewReplacer(names...)
	if sink != nil {
		var mu sync.Mutex
		grp.sink = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			sink(grp.names.Replace(line))
		}
	}
	if err := grp.openDirs(ctx); err != nil {
		grp.close()
		return nil, err
	}
	return grp, nil
}

func (grp *group) openDirs(ctx context.Context) error {
	if err := grp.makeRoot(); err != nil {
		return err
	}
	first := grp.t.Members[0].Target
	var err error
	grp.root, err = grp.g.d.open(ctx, engine.Target{
		Member: grp.t.Group,
		Root: project.Root{
			Name: grp.t.Group, Dir: composeDir + "/" + grp.t.Group, Workspace: first.Root.Workspace, File: composeDir,
			BackendConfig: map[string]string{"path": grp.statePath(), "workspace_dir": grp.stateDir()},
		},
		ProjectDir: first.ProjectDir, Worktree: first.Worktree, RunDir: grp.t.RunDir, Credentials: first.Credentials, Ready: grp.t.Ready,
	})
	if err != nil {
		return err
	}
	grp.root.more = []string{grp.stateDir()}
	for _, m := range grp.members {
		// One directory of two members would be waited for forever.
		if grp.sharesDir(m) {
			continue
		}
		target := m.Target
		target.RunDir, target.Ready = filepath.Join(grp.t.RunDir, "members", m.id), nil
		if m.w, err = grp.g.d.open(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// sharesDir tells whether a member before this one has its directory.
func (grp *group) sharesDir(m *member) bool {
	for _, other := range grp.members {
		if other == m {
			return false
		}
		if filepath.Clean(other.Target.Root.Dir) == filepath.Clean(m.Target.Root.Dir) {
			return true
		}
	}
	return false
}

// makeRoot makes the generated root's directory, without what may be there.
func (grp *group) makeRoot() error {
	project, err := os.OpenRoot(grp.t.Members[0].Target.ProjectDir)
	if err == nil {
		defer func() { _ = project.Close() }()
		dir := filepath.Join(composeDir, grp.t.Group)
		err = errors.Join(project.RemoveAll(dir), project.MkdirAll(dir, 0o755), ownAsAround(project, composeDir, dir))
	}
	if err == nil {
		err = errors.Join(os.MkdirAll(grp.t.RunDir, 0o711), grp.makeStateDir()) //nolint:gosec // others may pass through
	}
	if err != nil {
		return fmt.Errorf("making the root of the group %s: %w", grp.t.Group, err)
	}
	return nil
}

// ownAsAround gives new directories to whom the directory they are in was given: a
// wall by user gives a worktree away once, as a whole.
func ownAsAround(around *os.Root, dirs ...string) error {
	info, err := around.Stat(".")
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(st.Uid) == os.Geteuid() {
		return nil
	}
	for _, dir := range dirs {
		if err := around.Lchown(dir, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return nil
}

func (grp *group) close() {
	for _, m := range grp.members {
		if m.w != nil {
			m.w.close()
		}
	}
	if grp.root == nil {
		return
	}
	if grp.root.scratch != "" && !grp.keepRoot { // nothing uses it any more
		_ = grp.root.tree.RemoveAll(grp.root.rel) // it holds the variables' values
	}
	grp.root.close()
}

// stateDir is where the joined state is while the tool needs it.
func (grp *group) stateDir() string { return filepath.Join(grp.t.RunDir, "state") }

func (grp *group) makeStateDir() error { return os.MkdirAll(filepath.Dir(grp.statePath()), 0o711) } //nolint:gosec // as a run directory

// statePath is the joined state of the group's workspace.
func (grp *group) statePath() string {
	const name = "terraform.tfstate"
	if workspace := grp.t.Members[0].Target.Root.Workspace; workspace != "" && workspace != "default" {
		return filepath.Join(grp.stateDir(), workspace, name)
	}
	return filepath.Join(grp.stateDir(), name)
}

// each does something for every member, as many at a time as the pool runs.
func (grp *group) each(f func(*member) error) error {
	slots := make(chan struct{}, max(grp.g.d.Parallel(), 1))
	if grp.g.d.Parallel() == 0 {
		slots = make(chan struct{}, len(grp.members))
	}
	errs := make([]error, len(grp.members))
	var wg sync.WaitGroup
	for i, m := range grp.members {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = f(m)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// readable is a text of the tool in the words of the members.
func (grp *group) readable(text string) string { return grp.names.Replace(text) }
