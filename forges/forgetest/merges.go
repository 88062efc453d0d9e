package forgetest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
)

// Merge merges the pull request for an account as the button would: method is
// "merge", "squash" or "rebase". It returns the commit that landed.
func (p *Pull) Merge(method string, by *User) (string, error) { return p.mergeAt(method, by, "") }

// mergeAt merges when the head is still at sha (empty: whatever it is).
func (p *Pull) mergeAt(method string, by *User, sha string) (string, error) {
	err := p.Repo.changing(by, func(ctx context.Context) error {
		if sha != "" && sha != p.head.sha {
			return conflict("Head branch was modified. Review and try the merge again.")
		}
		if p.state != "open" || p.draft || p.head.repo == nil {
			return notMergeable()
		}
		landed, commits, err := p.land(ctx, method, by)
		if err != nil {
			return err
		}
		base := "refs/heads/" + p.base.branch
		if err := p.Repo.updateRef(ctx, base, landed); err != nil {
			return err
		}
		p.method = method
		return p.merged(ctx, by, landed, commits)
	})
	if err != nil {
		return "", err
	}
	return p.MergeCommit(), nil
}

func notMergeable() *APIError {
	return &APIError{Status: http.StatusMethodNotAllowed, Message: "Pull Request is not mergeable"}
}

// land makes the commits of a merge and returns the last one, with all that
// reach the base.
func (p *Pull) land(ctx context.Context, method string, by *User) (string, []string, error) {
	r := p.Repo
	base := r.refs["refs/heads/"+p.base.branch].commit
	presser := p.f.presser(by)
	if method == "rebase" {
		return p.rebase(ctx, base, presser)
	}
	tree, ok, err := r.mergeTree(ctx, base, p.head.sha)
	if err != nil {
		return "", nil, err
	}
	if !ok {
		return "", nil, notMergeable()
	}
	switch method {
	case "squash":
		message := fmt.Sprintf("%s (#%d)\n", p.title, p.Number)
		sha, err := r.commitTree(ctx, tree, []string{base}, p.author.Person(), presser, p.f.now(), message)
		return sha, []string{sha}, err
	case "merge":
		message := fmt.Sprintf("Merge pull request #%d from %s/%s\n\n%s\n", p.Number, p.head.repo.owner.Login, p.head.branch, p.title)
		sha, err := r.commitTree(ctx, tree, []string{base, p.head.sha}, by.Person(), presser, p.f.now(), message)
		if err != nil {
			return "", nil, err
		}
		commits, err := r.revList(ctx, base+".."+sha)
		return sha, commits, err
	}
	return "", nil, invalid(FieldError{Resource: "PullRequest", Code: "invalid", Field: "merge_method"})
}

// rebase replays each commit on the base. The merge base of a replayed commit
// and the new line is made to be its parent, so that merge-tree picks exactly
// its change.
func (p *Pull) rebase(ctx context.Context, base string, committer Person) (string, []string, error) {
	r := p.Repo
	shas, err := r.revList(ctx, "--no-merges", base+".."+p.head.sha)
	if err != nil {
		return "", nil, err
	}
	infos, err := r.readCommits(ctx, shas)
	if err != nil {
		return "", nil, err
	}
	tip, commits := base, []string{}
	for _, c := range infos {
		if len(c.parents) == 0 {
			return "", nil, notMergeable()
		}
		ours, err := r.commitTree(ctx, tip+"^{tree}", c.parents[:1], committer, committer, p.f.now(), "pick")
		if err != nil {
			return "", nil, err
		}
		tree, ok, err := r.mergeTree(ctx, ours, c.sha)
		if err != nil {
			return "", nil, err
		}
		if !ok {
			return "", nil, notMergeable()
		}
		tip, err = r.commitTree(ctx, tree, []string{tip}, c.author, committer, p.f.now(), c.message+"\n")
		if err != nil {
			return "", nil, err
		}
		commits = append(commits, tip)
	}
	return tip, commits, nil
}

// merged records that the pull request reached its base as sha.
func (p *Pull) merged(ctx context.Context, by *User, sha string, commits []string) error {
	if commits == nil {
		var err error
		if commits, err = p.Repo.revList(ctx, p.base.sha+".."+sha); err != nil {
			return err
		}
	}
	now := p.f.now()
	p.landed, p.commits, p.mergedBy = sha, commits, by
	p.mergedAt, p.closedAt, p.updated, p.state = now, now, now, "closed"
	p.f.tellPull("closed", p, by, nil)
	return nil
}

// checkMergeable makes the test merge, as GitHub's background job does after
// somebody asked.
func (p *Pull) checkMergeable(ctx context.Context) error {
	base := p.Repo.refs["refs/heads/"+p.base.branch].commit
	tree, ok, err := p.Repo.mergeTree(ctx, base, p.head.sha)
	if err != nil {
		return err
	}
	p.mergeable, p.checked = &ok, true
	if !ok {
		return nil
	}
	presser := p.f.presser(p.author)
	message := fmt.Sprintf("Merge %s into %s\n", p.head.sha, base)
	p.testMerge, err = p.Repo.commitTree(ctx, tree, []string{base, p.head.sha}, presser, presser, p.f.now(), message)
	if err != nil {
		return err
	}
	return p.Repo.updateRef(ctx, fmt.Sprintf("refs/pull/%d/merge", p.Number), p.testMerge)
}

// commitsOf lists the commits of the pull request, oldest first.
func (p *Pull) commitsOf(ctx context.Context) ([]string, error) {
	return p.Repo.revList(ctx, p.base.sha+".."+p.head.sha)
}

// carries says whether the forge associates a commit with the pull request.
func (p *Pull) carries(ctx context.Context, sha string) bool {
	own, err := p.commitsOf(ctx)
	if err != nil {
		return false
	}
	for _, list := range [][]string{own, p.commits, {p.landed}} {
		if slices.Contains(list, sha) {
			return true
		}
	}
	return false
}
