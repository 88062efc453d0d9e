// Package forges says what chant asks of a forge and tells it, as small
// capability interfaces. Adapters below it wrap one SDK each; nothing else
// imports an SDK. Adapters never retry a write and never decide anything.
//
// Every method is safe for concurrent use. Errors: ErrNotFound when the object
// does not exist or is hidden from us; *RateLimited when the forge asks us to
// wait (the job snoozes until then); *Forbidden when a permission is missing;
// *Rejected when the forge refuses the content; anything else is a fault worth
// a retry. Lists are complete or an error: a partial list is never returned.
package forges

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
)

// ErrNotFound says that the object does not exist or that the token cannot see
// it; a forge answers 404 for both.
var ErrNotFound = errors.New("not found on the forge")

// ErrNotSupported says that this forge has no such thing; the caller degrades
// by name.
var ErrNotSupported = errors.New("not supported by this forge")

// RateLimited asks for no call before Until.
type RateLimited struct{ Until time.Time } //nolint:errname // reads as what the forge says

func (e *RateLimited) Error() string {
	return fmt.Sprintf("rate limited until %s", e.Until.UTC().Format(time.RFC3339))
}

// Forbidden says that the token may not; Permission names what is needed when
// known.
type Forbidden struct{ Call, Permission string } //nolint:errname // reads as what the forge says

func (e *Forbidden) Error() string {
	if e.Permission == "" {
		return e.Call + ": forbidden"
	}
	return fmt.Sprintf("%s: forbidden, needs permission %s", e.Call, e.Permission)
}

// Rejected says that the forge refused what we sent (HTTP 422 or the like).
type Rejected struct{ Call, Message string } //nolint:errname // reads as what the forge says

func (e *Rejected) Error() string { return e.Call + ": " + e.Message }

// Changes reads pull requests.
type Changes interface {
	Change(ctx context.Context, repo engine.Repo, number int) (engine.Change, error)
	OpenChanges(ctx context.Context, repo engine.Repo) ([]engine.Change, error)
	// ChangesOfCommit lists the pull requests the forge associates with a
	// commit, of any state and base; the caller matches repository, base
	// branch and merge commit (pr-loop decision 4).
	ChangesOfCommit(ctx context.Context, repo engine.Repo, sha string) ([]engine.Change, error)
	// FirstTimer says whether the author of a pull request that Change read is new
	// here: may not write, and nothing of theirs was merged. It costs no request
	// where the forge said so with the pull request.
	FirstTimer(ctx context.Context, change engine.Change) (bool, error)
}

// Repos resolves repositories.
type Repos interface {
	// Repository reads a repository by ID when set, else by owner and name;
	// the answer carries the current names.
	Repository(ctx context.Context, repo engine.Repo) (engine.Repo, RepoInfo, error)
	// Installed lists every repository this connection may serve.
	Installed(ctx context.Context) ([]engine.Repo, error)
}

// RepoInfo is what settle needs to know of a repository.
type RepoInfo struct {
	DefaultBranch string
	CloneURL      string // https, without credentials
	HTMLURL       string
}

// ReviewState is a review's verdict, upper case as GitHub's REST API spells it.
type ReviewState string

// The verdicts of a review.
const (
	Approved         ReviewState = "APPROVED"
	ChangesRequested ReviewState = "CHANGES_REQUESTED"
	Commented        ReviewState = "COMMENTED"
	Dismissed        ReviewState = "DISMISSED"
	PendingReview    ReviewState = "PENDING"
)

// ReviewVerdict is one submitted review, in the forge's order.
type ReviewVerdict struct {
	Author engine.Actor
	State  ReviewState
	Commit string
}

// Reviews reads the reviews of a pull request, oldest first, every one; folding
// to one verdict a person is the caller's (pr-loop §5.10).
type Reviews interface {
	Reviews(ctx context.Context, repo engine.Repo, number int) ([]ReviewVerdict, error)
	// Authors are the logins the forge gives for the commits of a pull
	// request (author and committer); Unresolved counts commits without one.
	Authors(ctx context.Context, repo engine.Repo, number int) (Authors, error)
}

// Authors of a pull request's commits.
type Authors struct {
	Logins     []string
	Unresolved []string // e-mails the forge maps to no account
}

// Checks reads what CI says of a commit: every run, latest attempts and older
// ones alike.
type Checks interface {
	CheckRuns(ctx context.Context, repo engine.Repo, sha string) ([]green.CheckRun, error)
}

// StatusState is the state of a commit status.
type StatusState string

// The states of a commit status.
const (
	StatusPending StatusState = "pending"
	StatusSuccess StatusState = "success"
	StatusFailure StatusState = "failure"
	StatusError   StatusState = "error"
)

// Status is one commit status. The caller has cut Description to 140
// characters and Context to 255.
type Status struct {
	Context     string
	State       StatusState
	Description string
	TargetURL   string
}

// Statuses writes commit statuses. Writing the same status twice is harmless.
type Statuses interface {
	SetStatus(ctx context.Context, repo engine.Repo, sha string, s Status) error
	// Status reads the newest status of one context, to find out whether a write
	// whose answer was lost was carried out; ErrNotFound when there is none.
	Status(ctx context.Context, repo engine.Repo, sha, name string) (Status, error)
}

// Note is a comment of ours on a pull request.
type Note struct {
	ID   int64
	Body string
}

// Notes writes our notes. FindNote pages through the comments and returns the
// one our own account wrote whose body starts with marker; ErrNotFound if none.
type Notes interface {
	FindNote(ctx context.Context, repo engine.Repo, number int, marker string) (Note, error)
	CreateNote(ctx context.Context, repo engine.Repo, number int, body string) (Note, error)
	// EditNote returns ErrNotFound when the note was deleted.
	EditNote(ctx context.Context, repo engine.Repo, number int, id int64, body string) (Note, error)
}

// Comment is a comment or review body as it stands now.
type Comment struct {
	Ref       engine.CommentRef
	Author    engine.Actor
	Body      string
	URL       string
	CreatedAt time.Time
	Edited    bool
	ViaApp    bool // written through an app rather than by hand
}

// Reaction is an answer without words.
type Reaction string

// The reactions chant uses.
const (
	Seen    Reaction = "eyes"
	Counted Reaction = "+1"
	Refused Reaction = "confused"
)

// Comments reads comments people wrote and answers them. React returns
// ErrNotSupported where the place takes none (a review body); the caller
// replies instead. Reply posts one new comment where the ref stands, and
// FindReply looks there for one of our own that starts with marker; ErrNotFound
// if none.
type Comments interface {
	Comment(ctx context.Context, repo engine.Repo, ref engine.CommentRef) (Comment, error)
	// RecentComments lists comments and review bodies of a pull request, for
	// the sweep that finds commands whose delivery was lost.
	RecentComments(ctx context.Context, repo engine.Repo, number int) ([]Comment, error)
	// CommitComments lists the comments on one commit, for the same sweep; none
	// for a commit the forge does not know.
	CommitComments(ctx context.Context, repo engine.Repo, sha string) ([]Comment, error)
	React(ctx context.Context, repo engine.Repo, ref engine.CommentRef, r Reaction) error
	Reply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, body string) (Note, error)
	FindReply(ctx context.Context, repo engine.Repo, ref engine.CommentRef, marker string) (Note, error)
}

// Permission is what an account may do in a repository, highest grant.
type Permission string

// The permissions, lowest first.
const (
	NoAccess Permission = "none"
	Read     Permission = "read"
	Write    Permission = "write"
	Admin    Permission = "admin"
)

// Actors reads who people are and what they may do, now.
type Actors interface {
	Self(ctx context.Context) (engine.Actor, error)
	Permission(ctx context.Context, repo engine.Repo, login string) (Permission, error)
	// TeamMember: pending invitations are not membership.
	TeamMember(ctx context.Context, org, team, login string) (bool, error)
}

// GitAccess gives the git driver its credentials: an HTTP header such as
// "Authorization: Basic …", made fresh when it is about to expire.
type GitAccess interface {
	GitHeader(ctx context.Context, repo engine.Repo) (string, error)
}

// Forge is one connection: everything of one instance under one credential.
type Forge interface { //nolint:interfacebloat // the sum of the small ones above
	Changes
	Repos
	Reviews
	Checks
	Statuses
	Notes
	Comments
	Actors
	GitAccess
}
