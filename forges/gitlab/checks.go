package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/green"
)

// ownPrefix begins the name of every status of ours.
const ownPrefix = "chant/"

// CheckRuns lists the jobs and external statuses of a commit, over all of its
// pipelines and older attempts too (pr-loop §4.2). Our own statuses are left
// out: a pattern that means every job must not wait for what waits for it.
func (c *Conn) CheckRuns(ctx context.Context, repo engine.Repo, sha string) ([]green.CheckRun, error) {
	statuses, err := c.statuses(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	self, err := c.Self(ctx)
	if err != nil {
		return nil, err
	}
	var runs []green.CheckRun
	for _, s := range statuses {
		if s.Author.ID == self.ID && strings.HasPrefix(s.Name, ownPrefix) {
			continue
		}
		run := checkRun(s)
		if run.URL == "" { // a job's page has no address in this list
			if run.URL, err = c.page(ctx, repo, "jobs/%d", s.ID); err != nil {
				return nil, err
			}
		}
		runs = append(runs, run)
	}
	return runs, nil
}

func checkRun(s *gogitlab.CommitStatus) green.CheckRun {
	run := green.CheckRun{ID: s.ID, Name: s.Name, URL: s.TargetURL}
	run.Status, run.Conclusion = conclusion(s.Status)
	return run
}

// conclusion of a job: one that waits for a person or a time has none yet, and
// neither has one whose state we do not know. A failure that the pipeline allows
// is a failure still: the declaration alone says what may fail.
func conclusion(state string) (status, conclusion string) {
	const completed = "completed"
	switch state {
	case "success", "skipped":
		return completed, state
	case "failed":
		return completed, "failure"
	case "canceled":
		return completed, "cancelled"
	}
	return cmp.Or(state, "unknown"), ""
}

// statuses lists every job and status of a commit, oldest first.
func (c *Conn) statuses(ctx context.Context, repo engine.Repo, sha string) ([]*gogitlab.CommitStatus, error) {
	pid, err := c.commit(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	return list(fmt.Sprintf("listing the jobs and statuses of %s", sha), needsRead,
		func(o gogitlab.ListOptions) ([]*gogitlab.CommitStatus, *gogitlab.Response, error) {
			return c.client.Commits.GetCommitStatuses(pid, sha, &gogitlab.GetCommitStatusesOptions{ListOptions: o, All: new(true)}, with(ctx))
		})
}
