package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// rawComment is a comment or review of any kind, decoded by hand: go-github
// drops performed_via_github_app.
type rawComment struct {
	ID             int64              `json:"id"`
	NodeID         string             `json:"node_id"`
	User           *gogithub.User     `json:"user"`
	Body           string             `json:"body"`
	HTMLURL        string             `json:"html_url"`
	State          string             `json:"state"`
	CreatedAt      gogithub.Timestamp `json:"created_at"`
	UpdatedAt      gogithub.Timestamp `json:"updated_at"`
	SubmittedAt    gogithub.Timestamp `json:"submitted_at"`
	CommitID       string             `json:"commit_id"`
	IssueURL       string             `json:"issue_url"`
	PullRequestURL string             `json:"pull_request_url"`
	InReplyTo      int64              `json:"in_reply_to_id"`
	ViaApp         *struct {
		ID int64 `json:"id"`
	} `json:"performed_via_github_app"`
}

// place is where comments of a kind are kept.
func place(kind engine.CommentKind) (path, needs string, err error) {
	switch kind {
	case engine.IssueComment:
		return "/issues/comments/%d", "issues:read", nil
	case engine.ReviewComment:
		return "/pulls/comments/%d", pullsRead, nil
	case engine.CommitComment:
		return "/comments/%d", "metadata:read", nil
	case engine.Review: // has an address of another shape
	}
	return "", "", fmt.Errorf("github: %q is no kind of comment", kind)
}

// Comment reads a comment or review as it stands now.
func (c *Conn) Comment(ctx context.Context, repo engine.Repo, ref engine.CommentRef) (forges.Comment, error) {
	raw, err := c.rawComment(ctx, repo, ref)
	if err != nil {
		return forges.Comment{}, err
	}
	found, err := c.comments(ctx, ref.Kind, []rawComment{raw})
	if err != nil {
		return forges.Comment{}, err
	}
	// An id under another pull request is not the comment that was meant.
	if ref.Number != 0 && found[0].Ref.Number != 0 && found[0].Ref.Number != ref.Number {
		return forges.Comment{}, fmt.Errorf("reading %s %d of #%d: %w", ref.Kind, ref.ID, ref.Number, forges.ErrNotFound)
	}
	if found[0].Ref.Number == 0 {
		found[0].Ref.Number = ref.Number
	}
	return found[0], nil
}

func (c *Conn) rawComment(ctx context.Context, repo engine.Repo, ref engine.CommentRef) (rawComment, error) {
	var raw rawComment
	what := fmt.Sprintf("reading %s %d", ref.Kind, ref.ID)
	if ref.Kind == engine.Review {
		if err := checkNumber(ref.Number); err != nil {
			return raw, err
		}
		path, err := c.path(repo, "/pulls/%d/reviews/%d", ref.Number, ref.ID)
		if err != nil {
			return raw, err
		}
		return raw, c.get(ctx, what, pullsRead, path, &raw)
	}
	format, needs, err := place(ref.Kind)
	if err != nil {
		return raw, err
	}
	path, err := c.path(repo, format, ref.ID)
	if err != nil {
		return raw, err
	}
	return raw, c.get(ctx, what, needs, path, &raw)
}

// RecentComments lists what people wrote on a pull request: comments, inline
// comments and review bodies, oldest first. Commit comments stand on commits
// and are not among them.
func (c *Conn) RecentComments(ctx context.Context, repo engine.Repo, number int) ([]forges.Comment, error) {
	issue, err := c.issueComments(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	reviews, err := c.rawReviews(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	inline, err := c.inlineComments(ctx, repo, number)
	if err != nil {
		return nil, err
	}
	reviews = slices.DeleteFunc(reviews, func(r rawComment) bool { return r.Body == "" })
	var all []forges.Comment
	for kind, raw := range map[engine.CommentKind][]rawComment{
		engine.IssueComment: issue, engine.Review: reviews, engine.ReviewComment: inline,
	} {
		found, err := c.comments(ctx, kind, raw)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	slices.SortFunc(all, func(a, b forges.Comment) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.Ref.ID, b.Ref.ID))
	})
	return all, nil
}

func (c *Conn) issueComments(ctx context.Context, repo engine.Repo, number int) ([]rawComment, error) {
	if err := checkNumber(number); err != nil { // number 0 lists the whole repository
		return nil, err
	}
	path, err := c.path(repo, "/issues/%d/comments", number)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("listing the comments of %s#%d", repo.FullName(), number)
	return list[rawComment](ctx, c, what, "issues:read or pull_requests:read", path, nil)
}

func (c *Conn) inlineComments(ctx context.Context, repo engine.Repo, number int) ([]rawComment, error) {
	if err := checkNumber(number); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/pulls/%d/comments", number)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("listing the inline comments of %s#%d", repo.FullName(), number)
	return list[rawComment](ctx, c, what, pullsRead, path, nil)
}

// CommitComments lists the comments on one commit, oldest first.
func (c *Conn) CommitComments(ctx context.Context, repo engine.Repo, sha string) ([]forges.Comment, error) {
	raw, err := c.commitComments(ctx, repo, sha)
	if errors.Is(err, forges.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.comments(ctx, engine.CommitComment, raw)
}

func (c *Conn) commitComments(ctx context.Context, repo engine.Repo, sha string) ([]rawComment, error) {
	if err := checkSHA(sha); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/commits/%s/comments", sha)
	if err != nil {
		return nil, err
	}
	return list[rawComment](ctx, c, "listing the comments of commit "+sha, "metadata:read", path, nil)
}

// comments maps raw comments of one kind and finds out which were edited.
func (c *Conn) comments(ctx context.Context, kind engine.CommentKind, raw []rawComment) ([]forges.Comment, error) {
	edited, err := c.edited(ctx, raw)
	if err != nil {
		return nil, err
	}
	var out []forges.Comment
	for _, r := range raw {
		comment := forges.Comment{
			Ref: engine.CommentRef{Kind: kind, ID: r.ID, Number: r.number()}, Author: actor(r.User), Body: r.Body, URL: r.HTMLURL,
			CreatedAt: r.CreatedAt.Time, Edited: edited[r.NodeID], ViaApp: r.ViaApp != nil,
		}
		if kind == engine.Review {
			comment.CreatedAt = r.SubmittedAt.Time
		}
		if kind == engine.CommitComment {
			comment.Ref.Commit = r.CommitID
		}
		// The update time of an inline comment moves when its review is
		// submitted, and a review has none: for those GraphQL alone tells.
		if kind == engine.IssueComment || kind == engine.CommitComment {
			comment.Edited = comment.Edited || !r.UpdatedAt.Equal(r.CreatedAt)
		}
		out = append(out, comment)
	}
	return out, nil
}

// number is the pull request a comment names in its links; 0 when it names
// none.
func (r rawComment) number() int {
	link := cmp.Or(r.PullRequestURL, r.IssueURL)
	n, err := strconv.Atoi(link[strings.LastIndexByte(link, '/')+1:])
	if err != nil {
		return 0
	}
	return n
}

// React answers a comment without words. GitHub takes a reaction twice without
// complaint; on a review body it takes none.
func (c *Conn) React(ctx context.Context, repo engine.Repo, ref engine.CommentRef, r forges.Reaction) error {
	if ref.Kind == engine.Review {
		return fmt.Errorf("reacting to a review: %w", forges.ErrNotSupported)
	}
	format, _, err := place(ref.Kind)
	if err != nil {
		return err
	}
	path, err := c.path(repo, format+"/reactions", ref.ID)
	if err != nil {
		return err
	}
	needs := map[engine.CommentKind]string{
		engine.IssueComment: "issues:write", engine.ReviewComment: "pull_requests:write", engine.CommitComment: "contents:write",
	}[ref.Kind]
	what := fmt.Sprintf("reacting to %s %d", ref.Kind, ref.ID)
	var made gogithub.Reaction
	body := &gogithub.Reaction{Content: new(string(r))}
	if _, err := c.do(ctx, request{what, needs, http.MethodPost, path, body}, &made); err != nil {
		return err
	}
	return written(what, made.GetID())
}

// Reply answers where the comment stands: in the thread of an inline comment,
// on the commit of a commit comment, else on the pull request.
func (c *Conn) Reply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (forges.Note, error) {
	switch ref.Kind {
	case engine.IssueComment, engine.Review:
		return c.CreateNote(ctx, repo, ref.Number, body)
	case engine.ReviewComment:
		return c.replyInline(ctx, repo, ref, body)
	case engine.CommitComment:
		if err := checkSHA(ref.Commit); err != nil {
			return forges.Note{}, err
		}
		path, err := c.path(repo, "/commits/%s/comments", ref.Commit)
		if err != nil {
			return forges.Note{}, err
		}
		what := "commenting on commit " + ref.Commit
		return c.write(ctx, request{what, "contents:read", http.MethodPost, path, bodyOf(body)})
	}
	return forges.Note{}, errors.New("github: a reply needs a comment to answer")
}

// FindReply returns the oldest comment of our own account, where Reply puts it,
// that begins with marker. The marker alone proves nothing: anybody can paste
// it.
func (c *Conn) FindReply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, marker string) (forges.Note, error) {
	var raw []rawComment
	var err error
	switch ref.Kind {
	case engine.IssueComment, engine.Review:
		raw, err = c.issueComments(ctx, repo, ref.Number)
	case engine.ReviewComment:
		raw, err = c.inlineComments(ctx, repo, ref.Number)
	case engine.CommitComment:
		raw, err = c.commitComments(ctx, repo, ref.Commit)
	default:
		err = errors.New("github: a reply needs a comment to answer")
	}
	if err != nil {
		return forges.Note{}, err
	}
	return c.own(ctx, raw, marker, fmt.Sprintf("finding our reply to %s %d", ref.Kind, ref.ID))
}

// replyInline answers the first comment of the thread: GitHub takes no reply
// to a reply.
func (c *Conn) replyInline(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (forges.Note, error) {
	if err := checkNumber(ref.Number); err != nil {
		return forges.Note{}, err
	}
	raw, err := c.rawComment(ctx, repo, ref)
	if err != nil {
		return forges.Note{}, err
	}
	path, err := c.path(repo, "/pulls/%d/comments/%d/replies", ref.Number, cmp.Or(raw.InReplyTo, raw.ID))
	if err != nil {
		return forges.Note{}, err
	}
	what := fmt.Sprintf("answering an inline comment on %s#%d", repo.FullName(), ref.Number)
	return c.write(ctx, request{what, "pull_requests:write", http.MethodPost, path, bodyOf(body)})
}
