package forgetest

import (
	"context"
	"fmt"
	"slices"
)

func (d forgejo) pullRoutes() []route {
	const needs = "repository"
	return []route{
		{method: "GET", path: "/pulls", repo: true, needs: needs, handle: d.listPulls},
		{method: "GET", path: "/pulls/{number}", repo: true, needs: needs, handle: d.getPull},
		{method: "GET", path: "/pulls/{number}/commits", repo: true, needs: needs, handle: d.pullCommits},
		{method: "GET", path: "/pulls/{number}/reviews", repo: true, needs: needs, handle: d.listReviews},
		{method: "GET", path: "/pulls/{number}/reviews/{review}", repo: true, needs: needs, handle: d.getReview},
		{method: "GET", path: "/pulls/{number}/reviews/{review}/comments", repo: true, needs: needs, handle: d.reviewComments},
		{method: "GET", path: "/commits/{sha}/pull", repo: true, needs: needs, handle: d.commitPull},
		{method: "GET", path: "/issues", repo: true, needs: "issue", handle: d.listIssues},
	}
}

// reviewRequest is a question for a review that was not answered.
type reviewRequest struct {
	id int64
	of *User
}

// RequestReview asks somebody for a review. On Forgejo and Gitea the question is
// listed among the reviews until it is answered.
func (p *Pull) RequestReview(of, by *User) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.requested = append(p.requested, reviewRequest{p.f.nextID(), of})
	p.f.tellPull("review_requested", p, by, nil)
}

// OpenWithoutBranch opens a pull request by a push to refs/for, which whoever
// reads a repository may do on Forgejo and Gitea: the head is taken from a
// branch of from, and belongs to no branch of this repository.
func (r *Repo) OpenWithoutBranch(by *User, from *Repo, branch, base, title string) (*Pull, error) {
	p, err := r.openPull(by, from, branch, base, title, false)
	if err != nil {
		return nil, err
	}
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	p.head.repo, p.head.branch = r, ""
	return p, nil
}

// pullsOf lists a repository's pull requests of a state, oldest first.
func pullsOf(r *Repo, state string) []*Pull {
	var list []*Pull
	for n := 1; n <= r.lastNumber; n++ {
		if p := r.pulls[n]; p != nil && (state == "all" || p.state == state) {
			list = append(list, p)
		}
	}
	return list
}

// listPulls finds nothing in a repository without a commit, as Gitea 1.26 does.
func (d forgejo) listPulls(c *call) (int, any, *APIError) {
	if len(c.repo.refs) == 0 {
		return 0, nil, notFound()
	}
	query := c.r.URL.Query()
	state := query.Get("state")
	if state == "" {
		state = "open"
	}
	list := pullsOf(c.repo, state)
	if query.Get("sort") != "oldest" { // newest first by default
		slices.Reverse(list)
	}
	return 200, eachOf(c, list, d.renderPull), nil
}

// listIssues shows the issues behind pull requests; the fake has no others.
func (d forgejo) listIssues(c *call) (int, any, *APIError) {
	query := c.r.URL.Query()
	list := pullsOf(c.repo, query.Get("state"))
	if by := query.Get("created_by"); by != "" {
		list = slices.DeleteFunc(list, func(p *Pull) bool { return lower(p.author.Login) != lower(by) })
	}
	return 200, eachOf(c, list, d.renderIssue), nil
}

// getPull shows what is known of mergeability and starts to find it out.
func (d forgejo) getPull(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	shown := d.renderPull(p)
	if p.state == "open" && !p.checked {
		if err := p.checkMergeable(context.WithoutCancel(c.r.Context())); err != nil {
			return 0, nil, fault500(err)
		}
	}
	return 200, shown, nil
}

func (d forgejo) pullCommits(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	shas, gerr := p.commitsOf(c.r.Context())
	if gerr != nil {
		return 0, nil, fault500(gerr)
	}
	slices.Reverse(shas) // newest first
	infos, gerr := c.repo.readCommits(c.r.Context(), pageOf(c, shas))
	if gerr != nil {
		return 0, nil, fault500(gerr)
	}
	list := []object{}
	for _, info := range infos {
		list = append(list, d.renderCommit(c.repo, info))
	}
	return 200, list, nil
}

// commitPull knows the one pull request that was merged as exactly this commit.
func (d forgejo) commitPull(c *call) (int, any, *APIError) {
	for _, p := range pullsOf(c.repo, "closed") {
		if p.landed == c.params["sha"] {
			return 200, d.renderPull(p), nil
		}
	}
	return 0, nil, notFound()
}

// listReviews counts what it does not show: a review that is not submitted is
// its author's alone. Open questions for a review stand between.
func (d forgejo) listReviews(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	all := []object{}
	for _, v := range p.reviewsOf() {
		o := d.renderReview(v)
		if v.state == "PENDING" && v.author != c.grant.user {
			o = nil
		}
		all = append(all, o)
	}
	for _, r := range p.requested {
		all = append(all, object{
			"id": r.id, "user": d.renderUser(r.of), "team": nil, "state": "REQUEST_REVIEW", "body": "", "commit_id": "", "stale": false,
			"official": false, "dismissed": false, "comments_count": 0, "submitted_at": stamp(d.now()), "html_url": "", "pull_request_url": p.htmlURL(),
		})
	}
	return 200, slices.DeleteFunc(pageOf(c, all), func(o object) bool { return o == nil }), nil
}

func (d forgejo) review(c *call) (*review, *APIError) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	v := c.repo.reviews[c.id("review")]
	if v == nil || v.pull != p || v.state == "PENDING" && v.author != c.grant.user {
		return nil, notFound()
	}
	return v, nil
}

func (d forgejo) getReview(c *call) (int, any, *APIError) {
	v, err := d.review(c)
	if err != nil {
		return 0, nil, err
	}
	return 200, d.renderReview(v), nil
}

// reviewComments has one page and no length.
func (d forgejo) reviewComments(c *call) (int, any, *APIError) {
	v, err := d.review(c)
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, found := range c.repo.commentsOf(ReviewComment, func(x *comment) bool { return x.review == v.id }) {
		list = append(list, d.renderInline(found))
	}
	return 200, list, nil
}

func (d forgejo) talkRoutes() []route {
	const needs = "issue"
	return []route{
		{method: "GET", path: "/issues/{number}/comments", repo: true, needs: needs, handle: d.listComments},
		{method: "POST", path: "/issues/{number}/comments", repo: true, needs: needs, handle: d.postComment},
		{method: "GET", path: "/issues/comments/{comment}", repo: true, needs: needs, handle: d.getComment},
		{method: "PATCH", path: "/issues/comments/{comment}", repo: true, needs: needs, handle: d.patchComment},
		{method: "DELETE", path: "/issues/comments/{comment}", repo: true, needs: needs, handle: d.dropComment},
		{method: "GET", path: "/issues/comments/{comment}/reactions", repo: true, needs: needs, handle: d.listReactions},
		{method: "POST", path: "/issues/comments/{comment}/reactions", repo: true, needs: needs, handle: d.postReaction},
	}
}

// listComments has one page, whatever is asked for. A number that is no pull
// request is a fault of the server.
func (d forgejo) listComments(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, &APIError{Status: 500}
	}
	list := []object{}
	for _, found := range c.repo.commentsOf(IssueComment, func(x *comment) bool { return x.pull == p }) {
		list = append(list, d.renderComment(found))
	}
	c.w.Header().Set("X-Total-Count", fmt.Sprint(len(list)))
	return 200, list, nil
}

func (d forgejo) postComment(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, &APIError{Status: 500}
	}
	body, err := c.body()
	if err != nil {
		return 0, nil, err
	}
	fresh := &comment{kind: IssueComment, repo: c.repo, pull: p, author: c.grant.user, body: body}
	if err := d.addComment(fresh); err != nil {
		return 0, nil, err
	}
	return 201, d.renderComment(fresh), nil
}

// anyComment finds a comment of any kind: those on code share the ids.
func (d forgejo) anyComment(c *call) (*comment, *APIError) {
	found := c.repo.comments[c.id("comment")]
	if found == nil {
		return nil, notFound()
	}
	return found, nil
}

// getComment answers nothing for a comment on code: it exists, and is not
// shown here.
func (d forgejo) getComment(c *call) (int, any, *APIError) {
	found, err := d.anyComment(c)
	if err != nil {
		return 0, nil, err
	}
	if found.kind != IssueComment {
		return 204, nil, nil
	}
	return 200, d.renderComment(found), nil
}

// mayEdit: an author always, others with write access.
func (d forgejo) mayEdit(c *call) (*comment, *APIError) {
	found, err := d.anyComment(c)
	if err == nil && found.author != c.grant.user && !atLeast(c.repoRole(c.repo), "write") {
		err = denied("")
	}
	return found, err
}

func (d forgejo) patchComment(c *call) (int, any, *APIError) {
	found, err := d.mayEdit(c)
	if err != nil {
		return 0, nil, err
	}
	body, err := c.body()
	if err != nil {
		return 0, nil, err
	}
	if body != found.body { // the same again changes nothing
		if err := d.editComment(found, body, c.grant.user); err != nil {
			return 0, nil, err
		}
	}
	return 200, d.renderComment(found), nil
}

func (d forgejo) dropComment(c *call) (int, any, *APIError) {
	found, err := d.mayEdit(c)
	if err != nil {
		return 0, nil, err
	}
	d.deleteComment(found, c.grant.user)
	return 204, nil, nil
}

func (d forgejo) renderReaction(r reaction) object {
	return object{"user": d.renderUser(r.by), "content": r.content, "created_at": stamp(r.at)}
}

func (d forgejo) listReactions(c *call) (int, any, *APIError) {
	found, err := d.anyComment(c)
	if err != nil {
		return 0, nil, err
	}
	list := []object{}
	for _, r := range found.reactions {
		list = append(list, d.renderReaction(r))
	}
	return 200, list, nil
}

// postReaction answers 201 for a new reaction and 200 for one that is there.
func (d forgejo) postReaction(c *call) (int, any, *APIError) {
	found, err := d.anyComment(c)
	if err != nil {
		return 0, nil, err
	}
	var ask struct{ Content string }
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	if !slices.Contains(d.habits().reactions, ask.Content) {
		return 0, nil, denied(fmt.Sprintf("'%s' is not an allowed reaction", ask.Content))
	}
	given, fresh, err := d.react(found, c.grant.user, ask.Content)
	if err != nil {
		return 0, nil, err
	}
	if fresh {
		return 201, d.renderReaction(given), nil
	}
	return 200, d.renderReaction(given), nil
}
