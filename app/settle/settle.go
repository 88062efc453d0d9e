// Package settle is what the server adds to the stages: it takes in what may have changed,
// derives from what stands the note, the statuses and the single next step of a pull
// request, a branch or a merge queue, and answers the commands people write. What it
// plans, records and applies with are the stages of app/usecase, which know nothing of it.
package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// KeptPlan is one finished plan of a pull request, as the store has it.
type KeptPlan struct {
	usecase.StoredPlan
	ID        int64
	Env       string
	Member    string
	Head      string
	BaseTip   string
	Report    report.Report
	PlannedAt time.Time
	// TrustChanged: the head changes settings that count only after the merge.
	TrustChanged bool
	// NothingDue: every member is planned and has nothing to apply.
	NothingDue bool
}

// KeptRun is the newest apply of an env and project, as the store has it.
type KeptRun struct {
	ID     int64
	Saves  int64 // how often it was saved, when it was read
	Apply  *usecase.Apply
	Status RunStatus
}

// RunStatus is where a kept run stands.
type RunStatus string

// A run is running until its report is final.
const (
	RunRunning RunStatus = "running"
	RunEnded   RunStatus = "ended"
)

// Facts is what settle reads of what was stored.
type Facts interface {
	usecase.PullPlans
	// Planned lists the newest plan of every env and project for one head on
	// one base branch; empty when it was not planned.
	Planned(ctx context.Context, repo engine.Repo, number int, head, baseBranch string) ([]KeptPlan, error)
	// Earlier lists plans of the pull request this one replaced, newest first.
	Earlier(ctx context.Context, repo engine.Repo, number int, env, member string, current digest.Digest) ([]KeptPlan, error)
	// NewestRun is the newest apply of an env and project.
	NewestRun(ctx context.Context, repo engine.Repo, env, member string) (KeptRun, bool, error)
	// RunCarrying is the newest apply whose range holds a merge commit.
	RunCarrying(ctx context.Context, repo engine.Repo, env, member, merge string) (KeptRun, bool, error)
	// PlanRequested: a person asked for a plan of a head that is not planned
	// unasked.
	PlanRequested(ctx context.Context, repo engine.Repo, number int, head string) (bool, error)
	// Generation is how often facts about a subject came, 0 for never.
	Generation(ctx context.Context, repo engine.Repo, s Subject) (int64, error)
}

// Next queues the single next step a settle found. Queueing what is queued
// already does nothing.
type Next interface {
	QueuePlan(ctx context.Context, repo engine.Repo, number int, head, baseBranch string) error
	QueueRecord(ctx context.Context, repo engine.Repo, branch, tip string) error
	QueueTick(ctx context.Context, repo engine.Repo, branch string) error
	QueueApply(ctx context.Context, repo engine.Repo, branch, env, member, commit string) error
	// Raise says that a subject is to be settled.
	Raise(ctx context.Context, repo engine.Repo, s Subject) error
}

// SubjectKind tells pull requests, branches and merge queues apart.
type SubjectKind string

// The subjects settle works on.
const (
	PullSubject   SubjectKind = "pull"
	BranchSubject SubjectKind = "branch"
	QueueSubject  SubjectKind = "queue"
)

// Subject is what a settle derives everything of.
type Subject struct {
	Kind SubjectKind
	Name string // number, branch or a queue's commit
}

// PullOf names the subject of a pull request.
func PullOf(number int) Subject { return Subject{Kind: PullSubject, Name: strconv.Itoa(number)} }

// BranchOf names the subject of a branch.
func BranchOf(branch string) Subject { return Subject{Kind: BranchSubject, Name: branch} }

// QueueOf names the subject of a commit that a merge queue made.
func QueueOf(sha string) Subject { return Subject{Kind: QueueSubject, Name: sha} }

// Settler derives gates, notes, statuses and the next step from the facts. It is
// level-triggered: settling twice says nothing twice.
type Settler struct {
	*usecase.Stage
	Facts  Facts
	Next   Next
	Poster *Poster
	// Pages is the address of this server's pages, "" for none.
	Pages string
	// NotIsolated puts the warning under every note (soundness, walls).
	NotIsolated bool

	expected handovers[string] // heads
	toPlan   handovers[toPlan]
	seen     handovers[*seen]
	wrote    written
}

// SettlePull settles one pull request. generation tells how often facts about it
// came, open whether it is to be settled by the sweep again.
func (s *Settler) SettlePull(ctx context.Context, site *usecase.Site, number int, generation int64) (open bool, err error) {
	if read, found := s.takeSeen(ctx, site, number, generation); found {
		return s.settleOpen(ctx, site, read)
	}
	defer s.fetchExpected(ctx, site, number)()
	var change engine.Change
	looked, begun := false, s.Now()
	err = together(
		func() (err error) { change, err = site.Forge.Change(ctx, site.Repo, number); return err },
		func() error { looked = site.Look(ctx, site.DefaultBranch); return nil },
	)
	if errors.Is(err, forges.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading #%d: %w", number, err)
	}
	switch change.State {
	case engine.Open:
		read := reading{change: change}
		if looked {
			read.at, read.generation = begun, generation
		}
		return s.settleOpen(ctx, site, read)
	case engine.Merged:
		return s.settleMerged(ctx, site, change)
	}
	return false, nil
}

// settleOpen plans the head once, then shows the plan and how its gate stands.
// What could not be said of one plan keeps nothing of another from being said.
func (s *Settler) settleOpen(ctx context.Context, site *usecase.Site, read reading) (open bool, err error) {
	change := read.change
	baseTip, err := site.TipOf(ctx, change.BaseBranch)
	if err != nil {
		return !errors.Is(err, usecase.ErrGone), unlessGone(err)
	}
	plans, err := s.plansOf(ctx, site, change, baseTip)
	if err != nil {
		return true, err
	}
	if len(plans) == 0 {
		return true, s.awaitPlan(ctx, site, read, baseTip)
	}
	binding, err := site.BoundFor(ctx, baseTip, change)
	if err != nil {
		return true, err
	}
	withEnv := project.SharedBranch(binding.EnvsOf(change.BaseBranch, s.DefaultEnv))
	snap, err := site.Snapshot(ctx)
	if err != nil {
		return true, s.ledgerUnusable(ctx, site, change.Head, binding.Places(change.BaseBranch, s.DefaultEnv), err)
	}
	shown := map[string]bool{}
	var failed []error
	for _, plan := range plans {
		p, ok := s.policyFor(binding.Declaration, change.BaseBranch, plan.Env)
		if !ok {
			continue // the env is gone from the base branch's declaration
		}
		at := usecase.StatusPlace{Env: p.Env, Member: plan.Member, WithEnv: withEnv}
		shown[at.Context(project.StagePlan)] = true
		failed = append(failed, s.showPlan(ctx, site, change, baseTip, snap, plan, p, at))
	}
	failed = append(failed, s.closeRest(ctx, site, change, baseTip, plans, shown))
	return true, errors.Join(failed...)
}

// unlessGone is no error where the branch is gone.
func unlessGone(err error) error {
	if errors.Is(err, usecase.ErrGone) {
		return nil
	}
	return err
}

// sayEverywhere sets the status of a stage in all its places.
func (s *Settler) sayEverywhere(ctx context.Context, site *usecase.Site, sha, stage string, places []usecase.StatusPlace, state forges.StatusState, description string) error {
	var failed []error
	for _, p := range places {
		failed = append(failed, s.Poster.Status(ctx, site, sha, forges.Status{Context: p.Context(stage), State: state, Description: description}))
	}
	return errors.Join(failed...)
}

// showPlan reads the gate of one plan and says how it stands: in the note
// and in the statuses.
func (s *Settler) showPlan(ctx context.Context, site *usecase.Site, change engine.Change, baseTip string, snap *ledger.Snapshot, plan KeptPlan, p usecase.Policy, at usecase.StatusPlace) error {
	in, err := s.planNote(ctx, site, change, p, snap, plan)
	if err != nil {
		return err
	}
	if baseTip != plan.BaseTip {
		in.BaseMoved = baseTip
	}
	if in.Earlier, err = s.earlier(ctx, site, change, plan); err != nil {
		return err
	}
	state, description := note.Status(in.Report)
	if p.Env.BlockMerge {
		state, description = note.BlockingStatus(in.Report, in.NothingDue)
		if state == note.Pending && len(p.Refuse) > 0 {
			description = note.WithHint(description, shutHint)
		}
	}
	if in.Report.Status == report.PlanFailed {
		description = note.WithHint(description, "push, or comment `"+planLine(change)+"`")
	}
	noted, said := s.tell(ctx, site, change, at, in, func() error {
		return errors.Join(
			s.say(ctx, site, change.Head, project.StagePlan, at, state, description, in.RunURL),
			s.say(ctx, site, change.Head, project.StageApply, at, note.Success, beforeMerge(in.Report), in.RunURL),
		)
	})
	if noted == nil {
		noted = s.callFor(ctx, site, change.Number, in)
	}
	return errors.Join(said, noted)
}

func beforeMerge(r report.Report) string {
	if r.Status == report.Nothing {
		return "nothing to apply"
	}
	return "nothing is applied before the merge"
}

// say sets one status.
func (s *Settler) say(ctx context.Context, site *usecase.Site, sha, stage string, at usecase.StatusPlace, state, description, url string) error {
	return s.Poster.Status(ctx, site, sha, forges.Status{
		Context: at.Context(stage), State: forges.StatusState(state), Description: description, TargetURL: url,
	})
}

func (s *Settler) policyFor(d *project.Declaration, branch, env string) (usecase.Policy, bool) {
	for _, e := range d.EnvsOf(branch, s.DefaultEnv) {
		if e.Name == env {
			return usecase.PolicyOf(d, e), true
		}
	}
	return usecase.Policy{}, false
}

// planNote gathers what the note of an open pull request shows.
func (s *Settler) planNote(ctx context.Context, site *usecase.Site, change engine.Change, p usecase.Policy, snap *ledger.Snapshot, plan KeptPlan) (note.Input, error) {
	r := plan.Report
	ask := note.Ask{MinApprovals: p.Env.MinApprovals, Approvers: p.Env.Approvers, Review: p.ReviewRules, Unenforced: p.Refuse}
	rule, who, err := s.shownRule(ctx, site, change, p, r.Base)
	if err != nil {
		return note.Input{}, err
	}
	if rule != nil {
		ask.Excluded = slices.Concat(rule.Authors, rule.Unresolved)
	}
	if r.Status == report.Planned {
		d, _, err := usecase.Decide(ctx, snap, project.LedgerPrefix(plan.Member), s.Query(p, r.Op, r.Digest), who)
		if err != nil {
			return note.Input{}, err
		}
		r.Approval = usecase.ApprovalOf(d)
	}
	in := note.Input{
		Report: r, Marker: project.NoteMarker(plan.Env, plan.Member), At: plan.PlannedAt,
		RunURL: s.planURL(plan.ID), BaseBranch: change.BaseBranch, BaseTip: plan.BaseTip, Forge: site.Repo.Instance,
		Ask: ask, NothingDue: plan.NothingDue, ApplyOnMerge: p.Env.ApplyOnMerge, NotIsolated: s.NotIsolated,
	}
	if r.Status == report.PlanFailed {
		in.Again = "Push what mends it, or comment `" + planLine(change) + "` to plan again."
	}
	if plan.TrustChanged {
		in.TrustChanged = []string{"identity, security or x-bot of the declaration"}
	}
	return in, nil
}

// planLine has a pull request planned again; of a fork's it names the head that
// somebody read.
func planLine(change engine.Change) string {
	if change.Fork {
		return "chant plan " + change.Head
	}
	return "chant plan"
}

func (s *Settler) earlier(ctx context.Context, site *usecase.Site, change engine.Change, plan KeptPlan) ([]note.Earlier, error) {
	kept, err := s.Facts.Earlier(ctx, site.Repo, change.Number, plan.Env, plan.Member, plan.Report.Digest)
	if err != nil {
		return nil, err
	}
	var out []note.Earlier
	for _, k := range kept {
		out = append(out, note.Earlier{Digest: k.Report.Digest, Head: k.Head, At: k.PlannedAt, Document: k.Document})
	}
	return out, nil
}

func (s *Settler) planURL(id int64) string { return s.page("plans", id) }

func (s *Settler) runURL(id int64) string { return s.page("runs", id) }

func (s *Settler) page(kind string, id int64) string {
	if s.Pages == "" || id == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", s.Pages, kind, id)
}
