package github

import (
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// payload is the union of what we read of any event; what an event does not
// carry stays zero. Shas, texts and states in it only say where to look again
// (forge-facts 1.4).
type payload struct {
	Action, Ref, RefType, Before, After, SHA string

	HookID        int64
	Installation  int64
	Repository    repository
	Sender        account
	PullRequest   int // number
	Head          string
	HeadRepo      int64
	Issue         int // number
	IssueIsChange decode.Present
	Review        post
	Comment       post
	CheckRun      string // head shas
	CheckSuite    string
	WorkflowRun   string
	MergeGroup    string

	// What an edit changed, whatever the old value was.
	BaseChanged          decode.Present
	DefaultBranchChanged decode.Present
}

type account struct {
	ID          int64
	Login, Type string
}

type repository struct {
	ID    int64
	Name  string
	Owner string
}

// post is a comment or a review.
type post struct {
	ID       int64
	Body     string
	CommitID string
	User     account
	ViaApp   int64
}

func (a *account) wanted() decode.Wanted {
	return decode.Wanted{"id": &a.ID, "login": &a.Login, "type": &a.Type}
}

func (p *post) wanted() decode.Wanted {
	return decode.Wanted{
		"id": &p.ID, "body": &p.Body, "commit_id": &p.CommitID, "user": p.User.wanted(),
		"performed_via_github_app": decode.Wanted{"id": &p.ViaApp},
	}
}

// member is where a member of the body goes, nil for one we do not want.
func (p *payload) member(name string) any {
	switch name {
	case "action":
		return &p.Action
	case "ref":
		return &p.Ref
	case "ref_type":
		return &p.RefType
	case "before":
		return &p.Before
	case "after":
		return &p.After
	case "sha":
		return &p.SHA
	case "hook_id":
		return &p.HookID
	case "installation":
		return decode.Wanted{"id": &p.Installation}
	case "repository":
		owner := decode.Wanted{"login": &p.Repository.Owner}
		return decode.Wanted{"id": &p.Repository.ID, "name": &p.Repository.Name, "owner": owner}
	case "sender":
		return p.Sender.wanted()
	case "pull_request":
		head := decode.Wanted{"sha": &p.Head, "repo": decode.Wanted{"id": &p.HeadRepo}}
		return decode.Wanted{"number": &p.PullRequest, "head": head}
	case "issue":
		return decode.Wanted{"number": &p.Issue, "pull_request": &p.IssueIsChange}
	case "review":
		return p.Review.wanted()
	case "comment":
		return p.Comment.wanted()
	case "check_run":
		return decode.Wanted{"head_sha": &p.CheckRun}
	case "check_suite":
		return decode.Wanted{"head_sha": &p.CheckSuite}
	case "workflow_run":
		return decode.Wanted{"head_sha": &p.WorkflowRun}
	case "merge_group":
		return decode.Wanted{"head_sha": &p.MergeGroup}
	case "changes":
		return decode.Wanted{"base": &p.BaseChanged, "default_branch": &p.DefaultBranchChanged}
	}
	return nil
}

func (a account) actor() engine.Actor {
	return engine.Actor{ID: a.ID, Login: a.Login, Bot: a.Type == "Bot"}
}

// viaApp is the app that wrote the comment or review, 0 for none.
func (p *payload) viaApp() int64 {
	if p.Comment.ViaApp != 0 {
		return p.Comment.ViaApp
	}
	return p.Review.ViaApp
}

func (p *payload) repo(instance engine.Instance) engine.Repo {
	if p.Repository == (repository{}) {
		return engine.Repo{}
	}
	return engine.Repo{Instance: instance, ID: p.Repository.ID, Owner: p.Repository.Owner, Name: p.Repository.Name}
}
