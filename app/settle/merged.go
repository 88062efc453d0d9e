package settle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// settleMerged shows on a merged pull request what became of it: recorded,
// waiting for green, and the apply that carries it.
func (s *Settler) settleMerged(ctx context.Context, site *usecase.Site, change engine.Change) (open bool, err error) {
	tip, err := site.TipOf(ctx, change.BaseBranch)
	if err != nil {
		return !errors.Is(err, usecase.ErrGone), unlessGone(err)
	}
	b, err := site.BoundAt(ctx, tip)
	if problem := usecase.ForPeople(err); problem != nil {
		return s.unreadable(ctx, site, change.Head, problem)
	}
	if err != nil {
		return true, err
	}
	places := b.Places(change.BaseBranch, s.DefaultEnv)
	snap, err := site.Snapshot(ctx)
	if err != nil {
		return true, s.ledgerUnusable(ctx, site, change.Head, places, err)
	}
	var failed []error
	for _, at := range places {
		m := merged{Settler: s, site: site, change: change, policy: usecase.PolicyOf(b.Declaration, at.Env), at: at, bound: b, tip: tip, snap: snap}
		done, err := m.settle(ctx)
		failed = append(failed, err)
		open = open || !done
	}
	if err := errors.Join(failed...); err != nil || !open {
		return open, err
	}
	return true, s.Next.Raise(ctx, site.Repo, BranchOf(change.BaseBranch))
}

// unreadable says on a commit that the branch's declaration does not read, so
// that nothing can be done on the branch. A branch without one is none of ours.
// What it says goes when the branch is mended, since the merges recorded then
// are settled.
func (s *Settler) unreadable(ctx context.Context, site *usecase.Site, sha string, problem error) (open bool, err error) {
	if errors.Is(problem, project.ErrNoDeclaration) {
		return false, nil
	}
	return true, s.sayEverywhere(ctx, site, sha, project.StageApply, usecase.Undeclared().Places("", s.DefaultEnv), forges.StatusFailure,
		note.Description("nothing is applied: "+problem.Error()))
}

// merged is one env and project of a merged pull request.
type merged struct {
	*Settler
	site   *usecase.Site
	change engine.Change
	policy usecase.Policy
	at     usecase.StatusPlace
	bound  usecase.Bound
	tip    string
	snap   *ledger.Snapshot
}

// settle reports done when nothing more will happen to the pull request here.
func (m merged) settle(ctx context.Context) (done bool, err error) {
	data, recorded, err := m.snap.Read(record.MergePath(project.LedgerPrefix(m.at.Member), m.policy.Env.Name, m.change.MergeCommit))
	if err != nil {
		return false, err
	}
	if !recorded {
		return m.unrecorded(ctx)
	}
	rec, err := record.ParseMerge(data)
	if err != nil {
		return false, err
	}
	if rec.Status == string(report.Nothing) {
		return true, m.say(ctx, note.Success, "nothing to apply", "")
	}
	if !m.policy.Env.ApplyOnMerge && rec.Status != string(report.PlanFailed) {
		return true, m.say(ctx, note.Success, "recorded; a merge deploys nothing here", "")
	}
	run, found, err := m.Facts.RunCarrying(ctx, m.site.Repo, m.policy.Env.Name, m.at.Member, m.change.MergeCommit)
	if err != nil {
		return false, err
	}
	// A run that is not over says by itself how it ended.
	if !found || run.Status == RunEnded && !run.applied() {
		applied, err := m.site.AppliedWith(ctx, m.snap, m.change.BaseBranch, m.at.Member, m.policy.Env.Name, m.change.MergeCommit)
		if err != nil {
			return false, err
		}
		if applied != nil {
			return true, m.say(ctx, note.Success, "applied with "+project.Short(applied.Commit), "")
		}
	}
	switch {
	case found:
		return m.showRun(ctx, run)
	case rec.Status == string(report.PlanFailed):
		return !m.policy.Env.ApplyOnMerge, m.say(ctx, note.Failure, planFailedWords(rec), "")
	}
	state, description, err := m.awaiting(ctx)
	if err != nil {
		return false, err
	}
	return false, m.say(ctx, state, description, "")
}

// unrecorded says whether the record of the merge is still to come. It is not
// where recording began above it, or where the branch was pushed over it.
func (m merged) unrecorded(ctx context.Context) (done bool, err error) {
	due, err := usecase.RecordInput{Site: m.site, Branch: m.change.BaseBranch, Tip: m.tip}.Unrecorded(ctx, m.bound, m.policy.Env)
	if err != nil {
		return false, err
	}
	toCome := slices.ContainsFunc(due, func(c git.Commit) bool { return c.SHA == m.change.MergeCommit })
	if _, err := m.site.Clone.Resolve(ctx, m.change.MergeCommit+"^{commit}"); err != nil || toCome {
		return false, m.say(ctx, note.Pending, "merged; its plan is being recorded", "")
	}
	return true, m.say(ctx, note.Success, "not recorded here: merged before, or beside, what is recorded", "")
}

// planFailedWords says of a merge that was recorded without a plan why.
func planFailedWords(m record.Merge) string {
	if m.Message == "" {
		return "the merge did not plan, so no approval covers it"
	}
	return note.Description("the merge did not plan: " + m.Message)
}

func (m merged) say(ctx context.Context, state, description, url string) error {
	return m.Settler.say(ctx, m.site, m.change.Head, project.StageApply, m.at, state, description, url)
}

// showRun turns the note and the status into the apply's.
func (m merged) showRun(ctx context.Context, run KeptRun) (done bool, err error) {
	in := m.applyNote(m.policy, run)
	in.Forge = m.site.Repo.Instance
	state, description := applyStatus(run)
	failed := errors.Join(m.tell(ctx, m.site, m.change, m.at, in, func() error {
		return m.say(ctx, state, description, in.RunURL)
	}))
	if failed == nil {
		failed = m.callFor(ctx, m.site, m.change.Number, in)
	}
	return run.applied(), failed
}

// applied tells that the run is over and nothing of it is left to do.
func (k KeptRun) applied() bool {
	s := k.Apply.Report.Status
	return k.Status == RunEnded && (s == report.Applied || s == report.Nothing)
}

// onCommand tells that the run failed and is not tried again by itself: what
// failed may have half happened, and a person has looked before it goes on.
func (k KeptRun) onCommand() bool {
	s := k.Apply.Report.Status
	return k.Status == RunEnded && !k.Apply.Fresh && (s == report.Failed || s == report.PlanFailed)
}

// Message is that of the run's report, with how it goes on where it failed.
func (k KeptRun) Message() string {
	if !k.onCommand() {
		return k.Apply.Report.Message
	}
	return strings.TrimSpace(k.Apply.Report.Message + "\n\nIt is not tried again by itself: " + retryHint + ".")
}

// shutHint ends the status of what waits at a gate that no approval opens.
const shutHint = "no approval opens it, the note says why"

// retryHint is how a failed apply goes on.
const retryHint = "comment `chant apply` to try again"

func (s *Settler) applyNote(p usecase.Policy, run KeptRun) note.Input {
	r := run.Apply.Report
	r.Message = run.Message()
	return note.Input{
		Report: r, Marker: project.NoteMarker(r.Env, r.Member), RunURL: s.runURL(run.ID),
		BaseBranch: run.Apply.Branch, ApplyOnMerge: true, NotIsolated: s.NotIsolated,
		Ask: run.Apply.Ask(p), Asked: run.Apply.Asked(), Then: "Once approved, it applies by itself.",
	}
}

// applyStatus is the status of an apply, which while it runs is pending.
func applyStatus(run KeptRun) (state, description string) {
	if run.Status == RunRunning && run.Apply.Report.Status == report.Planned {
		return note.Pending, fmt.Sprintf("applying %s", project.Short(run.Apply.Report.Head))
	}
	if len(run.Apply.Open) > 0 {
		return note.Failure, "not applied: an earlier apply of a group did not end, or a state is in no backend; the note says what to do"
	}
	state, description = note.Status(run.Apply.Report)
	switch {
	case run.onCommand():
		description = note.WithHint(description, retryHint)
	case state == note.Pending && len(run.Apply.Policy.Refuse) > 0:
		description = note.WithHint(description, shutHint)
	}
	return state, description
}

// SettleBranch brings a branch forward by the single next step that is due:
// record its merges, tag its green commits, apply the newest one.
func (s *Settler) SettleBranch(ctx context.Context, site *usecase.Site, branch string) (open bool, err error) {
	tip, err := site.TipOf(ctx, branch)
	if err != nil {
		return !errors.Is(err, usecase.ErrGone), unlessGone(err)
	}
	b, err := site.BoundAt(ctx, tip)
	if problem := usecase.ForPeople(err); problem != nil {
		if branch != site.DefaultBranch {
			return false, nil // whether it is one of ours, nobody can tell
		}
		return s.unreadable(ctx, site, tip, problem)
	}
	if err != nil {
		return true, err
	}
	places := b.Places(branch, s.DefaultEnv)
	if len(places) == 0 {
		return false, nil
	}
	if _, err := site.Snapshot(ctx); err != nil {
		if ledgerTrouble(err) != "" {
			err = errors.Join(err, s.noteTrouble(ctx, site, branch, tip))
		}
		return true, s.ledgerUnusable(ctx, site, tip, places, err)
	}
	held, err := s.settleRecords(ctx, site, branch, tip, b, places)
	if err != nil {
		return true, err
	}
	if err := s.showFailedRecords(ctx, site, tip, places); err != nil {
		return true, err
	}
	if g := b.Green; g != nil && g.Branch == branch {
		if b.Bot == nil || b.Bot.Tick {
			if err := s.Next.QueueTick(ctx, site.Repo, branch); err != nil {
				return true, err
			}
		}
		return true, s.settleApplies(ctx, site, branch, places, held)
	}
	return true, nil
}

// settleRecords queues the record of what is not recorded yet. It gives the
// commits that are held until then, by env: an apply of one would find no
// approval. What was recorded before goes on meanwhile.
func (s *Settler) settleRecords(ctx context.Context, site *usecase.Site, branch, tip string, b usecase.Bound, places []usecase.StatusPlace) (held map[string][]git.Commit, err error) {
	in := usecase.RecordInput{Site: site, Branch: branch, Tip: tip, Plans: s.Facts}
	held = map[string][]git.Commit{}
	for _, env := range b.EnvsOf(branch, s.DefaultEnv) {
		due, err := in.Unrecorded(ctx, b, env)
		if err != nil {
			return nil, err
		}
		if len(due) > 0 {
			held[env.Name] = due
		}
	}
	if len(held) > 0 {
		return held, s.Next.QueueRecord(ctx, site.Repo, branch, tip)
	}
	return held, s.troubleOver(ctx, site, branch, places, "")
}

// Unplanned says on a merge that it is not recorded yet, why, and how long that
// is tried. Only the oldest one is told of: the one before it is recorded.
func (s *Settler) Unplanned(ctx context.Context, site *usecase.Site, branch string, u *usecase.Unplanned, until time.Time) error {
	b, _, err := site.BoundNow(ctx, branch)
	if err != nil {
		return unlessGone(err)
	}
	places := b.Places(branch, s.DefaultEnv)
	if err := s.troubleOver(ctx, site, branch, places, u.Commit); err != nil {
		return err
	}
	if err := s.noteTrouble(ctx, site, branch, u.Commit); err != nil {
		return err
	}
	return s.sayEverywhere(ctx, site, u.Commit, project.StageApply, places, forges.StatusFailure,
		note.WithHint("does not plan: "+u.Message, "tried until "+until.UTC().Format("15:04")+" UTC"))
}

// shownRecords is how many commits of a branch are looked at for a record
// without a plan; an older one was mended or lies beneath an apply that says so.
const shownRecords = 10

// showFailedRecords says on a branch's newest commits which of them did not
// plan, unless an apply said more since.
func (s *Settler) showFailedRecords(ctx context.Context, site *usecase.Site, tip string, places []usecase.StatusPlace) error {
	snap, err := site.Snapshot(ctx)
	if err != nil {
		return err
	}
	line, err := site.Clone.FirstParents(ctx, tip, git.Walk{Max: shownRecords})
	if err != nil {
		return err
	}
	for _, at := range places {
		for _, c := range line {
			if err := s.showFailedRecord(ctx, site, snap, at, c.SHA); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Settler) showFailedRecord(ctx context.Context, site *usecase.Site, snap *ledger.Snapshot, at usecase.StatusPlace, sha string) error {
	data, found, err := snap.Read(record.MergePath(project.LedgerPrefix(at.Member), at.Env.Name, sha))
	if err != nil || !found {
		return err
	}
	rec, err := record.ParseMerge(data)
	if err != nil || rec.Status != string(report.PlanFailed) {
		return err
	}
	if _, said, err := s.Facts.RunCarrying(ctx, site.Repo, at.Env.Name, at.Member, sha); err != nil || said {
		return err
	}
	return s.say(ctx, site, sha, project.StageApply, at, note.Failure, planFailedWords(rec), "")
}

// troubleTarget remembers on which commit of a branch it was said that the branch
// stands still, so that it is taken back there: no other word may follow on it.
func troubleTarget(branch string) string { return "trouble:" + branch }

func (s *Settler) noteTrouble(ctx context.Context, site *usecase.Site, branch, sha string) error {
	return s.Poster.Posts.SavePost(ctx, site.Repo, troubleTarget(branch), Post{Hash: sha})
}

// troubleOver takes back what was said where the branch stood still, unless that
// is where it stands now. An apply of the commit says more, right after.
func (s *Settler) troubleOver(ctx context.Context, site *usecase.Site, branch string, places []usecase.StatusPlace, now string) error {
	last, found, err := s.Poster.Posts.Post(ctx, site.Repo, troubleTarget(branch))
	if err != nil || !found || last.Hash == "" || last.Hash == now {
		return err
	}
	if err := s.sayEverywhere(ctx, site, last.Hash, project.StageApply, places, forges.StatusSuccess, "the branch is recorded again"); err != nil {
		return err
	}
	return s.noteTrouble(ctx, site, branch, "")
}
