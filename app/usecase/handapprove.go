package usecase

import (
	"context"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// HandApproval is an approval a person gives by hand, outside a forge's comment.
type HandApproval struct {
	Site *Site
	// Declaration is the one that binds: read at base, never from the change.
	Declaration *project.Declaration
	Member      string // workspace member the op belongs to
	// Approval says what is approved, and by whom. Without a digest it is the
	// standing fact's; without an env the standing fact's, else that of the only
	// env that declares the gate (pr-loop §3.5).
	Approval gate.Approval
	// Document and Shown are what the approver was shown. Without them the
	// approval opens the gate that binds its digest and covers nothing else.
	Document *changeset.Document
	Shown    Shown
}

// HandApproved is an approval that was written.
type HandApproved struct {
	Line    gate.Record
	Written ledger.Written
	// WithDocument: what was approved stands on the ledger beside the line.
	WithDocument bool
	// Holes are those of the document's Members that read what has no value yet.
	Holes   []string
	Members int
}

// ApproveByHand appends one approval. A *Refusal means that nothing was written
// and why.
func (st *Stage) ApproveByHand(ctx context.Context, in HandApproval) (HandApproved, error) {
	var out HandApproved
	prefix, seen := project.LedgerPrefix(in.Member), -1
	written, err := in.Site.Ledger.Update(ctx, "Gate resolution record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		out = HandApproved{}
		lines, err := GateLines(snap, prefix, in.Approval.Op)
		if err != nil {
			return nil, err
		}
		if seen < 0 {
			seen = len(lines)
		}
		approval, err := in.complete(lines)
		if err != nil {
			return nil, err
		}
		// No forge says when a person acted on a command line: they did before
		// whatever came onto the ledger while this was being written (pr-loop §1.5).
		if r := gate.RevokedSince(lines[min(seen, len(lines)):], approval.Op, approval.Gate, approval.Env, time.Time{}); r != nil {
			return nil, Refusef("%s %s was revoked by %s while the approval was being written, so it was not recorded; approve again if the plan is right after all", approval.Op, approval.Gate, r.RevokedBy)
		}
		in.Site.snap = snap // what is read to judge the approver is read of this
		if err := st.allowed(ctx, in, approval); err != nil {
			return nil, err
		}
		var files []ledger.File
		if in.Document != nil && in.Document.Verify() && bindsDocument(in.Document, approval.Digest) {
			if files, approval.Sources, err = ApprovalFiles(prefix, in.Document, in.Shown); err != nil {
				return nil, err
			}
			out.WithDocument = len(files) > 1 // the document is left out where a secret shows in it
			out.Holes, out.Members = HolesOf(in.Document)
		}
		if out.Line, err = gate.NewResolution(approval, lines, st.Now()); err != nil {
			return nil, &Refusal{Message: err.Error()}
		}
		return append(files, ledger.File{Path: gate.Path(prefix, approval.Op), Content: out.Line.Line(), Append: true}), nil
	})
	out.Written = written
	return out, err
}

// bindsDocument tells that a digest is the document's, or, as a wave's gate has it,
// that of the set of its members (decision 14).
func bindsDocument(doc *changeset.Document, d digest.Digest) bool {
	set, err := changeset.SetDigest(doc.Members)
	return digest.Same(doc.Digest, d) || err == nil && digest.Same(set, d)
}

// complete fills in what the person left to the ledger.
func (in HandApproval) complete(lines []gate.Record) (gate.Approval, error) {
	a := in.Approval
	var standing *gate.Record
	for i, l := range lines {
		if !l.IsResolution() && l.Gate == a.Gate && (a.Env == "" || l.Environment == "" || l.Environment == a.Env) {
			standing = &lines[i]
		}
	}
	if a.Digest.IsZero() {
		if standing == nil || standing.PlanDigest.IsZero() {
			return a, Refusef("no plan waits at %s %s and none was named; add --plan <digest> as the plan's note gives it", a.Op, a.Gate)
		}
		a.Digest = standing.PlanDigest
	}
	if a.Env == "" && standing != nil {
		a.Env = standing.Environment
	}
	if a.Env == "" {
		a.Env = in.onlyEnv()
	}
	if a.Env == "" {
		return a, Refusef("which environment %s %s is of cannot be told; add --env", a.Op, a.Gate)
	}
	return a, nil
}

// onlyEnv is the env that alone declares the gate, "" when none or several do.
func (in HandApproval) onlyEnv() string {
	only := ""
	for _, e := range in.Declaration.Envs("") {
		if e.Gate != in.Approval.Gate || e.Name == "" {
			continue
		}
		if only != "" {
			return ""
		}
		only = e.Name
	}
	return only
}

// allowed refuses an approval that could not count, by what a comment is refused by. The
// gate decides again, with the forge as it stands then.
func (st *Stage) allowed(ctx context.Context, in HandApproval, a gate.Approval) error {
	for _, e := range in.Declaration.Envs(a.Env) {
		if e.Name != a.Env {
			continue
		}
		if names := e.Unenforced(in.Declaration, a.Gate); len(names) > 0 {
			return &Refusal{Message: report.NotEnforcedMessage(names)}
		}
		rule, err := st.handRule(ctx, in, e, a)
		if err != nil || in.Site.Forge == nil {
			return err
		}
		who := in.Site.Approvers(e, rule)
		reason := who.Refuse(ctx, a.By)
		if who.Err != nil {
			return who.Err
		}
		if reason != "" {
			return Refusef("not recorded, as it would not count: %s. %s", reason, report.SomebodyElse)
		}
	}
	return nil
}

// PullApproval reads how the gate of a planned pull request stands, for a host
// that keeps no plans. pull gives the pull request as the forge shows it, or why that is
// not known; it is asked under the review rule only.
func (st *Stage) PullApproval(ctx context.Context, site *Site, plan PullPlan, pull func() (engine.Change, error)) (report.Approval, error) {
	pending := report.Approval{Status: report.Pending}
	snap, err := site.Ledger.Snapshot(ctx)
	if err != nil {
		return pending, err
	}
	var rule *gate.ReviewRule
	if plan.Policy.ReviewRules {
		change, err := pull()
		if err != nil {
			return pending, err
		}
		if rule, err = site.ReviewRule(ctx, change, plan.Report.Base); err != nil {
			return pending, err
		}
	}
	who := site.Approvers(plan.Policy.Env, rule)
	d, _, err := Decide(ctx, snap, project.LedgerPrefix(plan.Member), st.Query(plan.Policy, plan.Report.Op, plan.Report.Digest), who)
	if err != nil {
		return pending, err
	}
	return ApprovalOf(d), nil
}

// Revoke appends a revocation. Doing it again with the same address writes
// nothing.
func (st *Stage) Revoke(ctx context.Context, site *Site, prefix string, act gate.Act) (ledger.Written, error) {
	return site.Ledger.Update(ctx, "Pending gate record", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		lines, err := GateLines(snap, prefix, act.Op)
		if err != nil {
			return nil, err
		}
		if gate.Revoked(lines, act) {
			return nil, nil
		}
		line, err := gate.NewRevocation(act, lines, st.Now())
		if err != nil {
			return nil, err
		}
		return []ledger.File{{Path: gate.Path(prefix, act.Op), Content: line.Line(), Append: true}}, nil
	})
}
