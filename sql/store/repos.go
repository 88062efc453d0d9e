package store

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/sql/db"
)

// Repo is a repository and how to reach it. Its key is engine.Repo.Key, which a
// rename leaves alone.
type Repo struct {
	engine.Repo
	Installation  int64
	DefaultBranch string
	CloneURL      string // https, without credentials
	HTMLURL       string
	UpdatedAt     time.Time
}

// Repos remembers repositories by the id their forge gave them.
type Repos struct{ db *DB }

// NewRepos is the store of repositories in d.
func NewRepos(d *DB) Repos { return Repos{d} }

// Upsert records what is known now. A new owner or name is a rename; a zero
// installation or an empty text means not known and keeps what was stored.
func (s Repos) Upsert(ctx context.Context, on Conn, r Repo) error {
	err := new(db.Queries).UpsertRepo(ctx, on, db.UpsertRepoParams{
		Key: r.Key(), Instance: r.Instance.String(), ForgeID: r.ID, Owner: r.Owner, Name: r.Name,
		Installation: r.Installation, DefaultBranch: r.DefaultBranch, CloneUrl: r.CloneURL, HtmlUrl: r.HTMLURL,
		UpdatedAt: millis(r.UpdatedAt),
	})
	if err != nil {
		return fmt.Errorf("storing repository %s: %w", r.FullName(), err)
	}
	return nil
}

// Get reads the repository of a key; ErrNotFound.
func (s Repos) Get(ctx context.Context, key string) (Repo, error) {
	row, err := new(db.Queries).GetRepo(ctx, s.db.Read, key)
	if err != nil {
		return Repo{}, notFound(err, "reading repository %s", key)
	}
	return repo(row), nil
}

// List reads every repository, by owner and name.
func (s Repos) List(ctx context.Context) ([]Repo, error) {
	rows, err := new(db.Queries).ListRepos(ctx, s.db.Read)
	if err != nil {
		return nil, fmt.Errorf("listing repositories: %w", err)
	}
	out := make([]Repo, len(rows))
	for i, row := range rows {
		out[i] = repo(row)
	}
	return out, nil
}

func repo(row db.Repo) Repo {
	return Repo{
		Repo:         engine.Repo{Instance: parseInstance(row.Instance), ID: row.ForgeID, Owner: row.Owner, Name: row.Name},
		Installation: row.Installation, DefaultBranch: row.DefaultBranch,
		CloneURL: row.CloneUrl, HTMLURL: row.HtmlUrl, UpdatedAt: fromMillis(row.UpdatedAt),
	}
}
