package usecase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/project"
)

// TickInput is a branch whose commits are judged.
type TickInput struct {
	Site   *Site
	Green  project.Green
	DryRun bool
}

// Tick judges the first-parent commits of the branch's window by their checks
// and makes the tags due, pushed one at a time (pr-loop §4.3). Tags are never
// moved, and a tick that finds nothing new writes nothing. It returns the tags
// it made, or on a dry run would have made. The caller has fetched the branch
// and its ci tags.
func (st *Stage) Tick(ctx context.Context, in TickInput) ([]green.TagDue, error) {
	now := st.Now()
	tip, err := in.Site.Clone.Resolve(ctx, in.Site.branchRef(in.Green.Branch))
	if err != nil {
		return nil, fmt.Errorf("branch %s of ci.green: %w", in.Green.Branch, err)
	}
	commits, err := in.Site.Clone.FirstParents(ctx, tip, git.Walk{Since: now.Add(-in.Green.Window).Truncate(time.Second)})
	if err != nil {
		return nil, err
	}
	tags, err := in.Site.greenTags(ctx)
	if err != nil {
		return nil, err
	}
	var made []green.TagDue
	for _, c := range commits {
		due, err := in.judge(ctx, c.SHA, tags, now)
		if err != nil {
			return made, err
		}
		if due == nil {
			continue
		}
		if !in.DryRun {
			err = in.Site.Clone.PushTag(ctx, due.Name, due.Commit, due.Message, now)
		}
		if errors.Is(err, git.ErrTagExists) {
			continue // made elsewhere since the branch was fetched
		}
		if err != nil {
			return made, err
		}
		made = append(made, *due)
	}
	return made, nil
}

// judge asks the forge about one commit unless a revocation already settled it.
func (in TickInput) judge(ctx context.Context, sha string, tags []green.Tag, now time.Time) (*green.TagDue, error) {
	for _, t := range tags {
		if t.Name == green.RevokedPrefix+sha {
			return nil, nil
		}
	}
	runs, err := in.Site.Forge.CheckRuns(ctx, in.Site.Repo, sha)
	if err != nil {
		return nil, fmt.Errorf("reading the checks of %s: %w", sha, err)
	}
	return green.Due(in.Green, sha, in.Green.Branch, tags, green.Judge(in.Green, runs), now), nil
}

// greenTags are the ci tags of the clone, as the green package reads them.
func (s *Site) greenTags(ctx context.Context) ([]green.Tag, error) {
	refs, err := s.Clone.CITags(ctx)
	if err != nil {
		return nil, err
	}
	tags := make([]green.Tag, 0, len(refs))
	for _, r := range refs {
		tags = append(tags, green.Tag{Name: r.Name, Commit: r.Commit})
	}
	return tags, nil
}

// branchRef is the remote-tracking ref of a branch where there is a remote, and
// the branch itself otherwise.
func (s *Site) branchRef(branch string) string {
	if remote := s.Clone.Remote(); remote != "" {
		return "refs/remotes/" + remote + "/" + branch
	}
	return "refs/heads/" + branch
}

// FetchBranch brings a branch and the ci tags up to date, removed tags included
// (pr-loop §4.3).
func (s *Site) FetchBranch(ctx context.Context, branch string) error {
	if s.Clone.Remote() == "" || s.fetched[branch] {
		return nil
	}
	if err := s.Clone.Fetch(ctx, s.branchSpecs(branch)...); err != nil {
		return err
	}
	s.isFetched(branch)
	return nil
}

func (s *Site) branchSpecs(branch string) []string {
	return []string{
		"+refs/heads/" + branch + ":refs/remotes/" + s.Clone.Remote() + "/" + branch,
		"+refs/tags/ci/*:refs/tags/ci/*",
	}
}

func (s *Site) isFetched(branch string) {
	if s.fetched == nil {
		s.fetched = map[string]bool{}
	}
	s.fetched[branch] = true
}

// Look fetches a branch and the ledger, asking the remote for both at once. Where
// that fails it is no error yet: whoever needs one of them fetches it, and is told
// why that fails.
func (s *Site) Look(ctx context.Context, branch string) (both bool) {
	if s.Clone.Remote() == "" || s.Clone.Fetch(ctx, append(s.branchSpecs(branch), s.Ledger.Refspec())...) != nil {
		return false
	}
	snap, err := s.Ledger.Fetched(ctx)
	if err != nil {
		s.isFetched(branch)
		return false
	}
	s.GoOn(branch, snap)
	return true
}

// GoOn has what follows begin with a branch that was fetched just now, and with the
// ledger as it was read then, nil where it was not.
func (s *Site) GoOn(branch string, snap *ledger.Snapshot) {
	s.isFetched(branch)
	if snap != nil {
		s.snap = snap
	}
}

// TipOf fetches a branch and returns its tip. A branch that was deleted is
// errGone.
func (s *Site) TipOf(ctx context.Context, branch string) (string, error) {
	err := s.FetchBranch(ctx, branch)
	tip := ""
	if err == nil {
		tip, err = s.Clone.Resolve(ctx, s.branchRef(branch))
	}
	if errors.Is(err, git.ErrUnknownRevision) {
		return "", fmt.Errorf("branch %s: %w", branch, ErrGone)
	}
	return tip, err
}

// fetchTip brings a tip of a branch here unless it is: what looked at the branch
// may have done so in another clone.
func (s *Site) fetchTip(ctx context.Context, branch, tip string) error {
	if _, err := s.Clone.Resolve(ctx, tip+"^{commit}"); err == nil {
		return nil
	}
	return s.FetchBranch(ctx, branch)
}

// ErrGone says that a branch is not there any more: nothing happens on it.
var ErrGone = errors.New("the branch is gone")

// FetchHead brings the head of a pull request here unless it is: a clone made
// anew has branches only.
func (s *Site) FetchHead(ctx context.Context, number int, head string) error {
	if _, err := s.Clone.Resolve(ctx, head+"^{commit}"); err == nil {
		return nil
	}
	return s.Clone.FetchCommit(ctx, head, s.Repo.Instance.HeadRef(number), fmt.Sprintf("refs/chant/pull/%d", number))
}

// TickBranch fetches a branch and ticks it where it is the one ci.green names.
func (st *Stage) TickBranch(ctx context.Context, site *Site, branch string) ([]green.TagDue, error) {
	tip, err := site.TipOf(ctx, branch)
	if errors.Is(err, ErrGone) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := site.Declaration(ctx, tip)
	if err != nil || d.Green == nil || d.Green.Branch != branch {
		if err != nil && ForPeople(err) != nil {
			return nil, nil //nolint:nilerr // what does not read names no branch
		}
		return nil, err
	}
	return st.Tick(ctx, TickInput{Site: site, Green: *d.Green})
}
