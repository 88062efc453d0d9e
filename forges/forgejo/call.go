package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/forges"
)

const (
	// pageSize is the most both servers give in one page unless configured
	// otherwise.
	pageSize = 50
	// maxPages bounds a list; a longer one is an error, never cut.
	maxPages = 200
)

// request names a call in errors, and what its caller needs to be allowed.
type request struct{ what, needs string }

// call makes one request of the client library.
func call[T any](ctx context.Context, c *Conn, r request, do func(*gitea.Client) (T, *gitea.Response, error)) (T, error) {
	got, _, err := answered(ctx, c, r, do)
	return got, err
}

func answered[T any](ctx context.Context, c *Conn, r request, do func(*gitea.Client) (T, *gitea.Response, error)) (T, http.Header, error) {
	var none T
	client, err := c.sdk(ctx)
	if err != nil {
		return none, nil, err
	}
	got, resp, err := do(client)
	switch {
	case resp != nil && resp.Response != nil && resp.StatusCode == http.StatusNoContent:
		// What is asked for exists, but as something else: a comment on code
		// where one on the pull request was meant. The library reports it as
		// text that ended early.
		return none, nil, fmt.Errorf("%s: %w", r.what, forges.ErrNotFound)
	case err != nil:
		return none, nil, typed(r, resp, err)
	}
	return got, resp.Header, nil
}

// list reads a whole list. Its length is in X-Total-Count, and there need be no
// Link header (test-peers, fact 7). Some lists have one page only, whatever is
// asked for; some count what they do not show; and a server may give fewer a
// page than asked for. So it ends when as many pages were read as the longest
// of them makes necessary.
func list[T any](ctx context.Context, c *Conn, r request, read func(*gitea.Client, gitea.ListOptions) ([]T, *gitea.Response, error)) ([]T, error) {
	var all []T
	longest := 1
	for page := 1; page <= maxPages; page++ {
		options := gitea.ListOptions{Page: page, PageSize: pageSize}
		got, header, err := answered(ctx, c, r, func(client *gitea.Client) ([]T, *gitea.Response, error) {
			return read(client, options)
		})
		if err != nil {
			return nil, err
		}
		all = append(all, got...)
		longest = max(longest, len(got))
		total, err := strconv.Atoi(header.Get("X-Total-Count"))
		if err != nil {
			return nil, fmt.Errorf("%s: the answer does not say how long the list is", r.what)
		}
		if len(all) >= total || page*longest >= total {
			return all, nil
		}
	}
	return nil, fmt.Errorf("%s: more than %d pages", r.what, maxPages)
}

// typed maps a refusal to the errors of forges. Rate limits come typed from the
// transport. A 409 passes: the server still works on a push (test-peers), so it
// is a fault worth a retry and no refusal of the content.
func typed(r request, resp *gitea.Response, err error) error {
	if limited, ok := errors.AsType[*forges.RateLimited](err); ok {
		return fmt.Errorf("%s: %w", r.what, limited)
	}
	if resp == nil || resp.Response == nil || resp.StatusCode/100 == 2 {
		return fmt.Errorf("%s: %w", r.what, err)
	}
	switch resp.StatusCode {
	case http.StatusNotFound, http.StatusGone:
		return fmt.Errorf("%s: %w", r.what, forges.ErrNotFound)
	case http.StatusForbidden:
		return &forges.Forbidden{Call: r.what, Permission: r.needs}
	case http.StatusUnauthorized:
		// In brackets: what follows "token:" is hidden from people.
		return fmt.Errorf("%s: the server refused the token (%w)", r.what, err)
	case http.StatusUnprocessableEntity, http.StatusBadRequest, http.StatusMethodNotAllowed,
		http.StatusRequestEntityTooLarge, http.StatusLocked:
		return &forges.Rejected{Call: r.what, Message: err.Error()}
	}
	return fmt.Errorf("%s: the server answered %d: %w", r.what, resp.StatusCode, err)
}
