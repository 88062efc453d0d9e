package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Comment reads a note as it stands now. GitLab has no reviews with a text of
// their own: what is written with one is a note.
func (c *Conn) Comment(ctx context.Context, repo engine.Repo, ref engine.CommentRef) (forges.Comment, error) {
	found, page, err := c.noteOf(ctx, repo, ref)
	if err != nil {
		return forges.Comment{}, err
	}
	all, err := c.comments(ctx, []*gogitlab.Note{found}, page)
	if err != nil {
		return forges.Comment{}, err
	}
	all[0].Ref = ref
	return all[0], nil
}

// noteOf finds a note and the address of the page it stands on.
func (c *Conn) noteOf(ctx context.Context, repo engine.Repo, ref engine.CommentRef) (*gogitlab.Note, string, error) {
	what := fmt.Sprintf("reading %s %d", ref.Kind, ref.ID)
	if ref.Kind == engine.CommitComment {
		return c.commitNote(ctx, repo, ref, what)
	}
	if ref.Kind == engine.Review {
		return nil, "", fmt.Errorf("%s: GitLab has no texts of reviews: %w", what, forges.ErrNotFound)
	}
	pid, iid, err := c.mergeRequest(ctx, repo, ref.Number)
	if err != nil {
		return nil, "", err
	}
	page, err := c.page(ctx, repo, "merge_requests/%d", ref.Number)
	if err != nil {
		return nil, "", err
	}
	found, err := answered[*gogitlab.Note](what, needsRead)(c.client.Notes.GetMergeRequestNote(pid, iid, ref.ID, with(ctx)))
	if err == nil && !public(found) {
		err = fmt.Errorf("%s: it is internal, or GitLab's own: %w", what, forges.ErrNotFound)
	}
	return found, page, err
}

// commitNote finds a note on a commit. It has no address of its own.
func (c *Conn) commitNote(ctx context.Context, repo engine.Repo, ref engine.CommentRef, what string) (*gogitlab.Note, string, error) {
	discussions, err := c.commitDiscussions(ctx, repo, ref.Commit)
	if err != nil {
		return nil, "", err
	}
	page, err := c.page(ctx, repo, "commit/%s", ref.Commit)
	if err != nil {
		return nil, "", err
	}
	for _, n := range notesIn(discussions) {
		if n.ID == ref.ID {
			return n, page, nil
		}
	}
	return nil, "", fmt.Errorf("%s: %w", what, forges.ErrNotFound)
}

func notesIn(discussions []*gogitlab.Discussion) []*gogitlab.Note {
	var notes []*gogitlab.Note
	for _, d := range discussions {
		notes = append(notes, d.Notes...)
	}
	return slices.DeleteFunc(notes, func(n *gogitlab.Note) bool { return !public(n) })
}

func (c *Conn) commitDiscussions(ctx context.Context, repo engine.Repo, sha string) ([]*gogitlab.Discussion, error) {
	pid, err := c.commit(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	return list("listing the comments of commit "+sha, needsRead,
		func(o gogitlab.ListOptions) ([]*gogitlab.Discussion, *gogitlab.Response, error) {
			return c.client.Discussions.ListCommitDiscussions(pid, sha, &gogitlab.ListCommitDiscussionsOptions{ListOptions: o}, with(ctx))
		})
}

// RecentComments lists the notes on a merge request, oldest first. Inline ones
// are among them and of the same kind: all of one merge request have one address.
func (c *Conn) RecentComments(ctx context.Context, repo engine.Repo, number int) ([]forges.Comment, error) {
	notes, err := c.notes(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	page, err := c.page(ctx, repo, "merge_requests/%d", number)
	if err != nil {
		return nil, err
	}
	all, err := c.comments(ctx, notes, page)
	for i, n := range notes {
		if err == nil {
			all[i].Ref = engine.CommentRef{Kind: engine.IssueComment, ID: n.ID, Number: number}
		}
	}
	return all, err
}

// CommitComments lists the notes on one commit, oldest first.
func (c *Conn) CommitComments(ctx context.Context, repo engine.Repo, sha string) ([]forges.Comment, error) {
	discussions, err := c.commitDiscussions(ctx, repo, sha)
	if errors.Is(err, forges.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	page, err := c.page(ctx, repo, "commit/%s", sha)
	if err != nil {
		return nil, err
	}
	notes := notesIn(discussions)
	slices.SortFunc(notes, func(a, b *gogitlab.Note) int { return cmp.Compare(a.ID, b.ID) })
	all, err := c.comments(ctx, notes, page)
	for i, n := range notes {
		if err == nil {
			all[i].Ref = engine.CommentRef{Kind: engine.CommitComment, ID: n.ID, Commit: sha}
		}
	}
	return all, err
}

// comments maps notes of a page, finds out which were edited and whether bots wrote
// them.
func (c *Conn) comments(ctx context.Context, notes []*gogitlab.Note, page string) ([]forges.Comment, error) {
	edited, err := c.edited(ctx, notes)
	if err != nil {
		return nil, err
	}
	all := make([]forges.Comment, len(notes))
	for i, n := range notes {
		bot, err := c.isBot(ctx, n.Author.ID)
		if err != nil {
			return nil, err
		}
		all[i] = forges.Comment{
			Author: engine.Actor{ID: n.Author.ID, Login: n.Author.Username, Bot: bot},
			Body:   n.Body, URL: noteURL(page, n.ID), Edited: edited[n.ID],
		}
		if n.CreatedAt != nil {
			all[i].CreatedAt = *n.CreatedAt
		}
	}
	return all, nil
}

// edited tells which notes were. One that nothing happened to since it was
// written was not; for the others GitLab is asked what it was.
func (c *Conn) edited(ctx context.Context, notes []*gogitlab.Note) (map[int64]bool, error) {
	edited := map[int64]bool{}
	var touched []int64
	for _, n := range notes {
		if n.CreatedAt == nil || n.UpdatedAt == nil || !n.CreatedAt.Equal(*n.UpdatedAt) {
			touched = append(touched, n.ID)
		}
	}
	for chunk := range slices.Chunk(touched, maxNotes) {
		some, err := c.editedNotes(ctx, chunk)
		if err != nil {
			return nil, err
		}
		maps.Copy(edited, some)
	}
	return edited, nil
}
