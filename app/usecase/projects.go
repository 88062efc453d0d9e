package usecase

import (
	"context"
	"path"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/project"
)

// Projects names the projects of a workspace as commit has it, without a
// checkout: by member, the root as "".
func (s *Site) Projects(ctx context.Context, commit string, d *project.Declaration) ([]string, error) {
	projects, err := declare.Projects(d, func(dir string) ([]declare.Entry, error) {
		found, err := s.Clone.ListTree(ctx, commit, dir)
		entries := make([]declare.Entry, len(found))
		for i, e := range found {
			entries[i] = declare.Entry{Name: path.Base(e.Path), Dir: e.Type == "tree"}
		}
		return entries, err
	})
	names := make([]string, len(projects))
	for i, p := range projects {
		names[i] = p.Name
	}
	return names, err
}

// Bound is a declaration that binds, with the projects of the commit it is from.
type Bound struct {
	*project.Declaration

	projects []string
}

// Undeclared binds where nothing is declared: the root project alone.
func Undeclared() Bound {
	return Bound{Declaration: &project.Declaration{}, projects: []string{""}}
}

// BoundAt reads the declaration of one commit. What people have to mend is an
// error.
func (s *Site) BoundAt(ctx context.Context, commit string) (Bound, error) {
	d, err := s.Declaration(ctx, commit)
	if err != nil {
		return Bound{}, err
	}
	projects, err := s.Projects(ctx, commit, d)
	return Bound{Declaration: d, projects: projects}, err
}

// Bound is the declaration of a branch's tip; one that does not read declares
// nothing.
func (s *Site) Bound(ctx context.Context, tip string) (Bound, error) {
	b, err := s.BoundAt(ctx, tip)
	if err != nil && ForPeople(err) != nil {
		return Undeclared(), nil //nolint:nilerr // as said above
	}
	return b, err
}

// BoundNow is the declaration of a branch as it stands, and its tip. A branch that
// was deleted is errGone.
func (s *Site) BoundNow(ctx context.Context, branch string) (b Bound, tip string, err error) {
	if tip, err = s.TipOf(ctx, branch); err == nil {
		b, err = s.Bound(ctx, tip)
	}
	return b, tip, err
}

// BoundFor is the base branch's declaration, or the head's where the base has
// none that reads (decision 2).
func (s *Site) BoundFor(ctx context.Context, baseTip string, change engine.Change) (Bound, error) {
	b, err := s.BoundAt(ctx, baseTip)
	if err == nil || ForPeople(err) == nil {
		return b, err
	}
	if err := s.FetchHead(ctx, change.Number, change.Head); err != nil {
		return Bound{}, err
	}
	return s.Bound(ctx, change.Head)
}

// StatusPlace is one env and project that statuses of a commit are said for.
type StatusPlace struct {
	Env    project.Env
	Member string
	// withEnv: two envs share the branch.
	WithEnv bool
}

// Places are every env and project of a branch.
func (b Bound) Places(branch, defaultEnv string) []StatusPlace {
	envs := b.EnvsOf(branch, defaultEnv)
	var out []StatusPlace
	for _, env := range envs {
		for _, member := range b.projects {
			out = append(out, StatusPlace{Env: env, Member: member, WithEnv: project.SharedBranch(envs)})
		}
	}
	return out
}

// Context is the name of the status of a stage there.
func (p StatusPlace) Context(stage string) string {
	return project.Context(stage, p.Member, p.Env.Name, p.WithEnv)
}
