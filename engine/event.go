package engine

// Event says that something may have changed. It is a hint to look, never a
// fact to decide from: whoever handles it reads the forge again. The set is
// sealed; webhooks decode into it and nothing else implements it.
type Event interface{ event() }

// ChangeUpdated: a pull request was opened, pushed to, reopened, retargeted or
// left its draft state.
type ChangeUpdated struct {
	Repo   Repo
	Number int
	// Head is the commit it had then, for whoever wants to fetch it ahead; empty when
	// the forge does not say, or it is a fork's.
	Head string
}

// ChangeClosed: a pull request was closed, merged or not.
type ChangeClosed struct {
	Repo   Repo
	Number int
}

// CommentKind tells the four places a command can stand in apart (pr-loop
// decision 7).
type CommentKind string

// The places a command can stand in.
const (
	IssueComment  CommentKind = "issue_comment"
	Review        CommentKind = "review"
	ReviewComment CommentKind = "review_comment"
	CommitComment CommentKind = "commit_comment"
)

// CommentRef finds one comment again on its forge.
type CommentRef struct {
	Kind   CommentKind
	ID     int64
	Number int    // pull request; 0 for a commit comment
	Commit string // commit of a commit comment, else ""
}

// CommandPosted: a comment or review body that may hold commands was created.
type CommandPosted struct {
	Repo    Repo
	Comment CommentRef
	Author  Actor
}

// ReviewChanged: a review was submitted without text, dismissed or edited. With
// Unnamed it may have been submitted with words, on the change or its lines, and
// the forge does not say which.
type ReviewChanged struct {
	Repo    Repo
	Number  int
	Unnamed bool
}

// ChecksChanged: a check run, check suite, workflow run or commit status moved.
type ChecksChanged struct {
	Repo   Repo
	Commit string
}

// TagChanged: a tag was pushed or deleted; Name is without refs/tags/.
type TagChanged struct {
	Repo Repo
	Name string
}

// BranchPushed: a branch moved, appeared or vanished; Branch is without
// refs/heads/. Before and After are empty when the forge does not say.
type BranchPushed struct {
	Repo   Repo
	Branch string
	Before string
	After  string
}

// QueueRequested: a merge queue wants the required statuses on Head.
type QueueRequested struct {
	Repo Repo
	Head string
}

// InstallationChanged: the set of repositories an installation serves changed.
type InstallationChanged struct {
	Instance     Instance
	Installation int64
	Action       string
}

// RepoChanged: a repository was renamed or transferred; its ID stayed.
type RepoChanged struct{ Repo Repo }

// Ignored: understood, and nothing to do; Reason is for the deliveries page.
type Ignored struct{ Reason string }

func (ChangeUpdated) event()       {}
func (ChangeClosed) event()        {}
func (CommandPosted) event()       {}
func (ReviewChanged) event()       {}
func (ChecksChanged) event()       {}
func (TagChanged) event()          {}
func (BranchPushed) event()        {}
func (QueueRequested) event()      {}
func (InstallationChanged) event() {}
func (RepoChanged) event()         {}
func (Ignored) event()             {}
