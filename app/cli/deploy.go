package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/chant-bot/chant/app/reports"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// DeployOptions are those of what deploys components without a pull request.
type DeployOptions struct {
	Env    string `env:"CHANT_ENV" placeholder:"ENV" help:"Environment. Default: the only one declared, else local."`
	Member string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	Forge  string `placeholder:"FORGE" help:"Forge to read the approvers' permissions from: github, gitlab or forgejo."`
	JSON   bool   `name:"json" help:"Print the result as one line of JSON."`

	FollowOptions

	Run RunOptions `embed:""`
}

// deployment is a deployment in a checkout, with what is removed when it is over.
type deployment struct {
	*usecase.Deployment

	checkout *checkout
	commit   string
	env      string
	remove   func()
}

// openDeployment opens the checkout at a commit. The gates are those that the base
// branch declares (pr-loop §3.7). what is deployed is reported as that.
func (h *Host) openDeployment(ctx context.Context, o DeployOptions, rev string, what reports.Run) (*deployment, error) {
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return nil, err
	}
	commit, err := c.resolve(ctx, rev)
	if err != nil {
		return nil, err
	}
	t, err := h.deployTarget(ctx, c, o, commit)
	if err != nil {
		return nil, err
	}
	binds, err := c.atBase(ctx)
	if err != nil {
		return nil, err
	}
	stage, _, err := h.stage(ctx, c, o.Run, t.env)
	if err != nil {
		return nil, err
	}
	dir, remove, err := c.runDir()
	if err != nil {
		return nil, err
	}
	what.Repo, what.Env, what.Commit = c.name(), t.env, commit
	f := h.follow(ctx, o.FollowOptions, what)
	in := usecase.DeployInput{
		Site: c.site, Commit: commit, Member: t.member, Env: t.env, Binds: binds, Dir: dir, Progress: h.progress, Follow: f.deployed,
	}
	if o.ProgressJSON {
		in.Progress = nil
	}
	d := &deployment{checkout: c, commit: commit, env: t.env, remove: func() { f.wait(); remove() }}
	if d.Deployment, err = stage.OpenDeployment(ctx, in); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

// deployTarget finds env and member from the options and the commit's declaration.
func (h *Host) deployTarget(ctx context.Context, c *checkout, o DeployOptions, commit string) (target, error) {
	t := target{env: o.Env}
	var err error
	if t.declaration, err = c.site.Declaration(ctx, commit); err != nil {
		return t, err
	}
	if t.member, err = c.member(t.declaration, o.Member); err != nil {
		return t, err
	}
	return t, t.pickEnv()
}

// warn says what a person should know before components run.
func (d *deployment) warn(h *Host, names []string) {
	if d.AppliesOnMerge() {
		h.warnf("merges apply to %s by themselves too; what runs here is no part of their record", d.env)
	}
	for _, c := range d.Components() {
		for _, name := range names {
			if c.Name == name && len(c.Verify) > 0 {
				h.warnf("the verify phases of %s are not run by this version", name)
			}
		}
	}
}

// deployResult is a rollout as JSON (components §2.1).
type deployResult struct {
	Release          *releaseResult                     `json:"release,omitempty"`
	Plan             fanout.Plan                        `json:"plan"`
	Status           fanout.Status                      `json:"status"`
	Results          []usecase.ComponentResult          `json:"results"`
	Completed        []string                           `json:"completed"`
	Failed           []string                           `json:"failed"`
	Blocked          []fanout.Skip                      `json:"blocked"`
	ComponentOutputs map[string]map[string]digest.Value `json:"componentOutputs,omitzero"` // sensitive ones left out; of no promote
	Gate             *waitingAt                         `json:"gate,omitempty"`
	Waves            []fanout.Wave                      `json:"waves,omitempty"`
	Groups           []report.Group                     `json:"groups,omitempty"`
	Fallbacks        []report.Fallback                  `json:"fallbacks,omitempty"`
}

// waitingAt is a gate that is shut, with the line that opens it.
type waitingAt struct {
	usecase.GateAnswer

	Approve string `json:"approve"` // "" where no approval opens it
}

// ended is a rollout that is over.
type ended struct {
	options DeployOptions
	run     *fanout.Run
	out     usecase.Rollout
	from    string // directory of the plans that wait
	// plans are the directories of the plans that gates of components bind, by digest.
	plans   map[string]string
	release *releaseResult // of a promote
	waits   []waitingAt    // at gates of the whole, of rounds and of waves
	left    []string       // not reached, by what stops after a failure
	failure error
	what    string // what ran, for people
}

// finishDeploy says how a rollout ended and turns it into an exit code.
func (h *Host) finishDeploy(e ended) error {
	if e.failure != nil {
		e.out.Status = fanout.Fail
	}
	waiting := gatesOf(e)
	h.sayEnd(e, waiting)
	if e.options.JSON {
		result := deployResult{
			Release: e.release, Plan: e.run.Plan, Status: e.out.Status, Results: append([]usecase.ComponentResult{}, e.out.Results...),
			Completed: e.run.Of(fanout.OK), Failed: e.run.Of(fanout.Fail), Blocked: e.run.Blocked(),
			Waves: e.run.Waves(), Groups: e.out.Groups, Fallbacks: e.out.Fallbacks,
		}
		if e.release == nil {
			result.ComponentOutputs = e.run.Outputs()
		}
		if len(waiting) > 0 {
			result.Gate = &waiting[0]
		}
		if err := h.compact(result); err != nil {
			return errors.Join(e.failure, err)
		}
	}
	switch {
	case e.failure != nil:
		return e.failure
	case e.out.Status == fanout.Fail:
		h.progress(toGoOn(approvable(waiting)))
		return &ExitError{Code: Failed}
	case e.out.Status == fanout.Gated:
		if e.release == nil { // of which a wave may be over that has not opened all gates
			h.progress("to go on, run the same again after the approvals that are missing")
		}
		return &ExitError{Code: Refused}
	}
	return nil
}

// toGoOn is the next step of a run in which something failed. gates are those that an
// approval opens and that wait besides; the lines for them are said before.
func toGoOn(gates []string) string {
	if len(gates) == 0 {
		return "to go on, mend what failed and run the same again"
	}
	return "to go on, mend what failed, have " + strings.Join(gates, ", ") + " approved by the line given, and run the same again"
}

// approvable are the gates among those that wait that an approval opens.
func approvable(waiting []waitingAt) []string {
	var gates []string
	for _, w := range waiting {
		if w.Approve != "" {
			gates = append(gates, w.Op+" "+w.Gate)
		}
	}
	return gates
}

// refusedIsFailed keeps exit code 3 to a gate that waits: what can't be run at all has
// failed (components §2.1).
func refusedIsFailed(err error) error {
	if refusal, ok := errors.AsType[*usecase.Refusal](err); ok {
		return &ExitError{Code: Failed, Err: refusal}
	}
	return err
}

// compact writes a result as one line of JSON.
func (h *Host) compact(v any) error {
	enc := json.NewEncoder(h.Stdout)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

// gatesOf are the gates that keep something from running: that of the set or the wave,
// then the components' own.
func gatesOf(e ended) []waitingAt {
	waiting := slices.Clone(e.waits)
	at := func(g *usecase.GateAnswer, from string) {
		if g != nil {
			waiting = append(waiting, waitingAt{GateAnswer: *g, Approve: approveLine(*g, from)})
		}
	}
	if e.out.Waiting != nil {
		at(e.out.Gate, e.from)
	} else {
		at(e.out.Gate, "")
	}
	for _, r := range e.out.Results {
		if r.Gate != nil {
			at(r.Gate, e.plans[r.Gate.Digest.String()])
		}
	}
	return waiting
}

// approveLine opens a gate of a deployment, whole but for who approves: on a command line
// nobody else says so. from is the directory that holds what is approved, "" where the
// digest binds all of it.
func approveLine(g usecase.GateAnswer, from string) string {
	if g.Shut {
		return ""
	}
	line := fmt.Sprintf("chant approve %s %s --env %s --plan %s", g.Op, g.Gate, g.Env, g.Digest)
	if g.Member != "" {
		line += " --member " + g.Member
	}
	if from != "" {
		line += fromDir(from)
	}
	return line + " --approver <you>"
}

// changeLine opens a gate of a pull request or a green commit, with the plans that a
// directory holds. The approver stands last, as in every such line: a shell takes the
// placeholder for redirections, and would write to a file named as what follows it.
func changeLine(op, gateName string, d digest.Digest, from string) string {
	return report.CommentLine(op, gateName, d) + fromDir(from) + " --approver <you>"
}

// fromDir names the directory of what is approved, as a shell takes it.
func fromDir(dir string) string {
	plain := func(r rune) bool { return strings.ContainsRune("/._-", r) || unicode.IsLetter(r) || unicode.IsDigit(r) }
	if strings.ContainsFunc(dir, func(r rune) bool { return !plain(r) }) {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return " --from " + dir
}

// keepWaiting leaves the plans of a wave or round that waits where whoever approves
// finds them, for a look and for --from.
func (h *Host) keepWaiting(dir string, doc *changeset.Document, what usecase.Shown) error {
	shown, err := json.MarshalIndent(what, "", "  ")
	if err != nil {
		return fmt.Errorf("writing what waits: %w", err)
	}
	dir = h.path(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // an artifact's directory
		return fmt.Errorf("making the directory of what waits: %w", err)
	}
	for name, content := range map[string][]byte{changeSet: doc.JSON(), shownFile: append(shown, '\n')} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil { //nolint:gosec // an artifact
			return fmt.Errorf("writing what waits: %w", err)
		}
	}
	return nil
}

// readRecord reads an attempt record, nil where there is no file yet.
func (h *Host) readRecord(file string) (*fanout.Record, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(h.path(file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("--resume: %w", err)
	}
	record, err := fanout.ParseRecord(text)
	if err != nil {
		return nil, fmt.Errorf("--resume %s: %w", file, err)
	}
	return &record, nil
}

// saveRecord replaces an attempt record whole, so that whoever reads it meets an old
// or a new one and never a half. It holds outputs, so it is its owner's alone.
func (h *Host) saveRecord(file string) func(fanout.Record) error {
	if file == "" {
		return nil
	}
	return func(r fanout.Record) error {
		text, err := r.JSON()
		if err != nil {
			return err
		}
		path := h.path(file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a directory
			return fmt.Errorf("writing the attempt record: %w", err)
		}
		half := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
		if err := os.WriteFile(half, text, 0o600); err != nil {
			return fmt.Errorf("writing the attempt record: %w", err)
		}
		if err := os.Rename(half, path); err != nil {
			return fmt.Errorf("writing the attempt record: %w", err)
		}
		return nil
	}
}

// documented tells that the gates of an op bind plans that a report directory holds.
// Any other gate's digest binds all there is.
func documented(op, gate string) bool {
	return ofAChange(op) || op == usecase.FanOutOp && strings.Contains(gate, "-wave-")
}

// ofAChange tells the op of a pull request or a green commit from that of a
// deployment.
func ofAChange(op string) bool {
	_, _, pull := project.PullOf(op)
	return pull || strings.HasPrefix(op, "green-")
}
