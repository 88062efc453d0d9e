package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

const (
	perPage = 100
	// maxPages bounds a list; a longer one is an error, never cut.
	maxPages = 100
)

// What calls need beside the scope api, as GitLab names roles.
const (
	needsRead   = "the scope api and the role Reporter"
	needsStatus = "the scope api and the role Developer, on a protected branch's pipeline the right to push or merge there"
)

// answered maps what a call of the client answered. What names the call in
// errors, needs is what it takes.
func answered[T any](what, needs string) func(T, *gogitlab.Response, error) (T, error) {
	return func(out T, _ *gogitlab.Response, err error) (T, error) {
		if err != nil {
			var none T
			return none, typed(what, needs, err)
		}
		return out, nil
	}
}

// list reads every page of a list.
func list[T any](what, needs string, read func(gogitlab.ListOptions) ([]T, *gogitlab.Response, error)) ([]T, error) {
	var all []T
	page := int64(1)
	for range maxPages {
		got, resp, err := read(gogitlab.ListOptions{PerPage: perPage, Page: page})
		if err != nil {
			return nil, typed(what, needs, err)
		}
		all = append(all, got...)
		if resp.NextPage == 0 {
			return all, nil
		}
		if resp.NextPage <= page {
			return nil, fmt.Errorf("%s: page %d is followed by page %d", what, page, resp.NextPage)
		}
		page = resp.NextPage
	}
	return nil, fmt.Errorf("%s: more than %d pages", what, maxPages)
}

// with ends a call when ctx does.
func with(ctx context.Context) gogitlab.RequestOptionFunc { return gogitlab.WithContext(ctx) }

// typed maps client-go's errors to those of forges. Rate limits come typed from
// the transport already.
func typed(what, needs string, err error) error {
	if limited, ok := errors.AsType[*forges.RateLimited](err); ok {
		return fmt.Errorf("%s: %w", what, limited)
	}
	if errors.Is(err, gogitlab.ErrNotFound) {
		return fmt.Errorf("%s: %w", what, forges.ErrNotFound)
	}
	refused, ok := errors.AsType[*gogitlab.ErrorResponse](err)
	if !ok || refused.Response == nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	switch refused.Response.StatusCode {
	case http.StatusGone:
		return fmt.Errorf("%s: %w", what, forges.ErrNotFound)
	case http.StatusForbidden:
		return &forges.Forbidden{Call: what, Permission: needs}
	case http.StatusUnauthorized:
		return fmt.Errorf("%s: GitLab refused the token, which may have expired or been revoked: %s", what, refused.Message)
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return &forges.Rejected{Call: what, Message: refused.Message}
	}
	return fmt.Errorf("%s: GitLab answered %d: %s", what, refused.Response.StatusCode, refused.Message)
}

// written makes sure of a write: a note of nothing but quick actions is answered
// without an id, and so is a redirect that lost what was sent.
func written(what string, id int64) error {
	if id <= 0 {
		return fmt.Errorf("%s: GitLab's answer names nothing that was written", what)
	}
	return nil
}

// Names that go into queries and paths. A namespace may be nested.
var (
	loginPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,254}$`)
	pathPattern  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$`)
	shaPattern   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

// project is the number of a repository; one that has none yet is asked for by
// its path, which may be a former one.
func (c *Conn) project(ctx context.Context, repo engine.Repo) (int64, error) {
	if repo.Instance != c.Instance() {
		return 0, fmt.Errorf("gitlab: %s is not on %s", repo.Key(), c.Instance())
	}
	if repo.ID > 0 {
		return repo.ID, nil
	}
	found, err := c.readProject(ctx, repo)
	if err != nil {
		return 0, err
	}
	return found.ID, nil
}

// mergeRequest is the project of a merge request whose number is checked.
func (c *Conn) mergeRequest(ctx context.Context, repo engine.Repo, number int) (pid, iid int64, err error) {
	if number <= 0 {
		return 0, 0, fmt.Errorf("gitlab: %d is no merge request number", number)
	}
	pid, err = c.project(ctx, repo)
	return pid, int64(number), err
}

// commit is the project of a commit whose sha is checked.
func (c *Conn) commit(ctx context.Context, repo engine.Repo, sha string) (int64, error) {
	if !shaPattern.MatchString(sha) {
		return 0, fmt.Errorf("gitlab: %q is no commit sha", sha)
	}
	return c.project(ctx, repo)
}

func checkLogin(login string) error {
	if !loginPattern.MatchString(login) {
		return fmt.Errorf("gitlab: %q is no username", login)
	}
	return nil
}

// checkPath refuses a path that would leave its place.
func checkPath(path string) error {
	if !pathPattern.MatchString(path) || strings.Contains(path, "..") {
		return fmt.Errorf("gitlab: %q is no path of a group or project", path)
	}
	return nil
}
