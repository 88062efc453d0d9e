package settle

import (
	"context"
	"errors"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/forges"
)

// CommandQueue queues the handling of one comment, once per comment.
type CommandQueue interface {
	QueueCommand(ctx context.Context, repo engine.Repo, ref engine.CommentRef) error
	// QueueUnread has every comment on a pull request read that nobody has.
	QueueUnread(ctx context.Context, repo engine.Repo, number int) error
}

// Raiser says what is to be settled.
type Raiser interface {
	Raise(ctx context.Context, repo engine.Repo, s Subject) error
	// RaiseBranches raises the default branch and every branch tracked already.
	RaiseBranches(ctx context.Context, repo engine.Repo, defaultBranch string) error
}

// Expecter is told which head a delivery names.
type Expecter interface {
	Expect(repo engine.Repo, number int, head string)
}

// Receiver turns what a delivery hints at into subjects to settle and comments
// to read. It looks at nothing and decides nothing: losing, doubling or
// reordering events changes when something is looked at, never the result.
type Receiver struct {
	Subjects Raiser
	Commands CommandQueue
	Heads    Expecter
}

// Receive stores the fact that something may have changed and says in a few
// words what will be looked at, for the deliveries page.
func (r *Receiver) Receive(ctx context.Context, forge forges.Forge, event engine.Event) (outcome string, err error) {
	switch e := event.(type) {
	case engine.ChangeUpdated:
		r.Heads.Expect(e.Repo, e.Number, e.Head)
		return "settles the pull request", r.Subjects.Raise(ctx, e.Repo, PullOf(e.Number))
	case engine.ReviewChanged:
		return r.reviewed(ctx, e)
	case engine.ChangeClosed:
		return "settles the pull request and its base branch", r.closed(ctx, forge, e)
	case engine.CommandPosted:
		return r.posted(ctx, e)
	case engine.BranchPushed:
		if e.Branch == ledger.Branch {
			return "the ledger is read whenever something is decided", nil
		}
		return "settles the branch", r.Subjects.Raise(ctx, e.Repo, BranchOf(e.Branch))
	case engine.ChecksChanged:
		return "settles the branches the commit can be on", r.branches(ctx, forge, e.Repo)
	case engine.TagChanged:
		return "settles the branches the tag can be on", r.branches(ctx, forge, e.Repo)
	case engine.QueueRequested:
		return "answers the merge queue", r.Subjects.Raise(ctx, e.Repo, QueueOf(e.Head))
	case engine.RepoChanged:
		return "the repository's name is updated", nil
	case engine.InstallationChanged:
		return "the installation's repositories are read again", nil
	case engine.Ignored:
		return e.Reason, nil
	}
	return "", errors.New("an event of an unknown type")
}

// posted reads what was written. A review is a verdict as well, whatever it
// says: who may approve can depend on it.
func (r *Receiver) posted(ctx context.Context, e engine.CommandPosted) (string, error) {
	if err := r.Commands.QueueCommand(ctx, e.Repo, e.Comment); err != nil {
		return "", err
	}
	if e.Comment.Kind != engine.Review {
		return "reads the comment", nil
	}
	return "reads the review and settles the pull request", r.Subjects.Raise(ctx, e.Repo, PullOf(e.Comment.Number))
}

// reviewed settles the pull request, and has what came with the review read where
// the delivery does not name it.
func (r *Receiver) reviewed(ctx context.Context, e engine.ReviewChanged) (string, error) {
	outcome := "settles the pull request"
	if e.Unnamed {
		outcome = "reads what was written and settles the pull request"
		if err := r.Commands.QueueUnread(ctx, e.Repo, e.Number); err != nil {
			return "", err
		}
	}
	return outcome, r.Subjects.Raise(ctx, e.Repo, PullOf(e.Number))
}

// closed settles the pull request and, for a merge, the branch it came to. The
// base branch is asked of the forge, not of the payload.
func (r *Receiver) closed(ctx context.Context, forge forges.Forge, e engine.ChangeClosed) error {
	if err := r.Subjects.Raise(ctx, e.Repo, PullOf(e.Number)); err != nil {
		return err
	}
	change, err := forge.Change(ctx, e.Repo, e.Number)
	if errors.Is(err, forges.ErrNotFound) {
		return nil
	}
	if err != nil || change.State != engine.Merged {
		return err
	}
	return r.Subjects.Raise(ctx, e.Repo, BranchOf(change.BaseBranch))
}

// branches settles every branch that is tracked already, and the default one.
func (r *Receiver) branches(ctx context.Context, forge forges.Forge, repo engine.Repo) error {
	_, info, err := forge.Repository(ctx, repo)
	if errors.Is(err, forges.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.Subjects.RaiseBranches(ctx, repo, info.DefaultBranch)
}
