package settle

import (
	"context"
	"errors"
	"slices"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// settleApplies queues an apply where one is due.
func (s *Settler) settleApplies(ctx context.Context, site *usecase.Site, branch string, places []usecase.StatusPlace, held map[string][]git.Commit) error {
	for _, at := range places {
		if !at.Env.ApplyOnMerge {
			continue
		}
		commit, due, err := s.applyDue(ctx, site, branch, at.Env.Name, at.Member)
		if err != nil {
			return err
		}
		if due && !holds(held[at.Env.Name], commit) {
			if err := s.Next.QueueApply(ctx, site.Repo, branch, at.Env.Name, at.Member, commit); err != nil {
				return err
			}
		}
		if err := s.showGreen(ctx, site, at); err != nil {
			return err
		}
	}
	return nil
}

// applyDue finds the commit of an environment that is to be applied now, and tells
// whether it is.
func (s *Settler) applyDue(ctx context.Context, site *usecase.Site, branch, env, member string) (commit string, due bool, err error) {
	t, err := s.GreenTarget(ctx, usecase.ApplyInput{Site: site, Branch: branch, Env: env, Member: member})
	if _, refused := errors.AsType[*usecase.Refusal](err); refused {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	due, err = s.due(ctx, site, t, member)
	return t.Commit, due, err
}

// due tells whether a target is to be applied now without anybody asking: it was
// not applied yet, and no apply of it ended in a way that waits for somebody. A
// gate that waited is asked again, since an approval may have come.
func (s *Settler) due(ctx context.Context, site *usecase.Site, t usecase.Target, member string) (bool, error) {
	env := t.Policy.Env
	if t.Done || t.Refusal != "" || !env.ApplyOnMerge {
		return false, nil
	}
	run, found, err := s.Facts.NewestRun(ctx, site.Repo, env.Name, member)
	if err != nil || !found || run.Apply.Report.Head != t.Commit {
		return err == nil, err
	}
	if run.Status == RunRunning || run.Apply.Fresh {
		return true, nil // the job resumes it, or plans afresh
	}
	switch rep := run.Apply.Report; rep.Status {
	case report.Refused, report.Waiting:
		if rep.Refusal == report.NotGreen {
			return true, nil
		}
		return s.gateOpened(ctx, site, run.Apply)
	case report.PlanFailed:
		return s.groupsEnded(ctx, site, t.Prefix, run.Apply)
	}
	return false, nil
}

// groupsEnded tells that only groups kept an apply from being planned, and that they
// ended or were released.
func (s *Settler) groupsEnded(ctx context.Context, site *usecase.Site, prefix string, a *usecase.Apply) (bool, error) {
	if len(a.Open) == 0 {
		return false, nil
	}
	snap, err := site.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	groups, err := usecase.ReadGroups(snap, prefix, a.Report.Env)
	if _, is := errors.AsType[usecase.GroupsUnreadableError](err); is {
		return true, nil // the apply says so, once
	}
	return !slices.ContainsFunc(a.Open, func(mark string) bool { return mark == "" || groups.IsOpen(mark) }), err
}

// Ready refuses an apply that is not to be made now. One of a commit whose merge is
// not recorded yet: no approval would be found for it, and once it is recorded its
// branch is settled again. And one that nobody asked for and that is not due any
// more: what queued it had looked before the apply in front of it ended.
func (s *Settler) Ready(ctx context.Context, in usecase.ApplyInput, asked bool) error {
	t, err := s.GreenTarget(ctx, in)
	if err != nil {
		return err
	}
	tip, err := in.Site.TipOf(ctx, in.Branch)
	if err != nil {
		return err
	}
	b, err := in.Site.BoundAt(ctx, tip)
	if err != nil {
		return err
	}
	unrecorded, err := usecase.RecordInput{Site: in.Site, Branch: in.Branch, Tip: tip}.Unrecorded(ctx, b, t.Policy.Env)
	if err != nil {
		return err
	}
	if holds(unrecorded, t.Commit) {
		return usecase.Refusef("%s is applied when its merge is recorded", project.Short(t.Commit))
	}
	if asked {
		return nil
	}
	due, err := s.due(ctx, in.Site, t, in.Member)
	if err == nil && !due {
		return usecase.Refusef("%s is not to be applied any more: an apply ended since this one was queued", project.Short(t.Commit))
	}
	return err
}

func holds(commits []git.Commit, sha string) bool {
	return slices.ContainsFunc(commits, func(c git.Commit) bool { return c.SHA == sha })
}

// gateOpened asks the gate a run waits at again.
func (s *Settler) gateOpened(ctx context.Context, site *usecase.Site, a *usecase.Apply) (bool, error) {
	at, pass, ok := a.Waiting()
	if !ok {
		return false, nil
	}
	snap, err := site.Snapshot(ctx)
	if err != nil {
		return false, err
	}
	d, err := s.Ask(ctx, site, snap, a, at, pass.Set)
	return err == nil && a.Opens(pass, d), err
}

// showGreen says on the green commit itself how its apply stands.
func (s *Settler) showGreen(ctx context.Context, site *usecase.Site, at usecase.StatusPlace) error {
	run, found, err := s.Facts.NewestRun(ctx, site.Repo, at.Env.Name, at.Member)
	if err != nil || !found {
		return err
	}
	state, description := applyStatus(run)
	return s.say(ctx, site, run.Apply.Report.Head, project.StageApply, at, state, description, s.runURL(run.ID))
}
