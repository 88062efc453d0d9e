package usecase

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// KeptPlan is one finished plan of a pull request, as the store has it.
type KeptPlan struct {
	StoredPlan
	ID         int64
	Env        string
	Member     string
	Head       string
	BaseBranch string
	BaseTip    string
	Report     report.Report
	PlannedAt  time.Time
	// TrustChanged: the head changes settings that count only after the merge.
	TrustChanged bool
	// NothingDue: every member is planned and has nothing to apply.
	NothingDue bool
}

// KeptRun is the newest apply of an env and project, as the store has it.
type KeptRun struct {
	ID     int64
	Apply  *Apply
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
	PullPlans
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

// SubjectKind tells pull requests and branches apart.
type SubjectKind string

// The subjects settle works on.
const (
	PullSubject   SubjectKind = "pull"
	BranchSubject SubjectKind = "branch"
)

// Subject is what a settle derives everything of.
type Subject struct {
	Kind SubjectKind
	Name string // number or branch
}

// PullOf names the subject of a pull request.
func PullOf(number int) Subject { return Subject{Kind: PullSubject, Name: strconv.Itoa(number)} }

// BranchOf names the subject of a branch.
func BranchOf(branch string) Subject { return Subject{Kind: BranchSubject, Name: branch} }

// Settler derives gates, notes, statuses and the next step from the facts. It is
// level-triggered: settling twice says nothing twice.
type Settler struct {
	*Stage
	Facts  Facts
	Next   Next
	Poster *Poster
	// Pages is the address of this server's pages, "" for none.
	Pages string
	// NotIsolated puts the warning under every note (soundness, walls).
	NotIsolated bool
}

// SettlePull settles one pull request. open tells whether it is to be settled
// by the sweep again.
func (s *Settler) SettlePull(ctx context.Context, site *Site, number int) (open bool, err error) {
	change, err := site.Forge.Change(ctx, site.Repo, number)
	if errors.Is(err, forges.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading #%d: %w", number, err)
	}
	switch change.State {
	case engine.Open:
		return true, s.settleOpen(ctx, site, change)
	case engine.Merged:
		return s.settleMerged(ctx, site, change)
	}
	return false, nil
}

// settleOpen plans the head once, then shows the plan and how its gate stands.
func (s *Settler) settleOpen(ctx context.Context, site *Site, change engine.Change) error {
	if err := site.FetchBranch(ctx, change.BaseBranch); err != nil {
		return err
	}
	baseTip, err := site.Clone.Resolve(ctx, site.branchRef(change.BaseBranch))
	if err != nil {
		return err
	}
	plans, err := s.Facts.Planned(ctx, site.Repo, change.Number, change.Head, change.BaseBranch)
	if err != nil {
		return err
	}
	if len(plans) == 0 {
		return s.awaitPlan(ctx, site, change, baseTip)
	}
	snap, err := site.snapshot(ctx)
	if err != nil {
		return s.ledgerUnusable(ctx, site, change, plans, err)
	}
	declaration, err := s.boundDeclaration(ctx, site, baseTip, change.Head)
	if err != nil {
		return err
	}
	withEnv := project.SharedBranch(declaration.EnvsOf(change.BaseBranch, s.DefaultEnv))
	for _, plan := range plans {
		if err := s.showPlan(ctx, site, change, baseTip, declaration, snap, plan, withEnv); err != nil {
			return err
		}
	}
	return nil
}

// boundDeclaration is the base branch's, or the head's where the base has none
// that reads (decision 2).
func (s *Settler) boundDeclaration(ctx context.Context, site *Site, baseTip, head string) (*project.Declaration, error) {
	d, err := site.Declaration(ctx, baseTip)
	if err == nil {
		return d, nil
	}
	if forPeople(err) == nil {
		return nil, err
	}
	if d, err = site.Declaration(ctx, head); err != nil && forPeople(err) == nil {
		return nil, err
	}
	if d == nil {
		d = &project.Declaration{}
	}
	return d, nil
}

// awaitPlan queues the plan of a head that has none, unless a person has to ask
// for it first.
func (s *Settler) awaitPlan(ctx context.Context, site *Site, change engine.Change, baseTip string) error {
	declaration, err := s.boundDeclaration(ctx, site, baseTip, baseTip)
	if err != nil {
		return err
	}
	state, description := note.PendingStatus("plan", nil)
	why := notUnasked(change, declaration)
	if why != "" {
		asked, err := s.Facts.PlanRequested(ctx, site.Repo, change.Number, change.Head)
		if err != nil {
			return err
		}
		if asked && why != forksNever {
			why = ""
		}
	}
	if why != "" {
		description = why
	}
	envs := declaration.EnvsOf(change.BaseBranch, s.DefaultEnv)
	if why == "" && len(envs) > 0 { // first, so that it runs while the statuses are set
		if err := s.Next.QueuePlan(ctx, site.Repo, change.Number, change.Head, change.BaseBranch); err != nil {
			return err
		}
	}
	return s.sayEverywhere(ctx, site, change.Head, "plan", declaration, envs, forges.StatusState(state), description)
}

// sayEverywhere sets the status of a stage in every context of a branch.
func (s *Settler) sayEverywhere(ctx context.Context, site *Site, sha, stage string, d *project.Declaration, envs []project.Env, state forges.StatusState, description string) error {
	for _, env := range envs {
		for _, member := range members(d) {
			status := forges.Status{
				Context: project.Context(stage, member, env.Name, project.SharedBranch(envs)),
				State:   state, Description: description,
			}
			if err := s.Poster.Status(ctx, site, sha, status); err != nil {
				return err
			}
		}
	}
	return nil
}

// Broken says on a commit that a stage cannot run for a reason that is not the
// author's, with what finds it in the log. The job is tried again, and its
// success replaces this.
func (s *Settler) Broken(ctx context.Context, site *Site, sha, branch, stage, ref string) error {
	tip, err := site.Clone.Resolve(ctx, site.branchRef(branch))
	if err != nil {
		return err
	}
	d, err := s.boundDeclaration(ctx, site, tip, tip)
	if err != nil {
		return err
	}
	return s.sayEverywhere(ctx, site, sha, stage, d, d.EnvsOf(branch, s.DefaultEnv), forges.StatusFailure,
		fmt.Sprintf("%s cannot run: internal error, ref %s; it is tried again", stage, ref))
}

// members are the projects of a workspace by member name, the root first.
func members(d *project.Declaration) []string {
	out := []string{""}
	for _, m := range d.Members {
		if m.Kind == "chant" && m.Dir != "." {
			out = append(out, m.Name)
		}
	}
	return out
}

const forksNever = "not planned: pull requests of forks are not planned here"

// notUnasked says why a head's code is not run unasked, "" when it is
// (soundness, walls: who is planned).
func notUnasked(change engine.Change, d *project.Declaration) string {
	policy := project.PlanPolicy{Forks: "never"}
	if d.Bot != nil {
		policy = d.Bot.Plan
	}
	switch {
	case change.Fork && policy.Forks != "on-command":
		return forksNever
	case change.Fork:
		return "waits: a fork is planned on `chant plan <full head sha>`"
	case change.Draft && !policy.Drafts:
		return "waits: a draft is planned when it is ready, or on `chant plan`"
	case change.Author.Bot:
		return "waits: a bot's pull request is planned on `chant plan`"
	case change.FirstTimer:
		return "waits: a first-time author's is planned on `chant plan`"
	}
	return ""
}

// showPlan reads the gate of one plan and says how it stands.
func (s *Settler) showPlan(ctx context.Context, site *Site, change engine.Change, baseTip string, d *project.Declaration, snap *ledger.Snapshot, plan KeptPlan, withEnv bool) error {
	policy, ok := s.policyFor(d, change.BaseBranch, plan.Env)
	if !ok {
		return nil // the env is gone from the base branch's declaration
	}
	in, err := s.planNote(ctx, site, change, policy, snap, plan)
	if err != nil {
		return err
	}
	if baseTip != plan.BaseTip {
		in.BaseMoved = baseTip
	}
	if in.Earlier, err = s.earlier(ctx, site, change, plan); err != nil {
		return err
	}
	if err := s.Poster.Note(ctx, site, change.Number, in.Marker, in); err != nil {
		return err
	}
	state, description := note.Status(in.Report)
	if policy.Env.BlockMerge {
		state, description = note.BlockingStatus(in.Report, in.NothingDue)
	}
	if err := s.status(ctx, site, change.Head, "plan", plan.Member, policy, withEnv, state, description, in.RunURL); err != nil {
		return err
	}
	return s.status(ctx, site, change.Head, "apply", plan.Member, policy, withEnv, note.Success, beforeMerge(in.Report), in.RunURL)
}

func beforeMerge(r report.Report) string {
	if r.Status == report.Nothing {
		return "nothing to apply"
	}
	return "nothing is applied before the merge"
}

func (s *Settler) status(ctx context.Context, site *Site, sha, stage, member string, p Policy, withEnv bool, state, description, url string) error {
	return s.Poster.Status(ctx, site, sha, forges.Status{
		Context: project.Context(stage, member, p.Env.Name, withEnv), State: forges.StatusState(state),
		Description: description, TargetURL: url,
	})
}

func (s *Settler) policyFor(d *project.Declaration, branch, env string) (Policy, bool) {
	for _, e := range d.EnvsOf(branch, s.DefaultEnv) {
		if e.Name == env {
			return policyOf(d, e), true
		}
	}
	return Policy{}, false
}

// planNote gathers what the note of an open pull request shows.
func (s *Settler) planNote(ctx context.Context, site *Site, change engine.Change, p Policy, snap *ledger.Snapshot, plan KeptPlan) (note.Input, error) {
	r := plan.Report
	ask := note.Ask{MinApprovals: p.Env.MinApprovals, Approvers: p.Env.Approvers, Review: p.ReviewRules, Unenforced: p.Refuse}
	var rule *gate.ReviewRule
	if p.ReviewRules {
		var err error
		if rule, err = site.reviewRule(ctx, change, r.Base); err != nil {
			return note.Input{}, err
		}
		ask.Excluded = append(rule.Authors, rule.Unresolved...)
	}
	if r.Status == report.Planned {
		d, _, err := decide(ctx, snap, prefixOf(plan.Member), s.query(p, r.Op, r.Digest), site.approvers(p.Env, rule))
		if err != nil {
			return note.Input{}, err
		}
		r.Approval = approvalOf(d)
	}
	in := note.Input{
		Report: r, Marker: project.NoteMarker(plan.Env, plan.Member), At: plan.PlannedAt,
		RunURL: s.planURL(plan.ID), BaseBranch: change.BaseBranch, BaseTip: plan.BaseTip,
		Ask: ask, NothingDue: plan.NothingDue, ApplyOnMerge: p.Env.ApplyOnMerge, NotIsolated: s.NotIsolated,
	}
	if plan.TrustChanged {
		in.TrustChanged = []string{"identity, security or x-bot of the declaration"}
	}
	return in, nil
}

// approvalOf is a gate's answer as a report says it.
func approvalOf(d gate.Decision) report.Approval {
	switch {
	case d.Satisfied:
		return report.Approval{Status: report.Approved, ApprovedBy: d.ApprovedBy}
	case d.Mismatch != nil:
		return report.Approval{Status: report.Changed, Approved: digestOrNil(d.Mismatch.PlanDigest)}
	}
	return report.Approval{Status: report.Pending}
}

func (s *Settler) earlier(ctx context.Context, site *Site, change engine.Change, plan KeptPlan) ([]note.Earlier, error) {
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

// ledgerUnusable says on the pull request that no gate can be read. The plan
// itself stands; nothing is read as approved or not approved.
func (s *Settler) ledgerUnusable(ctx context.Context, site *Site, change engine.Change, plans []KeptPlan, cause error) error {
	if !errors.Is(cause, ledger.ErrDiverged) && !errors.Is(cause, ledger.ErrRewound) {
		return cause
	}
	for _, plan := range plans {
		status := forges.Status{
			Context: project.Context("plan", plan.Member, plan.Env, false), State: forges.StatusFailure,
			Description: "the ledger can't be read: " + cause.Error(),
		}
		if err := s.Poster.Status(ctx, site, change.Head, status); err != nil {
			return err
		}
	}
	return cause
}

func (s *Settler) planURL(id int64) string { return s.page("plans", id) }

func (s *Settler) runURL(id int64) string { return s.page("runs", id) }

func (s *Settler) page(kind string, id int64) string {
	if s.Pages == "" || id == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", s.Pages, kind, id)
}
