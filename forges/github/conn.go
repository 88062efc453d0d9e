package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"sync"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Conn is one credential's connection. It has a client of its own, for
// go-github too keeps rate limits in the client.
type Conn struct {
	all    *Connections
	id     int64 // installation; 0 with a token or as the app
	client *gogithub.Client
	source tokenSource
	pace   *pacer

	mu     sync.Mutex
	self   engine.Actor
	access string // contents permission of the installation
	git    map[int64]tokenSource
}

var _ forges.Forge = (*Conn)(nil)

// Instance is the GitHub this connection reaches.
func (c *Conn) Instance() engine.Instance { return c.all.config.Instance }

const (
	perPage = 100
	// maxPages bounds a list; a longer one is an error, never cut.
	maxPages = 100
)

// request is one call. What names it in errors, needs is the permission it
// takes when the answer does not say.
type request struct {
	what, needs  string
	method, path string
	body         any
}

func (c *Conn) do(ctx context.Context, r request, out any) (*gogithub.Response, error) {
	req, err := c.client.NewRequest(r.method, r.path, r.body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.what, err)
	}
	if r.writes() {
		end, err := c.pace.begin(ctx)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.what, err)
		}
		defer end()
	}
	resp, err := c.client.Do(ctx, req, out)
	if err != nil {
		return nil, typed(r, err)
	}
	return resp, nil
}

func (c *Conn) get(ctx context.Context, what, needs, path string, out any) error {
	_, err := c.do(ctx, request{what, needs, http.MethodGet, path, nil}, out)
	return err
}

// pages reads every page of a list. The number of the next one comes from the
// Link header.
func (c *Conn) pages(ctx context.Context, what, needs, path string, query url.Values, most int, add func(json.RawMessage) error) error {
	if query == nil {
		query = url.Values{}
	}
	query.Set("per_page", fmt.Sprint(perPage))
	for page, read := 1, 0; page != 0; read++ {
		if read == most {
			return fmt.Errorf("%s: more than %d pages", what, most)
		}
		query.Set("page", fmt.Sprint(page))
		var data json.RawMessage
		resp, err := c.do(ctx, request{what, needs, http.MethodGet, path + "?" + query.Encode(), nil}, &data)
		if err != nil {
			return err
		}
		if err := add(data); err != nil {
			return fmt.Errorf("%s: reading page %d: %w", what, page, err)
		}
		if resp.NextPage != 0 && resp.NextPage <= page {
			return fmt.Errorf("%s: page %d is followed by page %d", what, page, resp.NextPage)
		}
		page = resp.NextPage
	}
	return nil
}

// list reads every page of a plain JSON array.
func list[T any](ctx context.Context, c *Conn, what, needs, path string, query url.Values) ([]T, error) {
	var all []T
	err := c.pages(ctx, what, needs, path, query, maxPages, func(data json.RawMessage) error {
		var page []T
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		all = append(all, page...)
		return nil
	})
	return all, err
}

// Names go into paths, so they are checked: go-github escapes none of them.
var (
	ownerPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)
	namePattern  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
	loginPattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\[bot\])?$`)
	teamPattern  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)
	shaPattern   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// repoPath addresses a repository by ID, or by its names when it has none yet.
func repoPath(repo engine.Repo) (string, error) {
	if repo.ID > 0 {
		return fmt.Sprintf("repositories/%d", repo.ID), nil
	}
	if !ownerPattern.MatchString(repo.Owner) || !namePattern.MatchString(repo.Name) || repo.Name == "." || repo.Name == ".." {
		return "", fmt.Errorf("github: %q is no repository name", repo.FullName())
	}
	return "repos/" + repo.Owner + "/" + repo.Name, nil
}

// path is a repository's address with something behind it.
func (c *Conn) path(repo engine.Repo, format string, args ...any) (string, error) {
	if repo.Instance != c.Instance() {
		return "", fmt.Errorf("github: %s is not on %s", repo.Key(), c.Instance())
	}
	base, err := repoPath(repo)
	return base + fmt.Sprintf(format, args...), err
}

func checkNumber(number int) error {
	if number <= 0 {
		return fmt.Errorf("github: %d is no pull request number", number)
	}
	return nil
}

func checkSHA(sha string) error {
	if !shaPattern.MatchString(sha) {
		return fmt.Errorf("github: %q is no commit sha", sha)
	}
	return nil
}

// actor of an account; a deleted one is null and becomes the zero Actor.
func actor(u *gogithub.User) engine.Actor {
	if u == nil {
		return engine.Actor{}
	}
	return engine.Actor{ID: u.GetID(), Login: u.GetLogin(), Bot: u.GetType() == "Bot"}
}
