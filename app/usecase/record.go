package usecase

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
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
	// yet; "" looks back as far as unrecordedHorizon.
	Since    string
	Progress func(line string) // nil for none
}

// unrecordedHorizon bounds how many first-parent commits one pass looks back
// over where nothing was ever recorded or applied. What is older was merged
// before chant came, and no approval could have covered it.
const unrecordedHorizon = 50

// Record writes the merge record of every first-parent commit of the branch
// that has none yet, oldest first, for every env and project of the branch
// (pr-loop decision 4, §6.1). It deploys nothing, and recording a commit twice
// writes nothing. It returns the records it wrote.
func (st *Stage) Record(ctx context.Context, in RecordInput) ([]record.Merge, error) {
	declaration, err := in.Site.Declaration(ctx, in.Tip)
	if err != nil {
		return nil, err
	}
	var written []record.Merge
	for _, env := range declaration.EnvsOf(in.Branch, st.DefaultEnv) {
		if in.Env != "" && env.Name != in.Env {
			continue
		}
		due, err := in.unrecorded(ctx, declaration, env)
		if err != nil {
			return written, err
		}
		for _, commit := range due {
			records, err := st.recordCommit(ctx, in, policyOf(declaration, env), commit)
			if err != nil {
				return written, fmt.Errorf("recording %s in %s: %w", commit.SHA, env.Name, err)
			}
			written = append(written, records...)
		}
	}
	return written, nil
}

// unrecorded lists the commits to record, oldest first.
func (in RecordInput) unrecorded(ctx context.Context, d *project.Declaration, env project.Env) ([]git.Commit, error) {
	snap, err := in.Site.snapshot(ctx)
	if err != nil {
		return nil, err
	}
	line, err := in.Site.Clone.FirstParents(ctx, in.Tip, git.Walk{Max: unrecordedHorizon})
	if err != nil {
		return nil, err
	}
	prefix := firstPrefix(d)
	var due []git.Commit
	since := -1 // how many of due are newer than in.Since
	for _, c := range line {
		if c.SHA == in.Since {
			since = len(due)
		}
		if c.Parent == "" {
			break // nothing to measure a root commit from
		}
		_, found, err := snap.Read(record.MergePath(prefix, env.Name, c.SHA))
		if err != nil {
			return nil, err
		}
		if found {
			return due, nil
		}
		due = append([]git.Commit{c}, due...)
	}
	if since >= 0 {
		due = due[len(due)-since:]
	}
	return due, nil
}

// firstPrefix is the ledger prefix whose records tell where recording stopped:
// every project of a commit is recorded in one write, so any one of them does.
func firstPrefix(d *project.Declaration) string {
	for _, m := range d.Members {
		if m.Kind == "chant" {
			return prefixOf(m.Name)
		}
	}
	return ""
}

// recordCommit plans one commit, reads the approvals of the pull request it
// merged and writes the records of all projects in one go.
func (st *Stage) recordCommit(ctx context.Context, in RecordInput, p Policy, commit git.Commit) ([]record.Merge, error) {
	change, merged, err := in.Site.mergedBy(ctx, commit.SHA, in.Branch)
	if err != nil {
		return nil, err
	}
	var rule *gate.ReviewRule
	var authors []string
	if merged {
		if err = in.Site.FetchPull(ctx, change); err != nil {
			return nil, err
		}
		if authors, err = in.Site.authors(ctx, change, commit.Parent); err != nil {
			return nil, err
		}
		if p.ReviewRules {
			if rule, err = in.Site.reviewRule(ctx, change, commit.Parent); err != nil {
				return nil, err
			}
		}
	}
	dir := filepath.Join(st.Dir, "record", st.NewID())
	defer os.RemoveAll(dir)
	checkout, err := in.Site.Checkout(ctx, commit.SHA, filepath.Join(dir, "tree"))
	if err != nil {
		return nil, err
	}
	var drafts []draftRecord
	for _, proj := range checkout.Workspace.Projects {
		plan, err := st.planOfMerge(ctx, in, p, commit, change, merged, checkout, proj, dir)
		if err != nil {
			return nil, err
		}
		drafts = append(drafts, draftRecord{project: proj, plan: plan})
	}
	return st.writeRecords(ctx, in, p, commit, change, merged, authors, rule, drafts)
}

type draftRecord struct {
	project project.Project
	plan    StoredPlan
}

// planOfMerge takes the pull request's own plan where the tree planned is the
// tree merged, and plans the merge commit otherwise.
func (st *Stage) planOfMerge(ctx context.Context, in RecordInput, p Policy, commit git.Commit, change engine.Change, merged bool, checkout *Checkout, proj project.Project, dir string) (StoredPlan, error) {
	if merged {
		kept, found, err := in.Plans.PullPlan(ctx, in.Site.Repo, change.Number, change.Head, p.Env.Name, proj.Member)
		if err != nil {
			return StoredPlan{}, err
		}
		if found && kept.Tree == commit.Tree {
			return kept, nil
		}
	}
	set, err := st.PlanMembers(ctx, PlanInput{
		Site: in.Site, Checkout: checkout, Project: proj, Env: p.Env,
		Base: commit.Parent, Head: commit.SHA, RunDir: filepath.Join(dir, "run"), Progress: in.Progress,
	})
	if err != nil {
		return StoredPlan{}, err
	}
	return StoredPlan{Tree: commit.Tree, Status: string(planStatus(set)), Document: set.Document, Shown: set.Shown()}, nil
}

// writeRecords decides each project's approval on the ledger as it stands and
// appends all records in one write.
func (st *Stage) writeRecords(ctx context.Context, in RecordInput, p Policy, commit git.Commit, change engine.Change, merged bool, authors []string, rule *gate.ReviewRule, drafts []draftRecord) ([]record.Merge, error) {
	who := in.Site.approvers(p.Env, rule)
	var out []record.Merge
	written, err := in.Site.Ledger.Update(ctx, "Merge record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		out = nil
		var files []ledger.File
		for _, d := range drafts {
			prefix := d.project.LedgerPrefix()
			path := record.MergePath(prefix, p.Env.Name, commit.SHA)
			if _, found, err := snap.Read(path); err != nil || found {
				return nil, err
			}
			m := record.Merge{
				Commit: commit.SHA, Base: commit.Parent, Env: p.Env.Name, Member: d.project.Member,
				Gate: p.Env.Gate, Digest: d.plan.Document.Digest, Status: d.plan.Status,
				Approval: record.Approval{Status: "pending"}, Timestamp: gate.Timestamp(st.Now()),
			}
			if merged {
				m.PR, m.Op, m.Authors = &change.Number, project.OpPull(change.Number, d.project.Member), authors
				m.MergedBy = in.Site.Repo.Instance.Principal(change.MergedBy.Login)
				more, err := st.recordApproval(ctx, snap, prefix, p, d.plan, who, &m)
				if err != nil {
					return nil, err
				}
				files = append(files, more...)
			}
			files = append(files, ledger.File{Path: path, Content: m.JSON()})
			out = append(out, m)
		}
		return files, nil
	})
	return out, landed(written, err)
}

// recordApproval fills in under which approval the merge came: one of the plan
// recorded, or one of another plan of the pull request that covers it.
func (st *Stage) recordApproval(ctx context.Context, snap *ledger.Snapshot, prefix string, p Policy, plan StoredPlan, who *approvers, m *record.Merge) ([]ledger.File, error) {
	d, lines, err := decide(ctx, snap, prefix, st.query(p, m.Op, plan.Document.Digest), who)
	if err != nil {
		return nil, err
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
		return nil, nil
	}
	side, found, err := approvedSide(snap, prefix, approval.PlanDigest, approval.Sources)
	if err != nil {
		return nil, err
	}
	if !found || !coversAll(side, cover.Side{Doc: plan.Document, Sources: plan.Shown.Sources, Code: plan.Shown.Code}) {
		return nil, nil
	}
	approved := approval.PlanDigest
	m.Approved, m.Sources, m.Code = &approved, side.Sources, side.Code
	m.Approval = record.Approval{Status: "approved", ApprovedBy: []string{approval.ResolvedBy}}
	return nil, nil
}

// coversAll tells whether an approved document covers every member of a plan. A
// member that waits for a value is none of its business: no approval covers it,
// and it gets one of its own once what it reads is applied (pr-loop §8.1).
func coversAll(approved, fresh cover.Side) bool {
	for _, member := range fresh.Doc.Members {
		if slices.ContainsFunc(member.Holes, func(h changeset.Hole) bool { return h.Type == "input" }) {
			continue
		}
		if ok, _ := cover.PlanCoveredBy(approved, fresh, member.Member); !ok {
			return false
		}
	}
	return true
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
