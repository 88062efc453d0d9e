package gitlab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// FindNote returns the oldest note of our own account that begins with marker.
// The marker alone proves nothing: anybody can paste it.
func (c *Conn) FindNote(ctx context.Context, repo engine.Repo, number int, marker string) (forges.Note, error) {
	notes, err := c.notes(ctx, repo, number)
	if err != nil {
		return forges.Note{}, err
	}
	return c.own(ctx, notes, marker, fmt.Sprintf("finding our note on %s!%d", repo.FullName(), number))
}

// notes lists what people and we wrote on a merge request, inline too, oldest
// first.
func (c *Conn) notes(ctx context.Context, repo engine.Repo, number int) ([]*gogitlab.Note, error) {
	pid, iid, err := c.mergeRequest(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	all, err := list(fmt.Sprintf("listing the notes of %s!%d", repo.FullName(), number), needsRead,
		func(o gogitlab.ListOptions) ([]*gogitlab.Note, *gogitlab.Response, error) {
			return c.client.Notes.ListMergeRequestNotes(pid, iid, &gogitlab.ListMergeRequestNotesOptions{
				ListOptions: o, OrderBy: new("created_at"), Sort: new("asc"),
			}, with(ctx))
		})
	return slices.DeleteFunc(all, func(n *gogitlab.Note) bool { return !public(n) }), err
}

// public tells a person's note that everybody sees who sees the place. An
// internal one is read by fewer people than see what it would do, and GitLab's
// own hold words of people who did not write them there.
func public(n *gogitlab.Note) bool { return !n.System && !n.Internal }

// own is the first of some notes that our own account wrote and that begins with
// marker.
func (c *Conn) own(ctx context.Context, notes []*gogitlab.Note, marker, what string) (forges.Note, error) {
	if marker == "" {
		return forges.Note{}, errors.New("gitlab: a note is found by its marker")
	}
	self, err := c.Self(ctx)
	if err != nil {
		return forges.Note{}, err
	}
	for _, n := range notes {
		if n.Author.ID == self.ID && strings.HasPrefix(n.Body, marker) {
			return forges.Note{ID: n.ID, Body: n.Body}, nil
		}
	}
	return forges.Note{}, fmt.Errorf("%s: %w", what, forges.ErrNotFound)
}

// noteURL is where a note stands on its page: GitLab's API gives no address.
func noteURL(page string, id int64) string { return fmt.Sprintf("%s#note_%d", page, id) }

// CreateNote writes a note on a merge request.
func (c *Conn) CreateNote(ctx context.Context, repo engine.Repo, number int, body string) (forges.Note, error) {
	what := fmt.Sprintf("commenting on %s!%d", repo.FullName(), number)
	return c.write(ctx, repo, number, what, func(pid, iid int64) (*gogitlab.Note, *gogitlab.Response, error) {
		return c.client.Notes.CreateMergeRequestNote(pid, iid, &gogitlab.CreateMergeRequestNoteOptions{Body: &body}, with(ctx))
	})
}

// EditNote replaces the body of a note.
func (c *Conn) EditNote(ctx context.Context, repo engine.Repo, number int, id int64, body string) (forges.Note, error) {
	what := fmt.Sprintf("editing our note on %s!%d", repo.FullName(), number)
	return c.write(ctx, repo, number, what, func(pid, iid int64) (*gogitlab.Note, *gogitlab.Response, error) {
		return c.client.Notes.UpdateMergeRequestNote(pid, iid, id, &gogitlab.UpdateMergeRequestNoteOptions{Body: &body}, with(ctx))
	})
}

// write sends a note on a merge request and makes sure it was taken.
func (c *Conn) write(ctx context.Context, repo engine.Repo, number int, what string,
	send func(pid, iid int64) (*gogitlab.Note, *gogitlab.Response, error),
) (forges.Note, error) {
	pid, iid, err := c.mergeRequest(ctx, repo, number)
	if err != nil {
		return forges.Note{}, err
	}
	made, err := answered[*gogitlab.Note](what, needsRead)(send(pid, iid))
	if err != nil {
		return forges.Note{}, err
	}
	return forges.Note{ID: made.ID, Body: made.Body}, written(what, made.ID)
}
