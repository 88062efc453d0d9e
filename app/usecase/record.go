package usecase

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chant-bot/chant/comments/redact"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// StoredPlan is a pull request's plan kept from planning it.
type StoredPlan struct {
	Tree     string // git tree that was planned
	Status   string // of its report
	Document *changeset.Document
	Shown    Shown
}

// PullPlans looks kept plans up; a host without a store has none.
type PullPlans interface {
	PullPlan(ctx context.Context, repo engine.Repo, number int, head, env, member string) (StoredPlan, bool, error)
}

// NoPlans is the host without a store: the merge is planned again.
type NoPlans struct{}

// PullPlan finds nothing.
func (NoPlans) PullPlan(context.Context, engine.Repo, int, string, string, string) (StoredPlan, bool, error) {
	return StoredPlan{}, false, nil
}

// RecordInput is what a branch's merges are recorded from.
type RecordInput struct {
	Site   *Site
	Branch string
	Tip    string // the branch's tip now
	Plans  PullPlans
	// Env keeps to one env, whose credentials the host has; "" is all of them.
	Env string
	// Since is the commit before the first to record where none was recorded
	// yet; "" begins with the newest commit.
	Since string
	// LastTry records a commit that the planner failed on as one that does not
	// plan, though nothing tells whose fault it is (see Unplanned).
	LastTry  bool
	Progress func(line string) // nil for none
}

// Record writes the merge record of every first-parent commit of the branch
// that has none yet, oldest first, for every env and project of the branch
// (pr-loop decision 4, §6.1). It deploys nothing, and recording a commit twice
// writes nothing. It returns the records it wrote, also with an error. One that
// is an *Unplanned says that what is missing can be recorded later.
func (st *Stage) Record(ctx context.Context, in RecordInput) ([]record.Merge, error) {
	if err := in.Site.fetchTip(ctx, in.Branch, in.Tip); err != nil {
		return nil, err
	}
	b, err := in.Site.BoundAt(ctx, in.Tip)
	if err != nil {
		return nil, err
	}
	var written []record.Merge
	var unplanned error
	for _, env := range b.EnvsOf(in.Branch, st.DefaultEnv) {
		if in.Env != "" && env.Name != in.Env {
			continue
		}
		due, err := in.Unrecorded(ctx, b, env)
		if err != nil {
			return written, err
		}
		records, err := st.recordAll(ctx, in, b, PolicyOf(b.Declaration, env), due)
		written = append(written, records...)
		if _, later := errors.AsType[*Unplanned](err); later {
			unplanned = errors.Join(unplanned, err)
		} else if err != nil {
			return written, err
		}
	}
	return written, unplanned
}

// recordAll records the commits of one env, each when it is known whether it
// plans, none before an older one.
func (st *Stage) recordAll(ctx context.Context, in RecordInput, b Bound, p Policy, due []git.Commit) ([]record.Merge, error) {
	var written []record.Merge
	var doubts doubts
	for _, commit := range due {
		next, err := st.planCommit(ctx, in, b, p, commit)
		if err != nil {
			return written, fmt.Errorf("recording %s in %s: %w", commit.SHA, p.Env.Name, err)
		}
		for _, r := range doubts.add(next, in.LastTry) {
			records, err := r.write(ctx)
			if err != nil {
				return written, fmt.Errorf("recording %s in %s: %w", r.commit.SHA, p.Env.Name, err)
			}
			written = append(written, records...)
		}
	}
	return written, doubts.unplanned()
}

// planCommit plans one commit, and reads who wrote and reviewed the pull request
// it merged.
func (st *Stage) planCommit(ctx context.Context, in RecordInput, b Bound, p Policy, commit git.Commit) (*recording, error) {
	if p.ReviewRules && in.Site.Forge == nil {
		return nil, ErrNoReviews // a record that names no author would let them approve
	}
	change, merged, err := in.Site.mergedBy(ctx, commit.SHA, in.Branch)
	if err != nil {
		return nil, err
	}
	r := &recording{Stage: st, in: in, policy: p, commit: commit, change: change, merged: merged}
	if merged {
		if err = in.Site.FetchHead(ctx, change.Number, change.Head); err != nil {
			return nil, err
		}
		if r.authors, err = in.Site.Authors(ctx, change, commit.Parent); err != nil {
			return nil, err
		}
		if p.ReviewRules {
			if r.rule, err = in.Site.ReviewRule(ctx, change, commit.Parent); err != nil {
				return nil, err
			}
		}
	}
	r.drafts, err = r.plan(ctx, b)
	return r, err
}

// recording is one commit of one env on its way to its records.
type recording struct {
	*Stage
	in      RecordInput
	policy  Policy
	commit  git.Commit
	change  engine.Change
	merged  bool
	authors []string
	rule    *gate.ReviewRule
	drafts  []draftRecord
}

// draftRecord is the plan of one project of the commit.
type draftRecord struct {
	member  string
	plan    StoredPlan
	message string // why there is no plan
	// planned are the members planned just now, doubted those that the planner
	// failed on: whether for what the commit holds, nobody knows.
	planned, doubted []string
}

// plan plans the commit in every project it has, and in every one the branch's
// tip has, so that a commit is recorded for all of them. A commit its author has
// to mend is recorded as one that did not plan: it covers nothing, and nothing
// newer waits for it.
func (r *recording) plan(ctx context.Context, b Bound) ([]draftRecord, error) {
	dir := filepath.Join(r.Dir, "record", r.NewID())
	defer os.RemoveAll(dir)
	checkout, err := r.in.Site.Checkout(ctx, r.commit.SHA, filepath.Join(dir, "tree"))
	problem := ForPeople(err)
	if err != nil && problem == nil {
		return nil, err
	}
	var drafts []draftRecord
	if problem == nil {
		for _, proj := range checkout.Workspace.Projects {
			d, err := r.planProject(ctx, checkout, proj, dir)
			if err != nil {
				return nil, err
			}
			drafts = append(drafts, d)
		}
	}
	for _, member := range b.projects {
		switch {
		case problem != nil:
			drafts = append(drafts, notPlannedDraft(member, problem.Error()))
		case !slices.ContainsFunc(drafts, func(d draftRecord) bool { return d.member == member }):
			drafts = append(drafts, draftRecord{member: member, plan: StoredPlan{Status: string(report.Nothing)}})
		}
	}
	return drafts, nil
}

// maxMessage bounds what a record quotes, in characters.
const maxMessage = 500

func notPlannedDraft(member, why string) draftRecord {
	if text := []rune(redact.Text(why)); len(text) > maxMessage {
		why = string(text[:maxMessage]) + "..."
	} else {
		why = string(text)
	}
	return draftRecord{member: member, plan: StoredPlan{Status: string(report.PlanFailed)}, message: why}
}

// planProject takes the pull request's own plan where the tree planned is the
// tree merged, and plans the merge commit otherwise.
func (r *recording) planProject(ctx context.Context, checkout *Checkout, proj project.Project, dir string) (draftRecord, error) {
	if r.merged {
		kept, found, err := r.in.Plans.PullPlan(ctx, r.in.Site.Repo, r.change.Number, r.change.Head, r.policy.Env.Name, proj.Member)
		if err != nil {
			return draftRecord{}, err
		}
		if found && kept.Tree == r.commit.Tree && kept.Status != string(report.PlanFailed) {
			return draftRecord{member: proj.Member, plan: kept}, nil
		}
	}
	set, err := r.PlanMembers(ctx, PlanInput{
		Site: r.in.Site, Checkout: checkout, Project: proj, Env: r.policy.Env,
		Base: r.commit.Parent, Head: r.commit.SHA, RunDir: filepath.Join(dir, "run", safeName(proj.Member)), Progress: r.in.Progress,
	})
	if problem := ForPeople(err); problem != nil {
		return notPlannedDraft(proj.Member, problem.Error()), nil
	}
	if err != nil {
		return draftRecord{}, err
	}
	d := draftRecord{member: proj.Member, plan: StoredPlan{Tree: r.commit.Tree, Status: string(planStatus(set)), Document: set.Document, Shown: set.Shown()}}
	err = d.outcomes(set)
	return d, err
}

// outcomes tells the members that planned from those that did not, and says of
// the first of these why. A failure of ours is an error: the next try may well
// plan it. Where the author has something to mend there is no doubt.
func (d *draftRecord) outcomes(set *PlanSet) error {
	var doubted []string
	mend := false
	for _, name := range slices.Sorted(maps.Keys(set.Members)) {
		m := set.Members[name]
		switch {
		case m.Error == "" && len(m.Unknown) == 0:
			d.planned = append(d.planned, name)
			continue
		case m.Error == "":
			continue // a hole was not given to the planner
		case passes(m.cause):
			return fmt.Errorf("planning %s: %w", name, m.cause)
		case ForPeople(m.cause) == nil:
			doubted = append(doubted, name)
		default:
			mend = true
		}
		if d.message == "" {
			d.message = notPlannedDraft("", name+": "+m.Error).message
		}
	}
	if !mend {
		d.doubted = doubted
	}
	return nil
}

// passes tells a failure of ours, or of this machine, from the planner's word on
// what it was given.
func passes(err error) bool {
	var file *fs.PathError
	var call *os.SyscallError
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.As(err, &file) || errors.As(err, &call)
}

// write decides each project's approval on the ledger as it stands and appends
// all records in one write.
func (r *recording) write(ctx context.Context) ([]record.Merge, error) {
	who := r.in.Site.Approvers(r.policy.Env, r.rule)
	var out []record.Merge
	written, err := r.in.Site.Ledger.Update(ctx, "Merge record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		out = nil
		var files []ledger.File
		for _, d := range r.drafts {
			at := record.MergePath(project.LedgerPrefix(d.member), r.policy.Env.Name, r.commit.SHA)
			if _, found, err := snap.Read(at); err != nil {
				return nil, err
			} else if found {
				continue
			}
			m, err := r.record(ctx, snap, d, who)
			if err != nil {
				return nil, err
			}
			files = append(files, ledger.File{Path: at, Content: m.JSON()})
			out = append(out, m)
		}
		return files, nil
	})
	return out, landed(written, err)
}

// record is one project's record.
func (r *recording) record(ctx context.Context, snap *ledger.Snapshot, d draftRecord, who *Approvers) (record.Merge, error) {
	m := record.Merge{
		Commit: r.commit.SHA, Base: r.commit.Parent, Env: r.policy.Env.Name, Member: d.member,
		Gate: r.policy.Env.Gate, Status: d.plan.Status, Message: d.message,
		Approval: record.Approval{Status: "pending"}, Timestamp: gate.Timestamp(r.Now()),
	}
	if d.plan.Document != nil {
		m.Digest = d.plan.Document.Digest
	}
	if !r.merged {
		return m, nil
	}
	m.PR, m.Op, m.Authors = &r.change.Number, project.OpPull(r.change.Number, d.member), r.authors
	m.MergedBy = r.in.Site.Repo.Instance.Principal(r.change.MergedBy.Login)
	if d.plan.Document == nil {
		return m, nil
	}
	err := r.recordApproval(ctx, snap, project.LedgerPrefix(d.member), r.policy, d.plan, who, &m)
	return m, err
}

// recordApproval fills in under which approval the merge came: one of the plan
// recorded, or one of another plan of the pull request that covers it.
func (st *Stage) recordApproval(ctx context.Context, snap *ledger.Snapshot, prefix string, p Policy, plan StoredPlan, who *Approvers, m *record.Merge) error {
	d, lines, err := Decide(ctx, snap, prefix, st.Query(p, m.Op, plan.Document.Digest), who)
	if err != nil {
		return err
	}
	// Later than every approval it was decided on, whoever's clock runs ahead.
	at, _ := gate.Stamp(lines, st.Now())
	m.Timestamp = gate.Timestamp(at)
	approval := d.Record
	if approval == nil && d.Mismatch != nil {
		m.Approval.Status = "changed"
		approval = d.Mismatch
	}
	if approval == nil || len(d.Unenforced) > 0 {
		return nil
	}
	side, err := approvedSide(snap, prefix, approval.PlanDigest, approval.Sources)
	if err != nil {
		return err
	}
	if side.Doc == nil || !coversAll(side, cover.Side{Doc: plan.Document, Sources: plan.Shown.Sources, Code: plan.Shown.Code}) {
		return nil
	}
	approved := approval.PlanDigest
	m.Approved, m.Sources, m.Code = &approved, side.Sources, side.Code
	m.Approval = record.Approval{Status: "approved", ApprovedBy: []string{approval.ResolvedBy}}
	return nil
}

// mergedBy finds the pull request whose merge made a commit: repository, base
// branch and merge sha must all match (pr-loop decision 4). Without a forge
// nobody can say, and no approval is assumed.
func (s *Site) mergedBy(ctx context.Context, sha, branch string) (engine.Change, bool, error) {
	if s.Forge == nil {
		return engine.Change{}, false, nil
	}
	changes, err := s.Forge.ChangesOfCommit(ctx, s.Repo, sha)
	if errors.Is(err, forges.ErrNotFound) {
		return engine.Change{}, false, nil
	}
	if err != nil {
		return engine.Change{}, false, fmt.Errorf("finding the pull request that merged %s: %w", sha, err)
	}
	for _, c := range changes {
		if c.Repo.ID == s.Repo.ID && c.BaseBranch == branch && c.State == engine.Merged && c.MergeCommit == sha {
			return c, true, nil
		}
	}
	return engine.Change{}, false, nil
}

func digestOrNil(d digest.Digest) *digest.Digest {
	if d.IsZero() {
		return nil
	}
	return &d
}
