package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/project"
)

// CommonOptions are those of every stage.
type CommonOptions struct {
	Env    string `env:"CHANT_ENV" placeholder:"ENV" help:"Environment. Default: the only one declared, else local."`
	Branch string `placeholder:"BRANCH" help:"Target branch. Default: the one the environment is declared for."`
	Gate   string `placeholder:"GATE" help:"Gate instead of the declared one."`
	Member string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	Forge  string `placeholder:"FORGE" help:"Forge to read from and to write note and statuses on: github, gitlab or forgejo; where it is comes from the variables its CI jobs have, and a token."`
	Output string `placeholder:"DIR" default:".chant/pr" help:"Directory of the report files. Default: .chant/pr."`
	JSON   bool   `name:"json" help:"Print the report as JSON."`

	Run RunOptions `embed:""`
}

// defaultEnv is the env of a repository that declares none (pr-loop §5.1).
const defaultEnv = "local"

// target is what a stage works on.
type target struct {
	env, branch, member string
	declaration         *project.Declaration // nil when none could be read
}

// target finds env, branch and member from the options and the declaration at a
// commit. A declaration that is not readable is the stage's to report.
func (h *Host) target(ctx context.Context, c *checkout, o CommonOptions, commit string) (target, error) {
	t := target{env: o.Env, branch: o.Branch}
	d, err := c.site.Declaration(ctx, commit)
	var problems project.Problems
	switch {
	case err == nil:
		t.declaration = d
	case !errors.As(err, &problems) && !errors.Is(err, project.ErrNoDeclaration):
		return t, err
	}
	if t.member, err = c.member(t.declaration, o.Member); err != nil {
		return t, err
	}
	if err := t.pickEnv(); err != nil {
		return t, err
	}
	return t, t.pickBranch(ctx, c)
}

// envs are the declared envs, or the one that stands for them.
func (t *target) envs() []project.Env {
	if t.declaration == nil {
		return nil
	}
	name := t.env
	if name == "" {
		name = defaultEnv
	}
	return t.declaration.Envs(name)
}

func (t *target) pickEnv() error {
	envs := t.envs()
	if t.env == "" {
		t.env = defaultEnv
		if len(envs) == 1 {
			t.env = envs[0].Name
		}
	}
	if len(envs) == 0 {
		return nil
	}
	var names []string
	for _, e := range envs {
		if e.Name == t.env {
			if t.branch == "" {
				t.branch = e.Branch
			}
			return nil
		}
		names = append(names, e.Name)
	}
	return Misuse("--env %s is not declared; %s declares %s", t.env, t.declaration.File, strings.Join(names, ", "))
}

// pickBranch falls back, where nothing is declared, to the branch the job says,
// the remote's default branch, and the branch checked out.
func (t *target) pickBranch(ctx context.Context, c *checkout) error {
	if t.branch != "" {
		return nil
	}
	if t.branch = c.job.base; t.branch != "" {
		return nil
	}
	candidates := []string{"main", "master"}
	prefix := "refs/heads/"
	if remote := c.site.Clone.Remote(); remote != "" {
		prefix = "refs/remotes/" + remote + "/"
	}
	for _, name := range candidates {
		_, err := c.site.Clone.Resolve(ctx, prefix+name)
		if err == nil {
			t.branch = name
			return nil
		}
		if !errors.Is(err, git.ErrUnknownRevision) {
			return err
		}
	}
	return fmt.Errorf("which branch is meant cannot be told; add --branch, or declare ci.green.branch")
}
