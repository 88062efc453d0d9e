package forgetest

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pull is a pull request.
type Pull struct {
	Number int
	Repo   *Repo

	f        *Forge
	id       int64
	title    string
	body     string
	author   *User
	draft    bool
	state    string // "open" or "closed"
	head     branchRef
	base     branchRef
	created  time.Time
	updated  time.Time
	closedAt time.Time
	mergedAt time.Time
	mergedBy *User
	landed   string   // the merge, squash or last rebased commit
	method   string   // "merge", "squash" or "rebase"; empty when a push merged it
	commits  []string // shas that reached the base under this pull request

	requested []reviewRequest

	// testMerge is refs/pull/N/merge. GitHub makes it in the background: after
	// a change it is stale until somebody asked once.
	testMerge string
	mergeable *bool
	checked   bool
}

// branchRef is one side of a pull request.
type branchRef struct {
	repo   *Repo // nil when deleted
	branch string
	sha    string
}

// OpenPullRequest opens a pull request between two branches of the repository.
func (r *Repo) OpenPullRequest(by *User, head, base, title string) (*Pull, error) {
	return r.openPull(by, r, head, base, title, false)
}

// OpenDraft opens a draft.
func (r *Repo) OpenDraft(by *User, head, base, title string) (*Pull, error) {
	return r.openPull(by, r, head, base, title, true)
}

// OpenFromFork opens a pull request whose head is a branch of a fork.
func (r *Repo) OpenFromFork(by *User, fork *Repo, head, base, title string) (*Pull, error) {
	return r.openPull(by, fork, head, base, title, false)
}

func (r *Repo) openPull(by *User, from *Repo, head, base, title string, draft bool) (*Pull, error) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	ctx := r.f.life
	headTip, headOK := from.refs["refs/heads/"+head]
	baseTip, baseOK := r.refs["refs/heads/"+base]
	if !headOK {
		return nil, invalid(FieldError{Resource: "PullRequest", Code: "invalid", Field: "head"})
	}
	if !baseOK {
		return nil, invalid(FieldError{Resource: "PullRequest", Code: "invalid", Field: "base"})
	}
	if err := r.takeHead(ctx, from, head); err != nil {
		return nil, err
	}
	if r.isAncestor(ctx, headTip.commit, baseTip.commit) {
		return nil, invalid(FieldError{Resource: "PullRequest", Code: "custom", Message: fmt.Sprintf("No commits between %s and %s", base, head)})
	}
	r.lastNumber++
	p := &Pull{
		Number: r.lastNumber, Repo: r, f: r.f, id: r.f.nextID(), title: title, author: by, draft: draft, state: "open",
		head: branchRef{from, head, headTip.commit}, base: branchRef{r, base, baseTip.commit},
		created: r.f.now(), updated: r.f.now(),
	}
	r.pulls[p.Number] = p
	if err := r.updateRef(ctx, p.headRef(), headTip.commit); err != nil {
		return nil, err
	}
	r.f.tellPull("opened", p, by, nil)
	return p, nil
}

// takeHead makes a fork's commits known in the base repository.
func (r *Repo) takeHead(ctx context.Context, from *Repo, branch string) error {
	if from == r {
		return nil
	}
	if _, err := r.f.git(ctx, r.dir, nil, "fetch", "--quiet", "--no-tags", from.dir, "refs/heads/"+branch); err != nil {
		return fmt.Errorf("taking %s of a fork: %w", branch, err)
	}
	return nil
}

func (p *Pull) headRef() string { return fmt.Sprintf(p.f.dialect.habits().pullRef, p.Number) }

// branchMoved brings pull requests along with a branch of this repository.
func (r *Repo) branchMoved(ctx context.Context, by *User, c refChange) error {
	var errs []error
	for _, base := range r.f.sortedRepos() {
		for n := 1; n <= base.lastNumber; n++ {
			p := base.pulls[n]
			if p == nil || p.state != "open" {
				continue
			}
			if p.base.repo == r && "refs/heads/"+p.base.branch == c.name {
				errs = append(errs, p.baseMoved(ctx, by, c))
			}
			if p.state == "open" && p.head.repo == r && "refs/heads/"+p.head.branch == c.name {
				errs = append(errs, p.headMoved(ctx, by, c))
			}
		}
	}
	return errors.Join(errs...)
}

func (p *Pull) headMoved(ctx context.Context, by *User, c refChange) error {
	if c.new.commit == "" { // deleting the head branch closes
		p.close(by)
		return nil
	}
	if c.new.commit == p.head.sha {
		return nil
	}
	if err := p.Repo.takeHead(ctx, p.head.repo, p.head.branch); err != nil {
		return err
	}
	before := p.head.sha
	p.head.sha, p.updated, p.checked = c.new.commit, p.f.now(), false
	p.base.sha = p.Repo.refs["refs/heads/"+p.base.branch].commit
	if err := p.Repo.updateRef(ctx, p.headRef(), p.head.sha); err != nil {
		return err
	}
	p.f.tellPull("synchronize", p, by, map[string]string{"head": before})
	return nil
}

// baseMoved makes mergeability stale; no event is sent for that. A push that
// carries the head is a merge.
func (p *Pull) baseMoved(ctx context.Context, by *User, c refChange) error {
	p.checked = false
	if c.new.commit == "" || !p.Repo.isAncestor(ctx, p.head.sha, c.new.commit) {
		return nil
	}
	span := c.new.commit
	if c.old.commit != "" {
		span = c.old.commit + ".." + c.new.commit
	}
	line, err := p.Repo.revList(ctx, "--first-parent", span)
	if err != nil {
		return err
	}
	for _, sha := range line {
		if p.Repo.isAncestor(ctx, p.head.sha, sha) {
			return p.merged(ctx, by, sha, nil)
		}
	}
	return nil
}

// Head is the sha of the head commit now.
func (p *Pull) Head() string { return locked(p, func() string { return p.head.sha }) }

// State is "open" or "closed".
func (p *Pull) State() string { return locked(p, func() string { return p.state }) }

// Merged says whether it was merged.
func (p *Pull) Merged() bool { return locked(p, func() bool { return !p.mergedAt.IsZero() }) }

// MergeCommit is what merging left on the base; empty before.
func (p *Pull) MergeCommit() string { return locked(p, func() string { return p.landed }) }

// URL is the page of the pull request.
func (p *Pull) URL() string { return locked(p, p.htmlURL) }

func (p *Pull) htmlURL() string {
	return p.f.URL() + "/" + p.Repo.fullName() + fmt.Sprintf(p.f.dialect.habits().pull, p.Number)
}

func locked[T any](p *Pull, read func() T) T {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	return read()
}

// Push commits files on the head branch.
func (p *Pull) Push(files map[string]string, by *User) (string, error) {
	repo := locked(p, func() *Repo { return p.head.repo })
	if repo == nil {
		return "", notFound()
	}
	return repo.Commit(p.head.branch, files, by)
}

// Close closes without merging.
func (p *Pull) Close(by *User) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if p.state != "open" {
		return invalid("already closed")
	}
	p.close(by)
	return nil
}

func (p *Pull) close(by *User) {
	p.state, p.closedAt, p.updated = "closed", p.f.now(), p.f.now()
	p.f.tellPull("closed", p, by, nil)
}

// Reopen opens a closed pull request again.
func (p *Pull) Reopen(by *User) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if p.state == "open" || !p.mergedAt.IsZero() {
		return invalid("state cannot be changed")
	}
	p.state, p.closedAt, p.updated = "open", time.Time{}, p.f.now()
	p.f.tellPull("reopened", p, by, nil)
	return nil
}

// SetDraft turns it into a draft or back.
func (p *Pull) SetDraft(draft bool, by *User) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	if p.draft == draft {
		return
	}
	p.draft, p.updated = draft, p.f.now()
	action := "ready_for_review"
	if draft {
		action = "converted_to_draft"
	}
	p.f.tellPull(action, p, by, nil)
}

// Edit changes title and body.
func (p *Pull) Edit(title, body string, by *User) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	from := map[string]string{}
	if title != p.title {
		from["title"] = p.title
	}
	if body != p.body {
		from["body"] = p.body
	}
	p.title, p.body, p.updated = title, body, p.f.now()
	p.f.tellPull("edited", p, by, from)
}

// Retarget changes the base branch.
func (p *Pull) Retarget(base string, by *User) error {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	tip, ok := p.Repo.refs["refs/heads/"+base]
	if !ok {
		return invalid(FieldError{Resource: "PullRequest", Code: "invalid", Field: "base"})
	}
	old := p.base
	p.base, p.checked, p.updated = branchRef{p.Repo, base, tip.commit}, false, p.f.now()
	p.f.tellPull("edited", p, by, map[string]string{"base": old.branch, "base_sha": old.sha})
	return nil
}

// Touch sends an event that changes nothing chant plans from, such as
// "labeled" or "milestoned".
func (p *Pull) Touch(action string, by *User) {
	p.f.mu.Lock()
	defer p.f.mu.Unlock()
	p.f.tellPull(action, p, by, nil)
}
