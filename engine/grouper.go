package engine

import (
	"context"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/report"
)

// Grouper plans several members as one and applies them as one, so that a value
// one of them makes reaches those that read it within the same apply (pr-loop
// §8.1, decision 9).
type Grouper interface {
	// PlanGroup makes one plan and saves it. Members that cannot be in the group
	// are its Fallbacks, with nothing planned. The error is as Planner's.
	PlanGroup(ctx context.Context, t GroupTarget, sink Sink) (PlannedGroup, error)
	// ApplyGroup applies exactly the saved plan, or refuses. The error is
	// reserved for "could not even try", as Applier's.
	ApplyGroup(ctx context.Context, p PlannedGroup, sink Sink) (GroupOutcome, error)
	// RecoverGroup ends what an apply that this process did not see end left
	// undone, and tells how it went: found is false when nothing was applied.
	RecoverGroup(ctx context.Context, p PlannedGroup) (out GroupOutcome, found bool, err error)
	// Unended are the applies of groups, of whatever a driver like this one applies
	// to, that did not give every member its state: those that are under way, and
	// those that nobody works on any more.
	Unended() ([]UnendedGroup, error)
	// Forget puts the journal of such an apply aside, of which somebody said that the
	// members' states are right without it.
	Forget(u UnendedGroup) error
}

// UnendedGroup is an apply of a group that did not end.
type UnendedGroup struct {
	Journal string // where its states are kept, for people
	Memo    []byte // as in its target
	Err     error  // why it can't be read; then there is no Memo
}

// GroupTarget is what the members of one group are planned from and applied to.
type GroupTarget struct {
	Group string `json:"group"` // its name, a word
	// Members come after those they read. They share one worktree that holds
	// every file, so without a Base, and one set of credentials.
	Members []GroupMember `json:"members"`
	// RunDir is a private directory of this run and group, outside the worktree.
	RunDir string `json:"runDir"`
	// Memo is kept while it is applied: what the caller needs to recover it.
	Memo []byte `json:"-"`
	// Ready is asked as Target.Ready is; those of the members are not.
	Ready func() error `json:"-"`
	// Begun is asked when what ends the apply after any crash is written to journal, and
	// before anything is applied: an error refuses the apply. Settled is called when every
	// member has its state, or nothing was applied, and before the journal is gone: an error
	// keeps that, and RecoverGroup calls it again. Either may be nil.
	Begun   func(journal string) error `json:"-"`
	Settled func() error               `json:"-"`
}

// GroupMember is one member of a group.
type GroupMember struct {
	Target Target `json:"target"` // its Vars without what Reads put there
	// Reads are the values that other members of the group give.
	Reads []GroupRead `json:"reads"`
	// After are members it has to follow without reading anything of them.
	After []string `json:"after"`
}

// GroupRead is one output of another member of the group, read.
type GroupRead struct {
	Member string `json:"member"`
	Output string `json:"output"` // dot path: the output, and keys in it
	// Path is where the value goes in the reader's Vars: the variable, then keys
	// and decimal indexes in it.
	Path []string `json:"path"`
}

// GroupFallback is a member that cannot be in its group, and why.
type GroupFallback struct {
	Member string              `json:"member"`
	Kind   report.FallbackKind `json:"kind"`
	Reason string              `json:"reason"` // a sentence for people
}

// PlannedGroup is one plan for several members, saved.
type PlannedGroup struct {
	Target GroupTarget `json:"target"`
	// Fallbacks are sorted by member. When there is any, nothing else is set.
	Fallbacks []GroupFallback `json:"fallbacks"`
	// Digest binds the plan of all members; it is each one's PlanDigest too.
	Digest    digest.Digest   `json:"digest"`
	Members   []PlannedMember `json:"members"`   // as in Target
	NoChanges bool            `json:"noChanges"` // as Planned's, for all of them
	// File and Hash are as Planned's.
	File   string `json:"file"`
	Hash   string `json:"hash"`
	Engine string `json:"engine"`
}

// PlannedMember is one member's part of a group's plan, in its own addresses.
type PlannedMember struct {
	Member    string             `json:"member"`
	Part      changeset.Part     `json:"-"` // as Planned's
	NoChanges bool               `json:"noChanges"`
	Code      terraform.RunsCode `json:"code"`
	Moves     []string           `json:"-"` // as Planned's
	// Changes are what the plan does to its resources, no-ops left out.
	Changes []PlannedChange `json:"changes"`
	// State is the digest of the state it was planned from: another one refuses
	// the apply.
	State digest.Digest `json:"state"`
	// Place names where that state is, as Planned.State does.
	Place string `json:"-"`
}

// PlannedChange is one resource change of a plan.
type PlannedChange struct {
	Address string           `json:"address"`
	Action  changeset.Action `json:"action"`
}

// GroupOutcome is how an apply of a group ended.
type GroupOutcome struct {
	// Unknown and Moved are as Outcome's, for the group's one apply.
	Unknown bool            `json:"unknown"`
	Moved   bool            `json:"moved"`
	Error   string          `json:"error"`   // for people; empty when every member ended well
	Members []MemberOutcome `json:"members"` // as in the target
	Fault   error           `json:"-"`       // as Outcome's
}

// MemberOutcome is how one member of a group ended.
type MemberOutcome struct {
	Member  string               `json:"member"`
	Status  report.OutcomeStatus `json:"status"`
	Error   string               `json:"error"` // for people; empty when it ended well
	Outputs map[string]Output    `json:"-"`     // that stand after it; secrets may be among them
}
