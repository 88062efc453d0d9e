package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/comments/note"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
)

// ActOptions are what approving and revoking have in common.
type ActOptions struct {
	Op       string `arg:"" optional:"" help:"Op of the gate, such as pr-12 or green-1a2b3c4d5e6f."`
	Gate     string `arg:"" optional:"" help:"Gate, such as pr-apply."`
	Member   string `placeholder:"MEMBER" help:"Workspace member the op belongs to. Default: the one its name ends in."`
	Approver string `placeholder:"WHO" help:"Who acts, such as github:alice. Default: the job's actor, else USER; without either it is required."`
	Actor    string `placeholder:"WHO" help:"The same; --approver wins."`
	URL      string `name:"url" placeholder:"URL" help:"Address that explains the act. Default: the pull request whose job this is."`
	Note     string `placeholder:"TEXT" help:"Words to keep with the act."`
}

// act is the part of a gate's line both acts share.
func (h *Host) act(o ActOptions, env, forge string) (gate.Act, error) {
	if o.Op == "" || o.Gate == "" {
		return gate.Act{}, errors.New("name the op and the gate, as in: chant approve pr-12 pr-apply --plan <digest>")
	}
	a := gate.Act{Op: o.Op, Gate: o.Gate, Env: env, By: o.Approver, Note: o.Note, URL: o.URL, Origin: "cli"}
	if a.By == "" {
		a.By = o.Actor
	}
	if strings.ContainsAny(a.By, "<>") {
		return a, fmt.Errorf("--approver: %q is no account; name yours in place of <you>, such as github:alice", a.By)
	}
	j, err := h.job(forge)
	if err != nil {
		return a, err
	}
	if a.By == "" {
		if a.By, err = h.person(j); err != nil {
			return a, err
		}
	}
	if a.URL == "" {
		a.URL = j.pullURL
	}
	return a, nil
}

// person is who acts when nobody says (pr-loop §3.5). A forge's login becomes
// the principal that reviews and approver lists name. Where §3.5 would write
// "unknown" we refuse: an approval of nobody would open a gate, and it could not
// be told later whose it was. Git's user is not taken: anybody can set it to any
// name.
func (h *Host) person(j job) (string, error) {
	if j.actor != "" {
		return j.repo.Instance.Principal(j.actor), nil
	}
	for _, name := range []string{"GITLAB_USER_LOGIN", "USER"} {
		if who := h.env(name); who != "" {
			return who, nil
		}
	}
	return "", errors.New("who acts cannot be told: name them with --approver, such as github:alice, or set GITHUB_ACTOR")
}

// memberOf is the workspace member an op belongs to: the one named, else the
// declared one its name ends in.
func memberOf(d *project.Declaration, op, flag string) (string, error) {
	for _, m := range d.Members {
		if m.Kind != "chant" || m.Dir == "." {
			continue
		}
		if m.Name == flag || flag == "" && ends(op, m.Name) {
			return m.Name, nil
		}
	}
	if flag != "" {
		return "", Misuse("--member %s is not declared in %s", flag, d.File)
	}
	return "", nil
}

func ends(op, member string) bool {
	if _, m, ok := project.PullOf(op); ok {
		return m == member
	}
	return strings.HasPrefix(op, "green-") && strings.HasSuffix(op, "-"+member)
}

// ApproveOptions are those of `chant approve` (pr-loop §3.5).
type ApproveOptions struct {
	ActOptions

	Env             string   `placeholder:"ENV" help:"Environment of the gate. Default: that of the plan which waits there, else the only one that declares the gate."`
	Forge           string   `placeholder:"FORGE" help:"Forge to ask whether the approval would count, and to refuse it here if not: github, gitlab or forgejo. Without it only the gate tells, later."`
	Plan            string   `placeholder:"DIGEST" help:"Full digest of the plan approved. Default: the one that waits at the gate."`
	From            string   `placeholder:"DIR" default:".chant/pr" help:"Report directory of the plan approved, such as the plan job's artifact: what was shown is recorded with the approval."`
	Role            []string `placeholder:"ROLE" help:"Role the approver claims. May be repeated."`
	Agent           bool     `help:"The approver is an agent; such an approval is recorded and opens no gate."`
	AllowSameOrigin bool     `help:"Record despite the same-origin rule, marked as such."`
}

// Approve appends an approval of exactly one plan to the ledger.
func Approve(ctx context.Context, h *Host, o ApproveOptions) error {
	if err := checkForge(o.Forge); err != nil {
		return err
	}
	act, err := h.act(o.ActOptions, o.Env, o.Forge)
	if err != nil {
		return err
	}
	in := usecase.HandApproval{Approval: gate.Approval{
		Act: act, Agent: o.Agent, Roles: o.Role, AllowSameOrigin: o.AllowSameOrigin,
	}}
	if o.Plan != "" {
		if in.Approval.Digest, err = digest.Parse(o.Plan); err != nil {
			return fmt.Errorf("--plan %q is not a full digest: want jcs1-sha256: and 64 hex digits, as the plan's note gives it", o.Plan)
		}
	}
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	in.Site = c.site
	if in.Declaration, err = c.atBase(ctx); err != nil {
		return err
	}
	if in.Member, err = memberOf(in.Declaration, act.Op, o.Member); err != nil {
		return err
	}
	if in.Document, in.Shown, err = h.shown(o.From); err != nil {
		h.warnf("what was shown cannot be recorded with the approval: %v", err)
	}
	done, err := (&usecase.Stage{Now: h.Now}).ApproveByHand(ctx, in)
	if refusal, ok := errors.AsType[*usecase.Refusal](err); ok {
		return &ExitError{Code: Failed, Err: refusal} // a refused approve is 1 (decision 17)
	}
	if err != nil {
		return err
	}
	h.sayf("approved %s at %s %s in %s by %s", done.Line.PlanDigest, done.Line.Op, done.Line.Gate, done.Line.Environment, done.Line.ResolvedBy)
	if nothing := note.CoversNothing(done.Holes, done.Members); nothing != "" {
		h.sayf("%s", strings.TrimSpace(nothing))
	}
	if !done.WithDocument && documented(act.Op, act.Gate) {
		h.warnf("%s holds no document of this plan, so the approval covers it only where it is planned exactly alike; give the plan's report with --from", o.From)
	}
	h.pushed(done.Written, c)
	return nil
}

// pushed says when a write stayed here.
func (h *Host) pushed(w ledger.Written, c *checkout) {
	switch {
	case w.Warning != "":
		h.warnf("%s", w.Warning)
	case c.site.Clone.Remote() == "":
		h.progress("local only: the checkout has no remote")
	}
}

// shown reads what a report directory shows of a plan; nothing when there is no
// such directory.
func (h *Host) shown(dir string) (*changeset.Document, usecase.Shown, error) {
	var shown usecase.Shown
	text, err := os.ReadFile(filepath.Join(h.path(dir), changeSet))
	if errors.Is(err, os.ErrNotExist) {
		return nil, shown, nil
	}
	if err != nil {
		return nil, shown, err
	}
	doc, err := changeset.Parse(text)
	if err != nil {
		return nil, shown, fmt.Errorf("%s: %w", changeSet, err)
	}
	text, err = os.ReadFile(filepath.Join(h.path(dir), shownFile))
	if err != nil {
		return nil, shown, err
	}
	if err := json.Unmarshal(text, &shown); err != nil {
		return nil, shown, fmt.Errorf("%s: %w", shownFile, err)
	}
	return doc, shown, nil
}

// RevokeOptions are those of `chant revoke` (decision 6).
type RevokeOptions struct {
	ActOptions

	Env   string `placeholder:"ENV" help:"Environment of the gate. Default: every one."`
	Forge string `placeholder:"FORGE" help:"Forge whose account revokes: github, gitlab or forgejo. Default: as the job's variables tell, else github."`
}

// Revoke takes back every approval of a gate, for good. Without an env it does
// so in every env.
func Revoke(ctx context.Context, h *Host, o RevokeOptions) error {
	if err := checkForge(o.Forge); err != nil {
		return err
	}
	act, err := h.act(o.ActOptions, o.Env, o.Forge)
	if err != nil {
		return err
	}
	c, err := h.open(ctx, o.Forge)
	if err != nil {
		return err
	}
	d, err := c.atBase(ctx)
	if err != nil {
		return err
	}
	member, err := memberOf(d, act.Op, o.Member)
	if err != nil {
		return err
	}
	// A command line acts now, whatever it acted on before at this address.
	act.URL = o.URL
	written, err := (&usecase.Stage{Now: h.Now}).Revoke(ctx, c.site, project.LedgerPrefix(member), act)
	if err != nil {
		return err
	}
	in := "every environment"
	if act.Env != "" {
		in = act.Env
	}
	h.sayf("revoked every approval of %s %s in %s by %s", act.Op, act.Gate, in, act.By)
	h.pushed(written, c)
	return nil
}
