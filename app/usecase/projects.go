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

// bound is a declaration that binds, with the projects of the commit it is from.
type bound struct {
	*project.Declaration

	projects []string
}

// undeclared binds where nothing is declared: the root project alone.
func undeclared() bound {
	return bound{Declaration: &project.Declaration{}, projects: []string{""}}
}

// boundAt reads the declaration of one commit. What people have to mend is an
// error.
func (s *Site) boundAt(ctx context.Context, commit string) (bound, error) {
	d, err := s.Declaration(ctx, commit)
	if err != nil {
		return bound{}, err
	}
	projects, err := s.Projects(ctx, commit, d)
	return bound{Declaration: d, projects: projects}, err
}

// bound is the declaration of a branch's tip; one that does not read declares
// nothing.
func (s *Site) bound(ctx context.Context, tip string) (bound, error) {
	b, err := s.boundAt(ctx, tip)
	if err != nil && forPeople(err) != nil {
		return undeclared(), nil //nolint:nilerr // as said above
	}
	return b, err
}

// boundNow is the declaration of a branch as it stands, and its tip. A branch that
// was deleted is errGone.
func (s *Site) boundNow(ctx context.Context, branch string) (b bound, tip string, err error) {
	if tip, err = s.tipOf(ctx, branch); err == nil {
		b, err = s.bound(ctx, tip)
	}
	return b, tip, err
}

// boundFor is the base branch's declaration, or the head's where the base has
// none that reads (decision 2).
func (s *Site) boundFor(ctx context.Context, baseTip string, change engine.Change) (bound, error) {
	b, err := s.boundAt(ctx, baseTip)
	if err == nil || forPeople(err) == nil {
		return b, err
	}
	if err := s.fetchHead(ctx, change.Number, change.Head); err != nil {
		return bound{}, err
	}
	return s.bound(ctx, change.Head)
}

// statusPlace is one env and project that statuses of a commit are said for.
type statusPlace struct {
	env    project.Env
	member string
	// withEnv: two envs share the branch.
	withEnv bool
}

// places are every env and project of a branch.
func (b bound) places(branch, defaultEnv string) []statusPlace {
	envs := b.EnvsOf(branch, defaultEnv)
	var out []statusPlace
	for _, env := range envs {
		for _, member := range b.projects {
			out = append(out, statusPlace{env: env, member: member, withEnv: project.SharedBranch(envs)})
		}
	}
	return out
}

func (p statusPlace) context(stage string) string {
	return project.Context(stage, p.member, p.env.Name, p.withEnv)
}
