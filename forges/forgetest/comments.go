package forgetest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// CommentKind tells the places a comment can stand in apart.
type CommentKind string

// The kinds of comments that have ids of their own. The body of a review is in
// Review.
const (
	IssueComment  CommentKind = "IssueComment"
	ReviewComment CommentKind = "PullRequestReviewComment"
	CommitComment CommentKind = "CommitComment"
)

// Comment is a comment as it stood when it was read.
type Comment struct {
	ID     int64
	Kind   CommentKind
	Repo   *Repo
	Number int    // pull request, 0 for a commit comment
	Commit string // of a review or commit comment
	Author *User
	Body   string
	URL    string
	// Reactions counts by content, "+1" and the like.
	Reactions map[string]int
}

// comment is a stored comment of any kind.
type comment struct {
	id        int64
	kind      CommentKind
	repo      *Repo
	pull      *Pull
	sha       string
	path      string
	line      int
	author    *User
	via       *App // written through an app
	review    int64
	inReply   int64
	body      string
	created   time.Time
	updated   time.Time
	edited    bool // what GraphQL calls lastEditedAt
	reactions []reaction
}

type reaction struct {
	id      int64
	by      *User
	content string
	at      time.Time
}

func (c *comment) snapshot() Comment {
	s := Comment{
		ID: c.id, Kind: c.kind, Repo: c.repo, Commit: c.sha, Author: c.author, Body: c.body,
		URL: c.htmlURL(), Reactions: map[string]int{},
	}
	if c.pull != nil {
		s.Number = c.pull.Number
	}
	for _, r := range c.reactions {
		s.Reactions[r.content]++
	}
	return s
}

func (c *comment) htmlURL() string {
	page := c.repo.f.URL() + "/" + c.repo.fullName() + "/commit/" + c.sha
	if c.pull != nil {
		page = c.pull.htmlURL()
	}
	return page + "#" + fmt.Sprintf(c.repo.f.dialect.habits().anchors[c.kind], c.id)
}

func (f *Forge) checkBody(resource, body string) *APIError {
	if body == "" {
		return invalid(FieldError{Resource: resource, Code: "missing_field", Field: "body", Message: "body can't be blank"})
	}
	if most := f.dialect.habits().maxBody; most > 0 && utf8.RuneCountInString(body) > most {
		message := fmt.Sprintf("Body is too long (maximum is %d characters)", most)
		return invalid(FieldError{Resource: resource, Code: "custom", Field: "body", Message: message})
	}
	return nil
}

// addComment stores a comment and sends its event. The caller holds mu and has
// filled everything but id and times.
func (f *Forge) addComment(c *comment) *APIError {
	if _, ok := f.dialect.habits().anchors[c.kind]; !ok {
		return notFound()
	}
	if err := f.checkBody(string(c.kind), c.body); err != nil {
		return err
	}
	c.id, c.created, c.updated = f.nextID(), f.now(), f.now()
	c.repo.comments[c.id] = c
	f.tellComment("created", c, c.author, nil)
	return nil
}

func (f *Forge) editComment(c *comment, body string, by *User) *APIError {
	if err := f.checkBody(string(c.kind), body); err != nil {
		return err
	}
	from := c.body
	c.body, c.updated, c.edited = body, f.now(), true
	f.tellComment("edited", c, by, map[string]string{"body": from})
	return nil
}

func (f *Forge) deleteComment(c *comment, by *User) {
	delete(c.repo.comments, c.id)
	f.tellComment("deleted", c, by, nil)
}

// react is idempotent: fresh says whether the reaction is new.
func (f *Forge) react(c *comment, by *User, content string) (reaction, bool, *APIError) {
	if !slices.Contains(f.dialect.habits().reactions, content) {
		return reaction{}, false, invalid(FieldError{Resource: "Reaction", Code: "invalid", Field: "content"})
	}
	for _, r := range c.reactions {
		if r.by == by && r.content == content {
			return r, false, nil
		}
	}
	r := reaction{id: f.nextID(), by: by, content: content, at: f.now()}
	c.reactions = append(c.reactions, r)
	return r, true, nil
}

// commentsOf lists stored comments of one kind by ascending id.
func (r *Repo) commentsOf(kind CommentKind, keep func(*comment) bool) []*comment {
	var out []*comment
	for _, id := range slices.Sorted(maps.Keys(r.comments)) {
		if c := r.comments[id]; c.kind == kind && keep(c) {
			out = append(out, c)
		}
	}
	return out
}

// Comments are the comments on a pull request, oldest first, without inline
// ones.
func (r *Repo) Comments(number int) []Comment {
	return r.list(IssueComment, func(c *comment) bool { return c.pull.Number == number })
}

// ReviewComments are the inline comments on a pull request.
func (r *Repo) ReviewComments(number int) []Comment {
	return r.list(ReviewComment, func(c *comment) bool { return c.pull.Number == number })
}

// CommitComments are the comments on a commit.
func (r *Repo) CommitComments(sha string) []Comment {
	return r.list(CommitComment, func(c *comment) bool { return c.sha == sha })
}

func (r *Repo) list(kind CommentKind, keep func(*comment) bool) []Comment {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	var out []Comment
	for _, c := range r.commentsOf(kind, keep) {
		out = append(out, c.snapshot())
	}
	return out
}

// CommentWith returns the first comment on a pull request whose body contains
// text.
func (r *Repo) CommentWith(number int, text string) (Comment, error) {
	for _, c := range r.Comments(number) {
		if strings.Contains(c.Body, text) {
			return c, nil
		}
	}
	return Comment{}, fmt.Errorf("no comment on %s#%d contains %q", r.FullName(), number, text)
}
