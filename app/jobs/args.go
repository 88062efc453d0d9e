// Package jobs is the queue's side of the use cases: what a job is called with,
// and one worker a kind that calls a use case and stores what it found. The
// queue only wakes us; what is to be done stands in the stores.
package jobs

import (
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/chant-bot/chant/engine"
)

// Queues. What plans and what applies has one each, so that neither keeps the
// other waiting, nor a note from being written. Draining the inbox has one, so that
// it waits for nothing and runs once at a time.
const (
	queueEvent  = "event"
	queueSettle = river.QueueDefault
	queuePlan   = "plan"
	queueApply  = "apply"
)

// while lists the states in which an equal job is not queued again. A finished
// one never stands in the way of a new one.
var while = []rivertype.JobState{
	rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRetryable,
	rivertype.JobStateRunning, rivertype.JobStateScheduled,
}

func once(queue string) river.InsertOpts {
	return river.InsertOpts{Queue: queue, UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: while}}
}

// EventArgs drains the inbox.
type EventArgs struct{}

// Kind implements river.JobArgs.
func (EventArgs) Kind() string { return "event" }

// SettleArgs settles one subject up to a generation.
type SettleArgs struct {
	RepoKey    string `json:"repo"`
	Subject    string `json:"subject"` // kind
	Name       string `json:"name"`
	Generation int64  `json:"generation"`
}

// Kind implements river.JobArgs.
func (SettleArgs) Kind() string { return "settle" }

// InsertOpts implements river.JobArgsWithInsertOpts. A newer generation is
// another job, so a fact that comes while a settle runs is never dropped.
func (SettleArgs) InsertOpts() river.InsertOpts { return once(queueSettle) }

// PlanArgs plans one head.
type PlanArgs struct {
	RepoKey    string `json:"repo"`
	Number     int    `json:"number"`
	Head       string `json:"head"`
	BaseBranch string `json:"baseBranch"`
	// Again plans though a plan exists.
	Again bool `json:"again,omitempty"`
}

// Kind implements river.JobArgs.
func (PlanArgs) Kind() string { return "plan" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (PlanArgs) InsertOpts() river.InsertOpts { return once(queuePlan) }

// RecordArgs records the merges of a branch up to its tip.
type RecordArgs struct {
	RepoKey string `json:"repo"`
	Branch  string `json:"branch"`
	Tip     string `json:"tip"`
}

// Kind implements river.JobArgs.
func (RecordArgs) Kind() string { return "record" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (RecordArgs) InsertOpts() river.InsertOpts { return once(queuePlan) }

// TickArgs judges the commits of a branch. It is not unique: a tick that runs
// may have read a check before it moved.
type TickArgs struct {
	RepoKey string `json:"repo"`
	Branch  string `json:"branch"`
}

// Kind implements river.JobArgs.
func (TickArgs) Kind() string { return "tick" }

// ApplyArgs applies the newest green commit of an environment.
type ApplyArgs struct {
	RepoKey string `json:"repo"`
	Branch  string `json:"branch"`
	Env     string `json:"env"`
	Member  string `json:"member,omitempty"`
	// Commit is the one that was found due, "" where somebody asked for an apply.
	Commit string `json:"commit"`
}

// asked tells an apply that a person asked for from one that was found due.
func (a ApplyArgs) asked() bool { return a.Commit == "" }

// Kind implements river.JobArgs.
func (ApplyArgs) Kind() string { return "apply" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (ApplyArgs) InsertOpts() river.InsertOpts { return once(queueApply) }

// WaitingArgs hands on the deliveries that wait for a repository.
type WaitingArgs struct {
	Instance engine.Instance `json:"instance"`
	RepoID   int64           `json:"repo"`
}

// Kind implements river.JobArgs.
func (WaitingArgs) Kind() string { return "waiting" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (WaitingArgs) InsertOpts() river.InsertOpts { return once(queueSettle) }

// CommandArgs reads one comment and runs its commands.
type CommandArgs struct {
	RepoKey string            `json:"repo" river:"unique"`
	Ref     engine.CommentRef `json:"ref" river:"unique"`
	// Delivery is the forge's id of what brought the comment, "" for a sweep.
	Delivery string `json:"delivery,omitempty"`
}

// Kind implements river.JobArgs.
func (CommandArgs) Kind() string { return "command" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (CommandArgs) InsertOpts() river.InsertOpts { return once(queueSettle) }

// UnreadArgs reads what was written on a pull request and nobody has read: a
// delivery hinted at it without naming it. It is not unique: one that runs may
// have looked before the last of it came.
type UnreadArgs struct {
	RepoKey string `json:"repo"`
	Number  int    `json:"number"`
	// Delivery is the forge's id of the one that hinted.
	Delivery string `json:"delivery"`
}

// Kind implements river.JobArgs.
func (UnreadArgs) Kind() string { return "unread" }

// SweepArgs looks at everything open again.
type SweepArgs struct{}

// Kind implements river.JobArgs.
func (SweepArgs) Kind() string { return "sweep" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (SweepArgs) InsertOpts() river.InsertOpts { return unhurried() }

// SweepRepoArgs looks at everything open in one repository, named as the
// allow-list names it.
type SweepRepoArgs struct {
	Name string `json:"name"`
}

// Kind implements river.JobArgs.
func (SweepRepoArgs) Kind() string { return "sweep-repo" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (SweepRepoArgs) InsertOpts() river.InsertOpts { return unhurried() }

// unhurried lets what somebody waits for go first.
func unhurried() river.InsertOpts {
	opts := once(queueSettle)
	opts.Priority = river.PriorityDefault + 3
	return opts
}

// How long one job may take before the queue gives it up. Children of a plan
// and an apply have bounds of their own.
const (
	settleTimeout = 5 * time.Minute
	planTimeout   = 2 * time.Hour
	applyTimeout  = 24 * time.Hour
)
