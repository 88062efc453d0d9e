package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

// connections finds the forge connection of a repository.
type connections interface {
	For(ctx context.Context, repo engine.Repo) (forges.Forge, error)
	Forget(installation int64)
}

// sites opens repositories: one clone each, kept open, under the state
// directory.
type sites struct {
	config *config.Config
	forge  connections
	db     *store.DB
	repos  store.Repos
	holder string
	now    func() time.Time

	mu     sync.Mutex
	open   map[string]*opened
	served map[string]bool // keys the allow-list resolved to
	me     int64           // our own account, 0 until asked
}

type opened struct {
	clone  *git.Clone
	ledger *ledger.Ledger
	leases *lease.Leases
}

// Open implements jobs.Sites. A repository that is not known or no longer
// allowed is store.ErrNotFound.
func (s *sites) Open(ctx context.Context, key string) (*usecase.Site, error) {
	repo, err := s.repos.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if !s.serves(repo.Repo) {
		return nil, fmt.Errorf("repository %s is not on the allow-list: %w", repo.FullName(), store.ErrNotFound)
	}
	forge, err := s.forge.For(ctx, repo.Repo)
	if err != nil {
		return nil, err
	}
	if repo.CloneURL == "" {
		if repo, err = s.learn(ctx, forge, repo.Repo); err != nil {
			return nil, err
		}
	}
	o, err := s.openClone(ctx, repo)
	if err != nil {
		return nil, err
	}
	return &usecase.Site{Repo: repo.Repo, Clone: o.clone, Ledger: o.ledger, Leases: o.leases, Forge: forge}, nil
}

func (s *sites) openClone(ctx context.Context, repo store.Repo) (*opened, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := repo.Key() + " " + repo.CloneURL
	if o := s.open[key]; o != nil {
		return o, nil
	}
	auth := git.Auth{Header: func(ctx context.Context) (string, error) {
		forge, err := s.forge.For(ctx, repo.Repo)
		if err != nil {
			return "", err
		}
		return forge.GitHeader(ctx, repo.Repo)
	}}
	dir := filepath.Join(s.config.StateDir, "clones", dirName(repo.Key()))
	clone, err := git.Open(ctx, dir, repo.CloneURL, auth)
	if err != nil {
		return nil, err
	}
	o := &opened{clone: clone, ledger: ledger.Open(clone, s.now), leases: lease.Open(clone, s.holder, lease.SystemClock())}
	s.open[key] = o
	return o, nil
}

// dirName keeps a repository's key a single path element.
func dirName(key string) string { return strings.NewReplacer(":", "_", "/", "_").Replace(key) }

// ask reads what the forge says a repository is called and where it is cloned
// from.
func (s *sites) ask(ctx context.Context, forge forges.Forge, repo engine.Repo) (store.Repo, error) {
	current, info, err := forge.Repository(ctx, repo)
	if err != nil {
		return store.Repo{}, fmt.Errorf("reading repository %s: %w", repo.FullName(), err)
	}
	return store.Repo{
		Repo: current, DefaultBranch: info.DefaultBranch, CloneURL: info.CloneURL, HTMLURL: info.HTMLURL, UpdatedAt: s.now(),
	}, nil
}

// learn remembers what the forge says of a repository.
func (s *sites) learn(ctx context.Context, forge forges.Forge, repo engine.Repo) (store.Repo, error) {
	known, err := s.ask(ctx, forge, repo)
	if err != nil {
		return store.Repo{}, err
	}
	return known, s.db.InTx(ctx, func(tx *sql.Tx) error { return s.repos.Upsert(ctx, tx, known) })
}

// Discover implements jobs.Sites: every repository of the allow-list that the
// app is installed on.
func (s *sites) Discover(ctx context.Context) ([]store.Repo, error) {
	var out []store.Repo
	var errs []error
	for _, name := range s.config.Repositories {
		repo := named(s.config.Instance(), name)
		forge, err := s.forge.For(ctx, repo)
		if errors.Is(err, forges.ErrNotFound) {
			continue // listed, and not installed yet
		}
		if err == nil {
			var known store.Repo
			if known, err = s.learn(ctx, forge, repo); err == nil {
				s.mu.Lock()
				s.served[known.Key()] = true
				s.mu.Unlock()
				out = append(out, known)
				continue
			}
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// named is a repository known by owner and name alone.
func named(instance engine.Instance, name string) engine.Repo {
	parts := strings.Split(name, "/")
	return engine.Repo{Instance: instance, Owner: parts[len(parts)-2], Name: parts[len(parts)-1]}
}

// serves tells whether the allow-list names a repository now, or did by a name
// the forge still leads on from (cases, MeshWeaver 1852).
func (s *sites) serves(repo engine.Repo) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config.Allows(repo) || s.served[repo.Key()]
}

// allows tells whether a delivery's repository is served. One that was renamed
// is known by its id under its earlier name.
func (s *sites) allows(repo engine.Repo) bool {
	if s.serves(repo) {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	known, err := s.repos.Get(ctx, repo.Key())
	return err == nil && s.config.Allows(known.Repo)
}

// Know implements jobs.Sites: a repository seen for the first time, or under a
// name it did not have before, is read from the forge by its id.
func (s *sites) Know(ctx context.Context, repo engine.Repo) error {
	known, err := s.repos.Get(ctx, repo.Key())
	if err == nil && known.Owner == repo.Owner && known.Name == repo.Name && known.CloneURL != "" {
		return nil
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	forge, err := s.forge.For(ctx, repo)
	if err != nil {
		return err
	}
	_, err = s.learn(ctx, forge, repo)
	return err
}

// Forget implements jobs.Sites.
func (s *sites) Forget(installation int64) { s.forge.Forget(installation) }

// Maintain implements jobs.Sites.
func (s *sites) Maintain(ctx context.Context) error {
	s.mu.Lock()
	clones := make([]*git.Clone, 0, len(s.open))
	for _, o := range s.open {
		clones = append(clones, o.clone)
	}
	s.mu.Unlock()
	var errs []error
	for _, clone := range clones {
		errs = append(errs, clone.Maintain(ctx))
	}
	return errors.Join(errs...)
}

// self is the id of the account we write as.
func (s *sites) self(ctx context.Context, repo engine.Repo) (int64, error) {
	if s.config.GitHub.BotID != 0 {
		return s.config.GitHub.BotID, nil
	}
	s.mu.Lock()
	me := s.me
	s.mu.Unlock()
	if me != 0 {
		return me, nil
	}
	forge, err := s.forge.For(ctx, repo)
	if err != nil {
		return 0, err
	}
	actor, err := forge.Self(ctx)
	if err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.me = actor.ID
	return actor.ID, nil
}
