package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
)

// SetStatus writes an external status: a job of a pipeline, in GitLab's eyes
// (forge-facts 2.5). All of ours for one commit go to the pipeline that took the
// first; a later pipeline of the same commit would else get the answer to a
// status that another one waits for.
//
// GitLab takes no state twice and no new text for the one that stands, so what
// stands is read first and the way there may take two writes.
func (c *Conn) SetStatus(ctx context.Context, repo engine.Repo, sha string, s forges.Status) error {
	pid, err := c.commit(ctx, repo, sha)
	if err != nil {
		return err
	}
	own, err := c.ownStatuses(ctx, repo, sha, s.Context)
	if err != nil {
		return err
	}
	var at pipeline
	if len(own) > 0 {
		at = pipeline{own[0].PipelineID, own[0].Ref}
	} else if at, err = c.pipelineOf(ctx, repo, pid, sha); err != nil {
		return err
	}
	for _, state := range steps(newest(own, s.Context), s) {
		err := c.postStatus(ctx, pid, sha, at, state, s)
		if refused, ok := errors.AsType[*forges.Rejected](err); ok && strings.Contains(refused.Message, "Cannot transition status") {
			return c.anotherWrote(ctx, repo, sha, s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// anotherWrote tells what a write came to that another of ours was faster than: it
// said the same, or something that the next try starts from.
func (c *Conn) anotherWrote(ctx context.Context, repo engine.Repo, sha string, s forges.Status) error {
	own, err := c.ownStatuses(ctx, repo, sha, s.Context)
	if err != nil {
		return err
	}
	if len(steps(newest(own, s.Context), s)) > 0 {
		return fmt.Errorf("setting status %s on %s: another status was set at the same moment", s.Context, sha)
	}
	return nil
}

// Status reads our newest status of one context.
func (c *Conn) Status(ctx context.Context, repo engine.Repo, sha, name string) (forges.Status, error) {
	own, err := c.ownStatuses(ctx, repo, sha, name)
	if err != nil {
		return forges.Status{}, err
	}
	found := newest(own, name)
	if found == nil {
		return forges.Status{}, fmt.Errorf("reading the statuses of %s: none of %s: %w", sha, name, forges.ErrNotFound)
	}
	return forges.Status{
		Context: found.Name, State: state(found.Status), Description: found.Description, TargetURL: found.TargetURL,
	}, nil
}

// ownStatuses lists what our own account wrote under a name or any other of
// ours, oldest first. Jobs that run in its name are none of ours.
func (c *Conn) ownStatuses(ctx context.Context, repo engine.Repo, sha, name string) ([]*gogitlab.CommitStatus, error) {
	all, err := c.statuses(ctx, repo, sha)
	if err != nil {
		return nil, err
	}
	self, err := c.Self(ctx)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(all, func(s *gogitlab.CommitStatus) bool {
		return s.Author.ID != self.ID || s.Name != name && !strings.HasPrefix(s.Name, ownPrefix)
	})
	slices.SortFunc(own, func(a, b *gogitlab.CommitStatus) int { return cmp.Compare(a.ID, b.ID) })
	return own, nil
}

func newest(own []*gogitlab.CommitStatus, name string) *gogitlab.CommitStatus {
	for _, s := range slices.Backward(own) {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// state of a status of ours as it stands; canceled is a step of ours between two
// texts and nothing that anybody said.
func state(gitlab string) forges.StatusState {
	switch gitlab {
	case "success":
		return forges.StatusSuccess
	case "failed":
		return forges.StatusFailure
	case "canceled", "skipped":
		return forges.StatusError
	}
	return forges.StatusPending
}

// steps are the states to write, in order, to get from what stands, nil when
// nothing does, to what is wanted. A pending status gets a new text by running,
// and a running one only by being canceled first: success or failed, however
// short, could let somebody merge.
func steps(stands *gogitlab.CommitStatus, wanted forges.Status) []gogitlab.BuildStateValue {
	switch wanted.State {
	case forges.StatusSuccess:
		return unlessSaid(stands, wanted, forges.StatusSuccess, gogitlab.Success)
	case forges.StatusFailure, forges.StatusError:
		return unlessSaid(stands, wanted, forges.StatusFailure, gogitlab.Failed)
	case forges.StatusPending:
	}
	next := unlessSaid(stands, wanted, forges.StatusPending, gogitlab.Pending)
	switch {
	case len(next) == 0 || stands == nil:
		return next
	case stands.Status == string(gogitlab.Pending):
		return []gogitlab.BuildStateValue{gogitlab.Running}
	case stands.Status == string(gogitlab.Running):
		return []gogitlab.BuildStateValue{gogitlab.Canceled, gogitlab.Pending}
	}
	return next
}

func unlessSaid(stands *gogitlab.CommitStatus, wanted forges.Status, as forges.StatusState, next gogitlab.BuildStateValue) []gogitlab.BuildStateValue {
	if stands != nil && state(stands.Status) == as && stands.Description == wanted.Description && stands.TargetURL == wanted.TargetURL {
		return nil
	}
	return []gogitlab.BuildStateValue{next}
}

// pipeline is where a status goes: an id, or only the ref a new pipeline gets, or
// neither, and GitLab chooses.
type pipeline struct {
	id  int64
	ref string
}

// pipelineOf finds where the first status of a commit goes. For the head of an
// open merge request that is its head pipeline, or one for its source branch,
// which GitLab then shows there. Any other head is written under the merge
// request's own ref: its branch may be gone, and a fork's may have the name of
// a branch here.
func (c *Conn) pipelineOf(ctx context.Context, repo engine.Repo, pid int64, sha string) (pipeline, error) {
	related, err := c.mergeRequestsOf(ctx, pid, sha)
	if err != nil {
		return pipeline{}, err
	}
	heads := slices.DeleteFunc(related, func(mr *gogitlab.BasicMergeRequest) bool {
		return mr.SHA != sha || landed(mr) == sha && mr.State == "merged"
	})
	for _, mr := range heads {
		if mr.State == "opened" && mr.SourceProjectID == pid {
			return c.headPipeline(ctx, repo, mr)
		}
	}
	if len(heads) > 0 {
		return pipeline{ref: fmt.Sprintf("refs/merge-requests/%d/head", heads[0].IID)}, nil
	}
	return pipeline{}, nil
}

// headPipeline is the pipeline GitLab shows on a merge request. One for the
// merged result has another commit.
func (c *Conn) headPipeline(ctx context.Context, repo engine.Repo, mr *gogitlab.BasicMergeRequest) (pipeline, error) {
	full, err := c.read(ctx, repo, int(mr.IID))
	if err != nil {
		return pipeline{}, err
	}
	if head := full.HeadPipeline; head != nil && head.SHA == mr.SHA && head.ProjectID == mr.SourceProjectID {
		return pipeline{head.ID, head.Ref}, nil
	}
	return pipeline{ref: mr.SourceBranch}, nil
}

func (c *Conn) postStatus(ctx context.Context, pid int64, sha string, at pipeline, state gogitlab.BuildStateValue, s forges.Status) error {
	body := &gogitlab.SetCommitStatusOptions{State: state, Name: &s.Context, Description: &s.Description}
	if s.TargetURL != "" {
		body.TargetURL = &s.TargetURL
	}
	if at.ref != "" {
		body.Ref = &at.ref
	}
	if at.id != 0 {
		body.PipelineID = &at.id
	}
	what := fmt.Sprintf("setting status %s on %s", s.Context, sha)
	made, err := answered[*gogitlab.CommitStatus](what, needsStatus)(c.client.Commits.SetCommitStatus(pid, sha, body, with(ctx)))
	if err != nil {
		return err
	}
	return written(what, made.ID)
}
