// Package usecase holds the stages of the loop, one file a verb: plan, approve,
// record, tick, apply, promote, roll out. Each stage is written once and hosted
// twice, by the server's jobs and by the command line. A stage fetches, lets
// engine decide and acts; it decides nothing itself and knows neither the queue
// nor HTTP, nor what the server says of it (app/settle).
package usecase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/forges"
)

// Site is one repository as one stage sees it: make a new one for each. What it
// fetched or read of the ledger once is not fetched again, so a stage decides
// from one state; a step that must look again asks the ledger itself.
type Site struct {
	Repo   engine.Repo
	Clone  *git.Clone
	Ledger *ledger.Ledger
	Leases *lease.Leases
	// DefaultBranch is what envs that name no branch are on; empty where nobody
	// told, and then they are on any.
	DefaultBranch string
	// Forge is nil on a command line that was given none; stages that need to
	// read it then refuse, stages that only post leave it out.
	Forge forges.Forge
	// SharedAccount: we write as a person's own account, a token in place of an
	// app, so who wrote a comment does not tell ours from theirs.
	SharedAccount bool

	fetched   map[string]bool
	Bare      map[string]bool // markers of notes that nobody has written, when last looked
	snap      *ledger.Snapshot
	reviewers *[]string // of the pull request that is settled, once they were read
}

// Snapshot is the ledger as this stage first read it.
func (s *Site) Snapshot(ctx context.Context) (*ledger.Snapshot, error) {
	if s.snap == nil {
		snap, err := s.Ledger.Snapshot(ctx)
		if err != nil {
			return nil, err
		}
		s.snap = snap
	}
	return s.snap, nil
}

// CredentialKind tells the two sets of credentials apart (soundness, walls).
type CredentialKind string

// The two sets. A process that runs unapproved code never holds ForApply.
const (
	ForPlan  CredentialKind = "plan"
	ForApply CredentialKind = "apply"
)

// Credentials hands out KEY=VALUE pairs for a child. None configured means
// none: an empty list, no error.
type Credentials interface {
	For(ctx context.Context, repo engine.Repo, env string, kind CredentialKind) ([]string, error)
}

// Driver plans, applies and reads one kind of step.
type Driver interface {
	engine.Planner
	engine.Applier
	engine.OutputReader
}

// Drivers gives the driver of one repository and env: what it may write to and
// which runs exclude each other differ between them (soundness I4, I11).
type Drivers interface {
	// binary is what the project's configuration names, "" for the default. kind
	// is what the driver's runs hold: those that plan and those that apply share
	// nothing that one of them writes.
	For(repo engine.Repo, env, binary string, kind CredentialKind) (Driver, error)
}

// Stage is what the planning and applying stages share.
type Stage struct {
	Drivers     Drivers
	Credentials Credentials
	// Dir holds worktrees and runs, one directory each, private to us.
	Dir     string
	Version string // of this program, for documents
	// DefaultEnv names the env of a repository without x-bot.
	DefaultEnv string
	Now        func() time.Time
	NewID      func() string // for runs and tokens, unique
	// Fault keeps the text of an error that is not for people where an operator
	// finds it by the reference it returns.
	Fault func(context.Context, error) (ref string)
}

// Refusal is a decision not to go on, in words for people; the note, the
// status and the command line show it as it stands.
type Refusal struct{ Message string } //nolint:errname // reads as what it is

func (r *Refusal) Error() string { return r.Message }

// landed makes a write that stayed in a person's checkout an error, where what
// comes next may run elsewhere and rests on it (decisions 4 and 18).
func landed(w ledger.Written, err error) error {
	if err == nil && !w.Pushed && w.Warning != "" {
		return errors.New(w.Warning)
	}
	return err
}

// driverOf is the driver of one project in one env, for planning or applying.
func (st *Stage) driverOf(ctx context.Context, repo engine.Repo, env string, p project.Project, kind CredentialKind) (Driver, error) {
	binary := ""
	if p.Config != nil && p.Config.Terraform != nil {
		binary = p.Config.Terraform.Binary
	}
	driver, err := st.Drivers.For(repo, env, binary, kind)
	if err != nil {
		return nil, &Refusal{Message: st.Words(ctx, err)}
	}
	return driver, nil
}

// Refusef is a Refusal.
func Refusef(format string, args ...any) error {
	return &Refusal{Message: fmt.Sprintf(format, args...)}
}
