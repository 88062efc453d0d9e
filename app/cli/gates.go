package cli

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/report"
)

// GatesOptions are those of `chant gates`.
type GatesOptions struct {
	JSON bool `name:"json" help:"Print a JSON document."`
}

// waitingGate is one gate that waits (components §6.2).
type waitingGate struct {
	Op          string        `json:"op"`
	Gate        string        `json:"gate"`
	Env         string        `json:"env,omitempty"`
	Member      string        `json:"member,omitempty"`
	Digest      digest.Digest `json:"digest"`
	Since       string        `json:"since"`
	ExpiresAt   string        `json:"expiresAt"`
	Description string        `json:"description,omitempty"`
	Approve     string        `json:"approve,omitempty"`
}

type waitingGates struct {
	Gates     []waitingGate `json:"gates"`
	Malformed int           `json:"malformed"` // lines of the ledger that were skipped
}

// notLooked says what is not listed: the ledger holds no line of a pull request
// before it is approved or merged.
const notLooked = "not looked at: open pull requests; the note of each has its plan and the line that approves it"

// Gates lists every gate that waits, by reading every gate file of the ledger.
func Gates(ctx context.Context, h *Host, o GatesOptions) error {
	c, err := h.open(ctx, "")
	if err != nil {
		return err
	}
	snap, err := c.site.Ledger.Snapshot(ctx)
	if err != nil {
		return err
	}
	all := waitingGates{Gates: []waitingGate{}}
	if err := h.waitingUnder(snap, "", "", &all); err != nil {
		return err
	}
	if o.JSON {
		return h.json(all)
	}
	for _, g := range all.Gates {
		what := g.Op + " " + g.Gate + inEnv(g.Env)
		if g.Description != "" {
			what += ": " + g.Description
		}
		h.sayf("%s", what)
		h.sayf("  plan %s, waits since %s, until %s", g.Digest, g.Since, g.ExpiresAt)
		h.sayf("  %s", g.Approve)
	}
	if len(all.Gates) == 0 {
		h.progress("no gate waits on the ledger")
	}
	h.progress(notLooked)
	if all.Malformed > 0 {
		h.warnf("%d lines of the ledger are not understood and were skipped", all.Malformed)
	}
	return nil
}

func inEnv(env string) string {
	if env == "" {
		return ""
	}
	return " in " + env
}

// waitingUnder collects the gates of one project and of the members below it.
func (h *Host) waitingUnder(snap *ledger.Snapshot, prefix, member string, all *waitingGates) error {
	files, err := snap.List(prefix + "_gates")
	if err != nil {
		return err
	}
	for _, file := range files {
		if !strings.HasSuffix(file, ".jsonl") {
			continue
		}
		data, _, err := snap.Read(prefix + "_gates/" + file)
		if err != nil {
			return err
		}
		lines, malformed := gate.ParseFile(data)
		all.Malformed += malformed
		for _, r := range gate.Waiting(lines, h.Now()) {
			all.Gates = append(all.Gates, waitingGate{
				Op: r.Op, Gate: r.Gate, Env: r.Environment, Member: member, Digest: r.PlanDigest,
				Since: r.Timestamp, ExpiresAt: r.ExpiresAt, Description: r.Description,
				Approve: h.approveLineOf(r, member),
			})
		}
	}
	members, err := snap.List(prefix + "_members")
	if err != nil {
		return err
	}
	for _, dir := range members {
		if name, isDir := strings.CutSuffix(dir, "/"); isDir {
			if err := h.waitingUnder(snap, prefix+"_members/"+dir, strings.TrimPrefix(member+"/"+name, "/"), all); err != nil {
				return err
			}
		}
	}
	return nil
}

// approveLineOf opens a gate that waits. The op of a pull request or a green commit
// says all there is to say; that of a deployment is the same in every env and member.
func (h *Host) approveLineOf(r gate.Record, member string) string {
	from := h.planDir(r.PlanDigest)
	if ofAChange(r.Op) {
		if from == "" || from == pullDir { // which approve takes by itself
			return report.CommandLine(r.Op, r.Gate, r.PlanDigest, "", false)
		}
		return changeLine(r.Op, r.Gate, r.PlanDigest, from)
	}
	if from == "" && documented(r.Op, r.Gate) {
		from = fanOutDir
	}
	return approveLine(usecase.GateAnswer{Op: r.Op, Gate: r.Gate, Env: r.Environment, Member: member, Digest: r.PlanDigest}, from)
}

// planDir is the directory in which a run left the plans of a digest, "" where none of
// the usual ones has them: what a gate binds does not tell whether it is of plans.
func (h *Host) planDir(d digest.Digest) string {
	for _, dir := range []string{pullDir, fanOutDir, releaseDir} {
		plans := os.DirFS(h.path(dir))
		below, _ := fs.Glob(plans, "*/"+changeSet) // the pattern is well formed
		for _, name := range append([]string{changeSet}, below...) {
			text, err := fs.ReadFile(plans, name)
			if err != nil {
				continue
			}
			doc, err := changeset.Parse(text)
			if err != nil {
				continue
			}
			set, _ := changeset.WaveDigest(doc.Members)
			if digest.Same(doc.Digest, d) || digest.Same(set, d) {
				return filepath.Join(dir, filepath.Dir(name))
			}
		}
	}
	return ""
}

// AcceptLedger takes the ledger as the remote has it now, after an operator
// looked at why it was refused (pr-loop §1.5).
func AcceptLedger(ctx context.Context, h *Host) error {
	c, err := h.open(ctx, "")
	if err != nil {
		return err
	}
	if err := c.site.Ledger.Accept(ctx); err != nil {
		return err
	}
	snap, err := c.site.Ledger.Snapshot(ctx)
	if err != nil {
		return err
	}
	if snap.Tip() == "" {
		h.sayf("accepted: %s does not exist", ledger.Branch)
		return nil
	}
	h.sayf("accepted: %s is at %s", ledger.Branch, snap.Tip())
	return nil
}
