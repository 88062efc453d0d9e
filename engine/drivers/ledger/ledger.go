// Package ledger reads and writes the orphan branch chant/lifecycle (pr-loop
// §1): append-only facts, pushed with a lease before the local branch moves. It
// knows how files are added and when a branch may be trusted, and nothing of
// what a line means.
package ledger

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// Branch is the ledger's branch.
const Branch = "chant/lifecycle"

const (
	localRef = "refs/heads/" + Branch
	// seenRef holds the last tip known to be on the remote, seenLocalRef the
	// last one of a ledger without a remote (pr-loop §1.5).
	seenRef      = "refs/chant/ledger-seen"
	seenLocalRef = "refs/chant/ledger-seen-local"
	// setAsideRef keeps what the local branch held when an operator accepted
	// another history.
	setAsideRef = "refs/chant/ledger-before-accept"
)

// ErrDiverged says that the local and the remote ledger each hold facts the
// other lacks. Nothing is read or written until an operator runs `chant ledger
// accept`.
var ErrDiverged = errors.New("the local and the remote ledger have diverged")

// ErrRewound says that the ledger no longer holds the last tip seen: the branch
// vanished, went back or was rewritten. Nothing is read or written until an
// operator runs `chant ledger accept`.
var ErrRewound = errors.New("the ledger does not hold the last tip seen")

// ErrContended says that other writers won every attempt; nothing was written.
var ErrContended = errors.New("the ledger kept moving under this write")

// Ledger is the lifecycle branch of one clone. Its methods may be called
// concurrently; use one Ledger per clone in a process, for that is what groups
// writes.
type Ledger struct {
	clone *git.Clone
	now   func() time.Time

	mu      sync.Mutex
	waiting []*request
	running bool // a goroutine is writing and will look at waiting again

	refs sync.Mutex // held from reading our refs to moving them

	appended, contended atomic.Int64

	// fault is called at named points of a write, in tests only.
	fault func(point string)
}

// Open returns the ledger of a clone; now stamps commits.
func Open(clone *git.Clone, now func() time.Time) *Ledger {
	return &Ledger{clone: clone, now: now, fault: func(string) {}}
}

// Counts tell how often this process wrote to the ledger, and how often another
// writer was faster and it had to decide again.
func (l *Ledger) Counts() (appended, contended int64) {
	return l.appended.Load(), l.contended.Load()
}

func (l *Ledger) remoteRef() string { return "refs/remotes/" + l.clone.Remote() + "/" + Branch }
