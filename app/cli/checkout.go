package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
)

// checkout is the repository a command runs in.
type checkout struct {
	site *usecase.Site
	job  job
	top  string // directory that holds .git
	// state is where runs keep their files: inside the git directory all
	// worktrees share, so that no commit, artifact or planned code holds it.
	state string
	rel   string // working directory below top, slash-separated, "." at top
}

// name is the repository as people know it: as the forge or the job has it, else by
// the directory it is checked out to.
func (c *checkout) name() string {
	for _, repo := range []engine.Repo{c.site.Repo, c.job.repo} {
		if repo.Owner != "" && repo.Name != "" {
			return repo.FullName()
		}
	}
	return filepath.Base(c.top)
}

// open opens the repository around the working directory. The forge is left
// out; kind is its family, "" to tell by the environment.
func (h *Host) open(ctx context.Context, kind string) (*checkout, error) {
	if err := checkForge(kind); err != nil {
		return nil, err
	}
	if err := config.Mistyped(h.Environ); err != nil {
		return nil, &ExitError{Code: Misused, Err: err}
	}
	top, err := topOf(h.Dir)
	if err != nil {
		return nil, err
	}
	gitDir, err := commonDir(top)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(top, h.Dir)
	if err != nil {
		return nil, fmt.Errorf("finding %s in the checkout: %w", h.Dir, err)
	}
	clone, err := git.Existing(ctx, top)
	if err != nil {
		return nil, err
	}
	holder, err := lease.NewHolder()
	if err != nil {
		return nil, err
	}
	job, err := h.job(kind)
	if err != nil {
		return nil, err
	}
	return &checkout{
		job: job, top: top, state: filepath.Join(gitDir, "chant"), rel: filepath.ToSlash(rel),
		site: &usecase.Site{
			Repo: engine.Repo{Instance: job.repo.Instance}, Clone: clone,
			Ledger: ledger.Open(clone, h.Now), Leases: lease.Open(clone, holder, lease.SystemClock()),
		},
	}, nil
}

// openWith also connects to the forge, unless kind is empty.
func (h *Host) openWith(ctx context.Context, kind string) (*checkout, error) {
	c, err := h.open(ctx, kind)
	if err != nil || kind == "" {
		return c, err
	}
	c.site.Forge, c.site.Repo, err = h.connect(ctx, c.job)
	return c, err
}

var errNotGit = errors.New("not inside a git checkout; run this where the repository is checked out")

// topOf walks up to the directory that holds .git.
func topOf(dir string) (string, error) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errNotGit
		}
		dir = parent
	}
}

// commonDir is the git directory that all worktrees of a checkout share
// (gitrepository-layout: a linked worktree has a .git file that names its own
// directory, and commondir in it leads to the shared one).
func commonDir(top string) (string, error) {
	path := filepath.Join(top, ".git")
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("finding the git directory: %w", err)
	}
	if info.IsDir() {
		return path, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("finding the git directory: %w", err)
	}
	own, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("finding the git directory: %s does not say gitdir", path)
	}
	own = below(top, own)
	text, err = os.ReadFile(filepath.Join(own, "commondir"))
	if errors.Is(err, fs.ErrNotExist) {
		return own, nil
	}
	if err != nil {
		return "", fmt.Errorf("finding the git directory: %w", err)
	}
	return below(own, strings.TrimSpace(string(text))), nil
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// resolve names a commit by a revision, which may be a branch that is only on
// the remote.
func (c *checkout) resolve(ctx context.Context, rev string) (string, error) {
	sha, err := c.site.Clone.Resolve(ctx, rev)
	if remote := c.site.Clone.Remote(); errors.Is(err, git.ErrUnknownRevision) && remote != "" {
		if onRemote, remoteErr := c.site.Clone.Resolve(ctx, "refs/remotes/"+remote+"/"+rev); remoteErr == nil {
			return onRemote, nil
		}
	}
	if err != nil {
		return "", fmt.Errorf("%w; correct it, or fetch it with its history", err)
	}
	return sha, nil
}

// atBase reads the declaration that binds approvals: of the remote's default
// branch, else of main or master, else of HEAD (pr-loop §3.7).
func (c *checkout) atBase(ctx context.Context) (*project.Declaration, error) {
	revs := []string{"refs/heads/main", "refs/heads/master", "HEAD"}
	if remote := c.site.Clone.Remote(); remote != "" {
		tracked := "refs/remotes/" + remote + "/"
		revs = append([]string{tracked + "HEAD", tracked + "main", tracked + "master"}, revs...)
	}
	for _, rev := range revs {
		sha, err := c.site.Clone.Resolve(ctx, rev)
		if errors.Is(err, git.ErrUnknownRevision) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return c.site.Declaration(ctx, sha)
	}
	return nil, errors.New("the checkout has no commit yet; commit chant.workspace.json first")
}

// member finds the workspace member the working directory is in, and holds a
// --member against it (pr-loop §5.1).
func (c *checkout) member(d *project.Declaration, flag string) (string, error) {
	owner := ""
	if d != nil {
		if m, ok := d.MemberOf(c.rel); ok && m.Kind == "chant" && m.Dir != "." {
			owner = m.Name
		}
	}
	if flag == "" || flag == owner {
		return owner, nil
	}
	if owner == "" {
		return "", Misuse("--member %s: the working directory is in the root project; run this in the member's directory", flag)
	}
	return "", Misuse("--member %s: the working directory belongs to member %s", flag, owner)
}
