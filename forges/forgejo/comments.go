package forgejo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// Comment reads a comment or review as it stands now. A comment on code has no
// address of its own: it is found in its review.
func (c *Conn) Comment(ctx context.Context, repo engine.Repo, ref engine.CommentRef) (forges.Comment, error) {
	what := fmt.Sprintf("reading %s %d", ref.Kind, ref.ID)
	switch ref.Kind {
	case engine.IssueComment:
		return c.issueComment(ctx, repo, ref, what)
	case engine.Review:
		if err := checkNumber(ref.Number); err != nil {
			return forges.Comment{}, err
		}
		raw, err := get(ctx, c, repo, request{what, needsRepository}, func(client *gitea.Client, owner, name string) (*gitea.PullReview, *gitea.Response, error) {
			return client.GetPullReview(owner, name, int64(ref.Number), ref.ID)
		})
		if err != nil {
			return forges.Comment{}, err
		}
		if _, submitted := reviewState(raw); submitted {
			return reviewBody(raw, ref.Number), nil
		}
	case engine.ReviewComment:
		inline, err := c.inlineComments(ctx, repo, ref.Number)
		if err != nil {
			return forges.Comment{}, err
		}
		for _, found := range inline {
			if found.Ref.ID == ref.ID {
				return found, nil
			}
		}
	case engine.CommitComment: // there are none
	}
	return forges.Comment{}, fmt.Errorf("%s: %w", what, forges.ErrNotFound)
}

func (c *Conn) issueComment(ctx context.Context, repo engine.Repo, ref engine.CommentRef, what string) (forges.Comment, error) {
	raw, err := get(ctx, c, repo, request{what, "scope read:issue"}, func(client *gitea.Client, owner, name string) (*gitea.Comment, *gitea.Response, error) {
		return client.GetIssueComment(owner, name, ref.ID)
	})
	if err != nil {
		return forges.Comment{}, err
	}
	number, err := strconv.Atoi(raw.PRURL[strings.LastIndexByte(raw.PRURL, '/')+1:])
	// An id under another pull request, or under an issue, is not the comment
	// that was meant.
	if err != nil || ref.Number != 0 && number != ref.Number {
		return forges.Comment{}, fmt.Errorf("%s of #%d: %w", what, ref.Number, forges.ErrNotFound)
	}
	return issueComment(raw, number), nil
}

// issueComment maps a comment. One that was edited within the second it was
// written looks as if it was not: the servers count in seconds and keep the
// history of an edit to their pages.
func issueComment(raw *gitea.Comment, number int) forges.Comment {
	return forges.Comment{
		Ref: engine.CommentRef{Kind: engine.IssueComment, ID: raw.ID, Number: number}, Author: actor(raw.Poster),
		Body: raw.Body, URL: raw.HTMLURL, CreatedAt: raw.Created, Edited: !raw.Updated.Equal(raw.Created),
	}
}

// reviewBody maps the words of a review. They are those it was submitted with:
// an edit changes the page and not what the API shows.
func reviewBody(raw *gitea.PullReview, number int) forges.Comment {
	return forges.Comment{
		Ref: engine.CommentRef{Kind: engine.Review, ID: raw.ID, Number: number}, Author: actor(raw.Reviewer),
		Body: raw.Body, URL: raw.HTMLURL, CreatedAt: raw.Submitted,
	}
}

// RecentComments lists what people wrote on a pull request: comments, comments
// on code and the bodies of reviews, oldest first.
func (c *Conn) RecentComments(ctx context.Context, repo engine.Repo, number int) ([]forges.Comment, error) {
	issue, err := c.issueComments(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	reviews, err := c.rawReviews(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	all, err := c.inReviews(ctx, repo, number, reviews)
	if err != nil {
		return nil, err
	}
	for _, raw := range issue {
		all = append(all, issueComment(raw, number))
	}
	for _, raw := range reviews {
		if raw.Body != "" {
			all = append(all, reviewBody(raw, number))
		}
	}
	slices.SortFunc(all, func(a, b forges.Comment) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Ref.ID, b.Ref.ID))
	})
	return all, nil
}

func (c *Conn) issueComments(ctx context.Context, repo engine.Repo, number int) ([]*gitea.Comment, error) {
	if err := checkNumber(number); err != nil {
		return nil, err
	}
	r := request{fmt.Sprintf("listing the comments of %s#%d", repo.FullName(), number), "scope read:issue"}
	return every(ctx, c, repo, r, func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]*gitea.Comment, *gitea.Response, error) {
		return client.ListIssueComments(owner, name, int64(number), gitea.ListIssueCommentOptions{ListOptions: at})
	})
}

func (c *Conn) inlineComments(ctx context.Context, repo engine.Repo, number int) ([]forges.Comment, error) {
	reviews, err := c.rawReviews(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	return c.inReviews(ctx, repo, number, reviews)
}

// inReviews reads the comments on code of each review that has some.
func (c *Conn) inReviews(ctx context.Context, repo engine.Repo, number int, reviews []*gitea.PullReview) ([]forges.Comment, error) {
	var all []forges.Comment
	for _, review := range reviews {
		if review.CodeCommentsCount == 0 {
			continue
		}
		r := request{fmt.Sprintf("listing the comments of review %d on %s#%d", review.ID, repo.FullName(), number), needsRepository}
		raw, err := get(ctx, c, repo, r, func(client *gitea.Client, owner, name string) ([]*gitea.PullReviewComment, *gitea.Response, error) {
			return client.ListPullReviewComments(owner, name, int64(number), review.ID)
		})
		if err != nil {
			return nil, err
		}
		for _, found := range raw {
			all = append(all, forges.Comment{
				Ref: engine.CommentRef{Kind: engine.ReviewComment, ID: found.ID, Number: number}, Author: actor(found.Reviewer),
				Body: found.Body, URL: found.HTMLURL, CreatedAt: found.Created, Edited: !found.Updated.Equal(found.Created),
			})
		}
	}
	return all, nil
}

// CommitComments lists nothing: neither server has comments on commits, so none
// was missed.
func (c *Conn) CommitComments(context.Context, engine.Repo, string) ([]forges.Comment, error) {
	return nil, nil
}

// React answers a comment without words; a second time makes no difference. A
// review takes none, for its id is that of no comment.
func (c *Conn) React(ctx context.Context, repo engine.Repo, ref engine.CommentRef, r forges.Reaction) error {
	what := fmt.Sprintf("reacting to %s %d", ref.Kind, ref.ID)
	if ref.Kind != engine.IssueComment && ref.Kind != engine.ReviewComment {
		return fmt.Errorf("%s: %w", what, forges.ErrNotSupported)
	}
	made, err := write(ctx, c, repo, request{what, needsIssues}, func(client *gitea.Client, owner, name string) (*gitea.Reaction, *gitea.Response, error) {
		return client.PostIssueCommentReaction(owner, name, ref.ID, string(r))
	})
	if err == nil && made.Reaction != string(r) {
		return fmt.Errorf("%s: the answer names nothing that was written", what)
	}
	return err
}

// Reply answers on the pull request: not every version takes an answer in the
// thread of a comment on code.
func (c *Conn) Reply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (forges.Note, error) {
	if ref.Kind == engine.CommitComment {
		return forges.Note{}, fmt.Errorf("answering on a commit: %w", forges.ErrNotSupported)
	}
	return c.CreateNote(ctx, repo, ref.Number, body)
}

// FindReply looks where Reply puts it.
func (c *Conn) FindReply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, marker string) (forges.Note, error) {
	if ref.Kind == engine.CommitComment {
		return forges.Note{}, fmt.Errorf("finding an answer on a commit: %w", forges.ErrNotSupported)
	}
	return c.FindNote(ctx, repo, ref.Number, marker)
}
