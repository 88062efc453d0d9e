package usecase

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/project"
)

// Checkout is one commit's files on disk and what they declare. The directory
// has no .git, and no child ever sees it: what was read from it stays true, and
// copies of it are the commit (see trees).
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

// trees are the files the members of one phase run in, each member its own copy:
// the code of one can't change what another plans or applies, and no apply runs
// where a plan's code ran before (soundness I1, I13).
type trees struct {
	from string // directory of a Checkout
	dir  string // of the copies, private to the phase
	// written is the directory of the planning phase's copies: what a member's own
	// plan wrote beside the commit's files, an archive for one, is there when the
	// member is applied. Empty for none.
	written string

	mu   sync.Mutex // one copy at a time: the first member starts while the next is copied
	made map[string]bool
}

// newTrees makes the directory of a phase that is called once by that name.
func (st *Stage) newTrees(c *Checkout, runDir, phase string) (*trees, error) {
	t := &trees{from: c.Dir, dir: filepath.Join(runDir, phase+"-"+st.NewID()), made: map[string]bool{}}
	if err := makePassage(t.dir); err != nil {
		return nil, fmt.Errorf("making the directory of worktrees: %w", err)
	}
	return t, nil
}

// of is the member's own worktree, copied when it is first asked for.
func (t *trees) of(member string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	dir := filepath.Join(t.dir, safeName(member))
	if t.made[member] {
		return dir, nil
	}
	if err := git.CopyWorktree(t.from, dir); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	if t.written != "" {
		if err := addWritten(filepath.Join(t.written, safeName(member)), dir); err != nil {
			return "", fmt.Errorf("taking over what the plan of %s wrote: %w", member, err)
		}
	}
	t.made[member] = true
	return dir, nil
}

// drop removes a member's worktree, which nothing more runs in.
func (t *trees) drop(member string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made[member] {
		delete(t.made, member)
		// What is left goes with the run's directory.
		_ = git.RemoveWorktree(filepath.Join(t.dir, safeName(member)))
	}
}
