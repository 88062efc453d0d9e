package github

import (
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chant-bot/chant/engine"
)

// payload is the union of what we read of any event. A part an event does not
// carry stays nil. Head shas, bodies and states here only say where to look
// again (forge-facts 1.4).
type payload struct {
	Action       string        `json:"action"`
	Ref          string        `json:"ref"`
	RefType      string        `json:"ref_type"`
	Before       string        `json:"before"`
	After        string        `json:"after"`
	SHA          string        `json:"sha"`
	HookID       int64         `json:"hook_id"`
	Installation *identified   `json:"installation"`
	Repository   *repository   `json:"repository"`
	Sender       account       `json:"sender"`
	PullRequest  *numbered     `json:"pull_request"`
	Issue        *issue        `json:"issue"`
	Review       *review       `json:"review"`
	Comment      *comment      `json:"comment"`
	CheckRun     *headed       `json:"check_run"`
	CheckSuite   *headed       `json:"check_suite"`
	WorkflowRun  *headed       `json:"workflow_run"`
	MergeGroup   *headed       `json:"merge_group"`
	Changes      changedFields `json:"changes"`
}

type identified struct {
	ID int64 `json:"id"`
}

type numbered struct {
	Number int `json:"number"`
}

type headed struct {
	HeadSHA string `json:"head_sha"`
}

type account struct {
	ID    int64  `json:"id"`
	Login string `json:"login"`
	Type  string `json:"type"`
}

type repository struct {
	ID    int64   `json:"id"`
	Name  string  `json:"name"`
	Owner account `json:"owner"`
}

type issue struct {
	Number int `json:"number"`
	// PullRequest is present exactly when the issue is a pull request.
	PullRequest *struct{} `json:"pull_request"`
}

type review struct {
	ID   int64       `json:"id"`
	Body string      `json:"body"`
	User account     `json:"user"`
	Via  *identified `json:"performed_via_github_app"`
}

type comment struct {
	ID       int64       `json:"id"`
	CommitID string      `json:"commit_id"`
	User     account     `json:"user"`
	Via      *identified `json:"performed_via_github_app"`
}

// changedFields tells which parts of an edited object changed, whatever their
// old values are.
type changedFields struct {
	Base          *struct{} `json:"base"`
	DefaultBranch *struct{} `json:"default_branch"`
}

func parse(body []byte) (*payload, error) {
	var p payload
	// GitHub repeats no member and sends UTF-8; a body that passed the
	// signature and still does so is read as leniently as its other readers do.
	err := json.Unmarshal(body, &p, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, fmt.Errorf("the body is not the JSON GitHub documents: %w", err)
	}
	return &p, nil
}

func (a account) actor() engine.Actor {
	return engine.Actor{ID: a.ID, Login: a.Login, Bot: a.Type == "Bot"}
}

func (p *payload) installation() int64 {
	if p.Installation == nil {
		return 0
	}
	return p.Installation.ID
}

func (p *payload) viaApp() int64 {
	switch {
	case p.Comment != nil && p.Comment.Via != nil:
		return p.Comment.Via.ID
	case p.Review != nil && p.Review.Via != nil:
		return p.Review.Via.ID
	}
	return 0
}

func (p *payload) repo(instance engine.Instance) engine.Repo {
	if p.Repository == nil {
		return engine.Repo{}
	}
	return engine.Repo{Instance: instance, ID: p.Repository.ID, Owner: p.Repository.Owner.Login, Name: p.Repository.Name}
}
