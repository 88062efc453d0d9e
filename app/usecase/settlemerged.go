package usecase

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
)

// settleMerged shows on a merged pull request what became of it: recorded,
// waiting for green, and the apply that carries it.
func (s *Settler) settleMerged(ctx context.Context, site *Site, change engine.Change) (open bool, err error) {
	if err := site.FetchBranch(ctx, change.BaseBranch); err != nil {
		return true, err
	}
	tip, err := site.Clone.Resolve(ctx, site.branchRef(change.BaseBranch))
	if err != nil {
		return true, err
	}
	declaration, err := site.Declaration(ctx, tip)
	if err != nil {
		if forPeople(err) != nil {
			return false, nil
		}
		return true, err
	}
	snap, err := site.snapshot(ctx)
	if err != nil {
		return true, err
	}
	envs := declaration.EnvsOf(change.BaseBranch, s.DefaultEnv)
	for _, env := range envs {
		for _, member := range members(declaration) {
			m := merged{Settler: s, site: site, change: change, policy: policyOf(declaration, env), member: member, withEnv: project.SharedBranch(envs)}
			done, err := m.settle(ctx, func(path string) ([]byte, bool, error) { return snap.Read(path) })
			if err != nil {
				return true, err
			}
			open = open || !done
		}
	}
	if open {
		return true, s.Next.Raise(ctx, site.Repo, BranchOf(change.BaseBranch))
	}
	return false, nil
}

// merged is one env and project of a merged pull request.
type merged struct {
	*Settler
	site    *Site
	change  engine.Change
	policy  Policy
	member  string
	withEnv bool
}

// settle reports done when nothing more will happen to the pull request here.
func (m merged) settle(ctx context.Context, read func(string) ([]byte, bool, error)) (done bool, err error) {
	data, recorded, err := read(record.MergePath(prefixOf(m.member), m.policy.Env.Name, m.change.MergeCommit))
	if err != nil {
		return false, err
	}
	if !recorded {
		return false, m.say(ctx, note.Pending, "merged; its plan is being recorded", "")
	}
	rec, err := record.ParseMerge(data)
	if err != nil {
		return false, err
	}
	if rec.Status == string(report.Nothing) {
		return true, m.say(ctx, note.Success, "nothing to apply", "")
	}
	if !m.policy.Env.ApplyOnMerge {
		return true, m.say(ctx, note.Success, "recorded; a merge deploys nothing here", "")
	}
	run, found, err := m.Facts.RunCarrying(ctx, m.site.Repo, m.policy.Env.Name, m.member, m.change.MergeCommit)
	if err != nil {
		return false, err
	}
	if !found {
		return false, m.say(ctx, note.Pending, fmt.Sprintf("waits for %s to go green", short(m.change.MergeCommit)), "")
	}
	return m.showRun(ctx, run)
}

func (m merged) say(ctx context.Context, state, description, url string) error {
	return m.status(ctx, m.site, m.change.Head, "apply", m.member, m.policy, m.withEnv, state, description, url)
}

// showRun turns the note and the status into the apply's.
func (m merged) showRun(ctx context.Context, run KeptRun) (done bool, err error) {
	in := m.applyNote(m.site.Repo, m.policy, run)
	if err := m.Poster.Note(ctx, m.site, m.change.Number, in.Marker, in); err != nil {
		return false, err
	}
	state, description := applyStatus(run)
	if err := m.say(ctx, state, description, in.RunURL); err != nil {
		return false, err
	}
	ended := run.Status == RunEnded && (run.Apply.Report.Status == report.Applied || run.Apply.Report.Status == report.Nothing)
	return ended, nil
}

func (s *Settler) applyNote(_ engine.Repo, p Policy, run KeptRun) note.Input {
	r := run.Apply.Report
	return note.Input{
		Report: r, Marker: project.NoteMarker(r.Env, r.Member), RunURL: s.runURL(run.ID),
		BaseBranch: run.Apply.Branch, ApplyOnMerge: true, NotIsolated: s.NotIsolated,
		Ask: note.Ask{MinApprovals: p.Env.MinApprovals, Approvers: p.Env.Approvers, Review: p.ReviewRules, Unenforced: p.Refuse},
	}
}

// applyStatus is the status of an apply, which while it runs is pending.
func applyStatus(run KeptRun) (state, description string) {
	if run.Status == RunRunning && run.Apply.Report.Status == report.Planned {
		return note.Pending, fmt.Sprintf("applying %s", short(run.Apply.Report.Head))
	}
	return note.Status(run.Apply.Report)
}

// SettleBranch brings a branch forward by the single next step that is due:
// record its merges, tag its green commits, apply the newest one.
func (s *Settler) SettleBranch(ctx context.Context, site *Site, branch string) (open bool, err error) {
	if err := site.FetchBranch(ctx, branch); err != nil {
		return true, err
	}
	tip, err := site.Clone.Resolve(ctx, site.branchRef(branch))
	if err != nil {
		return false, nil // the branch is gone
	}
	declaration, err := site.Declaration(ctx, tip)
	if err != nil {
		if forPeople(err) != nil {
			return false, nil
		}
		return true, err
	}
	envs := declaration.EnvsOf(branch, s.DefaultEnv)
	if len(envs) == 0 {
		return false, nil
	}
	in := RecordInput{Site: site, Branch: branch, Tip: tip, Plans: s.Facts}
	for _, env := range envs {
		due, err := in.unrecorded(ctx, declaration, env)
		if err != nil {
			return true, err
		}
		if len(due) > 0 {
			return true, s.Next.QueueRecord(ctx, site.Repo, branch, tip)
		}
	}
	if g := declaration.Green; g != nil && g.Branch == branch {
		if declaration.Bot == nil || declaration.Bot.Tick {
			if err := s.Next.QueueTick(ctx, site.Repo, branch); err != nil {
				return true, err
			}
		}
		return true, s.settleApplies(ctx, site, branch, declaration, envs)
	}
	return true, nil
}

// settleApplies queues an apply where one is due.
func (s *Settler) settleApplies(ctx context.Context, site *Site, branch string, d *project.Declaration, envs []project.Env) error {
	for _, env := range envs {
		if !env.ApplyOnMerge {
			continue
		}
		for _, member := range members(d) {
			commit, due, err := s.applyDue(ctx, site, branch, env.Name, member)
			if err != nil {
				return err
			}
			if due {
				if err := s.Next.QueueApply(ctx, site.Repo, branch, env.Name, member, commit); err != nil {
					return err
				}
			}
			if err := s.showGreen(ctx, site, policyOf(d, env), env, member, project.SharedBranch(envs)); err != nil {
				return err
			}
		}
	}
	return nil
}

// applyDue tells whether the newest green commit is to be applied now: it was
// not applied yet, and no apply of it ended in a way that waits for somebody. A
// gate that waited is asked again, since an approval may have come.
func (s *Settler) applyDue(ctx context.Context, site *Site, branch, env, member string) (commit string, due bool, err error) {
	t, err := s.greenTarget(ctx, ApplyInput{Site: site, Branch: branch, Env: env, Member: member})
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return "", false, nil
	}
	if err != nil || t.done || t.refusal != "" || !t.policy.Env.ApplyOnMerge {
		return "", false, err
	}
	run, found, err := s.Facts.NewestRun(ctx, site.Repo, env, member)
	if err != nil || !found || run.Apply.Report.Head != t.commit {
		return t.commit, err == nil, err
	}
	if run.Status == RunRunning || run.Apply.Fresh {
		return t.commit, true, nil // the job resumes it, or plans afresh
	}
	if run.Apply.Report.Status != report.Refused || run.Apply.Report.Refusal == report.NotGreen {
		return t.commit, run.Apply.Report.Refusal == report.NotGreen, nil
	}
	open, err := s.gateOpened(ctx, site, run.Apply)
	return t.commit, open, err
}

// gateOpened asks the gate a run waits at again.
func (s *Settler) gateOpened(ctx context.Context, site *Site, a *Apply) (bool, error) {
	snap, err := site.snapshot(ctx)
	if err != nil {
		return false, err
	}
	d, _, err := decide(ctx, snap, a.Prefix, s.query(a.Policy, a.Op, a.Report.Digest), site.approvers(a.Policy.Env, a.greenRule()))
	return d.Satisfied, err
}

// showGreen says on the green commit itself how its apply stands, and raises
// the pull requests it carries.
func (s *Settler) showGreen(ctx context.Context, site *Site, p Policy, env project.Env, member string, withEnv bool) error {
	run, found, err := s.Facts.NewestRun(ctx, site.Repo, env.Name, member)
	if err != nil || !found {
		return err
	}
	state, description := applyStatus(run)
	return s.status(ctx, site, run.Apply.Report.Head, "apply", member, p, withEnv, state, description, s.runURL(run.ID))
}
