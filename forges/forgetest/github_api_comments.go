package forgetest

import "net/http"

func (d github) commentRoutes() []route {
	const (
		issueRead   = "issues:read|pull_requests:read"
		issueWrite  = "issues:write|pull_requests:write"
		pullRead    = "pull_requests:read"
		pullWrite   = "pull_requests:write"
		commitRead  = "metadata:read"
		commitWrite = "contents:write"
	)
	return []route{
		{method: "GET", path: "/issues/comments/{comment}", repo: true, needs: issueRead, handle: d.getComment(IssueComment)},
		{method: "PATCH", path: "/issues/comments/{comment}", repo: true, needs: issueWrite, handle: d.patchComment(IssueComment)},
		{method: "DELETE", path: "/issues/comments/{comment}", repo: true, needs: issueWrite, handle: d.dropComment(IssueComment)},
		// Reactions on issue comments know no alternative to the Issues permission.
		{method: "GET", path: "/issues/comments/{comment}/reactions", repo: true, needs: "issues:read", handle: d.listReactions(IssueComment)},
		{method: "POST", path: "/issues/comments/{comment}/reactions", repo: true, needs: "issues:write", handle: d.postReaction(IssueComment)},
		{method: "GET", path: "/issues/{number}/comments", repo: true, needs: issueRead, handle: d.listComments(IssueComment)},
		{method: "POST", path: "/issues/{number}/comments", repo: true, needs: issueWrite, handle: d.postIssueComment},

		{method: "GET", path: "/pulls/comments/{comment}", repo: true, needs: pullRead, handle: d.getComment(ReviewComment)},
		{method: "PATCH", path: "/pulls/comments/{comment}", repo: true, needs: pullWrite, handle: d.patchComment(ReviewComment)},
		{method: "DELETE", path: "/pulls/comments/{comment}", repo: true, needs: pullWrite, handle: d.dropComment(ReviewComment)},
		{method: "GET", path: "/pulls/comments/{comment}/reactions", repo: true, needs: pullRead, handle: d.listReactions(ReviewComment)},
		{method: "POST", path: "/pulls/comments/{comment}/reactions", repo: true, needs: pullWrite, handle: d.postReaction(ReviewComment)},
		{method: "GET", path: "/pulls/{number}/comments", repo: true, needs: pullRead, handle: d.listComments(ReviewComment)},
		{method: "POST", path: "/pulls/{number}/comments/{comment}/replies", repo: true, needs: pullWrite, handle: d.postReply},

		{method: "GET", path: "/comments/{comment}", repo: true, needs: commitRead, handle: d.getComment(CommitComment)},
		{method: "PATCH", path: "/comments/{comment}", repo: true, needs: commitWrite, handle: d.patchComment(CommitComment)},
		{method: "GET", path: "/comments/{comment}/reactions", repo: true, needs: commitRead, handle: d.listReactions(CommitComment)},
		{method: "POST", path: "/comments/{comment}/reactions", repo: true, needs: commitWrite, handle: d.postReaction(CommitComment)},
		{method: "GET", path: "/commits/{ref}/comments", repo: true, needs: commitRead, handle: d.listCommitComments},
		{method: "POST", path: "/commits/{ref}/comments", repo: true, needs: "contents:read", handle: d.postCommitComment},
	}
}

type handler = func(*call) (int, any, *APIError)

// withComment runs a handler on the comment the path names.
func withComment(kind CommentKind, do func(*call, *comment) (int, any, *APIError)) handler {
	return func(c *call) (int, any, *APIError) {
		found, err := c.stored(kind)
		if err != nil {
			return 0, nil, err
		}
		return do(c, found)
	}
}

func (d github) getComment(kind CommentKind) handler {
	return withComment(kind, func(_ *call, found *comment) (int, any, *APIError) {
		return 200, d.renderComment(found), nil
	})
}

// mayEdit: an author always, others with write access; an app by its
// permission alone.
func (d github) mayEdit(c *call, found *comment) *APIError {
	if c.grant.installation != nil || found.author == c.grant.user || atLeast(c.repoRole(c.repo), "write") {
		return nil
	}
	return &APIError{Status: http.StatusForbidden, Message: "Must have admin rights to Repository."}
}

func (d github) patchComment(kind CommentKind) handler {
	return withComment(kind, func(c *call, found *comment) (int, any, *APIError) {
		body, err := c.body()
		if err != nil {
			return 0, nil, err
		}
		if err := d.mayEdit(c, found); err != nil {
			return 0, nil, err
		}
		if err := c.f.editComment(found, body, c.grant.user); err != nil {
			return 0, nil, err
		}
		return 200, d.renderComment(found), nil
	})
}

func (d github) dropComment(kind CommentKind) handler {
	return withComment(kind, func(c *call, found *comment) (int, any, *APIError) {
		if err := d.mayEdit(c, found); err != nil {
			return 0, nil, err
		}
		c.f.deleteComment(found, c.grant.user)
		return 204, nil, nil
	})
}

func (d github) listReactions(kind CommentKind) handler {
	return withComment(kind, func(c *call, found *comment) (int, any, *APIError) {
		return 200, eachOf(c, found.reactions, d.renderReaction), nil
	})
}

// postReaction answers 201 for a new reaction and 200 for one that is there.
func (d github) postReaction(kind CommentKind) handler {
	return withComment(kind, func(c *call, found *comment) (int, any, *APIError) {
		var ask struct{ Content string }
		if err := c.decode(&ask); err != nil {
			return 0, nil, err
		}
		given, fresh, err := c.f.react(found, c.grant.user, ask.Content)
		if err != nil {
			return 0, nil, err
		}
		status := 200
		if fresh {
			status = 201
		}
		return status, d.renderReaction(given), nil
	})
}

func (d github) listComments(kind CommentKind) handler {
	return func(c *call) (int, any, *APIError) {
		p, err := c.pull()
		if err != nil {
			return 0, nil, err
		}
		list := c.repo.commentsOf(kind, func(x *comment) bool { return x.pull == p })
		return 200, eachOf(c, list, d.renderComment), nil
	}
}

// post stores a comment of the caller.
func (d github) post(c *call, fresh *comment) (int, any, *APIError) {
	body, err := c.body()
	if err != nil {
		return 0, nil, err
	}
	fresh.repo, fresh.author, fresh.via, fresh.body = c.repo, c.grant.user, c.grant.app, body
	if err := c.f.addComment(fresh); err != nil {
		return 0, nil, err
	}
	return 201, d.renderComment(fresh), nil
}

func (d github) postIssueComment(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	return d.post(c, &comment{kind: IssueComment, pull: p})
}

// postReply answers a thread. A reply cannot be replied to.
func (d github) postReply(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	top, err := c.stored(ReviewComment)
	if err != nil || top.pull != p || top.inReply != 0 {
		return 0, nil, notFound()
	}
	return d.post(c, &comment{kind: ReviewComment, pull: p, sha: top.sha, path: top.path, line: top.line, review: top.review, inReply: top.id})
}

func (d github) listCommitComments(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	list := c.repo.commentsOf(CommitComment, func(x *comment) bool { return x.sha == sha })
	return 200, eachOf(c, list, d.renderComment), nil
}

func (d github) postCommitComment(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	return d.post(c, &comment{kind: CommitComment, sha: sha})
}
