package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chant-bot/chant/app/config"
	"github.com/chant-bot/chant/app/httpd"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/sql/store"
)

// sites opens repositories: one clone each, kept open, under the state
// directory.
type sites struct {
	config   *config.Config
	forges   connections
	db       *store.DB
	repos    store.Repos
	settings store.Settings
	holder   string
	now      func() time.Time

	mu     sync.Mutex // held for no longer than a look at what it guards
	open   map[string]*opened
	served map[string]string // keys the allow-list resolved to, by the name listed
	asked  map[string]error  // what came of asking the forge last and of the sweep after it, by the name listed
	// ledgers are those of all that is open: a clone that is being made holds up
	// nobody who counts.
	ledgers []*ledger.Ledger
}

// opened is the one clone of a repository, whatever it is called.
type opened struct {
	mu     sync.Mutex // while it is opened or its remote moves
	url    string
	clone  *git.Clone // nil until opened
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
		if err := s.recall(ctx); err != nil { // another replica may know it by its listed name
			return nil, err
		}
		if !s.serves(repo.Repo) {
			return nil, fmt.Errorf("repository %s is not on the allow-list: %w", repo.FullName(), store.ErrNotFound)
		}
	}
	connection, err := s.forges.of(repo.Instance)
	if err != nil {
		return nil, err
	}
	forge, err := connection.reach(ctx, repo.Repo)
	if err != nil {
		return nil, err
	}
	if repo.CloneURL == "" || repo.DefaultBranch == "" {
		if repo, err = s.learn(ctx, forge, repo.Repo); err != nil {
			return nil, err
		}
	}
	o, err := s.openClone(ctx, repo)
	if err != nil {
		return nil, err
	}
	return &usecase.Site{
		Repo: repo.Repo, DefaultBranch: repo.DefaultBranch,
		Clone: o.clone, Ledger: o.ledger, Leases: o.leases, Forge: forge,
		SharedAccount: connection.shared,
	}, nil
}

func (s *sites) openClone(ctx context.Context, repo store.Repo) (*opened, error) {
	s.mu.Lock()
	o := s.open[repo.Key()]
	if o == nil {
		o = &opened{}
		s.open[repo.Key()] = o
	}
	s.mu.Unlock()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clone != nil && o.url == repo.CloneURL {
		return o, nil
	}
	if o.clone != nil {
		if err := o.clone.MoveRemote(ctx, repo.CloneURL); err != nil {
			return nil, err
		}
		o.url = repo.CloneURL
		return o, nil
	}
	auth := git.Auth{Header: func(ctx context.Context) (string, error) {
		forge, err := s.forges.For(ctx, repo.Repo)
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
	o.ledger, o.leases = ledger.Open(clone, s.now), lease.Open(clone, s.holder, lease.SystemClock())
	o.url, o.clone = repo.CloneURL, clone
	s.mu.Lock()
	s.ledgers = append(s.ledgers, o.ledger)
	s.mu.Unlock()
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

// learn remembers what the forge says of a repository. One that is on the
// allow-list by the name it was asked by is served from then on, whatever it is
// called later.
func (s *sites) learn(ctx context.Context, forge forges.Forge, repo engine.Repo) (store.Repo, error) {
	known, err := s.ask(ctx, forge, repo)
	if err != nil {
		return store.Repo{}, err
	}
	listed := s.config.Allows(repo)
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		if err := s.repos.Upsert(ctx, tx, known); err != nil || !listed {
			return err
		}
		return s.settings.Put(ctx, tx, listing(repo), []byte(known.Key()), s.now())
	})
	if err == nil && listed {
		s.mu.Lock()
		s.served[listing(repo)] = known.Key()
		s.mu.Unlock()
	}
	return known, err
}

// listing is the setting that keeps which repository a name of the allow-list
// resolved to last.
func listing(repo engine.Repo) string {
	return "listed " + strings.ToLower(repo.Instance.Host+"/"+repo.FullName())
}

// recall reads what the names of the allow-list resolved to in an earlier
// process, or in another one. A name that was taken from the list serves nothing
// any more.
func (s *sites) recall(ctx context.Context) error {
	for _, name := range s.config.Repositories {
		repo, err := s.config.Named(name)
		if err != nil {
			return err
		}
		setting := listing(repo)
		key, err := s.settings.Get(ctx, setting)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		s.mu.Lock()
		s.served[setting] = string(key)
		s.mu.Unlock()
	}
	return nil
}

// Listed implements jobs.Sites.
func (s *sites) Listed() []string { return s.config.Repositories }

// Discover implements jobs.Sites.
func (s *sites) Discover(ctx context.Context, name string) (store.Repo, error) {
	repo, err := s.config.Named(name)
	if err != nil {
		return store.Repo{}, err
	}
	known, err := func() (store.Repo, error) {
		forge, err := s.forges.For(ctx, repo)
		if err != nil {
			return store.Repo{}, err
		}
		return s.learn(ctx, forge, repo)
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name] = err
	return known, err
}

// Swept implements jobs.Sites. Something that is not found within a repository is
// not the repository, so that only the words are kept.
func (s *sites) Swept(name string, err error) {
	if err != nil {
		err = errors.New(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name] = err
}

// reached is what pages show of the allow-list.
func (s *sites) reached() []httpd.Listed {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]httpd.Listed, 0, len(s.config.Repositories))
	for _, name := range s.config.Repositories {
		err, asked := s.asked[name]
		listed := httpd.Listed{Name: name, Asked: asked, Err: err}
		if repo, err := s.config.Named(name); err == nil {
			listed.Key = s.served[listing(repo)]
		}
		out = append(out, listed)
	}
	return out
}

// serves tells whether the allow-list names a repository now, or did by a name
// the forge still leads on from (cases, MeshWeaver 1852).
func (s *sites) serves(repo engine.Repo) bool {
	_, served := s.listedAs(repo)
	return served
}

// listedAs is a repository by the name that the configuration has for it.
func (s *sites) listedAs(repo engine.Repo) (listed engine.Repo, served bool) {
	if s.config.Allows(repo) {
		return repo, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, name := range s.config.Repositories {
		if named, err := s.config.Named(name); err == nil && s.served[listing(named)] == repo.Key() {
			return named, true
		}
	}
	return repo, false
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
	forge, err := s.forges.For(ctx, repo)
	if err != nil {
		return err
	}
	_, err = s.learn(ctx, forge, repo)
	return err
}

// ledgerCounts sums what the ledgers of all repositories count.
func (s *sites) ledgerCounts() (appended, contended int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.ledgers {
		a, c := l.Counts()
		appended, contended = appended+a, contended+c
	}
	return appended, contended
}

// Forget implements jobs.Sites.
func (s *sites) Forget(installation int64) { s.forges.Forget(installation) }

// Moved implements jobs.Sites.
func (s *sites) Moved(repo engine.Repo) {
	if c, err := s.forges.of(repo.Instance); err == nil {
		c.moved(repo)
	}
}

// Maintain implements jobs.Sites.
func (s *sites) Maintain(ctx context.Context) error {
	s.mu.Lock()
	open := slices.Collect(maps.Values(s.open))
	s.mu.Unlock()
	var errs []error
	for _, o := range open {
		o.mu.Lock()
		clone := o.clone
		o.mu.Unlock()
		if clone != nil {
			errs = append(errs, clone.Maintain(ctx))
		}
	}
	return errors.Join(errs...)
}
