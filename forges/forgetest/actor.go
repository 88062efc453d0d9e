package forgetest

// Actor is a person at work on the forge. Its methods follow the forge's own
// rules and return *APIError when those refuse.
type Actor struct {
	f    *Forge
	user *User
	via  *App
}

// As acts as an account.
func (f *Forge) As(u *User) Actor { return Actor{f: f, user: u} }

// Through acts as the same account through an app, as a user-to-server token
// does.
func (a Actor) Through(app *App) Actor { return Actor{f: a.f, user: a.user, via: app} }

func (a Actor) add(c *comment) (Comment, error) {
	c.author, c.via = a.user, a.via
	if err := a.f.addComment(c); err != nil {
		return Comment{}, err
	}
	return c.snapshot(), nil
}

// Comment comments on a pull request.
func (a Actor) Comment(p *Pull, body string) (Comment, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	return a.add(&comment{kind: IssueComment, repo: p.Repo, pull: p, body: body})
}

// CommitComment comments on a commit.
func (a Actor) CommitComment(r *Repo, sha, body string) (Comment, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	return a.add(&comment{kind: CommitComment, repo: r, sha: sha, body: body})
}

// ReviewComment comments on a line. On GitHub a review of state COMMENTED
// without a body comes with it.
func (a Actor) ReviewComment(p *Pull, path string, line int, body string) (Comment, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	return a.inline(p, path, line, body)
}

func (a Actor) inline(p *Pull, path string, line int, body string) (Comment, error) {
	if err := a.f.checkBody(string(ReviewComment), body); err != nil {
		return Comment{}, err
	}
	v, _ := a.f.addReview(p, a.user, "", "")
	a.f.submitReview(v, "COMMENTED")
	return a.add(&comment{
		kind: ReviewComment, repo: p.Repo, pull: p, sha: p.head.sha, path: path, line: line, body: body, review: v.id,
	})
}

// ReplyTo answers an inline comment in its thread.
func (a Actor) ReplyTo(c Comment, body string) (Comment, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	top := c.Repo.comments[c.ID]
	if top == nil || top.kind != ReviewComment {
		return Comment{}, notFound()
	}
	if top.inReply != 0 {
		top = c.Repo.comments[top.inReply]
	}
	v, _ := a.f.addReview(top.pull, a.user, "", "")
	a.f.submitReview(v, "COMMENTED")
	return a.add(&comment{
		kind: ReviewComment, repo: c.Repo, pull: top.pull, sha: top.sha, path: top.path, line: top.line,
		body: body, review: v.id, inReply: top.id,
	})
}

// EditComment changes a comment's body; anybody with write access may.
func (a Actor) EditComment(c Comment, body string) error {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	stored := c.Repo.comments[c.ID]
	if stored == nil {
		return notFound()
	}
	if err := a.f.editComment(stored, body, a.user); err != nil {
		return err
	}
	return nil
}

// DeleteComment removes a comment.
func (a Actor) DeleteComment(c Comment) error {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	stored := c.Repo.comments[c.ID]
	if stored == nil {
		return notFound()
	}
	a.f.deleteComment(stored, a.user)
	return nil
}

// Review submits a review: event is "APPROVE", "REQUEST_CHANGES" or "COMMENT".
func (a Actor) Review(p *Pull, event, body string) (Review, error) {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	v, err := a.f.addReview(p, a.user, event, body)
	if err != nil {
		return Review{}, err
	}
	return v.snapshot(), nil
}

// StartReview begins a review that nobody sees until Submit.
func (a Actor) StartReview(p *Pull, body string) (Review, error) { return a.Review(p, "", body) }

// Submit submits a pending review in a state, "APPROVED" and the like.
func (a Actor) Submit(v Review, state string) error {
	return a.onReview(v, func(stored *review) *APIError {
		a.f.submitReview(stored, state)
		return nil
	})
}

// Dismiss takes a review's verdict away.
func (a Actor) Dismiss(v Review) error {
	return a.onReview(v, func(stored *review) *APIError { return a.f.dismissReview(stored, a.user) })
}

// EditReview changes a review's body. REST shows nothing of it.
func (a Actor) EditReview(v Review, body string) error {
	return a.onReview(v, func(stored *review) *APIError {
		a.f.editReview(stored, body, a.user)
		return nil
	})
}

func (a Actor) onReview(v Review, change func(*review) *APIError) error {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	stored := v.Repo.reviews[v.ID]
	if stored == nil {
		return notFound()
	}
	if err := change(stored); err != nil {
		return err
	}
	return nil
}

// React adds a reaction to a comment.
func (a Actor) React(c Comment, content string) error {
	a.f.mu.Lock()
	defer a.f.mu.Unlock()
	stored := c.Repo.comments[c.ID]
	if stored == nil {
		return notFound()
	}
	if _, _, err := a.f.react(stored, a.user, content); err != nil {
		return err
	}
	return nil
}
