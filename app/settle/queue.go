package settle

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// inQueue is said of a merge queue's commit. It is true of whatever the queue
// merges: a merge is recorded, its commit planned again once it is green, and
// only what an approval covers is applied.
const inQueue = "in the merge queue: planned again once merged and green, and applied only if approved"

// SettleQueue answers a merge queue or train that waits for the statuses of one
// commit. They succeed at once: a queue lets in only pull requests whose own
// required statuses succeed, its commit may never be merged, and nothing is
// applied because of what is said here (soundness I1). A queue that had to wait
// for a plan would hang, or be given up by the forge (forge-facts 1.15).
//
// The commit comes from a payload. One that is the head of an open pull request
// keeps the status of its plan, which may still wait for an approval.
func (s *Settler) SettleQueue(ctx context.Context, site *usecase.Site, sha string) error {
	changes, err := site.Forge.ChangesOfCommit(ctx, site.Repo, sha)
	if err != nil {
		return fmt.Errorf("reading the pull requests of the queued commit %s: %w", project.Short(sha), err)
	}
	for _, c := range changes {
		if c.State == engine.Open && c.Head == sha {
			return s.Next.Raise(ctx, site.Repo, PullOf(c.Number))
		}
	}
	places, err := s.queuePlaces(ctx, site)
	if err != nil {
		return err
	}
	return s.sayEverywhere(ctx, site, sha, project.StagePlan, places, forges.StatusSuccess, inQueue)
}

// queuePlaces are those of every branch that something is applied from: the
// forge does not say to which one a queue merges.
func (s *Settler) queuePlaces(ctx context.Context, site *usecase.Site) ([]usecase.StatusPlace, error) {
	b, _, err := site.BoundNow(ctx, site.DefaultBranch)
	if err != nil {
		return nil, unlessGone(err)
	}
	branches := map[string]bool{site.DefaultBranch: true}
	for _, env := range b.Envs(s.DefaultEnv) {
		branches[env.Branch] = true
	}
	var places []usecase.StatusPlace
	said := map[string]bool{}
	for _, branch := range slices.Sorted(maps.Keys(branches)) {
		for _, p := range b.Places(branch, s.DefaultEnv) {
			if context := p.Context(project.StagePlan); !said[context] {
				said[context] = true
				places = append(places, p)
			}
		}
	}
	return places, nil
}
