package forgetest

import (
	"context"
	"net/http"
)

// dialect is how one forge speaks: what its API looks like, how it words an
// event, and the rules of its own. The state is the same for all and knows no
// dialect. Every method but token and refuse is called with Forge.mu held.
type dialect interface {
	protocol
	wording
	rules
}

// protocol is the API of a dialect.
type protocol interface {
	// routes are the endpoints, without habits.api in front.
	routes() []route
	// place cuts the repository off an API path in its escaped parts and names
	// it in params, as "repository" (an id) or as "owner" and "repo".
	place(path []string, params map[string]string) (rest []string, inRepo bool)
	// moved refuses a request under a former name of a repository, or sends it
	// on.
	moved(c *call, to *Repo) *APIError
	// token is the credential of an API request.
	token(r *http.Request) string
	// allow refuses a caller without the permission a route needs.
	allow(c *call, rt route) *APIError
	// paging reads which part of a list is asked for, and writes the headers
	// that lead to the others.
	paging(c *call, total int) (from, to int)
	// answered sets the headers of a success; false means that the caller has
	// this body already (304).
	answered(c *call, body []byte) bool
	// refuse writes an error.
	refuse(w http.ResponseWriter, e *APIError)
}

// wording is how a dialect tells of events.
type wording interface {
	// messages words an event: none, one or several deliveries.
	messages(ctx context.Context, e event) ([]message, error)
	// loud says whether a moved reference among those of one push is told of.
	loud(push []refChange, c refChange) bool
	// header signs a delivery.
	header(d Delivery) http.Header
}

// rules are what a forge does and refuses of itself.
type rules interface {
	// habits are the differences that are plain data.
	habits() habits
	// checkStatus refuses a commit status that this forge would not take.
	checkStatus(r *Repo, sha string, s Status) *APIError
	// report is how CI tells its result here: state is "queued",
	// "in_progress" or "completed", conclusion as GitHub names them.
	report(r *Repo, sha, name, state, conclusion string) (CheckRun, *APIError)
	// verdict refuses a review this forge would not take, and does what a new
	// verdict does to earlier ones. ask is "APPROVE", "REQUEST_CHANGES",
	// "COMMENT", or empty for one that nobody sees yet.
	verdict(p *Pull, by *User, ask, body string) *APIError
}

// habits are the differences that need no code.
type habits struct {
	// api is in front of every API path: "/api/v3".
	api string
	// pull is the page of a pull request behind the repository's: "/pull/%d".
	// pullRef is where git finds its head: "refs/pull/%d/head".
	pull, pullRef string
	// noreply is the address commits of an account carry, of its id and login.
	noreply string
	// anchors is the fragment of a comment's address by kind, with its id; the
	// body of a review is under "". A kind that is not among them does not
	// exist here.
	anchors map[CommentKind]string
	// presser commits what a button of the web pages merges; the zero Person
	// means whoever pressed it.
	presser Person
	// maxBody is the most characters of a comment, 0 for any number.
	maxBody int
	// reactions are those the forge knows.
	reactions []string
	// gitMoved is the status of the redirect from a former clone address.
	gitMoved int
}

// eventKind tells what happened.
type eventKind int

const (
	pullEvent    eventKind = iota // pull
	reviewEvent                   // review
	commentEvent                  // comment
	statusEvent                   // status
	checkEvent                    // check; action is "created", "updated" or "completed"
	pushEvent                     // ref appeared, moved or vanished
	repoEvent                     // the repository was "renamed" or "transferred"
	hookEvent                     // a webhook was set
)

// event is something that happened, in no forge's words but with GitHub's
// names of actions: "opened", "synchronize", "submitted", "dismissed",
// "edited" and so on. What does not belong to its kind is zero.
type event struct {
	kind   eventKind
	action string
	repo   *Repo
	by     *User

	pull    *Pull
	review  *review
	comment *comment
	status  *status
	check   *checkRun
	ref     refChange
	hook    *hook

	// from holds what was before, by field: "title", "body", "base",
	// "base_sha", "head", "name", and "owner" as a login.
	from map[string]string
}

// message is one delivery before it is signed.
type message struct {
	// event is the name in the header, precise a second one where the forge
	// has two ("pull_request" and "pull_request_sync").
	event, precise string
	payload        object
	appsOnly       bool // no webhook of a repository gets it
}

// emit tells every webhook of an event. The caller holds mu.
func (f *Forge) emit(ctx context.Context, e event) error {
	messages, err := f.dialect.messages(ctx, e)
	for _, m := range messages {
		f.publish(e.repo, m)
	}
	return err
}

// tell is emit for an event whose wording reads nothing that can fail.
func (f *Forge) tell(e event) { _ = f.emit(f.life, e) }

func (f *Forge) tellPull(action string, p *Pull, by *User, from map[string]string) {
	f.tell(event{kind: pullEvent, action: action, repo: p.Repo, by: by, pull: p, from: from})
}

func (f *Forge) tellReview(action string, v *review, by *User, from map[string]string) {
	f.tell(event{kind: reviewEvent, action: action, repo: v.pull.Repo, by: by, pull: v.pull, review: v, from: from})
}

func (f *Forge) tellComment(action string, c *comment, by *User, from map[string]string) {
	f.tell(event{kind: commentEvent, action: action, repo: c.repo, by: by, pull: c.pull, comment: c, from: from})
}

// publish queues a message for every webhook that gets it: the one of every
// repository, and those of the apps installed on this one.
func (f *Forge) publish(r *Repo, m message) {
	if f.global != nil && !m.appsOnly {
		f.send(f.global, m, nil, r)
	}
	for _, to := range f.appsHearing(r, m.event) {
		f.send(to.app.hook, m, to, r)
	}
}
