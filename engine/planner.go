package engine

import (
	"context"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/project"
)

// Target is what one member is planned from and applied to.
type Target struct {
	Member string `json:"member"` // change-set member, the root's name for terraform-apply
	// Root as declared; Root.Dir is relative to ProjectDir.
	Root       project.Root `json:"root"`
	ProjectDir string       `json:"projectDir"` // absolute directory of the project in the worktree
	Worktree   string       `json:"worktree"`   // absolute checkout root, the widest directory code may read
	// Base is the checkout that is seen at Worktree, read-only, in all but Own,
	// directories of the worktree as Planner.Own lists them: the worktree itself
	// then has only those. Without a Base it has every file.
	Base string   `json:"base"`
	Own  []string `json:"own"`
	// Vars are the step's variables with every reference resolved.
	Vars map[string]digest.Value `json:"vars"`
	// Secrets are the sensitive outputs of others among the values of Vars, to which
	// the planner's own code sees them as plain values: the part of a plan made with any
	// shows no attribute, and no line of it or of its apply shows one of them.
	Secrets []digest.Value `json:"-"`
	// Credentials are KEY=VALUE pairs of exactly one set, plan or apply, never
	// both (soundness, walls).
	Credentials []string `json:"credentials"`
	// RunDir is a private directory of this run and member outside the
	// worktree; saved plans and status files live there.
	RunDir string `json:"runDir"`
	// Apart are the declared roots whose states this one must not touch: with any,
	// a state that is not proven to be that of Root.Workspace alone is refused
	// before it is read or written (components decision 6).
	Apart []project.Root `json:"-"`
	// Made is called once the plan is saved and has only to be read, for whoever gets
	// ready for it meanwhile; it does not block. nil is nobody.
	Made func() `json:"-"`
	// Destroy plans the end of everything in the state.
	Destroy bool `json:"-"`
	// Ready is asked right before the process that applies starts, which may be
	// long after Apply was called: an error keeps it from starting and is what
	// Apply returns. nil is ready.
	Ready func() error `json:"-"`
	// Keeper is told of a state that no backend took; nil is nobody.
	Keeper Keeper `json:"-"`
}

// Planned is one member's plan, saved.
type Planned struct {
	Target Target `json:"target"`
	// Part is not kept with a plan that is stored: the document holds it, and a
	// member without a plan has none that reads.
	Part changeset.Part `json:"-"`
	// NoChanges is the planner's own word that there is nothing to apply
	// (terraform's detailed exit code 0).
	NoChanges bool `json:"noChanges"`
	// File is the saved plan outside the worktree and Hash its SHA-256 in hex;
	// an applier refuses a file whose hash differs.
	File string             `json:"file"`
	Hash string             `json:"hash"`
	Code terraform.RunsCode `json:"code"`
	// Moves are the outputs, or parts of them, that do not stand once it is applied: dot
	// paths without a value, as terraform.Moves has them. Only planning asks.
	Moves []string `json:"-"`
	// Engine is the tool and its version, "terraform 1.11.4"; part of the
	// member's source (pr-loop §5.11).
	Engine string `json:"engine"`
	// State names where the state is, the same for two plans where they share it. Of a
	// target that has Apart it says so in full.
	State string `json:"-"`
}

// Output is one output value standing now.
type Output struct {
	Value     digest.Value
	Sensitive bool
}

// Sink receives progress lines while a step runs, scrubbed of secrets.
type Sink func(line string)

// Told is an error in words meant for people: a planner's own, or what is wrong
// with what was declared. Any other error of a planner or applier is a fault of
// the machine it runs on; its text may name paths there and belongs in a log.
type Told struct{ Err error } //nolint:errname // reads as what it is

func (e *Told) Error() string { return e.Err.Error() }
func (e *Told) Unwrap() error { return e.Err }

// Tell makes an error one that people may read.
func Tell(err error) error { return &Told{Err: err} }

// Planner makes a plan and saves it. It changes nothing outside RunDir and the
// worktree. A plan that fails returns a *Told.
type Planner interface {
	// Own lists the directories of a checkout that code of a root may write to,
	// which each member therefore needs for itself: relative to the checkout, sorted,
	// none within another, each reached through no link. "." alone is all of it.
	// projectDir is the project's directory, relative too.
	Own(checkout, projectDir string, root project.Root) ([]string, error)
	// Parallel is how many members are worth starting at one time: more of them only
	// wait, each with files of its own. 0 is any number.
	Parallel() int
	Plan(ctx context.Context, t Target, sink Sink) (Planned, error)
	// Place names where the state of a target is, as Planned.State does, before it can be
	// planned: its Vars are not looked at. It is "" where even that can't be told yet.
	Place(ctx context.Context, t Target) (string, error)
}

// Outcome is how an apply ended.
type Outcome struct {
	// Unknown: the end of the step was not observed; it must not be repeated
	// from the same plan (soundness I6).
	Unknown bool
	// Moved: the target changed since the plan and nothing was applied.
	Moved   bool
	Error   string // for people; empty when applied
	Outputs map[string]Output
	// Fault is what stands behind Error and is not for people, nil for nothing.
	Fault error `json:"-"`
}

// Applier applies exactly one saved plan, or refuses. The returned error is
// reserved for "could not even try"; a failed apply is an Outcome.
type Applier interface {
	Apply(ctx context.Context, p Planned, sink Sink) (Outcome, error)
	// Recover tells how an apply that this process did not see end went:
	// found is false when none was started for the run directory.
	Recover(ctx context.Context, p Planned) (out Outcome, found bool, err error)
	// Keeps tells that the kept state by that id is here: nothing of its member is planned
	// then before it is where it belongs.
	Keeps(id string) (bool, error)
}

// OutputReader reads the outputs that stand now. A target that was never
// applied has none: an empty map, no error.
type OutputReader interface {
	// Declared are the outputs that a root's code declares, whatever stands, and whether it
	// declares them sensitive, by the files of a checkout; projectDir is relative to it. An
	// error is code that is not understood.
	Declared(checkout, projectDir string, root project.Root) (map[string]bool, error)
	Outputs(ctx context.Context, t Target) (map[string]Output, error)
}
