package usecase

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/project"
)

// Checkout is one commit's files on disk and what they declare. The directory
// has no .git and is private to one run.
type Checkout struct {
	Dir, Commit string
	Workspace   *project.Workspace
}

// Checkout writes the files of commit under dir and reads the workspace.
func (s *Site) Checkout(ctx context.Context, commit, dir string) (*Checkout, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("checking out %s: %w", commit, err)
	}
	if err := s.Clone.Worktree(ctx, commit, dir); err != nil {
		return nil, err
	}
	workspace, err := declare.Load(dir)
	if err != nil {
		return nil, err
	}
	return &Checkout{Dir: dir, Commit: commit, Workspace: workspace}, nil
}

// Declaration reads the declaration as commit has it, without a checkout.
func (s *Site) Declaration(ctx context.Context, commit string) (*project.Declaration, error) {
	return declare.LoadDeclaration(func(path string) ([]byte, bool, error) {
		return s.Clone.ReadFile(ctx, commit, path)
	})
}
