package settle

import (
	"context"
	"errors"
	"slices"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/command"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/forges"
)

// gateAt is a gate a comment can speak to: its plan, and what was shown of it.
type gateAt struct {
	policy   usecase.Policy
	prefix   string
	report   report.Report
	document *changeset.Document
	shown    usecase.Shown
	rule     *gate.ReviewRule
	pageURL  string
}

// place is where a comment stands.
type place struct {
	change engine.Change // zero for a commit comment
	gates  []gateAt
	under  []revocation // gates that the newest applies run or ran under
}

// candidates are the gates a comment can speak to: those of the open pull
// request it stands on, else those of the green commits that wait.
func (c *Commander) candidates(ctx context.Context, site *usecase.Site, ref engine.CommentRef) (place, error) {
	var at place
	if ref.Number > 0 {
		change, err := site.Forge.Change(ctx, site.Repo, ref.Number)
		if err != nil {
			return at, err
		}
		if at.change = change; change.State == engine.Open {
			at.gates, err = c.pullGates(ctx, site, change)
			return at, err
		}
	}
	runs, _, err := c.runsOf(ctx, site, ref)
	if err != nil {
		return at, err
	}
	for _, run := range runs {
		a := run.Apply
		for _, g := range a.Opened() {
			at.under = append(at.under, revocation{prefix: a.Prefix, Act: gate.Act{Op: a.Op, Gate: g.Gate, Env: a.Policy.Env.Name}})
		}
		waits, pass, ok := a.Waiting()
		if !ok {
			continue
		}
		// A later merge may have changed who approves, and the gate is decided by that.
		bound := *a
		if bound.Policy, err = c.PolicyNow(ctx, site, a); err != nil {
			return at, err
		}
		a = &bound
		rule, err := c.RuleAt(ctx, site, a, waits.Gate, pass.Set.Document)
		if err != nil {
			return at, err
		}
		rep := a.Report
		rep.Gate, rep.Digest = waits.Gate, waits.Digest
		at.gates = append(at.gates, gateAt{
			policy: a.Policy, prefix: a.Prefix, report: rep, document: pass.Set.Document, shown: pass.Set.Shown(),
			rule: rule, pageURL: c.runURL(run.ID),
		})
	}
	return at, nil
}

func (c *Commander) pullGates(ctx context.Context, site *usecase.Site, change engine.Change) ([]gateAt, error) {
	plans, err := c.Facts.Planned(ctx, site.Repo, change.Number, change.Head, change.BaseBranch)
	if err != nil || len(plans) == 0 {
		return nil, err
	}
	tip, err := site.TipOf(ctx, change.BaseBranch)
	if err != nil {
		return nil, unlessGone(err)
	}
	d, err := site.BoundFor(ctx, tip, change)
	if err != nil {
		return nil, err
	}
	var gates []gateAt
	for _, plan := range plans {
		policy, ok := c.policyFor(d.Declaration, change.BaseBranch, plan.Env)
		if !ok || plan.Report.Digest.IsZero() {
			continue
		}
		g := gateAt{policy: policy, prefix: project.LedgerPrefix(plan.Member), report: plan.Report, document: plan.Document, shown: plan.Shown, pageURL: c.planURL(plan.ID)}
		if policy.ReviewRules {
			if g.rule, err = site.ReviewRule(ctx, change, plan.Report.Base); err != nil {
				return nil, err
			}
		}
		gates = append(gates, g)
	}
	return gates, nil
}

// runsOf are the newest applies of the branch a comment belongs to: the base of
// its pull request, the default branch for a comment on a commit.
func (c *Commander) runsOf(ctx context.Context, site *usecase.Site, ref engine.CommentRef) (runs []KeptRun, branch string, err error) {
	if ref.Number > 0 {
		change, err := site.Forge.Change(ctx, site.Repo, ref.Number)
		if err != nil {
			return nil, "", err
		}
		branch = change.BaseBranch
	} else {
		_, info, err := site.Forge.Repository(ctx, site.Repo)
		if err != nil {
			return nil, "", err
		}
		branch = info.DefaultBranch
	}
	tip, err := site.TipOf(ctx, branch)
	if err != nil {
		return nil, branch, unlessGone(err)
	}
	d, err := site.BoundAt(ctx, tip)
	if err != nil {
		return nil, branch, err
	}
	for _, at := range d.Places(branch, c.DefaultEnv) {
		run, found, err := c.Facts.NewestRun(ctx, site.Repo, at.Env.Name, at.Member)
		if err != nil {
			return nil, branch, err
		}
		if found {
			runs = append(runs, run)
		}
	}
	return runs, branch, nil
}

// approve counts an approval of exactly the digest named, or says why not.
func (c *Commander) approve(ctx context.Context, site *usecase.Site, comment forges.Comment, cmd command.Command) (answer, error) {
	at, err := c.candidates(ctx, site, comment.Ref)
	if err != nil {
		return answer{}, err
	}
	g, refused := at.pick(cmd)
	if refused != nil {
		if refused.Kind == note.UnknownPlan {
			if older, err := c.older(ctx, site, at, cmd.Digest); err != nil {
				return answer{}, err
			} else if older {
				refused.Kind = note.OlderPlan
			}
		}
		return refusal(refused.Kind, *refused), nil
	}
	bare := note.Refused{Op: g.report.Op, Gate: g.report.Gate, Given: cmd.Digest, Now: g.report.Digest, RunURL: g.pageURL}
	if len(g.policy.Refuse) > 0 {
		bare.Names = g.policy.Refuse
		return refusal(note.Unenforced, bare), nil
	}
	principal := site.Repo.Instance.Principal(comment.Author.Login)
	who := site.Approvers(g.policy.Env, g.rule)
	if reason := who.Refuse(ctx, principal); who.Err != nil {
		return answer{}, who.Err
	} else if reason != "" {
		kind, about := g.kindOf(principal)
		bare.Names, bare.Forge = about, site.Repo.Instance
		return refusal(kind, bare), nil
	}
	kind, revoked, err := c.writeApproval(ctx, site, *g, comment, principal, cmd.Digest)
	if revoked != nil && revoked.ActedAt == "" {
		kind = note.RevokedByHand
		bare.Since, _ = revoked.RevokedBefore()
	}
	if err != nil || kind != "" {
		return refusal(kind, bare), err
	}
	if err := c.raise(ctx, site, at); err != nil {
		return answer{}, err
	}
	return answer{reply: c.acceptedReply(comment, cmd, *g), rule: "approval of the digest shown", digest: cmd.Digest}, nil
}

// acceptedReply is only words where the place takes no reaction, and where the
// approval opens less than it seems to.
func (c *Commander) acceptedReply(comment forges.Comment, cmd command.Command, g gateAt) string {
	if what := usecase.Withheld(g.document); what != "" {
		return note.Withheld(g.report.Op, g.report.Gate, what)
	}
	holes, members := usecase.HolesOf(g.document)
	if comment.Ref.Kind != engine.Review && (len(holes) == 0 || len(holes) < members) {
		return ""
	}
	return note.Approved(g.report.Op, g.report.Gate, cmd.Digest, holes, members)
}

// pick finds the one gate a command speaks to.
func (at place) pick(cmd command.Command) (*gateAt, *note.Refused) {
	if at.change.Number > 0 && at.change.State != engine.Open {
		if n, _, ok := project.PullOf(cmd.Op); ok && n == at.change.Number {
			if at.change.State == engine.Closed {
				return nil, &note.Refused{Kind: note.NotOpen}
			}
			return nil, at.line(note.MergedAlready)
		}
	}
	var named, matching []*gateAt
	for i := range at.gates {
		g := &at.gates[i]
		if cmd.Op != "" && (g.report.Op != cmd.Op || g.report.Gate != cmd.Gate) {
			continue
		}
		named = append(named, g)
		if !cmd.Digest.IsZero() && digest.Same(g.report.Digest, cmd.Digest) {
			matching = append(matching, g)
		}
	}
	switch {
	case len(named) == 0:
		return nil, at.line(note.NothingWaits)
	case cmd.Digest.IsZero():
		return nil, place{gates: deref(named)}.line(note.NoDigest)
	case len(matching) == 0:
		r := place{gates: deref(named)}.line(note.UnknownPlan)
		r.Given = cmd.Digest
		return nil, r
	case len(matching) > 1:
		// Two environments plan alike: an approval is of one of them.
		return nil, place{gates: deref(matching)}.line(note.Ambiguous)
	}
	return matching[0], nil
}

// line is a refusal that carries the line to copy where one gate waits.
func (at place) line(kind note.Kind) *note.Refused {
	r := &note.Refused{Kind: kind}
	if len(at.gates) > 0 {
		g := at.gates[0]
		r.Op, r.Gate, r.Now, r.RunURL = g.report.Op, g.report.Gate, g.report.Digest, g.pageURL
	}
	return r
}

func deref(gates []*gateAt) []gateAt {
	out := make([]gateAt, len(gates))
	for i, g := range gates {
		out[i] = *g
	}
	return out
}

// kindOf tells which rule keeps a principal from approving here, and whom or what it
// is about.
func (g gateAt) kindOf(principal string) (kind note.Kind, about []string) {
	rule := g.rule
	switch {
	case rule == nil || rule.Refuse(principal) == "":
		about = slices.Concat(append([][]string{g.policy.Env.Approvers}, g.policy.Env.AlsoApprovers...)...)
		if len(about) == 0 {
			return note.NoPermission, nil // taken away since the comment was begun with
		}
		return note.NotAnApprover, slices.Compact(slices.Sorted(slices.Values(about)))
	case rule.Wrote(principal):
		return note.WroteChange, []string{principal}
	case len(rule.Unresolved) > 0:
		return note.AuthorsUnknown, rule.Unresolved
	case len(rule.Unrecorded) > 0:
		return note.NotRecorded, rule.Unrecorded
	}
	return note.NoReview, nil
}

// older tells whether a digest is of an earlier plan of the pull request.
func (c *Commander) older(ctx context.Context, site *usecase.Site, at place, d digest.Digest) (bool, error) {
	for _, g := range at.gates {
		if g.report.PR == nil {
			continue
		}
		earlier, err := c.Facts.Earlier(ctx, site.Repo, *g.report.PR, g.policy.Env.Name, g.report.Member, g.report.Digest)
		if err != nil {
			return false, err
		}
		for _, k := range earlier {
			if digest.Same(k.Report.Digest, d) {
				return true, nil
			}
		}
	}
	return false, nil
}

// writeApproval appends the approval, with the document it approves, unless the
// same comment was counted before. A revocation that came after the comment was
// written refuses it, whatever came between (soundness I3).
func (c *Commander) writeApproval(ctx context.Context, site *usecase.Site, g gateAt, comment forges.Comment, principal string, d digest.Digest) (kind note.Kind, revoked *gate.Record, err error) {
	_, err = site.Ledger.Update(ctx, "Gate resolution record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		kind, revoked = "", nil
		lines, err := usecase.GateLines(snap, g.prefix, g.report.Op)
		if err != nil {
			return nil, err
		}
		for _, l := range lines {
			if l.IsResolution() && l.URL == comment.URL && digest.Same(l.PlanDigest, d) && l.Gate == g.report.Gate {
				return nil, nil
			}
		}
		if revoked = gate.RevokedSince(lines, g.report.Op, g.report.Gate, g.policy.Env.Name, stampOf(comment)); revoked != nil {
			kind = note.Revoked
			return nil, nil
		}
		files, sources, err := usecase.ApprovalFiles(g.prefix, g.document, g.shown)
		if err != nil {
			return nil, err
		}
		line, err := gate.NewResolution(gate.Approval{
			Act: gate.Act{
				Op: g.report.Op, Gate: g.report.Gate, Env: g.policy.Env.Name,
				By: principal, URL: comment.URL, Origin: "forge",
			},
			Digest: d, Sources: sources,
		}, lines, c.Now())
		if errors.Is(err, gate.ErrSkew) {
			kind = note.ClockAhead
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return append(files, ledger.File{Path: gate.Path(g.prefix, g.report.Op), Content: line.Line(), Append: true}), nil
	})
	return kind, revoked, err
}

// raise settles what an act can have changed.
func (c *Commander) raise(ctx context.Context, site *usecase.Site, at place) error {
	if at.change.Number == 0 {
		_, info, err := site.Forge.Repository(ctx, site.Repo)
		if err != nil {
			return err
		}
		return c.Next.Raise(ctx, site.Repo, BranchOf(info.DefaultBranch))
	}
	if err := c.Next.Raise(ctx, site.Repo, PullOf(at.change.Number)); err != nil {
		return err
	}
	return c.Next.Raise(ctx, site.Repo, BranchOf(at.change.BaseBranch))
}
