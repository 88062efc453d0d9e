package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

const commentsWrite = "issues:write or pull_requests:write"

// FindNote returns the oldest comment of our own account that begins with
// marker. The marker alone proves nothing: anybody can paste it.
func (c *Conn) FindNote(ctx context.Context, repo engine.Repo, number int, marker string) (forges.Note, error) {
	comments, err := c.issueComments(ctx, repo, number)
	if err != nil {
		return forges.Note{}, err
	}
	return c.own(ctx, comments, marker, fmt.Sprintf("finding our note on %s#%d", repo.FullName(), number))
}

// own is the first of some comments that our own account wrote and that begins
// with marker.
func (c *Conn) own(ctx context.Context, comments []rawComment, marker, what string) (forges.Note, error) {
	if marker == "" {
		return forges.Note{}, errors.New("github: a note is found by its marker")
	}
	self, err := c.Self(ctx)
	if err != nil {
		return forges.Note{}, err
	}
	for _, found := range comments {
		if actor(found.User).ID == self.ID && strings.HasPrefix(found.Body, marker) {
			return forges.Note{ID: found.ID, Body: found.Body}, nil
		}
	}
	return forges.Note{}, fmt.Errorf("%s: %w", what, forges.ErrNotFound)
}

// CreateNote comments on a pull request.
func (c *Conn) CreateNote(ctx context.Context, repo engine.Repo, number int, body string) (forges.Note, error) {
	if err := checkNumber(number); err != nil {
		return forges.Note{}, err
	}
	path, err := c.path(repo, "/issues/%d/comments", number)
	if err != nil {
		return forges.Note{}, err
	}
	what := fmt.Sprintf("commenting on %s#%d", repo.FullName(), number)
	return c.write(ctx, request{what, commentsWrite, http.MethodPost, path, bodyOf(body)})
}

// EditNote replaces the body of a note.
func (c *Conn) EditNote(ctx context.Context, repo engine.Repo, number int, id int64, body string) (forges.Note, error) {
	path, err := c.path(repo, "/issues/comments/%d", id)
	if err != nil {
		return forges.Note{}, err
	}
	what := fmt.Sprintf("editing our note on %s#%d", repo.FullName(), number)
	return c.write(ctx, request{what, commentsWrite, http.MethodPatch, path, bodyOf(body)})
}

func bodyOf(text string) *gogithub.IssueComment { return &gogithub.IssueComment{Body: &text} }

// write sends a comment of any kind and makes sure it was taken.
func (c *Conn) write(ctx context.Context, r request) (forges.Note, error) {
	var made rawComment
	if _, err := c.do(ctx, r, &made); err != nil {
		return forges.Note{}, err
	}
	return forges.Note{ID: made.ID, Body: made.Body}, written(r.what, made.ID)
}
