package github

import (
	"context"
	"encoding/json"
	"fmt"

	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/engine"
)

// compare lists the commits of head that base does not have. It goes by sha:
// GitHub's comparison of branch names needs an escaping go-github gets wrong.
func (c *Conn) compare(ctx context.Context, repo engine.Repo, what, base, head string) ([]*gogithub.RepositoryCommit, error) {
	for _, sha := range []string{base, head} {
		if err := checkSHA(sha); err != nil {
			return nil, err
		}
	}
	path, err := c.path(repo, "/compare/%s...%s", base, head)
	if err != nil {
		return nil, err
	}
	var commits []*gogithub.RepositoryCommit
	total := 0
	err = c.pages(ctx, what, "contents:read", path, nil, maxPages, func(data json.RawMessage) error {
		var page gogithub.CommitsComparison
		if err := json.Unmarshal(data, &page); err != nil {
			return err
		}
		total = page.GetTotalCommits()
		commits = append(commits, page.Commits...)
		return nil
	})
	if err == nil && len(commits) != total {
		err = fmt.Errorf("%s: %d of %d commits were listed", what, len(commits), total)
	}
	return commits, err
}
