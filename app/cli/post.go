package cli

import (
	"context"

	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// noMemory is the host that does not know what it posted before: notes are
// found by their marker, and a status set twice is harmless.
type noMemory struct{}

// Post finds nothing.
func (noMemory) Post(context.Context, engine.Repo, string) (settle.Post, bool, error) {
	return settle.Post{}, false, nil
}

// SavePost keeps nothing.
func (noMemory) SavePost(context.Context, engine.Repo, string, settle.Post) error { return nil }

// ClaimPost lets everybody post.
func (noMemory) ClaimPost(context.Context, engine.Repo, string, settle.Post) (bool, error) {
	return true, nil
}

// planNote is what the note of a planned pull request shows.
func (h *Host) planNote(j job, p plannedPull) note.Input {
	in := note.Input{
		Report: p.plan.Report, Marker: project.NoteMarker(p.plan.Policy.Env.Name, p.plan.Member), At: h.Now(),
		RunURL: j.url, BaseBranch: p.target.branch, BaseTip: p.baseTip, Ask: ask(p.plan.Policy),
		Again: "Push what mends it, or run this job again.", Forge: j.repo.Instance,
		ApplyOnMerge: p.plan.Policy.Env.ApplyOnMerge, NotIsolated: p.notIsolated,
		NothingDue: p.plan.Set != nil && len(p.plan.Set.Members) > 0 && p.plan.Set.NothingDue(),
	}
	if p.trust.Changed {
		in.TrustChanged = []string{"identity, security or x-bot of the declaration"}
	}
	return in
}

func ask(p usecase.Policy) note.Ask {
	return note.Ask{MinApprovals: p.Env.MinApprovals, Approvers: p.Env.Approvers, Review: p.ReviewRules, Unenforced: p.Refuse}
}

// post shows an outcome on the forge: the status on the report's head, and on
// each pull request its note, and the status of its head. The outcome stands
// whether or not this succeeds, so failures are warnings.
func (h *Host) post(ctx context.Context, c *checkout, t target, pulls []int, out outcome) {
	if c.site.Forge == nil {
		return
	}
	poster := &settle.Poster{Posts: noMemory{}, Warn: func(_ context.Context, what string, err error) { h.warnf("%s: %v", what, err) }}
	state, description := note.Status(out.report)
	status := forges.Status{
		Context: project.Context(stageOf(out.report), out.report.Member, out.report.Env, t.sharedBranch()),
		State:   forges.StatusState(state), Description: description, TargetURL: out.note.RunURL,
	}
	heads := map[string]bool{out.report.Head: true}
	for _, number := range pulls {
		if out.report.Stage == report.Apply {
			change, err := c.site.Forge.Change(ctx, c.site.Repo, number)
			if err != nil {
				h.warnf("pull request #%d cannot be read: %v", number, err)
				continue
			}
			heads[change.Head] = true
		}
		if err := poster.Note(ctx, c.site, number, out.note.Marker, out.note); err != nil {
			h.warnf("%v", err)
		}
	}
	for sha := range heads {
		if err := poster.Status(ctx, c.site, sha, status); err != nil {
			h.warnf("%v", err)
		}
	}
}

func stageOf(r report.Report) string {
	if r.Stage == report.Apply {
		return project.StageApply
	}
	return project.StagePlan
}

// sharedBranch tells whether contexts carry the env (decision 3).
func (t target) sharedBranch() bool {
	return t.declaration != nil && project.SharedBranch(t.declaration.EnvsOf(t.branch, t.env))
}
