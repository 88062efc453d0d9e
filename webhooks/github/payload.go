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
		return wanted{"id": &p.Installation}
	case "repository":
		owner := wanted{"login": &p.Repository.Owner}
		return wanted{"id": &p.Repository.ID, "name": &p.Repository.Name, "owner": owner}
	case "sender":
		return p.Sender.wanted()
	case "pull_request":
		return wanted{"number": &p.PullRequest}
	case "issue":
		return wanted{"number": &p.Issue, "pull_request": &p.IssueIsChange}
	case "review":
		return p.Review.wanted()
	case "comment":
		return p.Comment.wanted()
	case "check_run":
		return wanted{"head_sha": &p.CheckRun}
	case "check_suite":
		return wanted{"head_sha": &p.CheckSuite}
	case "workflow_run":
		return wanted{"head_sha": &p.WorkflowRun}
	case "merge_group":
		return wanted{"head_sha": &p.MergeGroup}
	case "changes":
		return wanted{"base": &p.BaseChanged, "default_branch": &p.DefaultBranchChanged}
	}
	return nil
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
	if err := read(dec, p.member, nil); err != nil {
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

// read takes members of the object dec stands before to where target says. It
// reads to the end of the object unless enough says to stop.
func read(dec *jsontext.Decoder, target func(string) any, enough func() bool) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	for enough == nil || !enough() {
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
		if to := target(name); to != nil {
			if err := take(value, to); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// next gives a wanted member away once: of members that share a name the first
// counts.
func (w wanted) next(name string) any {
	to := w[name]
	delete(w, name)
	return to
}

func take(value jsontext.Value, target any) error {
	switch t := target.(type) {
	case wanted:
		switch value.Kind() {
		case 'n':
			return nil
		case '{':
			return read(textDecoder(value), t.next, func() bool { return len(t) == 0 })
		}
		return errors.New("it is not an object")
	case *present:
		*t = value.Kind() != 'n'
		return nil
	}
	err := json.Unmarshal(value, target, jsontext.AllowInvalidUTF8(true))
	if mismatch, ok := errors.AsType[*json.SemanticError](err); ok {
		// In our words: the library changes its own from one process to the next.
		return fmt.Errorf("%.32s is no %s", value, mismatch.GoType)
	}
	return err
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
