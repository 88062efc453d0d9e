package forgejo

import (
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// payload is the union of what we read of any event; what an event does not
// carry stays zero. Shas, texts and states in it only say where to look again.
type payload struct {
	Action, Ref, RefType, Before, After string

	SHA           string // of create and status
	Repository    repository
	Sender        account
	PullRequest   int // number
	Head          string
	HeadRepo      int64
	Issue         int // number
	IssueIsChange bool
	Comment       int64
	CommentAuthor account
	WorkflowRun   string // head shas
	WorkflowJob   string
	ActionRun     string

	// What an edit changed, whatever the old value was.
	TitleChanged, BaseChanged decode.Present
}

type account struct {
	ID    int64
	Login string
}

type repository struct {
	ID    int64
	Name  string
	Owner string
}

func (a *account) wanted() decode.Wanted {
	return decode.Wanted{"id": &a.ID, "login": &a.Login}
}

// actor: accounts of the forge itself, such as its runner, have ids below zero.
func (a account) actor() engine.Actor {
	return engine.Actor{ID: a.ID, Login: a.Login, Bot: a.ID < 0}
}

func (r *repository) wanted() decode.Wanted {
	return decode.Wanted{"id": &r.ID, "name": &r.Name, "owner": decode.Wanted{"login": &r.Owner}}
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
	case "repository":
		return p.Repository.wanted()
	case "sender":
		return p.Sender.wanted()
	case "pull_request":
		return decode.Wanted{"number": &p.PullRequest, "head": decode.Wanted{"sha": &p.Head, "repo_id": &p.HeadRepo}}
	case "issue":
		return decode.Wanted{"number": &p.Issue}
	case "is_pull":
		return &p.IssueIsChange
	case "comment":
		return decode.Wanted{"id": &p.Comment, "user": p.CommentAuthor.wanted()}
	case "workflow_run":
		return decode.Wanted{"head_sha": &p.WorkflowRun}
	case "workflow_job":
		return decode.Wanted{"head_sha": &p.WorkflowJob}
	case "run": // the only member that says where a run of Forgejo's was
		return decode.Wanted{"commit_sha": &p.ActionRun, "repository": p.Repository.wanted()}
	case "changes":
		return decode.Wanted{"title": &p.TitleChanged, "ref": &p.BaseChanged}
	}
	return nil
}

func (p *payload) repo(instance engine.Instance) engine.Repo {
	if p.Repository == (repository{}) {
		return engine.Repo{}
	}
	return engine.Repo{Instance: instance, ID: p.Repository.ID, Owner: p.Repository.Owner, Name: p.Repository.Name}
}
