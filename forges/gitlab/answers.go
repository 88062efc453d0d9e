package gitlab

import (
	"context"
	"errors"
	"fmt"
	"slices"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// emoji is what GitLab calls a reaction.
func emoji(r forges.Reaction) string {
	if r == forges.Counted {
		return "thumbsup"
	}
	return string(r)
}

// React awards an emoji to a note on a merge request; a note on a commit takes
// none through the API. GitLab answers 404 to an emoji awarded twice, so what
// stands is read first (forge-facts 2.6).
func (c *Conn) React(ctx context.Context, repo engine.Repo, ref engine.CommentRef, r forges.Reaction) error {
	what := fmt.Sprintf("reacting to %s %d", ref.Kind, ref.ID)
	if ref.Kind == engine.CommitComment || ref.Kind == engine.Review {
		return fmt.Errorf("%s: %w", what, forges.ErrNotSupported)
	}
	pid, iid, err := c.mergeRequest(ctx, repo, ref.Number)
	if err != nil {
		return err
	}
	if stands, err := c.awarded(ctx, what, pid, iid, ref.ID, emoji(r)); err != nil || stands {
		return err
	}
	made, err := answered[*gogitlab.AwardEmoji](what, needsRead)(
		c.client.AwardEmoji.CreateMergeRequestAwardEmojiOnNote(pid, iid, ref.ID, &gogitlab.CreateAwardEmojiOptions{Name: emoji(r)}, with(ctx)))
	if errors.Is(err, forges.ErrNotFound) {
		if stands, again := c.awarded(ctx, what, pid, iid, ref.ID, emoji(r)); again == nil && stands {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	return written(what, made.ID)
}

// awarded tells whether our own account awarded an emoji to a note.
func (c *Conn) awarded(ctx context.Context, what string, pid, iid, id int64, name string) (bool, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return false, err
	}
	awards, err := list(what, needsRead, func(o gogitlab.ListOptions) ([]*gogitlab.AwardEmoji, *gogitlab.Response, error) {
		return c.client.AwardEmoji.ListMergeRequestAwardEmojiOnNote(pid, iid, id, &gogitlab.ListAwardEmojiOptions{ListOptions: o}, with(ctx))
	})
	return slices.ContainsFunc(awards, func(a *gogitlab.AwardEmoji) bool {
		return a.User.ID == self.ID && a.Name == name
	}), err
}

// Reply answers where the comment stands: in its thread when it is part of one,
// as an inline one and one on a commit always are, else on the merge request.
func (c *Conn) Reply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (forges.Note, error) {
	switch ref.Kind {
	case engine.CommitComment:
		return c.replyOnCommit(ctx, repo, ref, body)
	case engine.Review:
		return c.CreateNote(ctx, repo, ref.Number, body)
	case engine.IssueComment, engine.ReviewComment:
	}
	asked, _, err := c.noteOf(ctx, repo, ref)
	switch {
	case errors.Is(err, forges.ErrNotFound): // deleted meanwhile; its author still waits
	case err != nil:
		return forges.Note{}, err
	case asked.Type == gogitlab.DiffNote || asked.Type == gogitlab.DiscussionNote:
		return c.replyInThread(ctx, repo, ref, body)
	}
	return c.CreateNote(ctx, repo, ref.Number, body)
}

func (c *Conn) replyInThread(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (forges.Note, error) {
	pid, iid, err := c.mergeRequest(ctx, repo, ref.Number)
	if err != nil {
		return forges.Note{}, err
	}
	what := fmt.Sprintf("answering in a thread of %s!%d", repo.FullName(), ref.Number)
	discussions, err := list(what, needsRead, func(o gogitlab.ListOptions) ([]*gogitlab.Discussion, *gogitlab.Response, error) {
		return c.client.Discussions.ListMergeRequestDiscussions(pid, iid, &gogitlab.ListMergeRequestDiscussionsOptions{ListOptions: o}, with(ctx))
	})
	if err != nil {
		return forges.Note{}, err
	}
	thread, err := threadOf(discussions, ref.ID, what)
	if err != nil {
		return forges.Note{}, err
	}
	return c.write(ctx, repo, ref.Number, what, func(pid, iid int64) (*gogitlab.Note, *gogitlab.Response, error) {
		return c.client.Discussions.AddMergeRequestDiscussionNote(pid, iid, thread,
			&gogitlab.AddMergeRequestDiscussionNoteOptions{Body: &body}, with(ctx))
	})
}

func (c *Conn) replyOnCommit(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (forges.Note, error) {
	what := "commenting on commit " + ref.Commit
	discussions, err := c.commitDiscussions(ctx, repo, ref.Commit)
	if err != nil {
		return forges.Note{}, err
	}
	thread, err := threadOf(discussions, ref.ID, what)
	if err != nil {
		return forges.Note{}, err
	}
	pid, err := c.commit(ctx, repo, ref.Commit)
	if err != nil {
		return forges.Note{}, err
	}
	made, err := answered[*gogitlab.Note](what, needsRead)(c.client.Discussions.AddCommitDiscussionNote(pid, ref.Commit, thread,
		&gogitlab.AddCommitDiscussionNoteOptions{Body: &body}, with(ctx)))
	if err != nil {
		return forges.Note{}, err
	}
	return forges.Note{ID: made.ID, Body: made.Body}, written(what, made.ID)
}

// threadOf is the discussion a note stands in: a note does not name its own
// (forge-facts 2.6).
func threadOf(discussions []*gogitlab.Discussion, id int64, what string) (string, error) {
	for _, d := range discussions {
		if slices.ContainsFunc(d.Notes, func(n *gogitlab.Note) bool { return n.ID == id }) {
			return d.ID, nil
		}
	}
	return "", fmt.Errorf("%s: note %d: %w", what, id, forges.ErrNotFound)
}

// FindReply returns the oldest note of our own account, where Reply puts it, that
// begins with marker.
func (c *Conn) FindReply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, marker string) (forges.Note, error) {
	if ref.Kind != engine.CommitComment {
		return c.FindNote(ctx, repo, ref.Number, marker)
	}
	discussions, err := c.commitDiscussions(ctx, repo, ref.Commit)
	if err != nil {
		return forges.Note{}, err
	}
	return c.own(ctx, notesIn(discussions), marker, fmt.Sprintf("finding our reply to %s %d", ref.Kind, ref.ID))
}
