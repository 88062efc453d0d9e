package github

import (
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
)

func pullRequest(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.PullRequest <= 0 {
		return nil, missing(d, "pull_request.number")
	}
	number := p.PullRequest
	switch d.Action {
	case "opened", "synchronize", "reopened", "ready_for_review", "converted_to_draft":
		return engine.ChangeUpdated{Repo: d.Repo, Number: number}, nil
	case "edited":
		if p.BaseChanged {
			return engine.ChangeUpdated{Repo: d.Repo, Number: number}, nil
		}
		return unused(d, "title or text only, the target branch stayed")
	case "closed":
		return engine.ChangeClosed{Repo: d.Repo, Number: number}, nil
	}
	return unused(d, "moves neither head, target branch nor draft state")
}

// pullRequestReview: a review with text may hold commands; whoever handles
// them settles the pull request too, so its verdict is not lost.
func pullRequestReview(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.PullRequest <= 0 {
		return nil, missing(d, "pull_request.number")
	}
	if p.Review.ID == 0 {
		return nil, missing(d, "review.id")
	}
	number := p.PullRequest
	switch d.Action {
	case "submitted":
		if strings.TrimSpace(p.Review.Body) == "" {
			return engine.ReviewChanged{Repo: d.Repo, Number: number}, nil
		}
		ref := engine.CommentRef{Kind: engine.Review, ID: p.Review.ID, Number: number}
		return engine.CommandPosted{Repo: d.Repo, Comment: ref, Author: p.Review.User.actor()}, nil
	case "edited", "dismissed":
		return engine.ReviewChanged{Repo: d.Repo, Number: number}, nil
	}
	return unused(d, "changes no verdict")
}

// commented: only a comment that was just created can hold commands, never an
// edited one (pr-loop decision 7).
func commented(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Comment.ID == 0 {
		return nil, missing(d, "comment.id")
	}
	ref := engine.CommentRef{ID: p.Comment.ID}
	switch d.Event {
	case "issue_comment":
		if p.Issue <= 0 {
			return nil, missing(d, "issue.number")
		}
		if !p.IssueIsChange {
			return unused(d, "on an issue, not on a pull request")
		}
		ref.Kind, ref.Number = engine.IssueComment, p.Issue
	case "pull_request_review_comment":
		if p.PullRequest <= 0 {
			return nil, missing(d, "pull_request.number")
		}
		ref.Kind, ref.Number = engine.ReviewComment, p.PullRequest
	case "commit_comment":
		if p.Comment.CommitID == "" {
			return nil, missing(d, "comment.commit_id")
		}
		ref.Kind, ref.Commit = engine.CommitComment, p.Comment.CommitID
	}
	if d.Action != "created" {
		return unused(d, "commands are read from a comment when it is created, never later")
	}
	return engine.CommandPosted{Repo: d.Repo, Comment: ref, Author: p.Comment.User.actor()}, nil
}

func push(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if branch, ok := strings.CutPrefix(p.Ref, "refs/heads/"); ok {
		if strings.HasPrefix(branch, "gh-readonly-queue/") {
			return unused(d, "a merge queue's own branch; merge_group speaks for it")
		}
		return engine.BranchPushed{Repo: d.Repo, Branch: branch, Before: p.Before, After: p.After}, nil
	}
	if tag, ok := strings.CutPrefix(p.Ref, "refs/tags/"); ok {
		// After is the tag object of an annotated tag; whoever handles this
		// peels the tag itself.
		return engine.TagChanged{Repo: d.Repo, Name: tag}, nil
	}
	if p.Ref == "" {
		return nil, missing(d, "ref")
	}
	return unused(d, "neither a branch nor a tag")
}

// refChanged: create and delete carry a short name and no commit. For a branch
// the push that always comes with them says more.
func refChanged(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Ref == "" {
		return nil, missing(d, "ref")
	}
	if p.RefType == "tag" {
		return engine.TagChanged{Repo: d.Repo, Name: strings.TrimPrefix(p.Ref, "refs/tags/")}, nil
	}
	return unused(d, "of a "+p.RefType+", which push reports")
}

// checks finds the commit by its sha alone: pull_requests is empty for forks
// and head_branch may carry our branch's name from a fork (forge-facts 1.3).
func checks(d webhooks.Delivery, p *payload) (engine.Event, error) {
	sha, field := p.SHA, "sha"
	switch d.Event {
	case "check_run":
		sha, field = p.CheckRun, "check_run.head_sha"
	case "check_suite":
		sha, field = p.CheckSuite, "check_suite.head_sha"
	case "workflow_run":
		sha, field = p.WorkflowRun, "workflow_run.head_sha"
	}
	if sha == "" {
		return nil, missing(d, field)
	}
	if d.Event == "check_suite" && d.Action == "requested" {
		return unused(d, "no check has run yet")
	}
	return engine.ChecksChanged{Repo: d.Repo, Commit: sha}, nil
}

func mergeGroup(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if d.Action != "checks_requested" {
		return unused(d, "asks for no status")
	}
	if p.MergeGroup == "" {
		return nil, missing(d, "merge_group.head_sha")
	}
	return engine.QueueRequested{Repo: d.Repo, Head: p.MergeGroup}, nil
}

func repositoryChanged(d webhooks.Delivery, p *payload) (engine.Event, error) {
	switch {
	case d.Action == "renamed", d.Action == "transferred",
		d.Action == "edited" && bool(p.DefaultBranchChanged):
		return engine.RepoChanged{Repo: d.Repo}, nil
	}
	return unused(d, "neither name nor default branch changed")
}
