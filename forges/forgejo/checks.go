package forgejo

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"unicode/utf8"

	"code.gitea.io/sdk/gitea"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
)

const (
	needsWriter    = "scope write:repository and write access to the repository"
	maxContext     = 255
	maxDescription = 140
)

// CheckRuns lists every commit status that is not our own: here CI has no other
// way to say what came of it. Our own would make a commit wait for us.
func (c *Conn) CheckRuns(ctx context.Context, repo engine.Repo, sha string) ([]green.CheckRun, error) {
	self, err := c.Self(ctx)
	if err != nil {
		return nil, err
	}
	statuses, err := c.statuses(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	var runs []green.CheckRun
	for _, s := range statuses {
		if actor(s.Creator).ID != self.ID {
			runs = append(runs, checkRun(s, c.absolute(s.TargetURL)))
		}
	}
	return runs, nil
}

func (c *Conn) statuses(ctx context.Context, repo engine.Repo, sha string) ([]*gitea.Status, error) {
	if err := checkSHA(sha); err != nil {
		return nil, err
	}
	r := request{"listing the statuses of " + sha, needsRepository}
	return every(ctx, c, repo, r, func(client *gitea.Client, owner, name string, at gitea.ListOptions) ([]*gitea.Status, *gitea.Response, error) {
		return client.ListStatuses(owner, name, sha, gitea.ListStatusesOption{ListOptions: at})
	})
}

// SetStatus writes a commit status. The servers store any text as a state, and
// any length (test-peers, fact 7), so what no other forge would take is refused
// here. They answer 500 for a commit they do not have, and would for ever.
func (c *Conn) SetStatus(ctx context.Context, repo engine.Repo, sha string, s forges.Status) error {
	if err := checkSHA(sha); err != nil {
		return err
	}
	what := fmt.Sprintf("setting status %s on %s", s.Context, sha)
	if reason := wrongStatus(s); reason != "" {
		return &forges.Rejected{Call: what, Message: reason}
	}
	made, err := write(ctx, c, repo, request{what, needsWriter}, func(client *gitea.Client, owner, name string) (*gitea.Status, *gitea.Response, error) {
		return client.CreateStatus(owner, name, sha, gitea.CreateStatusOption{
			State: gitea.StatusState(s.State), TargetURL: s.TargetURL, Description: s.Description, Context: s.Context,
		})
	})
	if err != nil {
		if _, read := c.statuses(ctx, repo, sha); errors.Is(read, forges.ErrNotFound) {
			return fmt.Errorf("%s: no such commit: %w", what, forges.ErrNotFound)
		}
		return err
	}
	return written(what, made.ID)
}

// wrongStatus says what makes a status one that other forges refuse.
func wrongStatus(s forges.Status) string {
	switch s.State {
	case forges.StatusPending, forges.StatusSuccess, forges.StatusFailure, forges.StatusError:
	default:
		return fmt.Sprintf("%q is no state of a status", s.State)
	}
	link, err := url.Parse(s.TargetURL)
	switch {
	case s.Context == "":
		return "a status needs a context"
	case utf8.RuneCountInString(s.Context) > maxContext:
		return fmt.Sprintf("the context is longer than %d characters", maxContext)
	case utf8.RuneCountInString(s.Description) > maxDescription:
		return fmt.Sprintf("the description is longer than %d characters", maxDescription)
	case s.TargetURL != "" && (err != nil || link.Scheme != "http" && link.Scheme != "https"):
		return fmt.Sprintf("%q is no address of a page", s.TargetURL)
	}
	return ""
}

// Status reads the newest status of one context.
func (c *Conn) Status(ctx context.Context, repo engine.Repo, sha, name string) (forges.Status, error) {
	statuses, err := c.statuses(ctx, repo, sha)
	if err != nil {
		return forges.Status{}, err
	}
	var found *gitea.Status
	for _, s := range statuses {
		if s.Context == name && (found == nil || s.ID > found.ID) {
			found = s
		}
	}
	if found == nil {
		return forges.Status{}, fmt.Errorf("reading the status %s of %s: %w", name, sha, forges.ErrNotFound)
	}
	return forges.Status{
		Context: found.Context, State: forges.StatusState(found.State),
		Description: found.Description, TargetURL: found.TargetURL,
	}, nil
}

// written makes sure of a write.
func written(what string, id int64) error {
	if id <= 0 {
		return fmt.Errorf("%s: the answer names nothing that was written", what)
	}
	return nil
}
