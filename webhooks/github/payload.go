package github

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/chant-bot/chant/engine"
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
	Issue         int // number
	IssueIsChange present
	Review        post
	Comment       post
	CheckRun      string // head shas
	CheckSuite    string
	WorkflowRun   string
	MergeGroup    string

	// What an edit changed, whatever the old value was.
	BaseChanged          present
	DefaultBranchChanged present
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

// present is set when a member is there and not null.
type present bool

// wanted maps the members we want of one object to where they go: a pointer
// for a value, wanted for an object of its own.
type wanted map[string]any

func (a *account) wanted() wanted {
	return wanted{"id": &a.ID, "login": &a.Login, "type": &a.Type}
}

func (p *post) wanted() wanted {
	return wanted{
		"id": &p.ID, "body": &p.Body, "commit_id": &p.CommitID, "user": p.User.wanted(),
		"performed_via_github_app": wanted{"id": &p.ViaApp},
	}
}

func (p *payload) wanted() wanted {
	return wanted{
		"action": &p.Action, "ref": &p.Ref, "ref_type": &p.RefType,
		"before": &p.Before, "after": &p.After, "sha": &p.SHA, "hook_id": &p.HookID,
		"installation": wanted{"id": &p.Installation},
		"repository": wanted{
			"id": &p.Repository.ID, "name": &p.Repository.Name,
			"owner": wanted{"login": &p.Repository.Owner},
		},
		"sender":       p.Sender.wanted(),
		"pull_request": wanted{"number": &p.PullRequest},
		"issue":        wanted{"number": &p.Issue, "pull_request": &p.IssueIsChange},
		"review":       p.Review.wanted(),
		"comment":      p.Comment.wanted(),
		"check_run":    wanted{"head_sha": &p.CheckRun},
		"check_suite":  wanted{"head_sha": &p.CheckSuite},
		"workflow_run": wanted{"head_sha": &p.WorkflowRun},
		"merge_group":  wanted{"head_sha": &p.MergeGroup},
		"changes":      wanted{"base": &p.BaseChanged, "default_branch": &p.DefaultBranchChanged},
	}
}

// parse reads the whole body as JSON and takes what we want. Bodies are large
// and we want little: what is not wanted is checked and skipped, never built.
func parse(body []byte) (*payload, error) {
	dec := textDecoder(body)
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return nil, broken(err)
		}
		return nil, broken(errors.New("it is not an object"))
	}
	var p payload
	if err := read(dec, p.wanted(), true); err != nil {
		return nil, broken(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, broken(errors.New("something follows the object"))
	}
	return &p, nil
}

func broken(err error) error {
	return fmt.Errorf("the body is not the JSON GitHub documents: %w", err)
}

// textDecoder reads one text. GitHub repeats no member and sends UTF-8; checking
// that again for a signed body would only make strange ones undeliverable.
func textDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// read takes the wanted members of the object dec stands before; the first of
// a name counts. Without all it stops as soon as nothing more is wanted.
func read(dec *jsontext.Decoder, want wanted, all bool) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for all || len(want) > 0 {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if token.Kind() == '}' {
			return nil
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		target, ok := want[name]
		if !ok {
			continue
		}
		delete(want, name)
		if err := take(value, target); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func take(value jsontext.Value, target any) error {
	switch t := target.(type) {
	case wanted:
		switch value.Kind() {
		case 'n':
			return nil
		case '{':
			return read(textDecoder(value), t, false)
		}
		return errors.New("it is not an object")
	case *present:
		*t = value.Kind() != 'n'
		return nil
	}
	return json.Unmarshal(value, target, jsontext.AllowInvalidUTF8(true))
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
