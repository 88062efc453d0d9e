package forgejo

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

const needsIssues = "scope write:issue"

// FindNote returns the oldest comment of our own account that begins with
// marker. The marker alone proves nothing: anybody can paste it.
func (c *Conn) FindNote(ctx context.Context, repo engine.Repo, number int, marker string) (forges.Note, error) {
	if marker == "" {
		return forges.Note{}, errors.New("forgejo: a note is found by its marker")
	}
	self, err := c.Self(ctx)
	if err != nil {
		return forges.Note{}, err
	}
	comments, err := c.issueComments(ctx, repo, number)
	if err != nil {
		return forges.Note{}, err
	}
	for _, found := range comments {
		if actor(found.Poster).ID == self.ID && strings.HasPrefix(found.Body, marker) {
			return note(found), nil
		}
	}
	return forges.Note{}, fmt.Errorf("finding our note on %s#%d: %w", repo.FullName(), number, forges.ErrNotFound)
}

func note(c *gitea.Comment) forges.Note { return forges.Note{ID: c.ID, Body: c.Body} }

// CreateNote comments on a pull request.
func (c *Conn) CreateNote(ctx context.Context, repo engine.Repo, number int, body string) (forges.Note, error) {
	if err := checkNumber(number); err != nil {
		return forges.Note{}, err
	}
	what := fmt.Sprintf("commenting on %s#%d", repo.FullName(), number)
	made, err := write(ctx, c, repo, request{what, needsIssues}, func(client *gitea.Client, owner, name string) (*gitea.Comment, *gitea.Response, error) {
		return client.CreateIssueComment(owner, name, int64(number), gitea.CreateIssueCommentOption{Body: body})
	})
	if err != nil {
		return forges.Note{}, err
	}
	return note(made), written(what, made.ID)
}

// EditNote replaces the body of a note.
func (c *Conn) EditNote(ctx context.Context, repo engine.Repo, number int, id int64, body string) (forges.Note, error) {
	what := fmt.Sprintf("editing our note on %s#%d", repo.FullName(), number)
	made, err := write(ctx, c, repo, request{what, needsIssues}, func(client *gitea.Client, owner, name string) (*gitea.Comment, *gitea.Response, error) {
		return client.EditIssueComment(owner, name, id, gitea.EditIssueCommentOption{Body: body})
	})
	if err != nil {
		return forges.Note{}, err
	}
	return note(made), written(what, made.ID)
}
