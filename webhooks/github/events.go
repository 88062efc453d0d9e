package github

import (
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

func pullRequest(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.PullRequest <= 0 {
		return nil, decode.Missing(d, "pull_request.number")
	}
	number := p.PullRequest
	switch d.Action {
	case "opened", "synchronize", "reopened", "ready_for_review", "converted_to_draft":
		return decode.Moved(d, number, p.Head, p.HeadRepo)
	case "edited":
		if p.BaseChanged {
			return decode.Moved(d, number, p.Head, p.HeadRepo)
		}
		return decode.Unused(d, "title or text only, the target branch stayed")
	case "closed":
		return engine.ChangeClosed{Repo: d.Repo, Number: number}, nil
	}
	return decode.Unused(d, "moves neither head, target branch nor draft state")
}

// pullRequestReview: a review with text may hold commands; whoever handles
// them settles the pull request too, so its verdict is not lost.
func pullRequestReview(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.PullRequest <= 0 {
		return nil, decode.Missing(d, "pull_request.number")
	}
	if p.Review.ID == 0 {
		return nil, decode.Missing(d, "review.id")
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
	return decode.Unused(d, "changes no verdict")
}

// commented: only a comment that was just created can hold commands, never an
// edited one (pr-loop decision 7).
func commented(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Comment.ID == 0 {
		return nil, decode.Missing(d, "comment.id")
	}
	ref := engine.CommentRef{ID: p.Comment.ID}
	switch d.Event {
	case "issue_comment":
		if p.Issue <= 0 {
			return nil, decode.Missing(d, "issue.number")
		}
		if !p.IssueIsChange {
			return decode.Unused(d, "on an issue, not on a pull request")
		}
		ref.Kind, ref.Number = engine.IssueComment, p.Issue
	case "pull_request_review_comment":
		if p.PullRequest <= 0 {
			return nil, decode.Missing(d, "pull_request.number")
		}
		ref.Kind, ref.Number = engine.ReviewComment, p.PullRequest
	case "commit_comment":
		if p.Comment.CommitID == "" {
			return nil, decode.Missing(d, "comment.commit_id")
		}
		ref.Kind, ref.Commit = engine.CommitComment, p.Comment.CommitID
	}
	if d.Action != "created" {
		return decode.Unused(d, "commands are read from a comment when it is created, never later")
	}
	return engine.CommandPosted{Repo: d.Repo, Comment: ref, Author: p.Comment.User.actor()}, nil
}

func push(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if strings.HasPrefix(p.Ref, "refs/heads/gh-readonly-queue/") {
		return decode.Unused(d, "a merge queue's own branch; merge_group speaks for it")
	}
	return decode.Pushed(d, p.Ref, p.Before, p.After)
}

// refChanged: create and delete carry a short name and no commit. For a branch
// the push that always comes with them says more.
func refChanged(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if p.Ref == "" {
		return nil, decode.Missing(d, "ref")
	}
	if p.RefType == "tag" {
		return engine.TagChanged{Repo: d.Repo, Name: strings.TrimPrefix(p.Ref, "refs/tags/")}, nil
	}
	return decode.Unused(d, "of a "+p.RefType+", which push reports")
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
		return nil, decode.Missing(d, field)
	}
	if d.Event == "check_suite" && d.Action == "requested" {
		return decode.Unused(d, "no check has run yet")
	}
	return engine.ChecksChanged{Repo: d.Repo, Commit: sha}, nil
}

func mergeGroup(d webhooks.Delivery, p *payload) (engine.Event, error) {
	if d.Action != "checks_requested" {
		return decode.Unused(d, "asks for no status")
	}
	if p.MergeGroup == "" {
		return nil, decode.Missing(d, "merge_group.head_sha")
	}
	return engine.QueueRequested{Repo: d.Repo, Head: p.MergeGroup}, nil
}

func repositoryChanged(d webhooks.Delivery, p *payload) (engine.Event, error) {
	switch {
	case d.Action == "renamed", d.Action == "transferred",
		d.Action == "edited" && bool(p.DefaultBranchChanged):
		return engine.RepoChanged{Repo: d.Repo}, nil
	}
	return decode.Unused(d, "neither name nor default branch changed")
}
