package usecase

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/project"
)

// Checkout is one commit's files on disk and what they declare. The directory
// has no .git, and no child ever writes to it: what was read from it stays true,
// and it and copies of it are the commit (see trees).
type Checkout struct {
	Dir, Commit string
	Workspace   *project.Workspace
}

// Checkout writes the files of commit under dir and reads the workspace.
func (s *Site) Checkout(ctx context.Context, commit, dir string) (*Checkout, error) {
	if err := makePassage(filepath.Dir(dir)); err != nil {
		return nil, fmt.Errorf("checking out %s: %w", commit, err)
	}
	if err := s.Clone.Worktree(ctx, commit, dir); err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o700); err != nil { //nolint:gosec // a directory
		return nil, fmt.Errorf("checking out %s: %w", commit, err)
	}
	workspace, err := declare.Load(dir)
	if err != nil {
		return nil, err
	}
	return &Checkout{Dir: dir, Commit: commit, Workspace: workspace}, nil
}

// Declaration reads the declaration as commit has it, without a checkout.
func (s *Site) Declaration(ctx context.Context, commit string) (*project.Declaration, error) {
	d, err := declare.LoadDeclaration(func(path string) ([]byte, bool, error) {
		return s.Clone.ReadFile(ctx, commit, path)
	})
	if err != nil {
		return nil, err
	}
	d.DefaultBranch = s.DefaultBranch
	return d, nil
}

// makePassage makes a directory that others may pass through, for isolation by
// user, but not look in.
func makePassage(dir string) error { return os.MkdirAll(dir, 0o711) } //nolint:gosec // a directory

// trees are the files the members of one phase run in, each member its own copy of
// what its code may write to: the code of one can't change what another plans or
// applies, and no apply runs where a plan's code ran before (soundness I1, I13).
// All else of the commit they see in the one checkout, read-only, where the
// planner can show it to them; where it can't, they have copies of that too.
type trees struct {
	planner engine.Planner
	from    string // directory of a Checkout
	dir     string // of the copies, private to the phase
	// written is the directory of the planning phase's copies: what a member's own
	// plan wrote beside the commit's files, an archive for one, is there when the
	// member is applied. Empty for none.
	written string

	mu   sync.Mutex          // one copy at a time: the first member starts while the next is copied
	made map[string][]string // by member, what it has of its own
}

// newTrees makes the directory of a phase that is called once by that name.
func (st *Stage) newTrees(c *Checkout, planner engine.Planner, runDir, phase string) (*trees, error) {
	t := &trees{planner: planner, from: c.Dir, dir: filepath.Join(runDir, phase+"-"+st.NewID()), made: map[string][]string{}}
	if err := makePassage(t.dir); err != nil {
		return nil, fmt.Errorf("making the directory of worktrees: %w", err)
	}
	return t, nil
}

// lay puts a member's files where it runs and says so in its target: its own
// worktree, made when it is first asked for. projectDir is relative to it.
func (t *trees) lay(target *engine.Target, projectDir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir := filepath.Join(t.dir, safeName(target.Member))
	own, made := t.made[target.Member]
	if !made {
		var err error
		if own, err = t.copy(target, projectDir, dir); err != nil {
			_ = os.RemoveAll(dir)
			return fmt.Errorf("giving %s files of its own: %w", target.Member, err)
		}
		t.made[target.Member] = own
	}
	target.Worktree, target.ProjectDir = dir, filepath.Join(dir, filepath.FromSlash(projectDir))
	if !slices.Contains(own, ".") {
		target.Base, target.Own = t.from, own
	}
	return nil
}

// layTogether puts all files where the members of a group run, in one worktree, and
// says so in their targets.
func (t *trees) layTogether(name string, targets []engine.Target, projectDir string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir := filepath.Join(t.dir, safeName(name))
	if _, made := t.made[name]; !made {
		err := git.CopyWorktree(t.from, dir, ".")
		if err == nil && t.written != "" {
			err = addWritten(filepath.Join(t.written, safeName(name)), dir)
		}
		if err != nil {
			_ = os.RemoveAll(dir)
			return fmt.Errorf("giving %s files of its own: %w", name, err)
		}
		t.made[name] = []string{"."}
	}
	for i := range targets {
		targets[i].Worktree, targets[i].ProjectDir = dir, filepath.Join(dir, filepath.FromSlash(projectDir))
	}
	return nil
}

// copy makes the member's own directories, with what its plan wrote there.
func (t *trees) copy(target *engine.Target, projectDir, dir string) ([]string, error) {
	own, err := t.planner.Own(t.from, projectDir, target.Root)
	if err != nil {
		return nil, err
	}
	if err := git.CopyWorktree(t.from, dir, own...); err != nil || t.written == "" {
		return own, err
	}
	if err := addWritten(filepath.Join(t.written, safeName(target.Member)), dir); err != nil {
		return nil, fmt.Errorf("taking over what its plan wrote: %w", err)
	}
	return own, nil
}

// drop removes a member's worktree, which nothing more runs in.
func (t *trees) drop(member string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, made := t.made[member]; made {
		delete(t.made, member)
		// What is left goes with the run's directory.
		_ = git.RemoveWorktree(filepath.Join(t.dir, safeName(member)))
	}
}
