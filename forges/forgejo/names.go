package forgejo

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// No event tells of a rename. namesFor is how long the names of a repository are
// believed where something is read, provenFor where something is written: about as
// long as what is told of one pull request takes, whose reading showed the id.
const (
	namesFor  = time.Minute
	provenFor = 5 * time.Second
)

// named is what a repository is called, as an answer with its id said.
type named struct {
	owner, name string
	at          time.Time
}

const needsRepository = "scope read:repository and access to the repository"

// Names go into paths, so they are checked: the library escapes no dots.
var (
	namePattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,255}$`)
	shaPattern  = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

func checkName(kind, name string) error {
	if !namePattern.MatchString(name) || name == "." || name == ".." {
		return fmt.Errorf("forgejo: %q is no %s", name, kind)
	}
	return nil
}

func checkNumber(number int) error {
	if number <= 0 {
		return fmt.Errorf("forgejo: %d is no pull request number", number)
	}
	return nil
}

func checkSHA(sha string) error {
	if !shaPattern.MatchString(sha) {
		return fmt.Errorf("forgejo: %q is no commit sha", sha)
	}
	return nil
}

// now looks a repository up.
func (c *Conn) now(ctx context.Context, repo engine.Repo) (*gitea.Repository, error) {
	if err := c.mine(repo); err != nil {
		return nil, err
	}
	r := request{"reading " + repo.Key(), needsRepository}
	if repo.ID > 0 {
		found, err := call(ctx, c, r, func(client *gitea.Client) (*gitea.Repository, *gitea.Response, error) {
			return client.GetRepoByID(repo.ID)
		})
		if err != nil {
			return nil, err
		}
		return found, c.remember(repo, found)
	}
	if err := errors.Join(checkName("owner", repo.Owner), checkName("repository", repo.Name)); err != nil {
		return nil, err
	}
	r.what = "reading " + repo.FullName()
	found, err := call(ctx, c, r, func(client *gitea.Client) (*gitea.Repository, *gitea.Response, error) {
		return client.GetRepo(repo.Owner, repo.Name)
	})
	if err != nil {
		return nil, err
	}
	return found, c.remember(repo, found)
}

func (c *Conn) remember(asked engine.Repo, found *gitea.Repository) error {
	owner, name := "", found.Name
	if found.Owner != nil {
		owner = found.Owner.UserName
	}
	if found.ID <= 0 || asked.ID > 0 && found.ID != asked.ID || checkName("owner", owner) != nil || checkName("repository", name) != nil {
		return fmt.Errorf("reading %s: the answer names no repository", asked.Key())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names[found.ID] = named{owner, name, c.config.Now()}
	return nil
}

// forget has the names asked for again.
func (c *Conn) forget(repo engine.Repo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.names, repo.ID)
}

// write runs a write under the names a repository has now. One that fails may
// have had names of a moment ago, so the next one asks.
func write[T any](ctx context.Context, c *Conn, repo engine.Repo, r request, do func(client *gitea.Client, owner, name string) (T, *gitea.Response, error)) (T, error) {
	var none T
	if err := c.mine(repo); err != nil {
		return none, err
	}
	known, ok := c.believed(repo, provenFor)
	if !ok {
		found, err := c.now(ctx, repo)
		if err != nil {
			return none, err
		}
		known = named{owner: found.Owner.UserName, name: found.Name}
	}
	got, err := call(ctx, c, r, func(client *gitea.Client) (T, *gitea.Response, error) {
		return do(client, known.owner, known.name)
	})
	if err != nil {
		c.forget(repo)
	}
	return got, err
}

// under runs a read under the names that are believed, and once more when
// nothing was found and the names turn out to have changed.
func under[T any](ctx context.Context, c *Conn, repo engine.Repo, read func(owner, name string) (T, error)) (T, error) {
	var none T
	if err := c.mine(repo); err != nil {
		return none, err
	}
	known, ok := c.believed(repo, namesFor)
	var missing error
	if ok {
		got, err := read(known.owner, known.name)
		if !errors.Is(err, forges.ErrNotFound) {
			return got, err
		}
		missing = err
	}
	found, err := c.now(ctx, repo)
	if err != nil {
		return none, err
	}
	if ok && known.owner == found.Owner.UserName && known.name == found.Name {
		return none, missing
	}
	return read(found.Owner.UserName, found.Name)
}

// believed are the names a repository had at most that long ago.
func (c *Conn) believed(repo engine.Repo, age time.Duration) (named, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.names[repo.ID]
	return known, ok && c.config.Now().Before(known.at.Add(age))
}

// get is one read in a repository.
func get[T any](ctx context.Context, c *Conn, repo engine.Repo, r request, do func(client *gitea.Client, owner, name string) (T, *gitea.Response, error)) (T, error) {
	return under(ctx, c, repo, func(owner, name string) (T, error) {
		return call(ctx, c, r, func(client *gitea.Client) (T, *gitea.Response, error) { return do(client, owner, name) })
	})
}

// every is a whole list in a repository.
func every[T any](ctx context.Context, c *Conn, repo engine.Repo, r request, do func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]T, *gitea.Response, error)) ([]T, error) {
	return under(ctx, c, repo, func(owner, name string) ([]T, error) {
		return list(ctx, c, r, func(client *gitea.Client, at gitea.ListOptions) ([]T, *gitea.Response, error) {
			return do(client, owner, name, at)
		})
	})
}
