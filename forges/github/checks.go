package github

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/forges"
)

// maxCheckPages is where reading check runs gives up (pr-loop §4.2).
const maxCheckPages = 50

// CheckRuns lists every check run of a commit, older attempts too. Commit
// statuses are not among them: on GitHub only check runs make a commit green.
func (c *Conn) CheckRuns(ctx context.Context, repo engine.Repo, sha string) ([]green.CheckRun, error) {
	if err := checkSHA(sha); err != nil {
		return nil, err
	}
	path, err := c.path(repo, "/commits/%s/check-runs", sha)
	if err != nil {
		return nil, err
	}
	var runs []green.CheckRun
	query := url.Values{"filter": {"all"}}
	err = c.pages(ctx, "listing the check runs of "+sha, "checks:read", path, query, maxCheckPages, func(data json.RawMessage) error {
		var page gogithub.ListCheckRunsResults
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for _, r := range page.CheckRuns {
			runs = append(runs, checkRun(r))
		}
		return nil
	})
	return runs, err
}

func checkRun(r *gogithub.CheckRun) green.CheckRun {
	return green.CheckRun{
		ID: r.GetID(), Name: r.GetName(), Status: r.GetStatus(), Conclusion: r.GetConclusion(), URL: r.GetHTMLURL(),
		Source: strconv.FormatInt(r.GetApp().GetID(), 10),
	}
}

// SetStatus writes a commit status.
func (c *Conn) SetStatus(ctx context.Context, repo engine.Repo, sha string, s forges.Status) error {
	if err := checkSHA(sha); err != nil {
		return err
	}
	path, err := c.path(repo, "/statuses/%s", sha)
	if err != nil {
		return err
	}
	body := &gogithub.RepoStatus{
		State: new(string(s.State)), Context: &s.Context, Description: &s.Description,
	}
	if s.TargetURL != "" { // an empty one is refused
		body.TargetURL = &s.TargetURL
	}
	what := fmt.Sprintf("setting status %s on %s", s.Context, sha)
	var made gogithub.RepoStatus
	if _, err := c.do(ctx, request{what, "statuses:write", http.MethodPost, path, body}, &made); err != nil {
		return err
	}
	return written(what, made.GetID())
}

// Status reads the newest status of one context; case makes no difference to
// GitHub.
func (c *Conn) Status(ctx context.Context, repo engine.Repo, sha, name string) (forges.Status, error) {
	if err := checkSHA(sha); err != nil {
		return forges.Status{}, err
	}
	path, err := c.path(repo, "/commits/%s/status", sha)
	if err != nil {
		return forges.Status{}, err
	}
	var found *gogithub.RepoStatus
	what := "reading the statuses of " + sha
	err = c.pages(ctx, what, "statuses:read", path, nil, maxPages, func(data json.RawMessage) error {
		var page gogithub.CombinedStatus
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		for _, s := range page.Statuses {
			if strings.EqualFold(s.GetContext(), name) {
				found = s
			}
		}
		return nil
	})
	if err != nil {
		return forges.Status{}, err
	}
	if found == nil {
		return forges.Status{}, fmt.Errorf("%s: none of %s: %w", what, name, forges.ErrNotFound)
	}
	return forges.Status{
		Context: found.GetContext(), State: forges.StatusState(found.GetState()),
		Description: found.GetDescription(), TargetURL: found.GetTargetURL(),
	}, nil
}

// written makes sure of a write: a redirect that lost it answers without an id.
func written(what string, id int64) error {
	if id <= 0 {
		return fmt.Errorf("%s: GitHub's answer names nothing that was written", what)
	}
	return nil
}
