// Package lease keeps git-ref leases (pr-loop §9): one blob per key under
// refs/chant/lease, taken and moved by compare-and-swap, the remote's word
// counting above the local copy's. A lease says who may start a step; it never
// ends one that runs.
package lease

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
)

// DefaultTTL is how long a lease is taken for unless the caller says otherwise.
const DefaultTTL = 5 * time.Minute

// MaxTTL is the longest a lease is taken for, and so the longest that a silent
// holder is respected. It is the length of a work lease.
const MaxTTL = 10 * time.Minute

// ErrRace says that somebody else took or moved the lease at the same moment.
var ErrRace = errors.New("the lease was taken at the same moment")

// ErrPushRejected says that the remote forbids the push of leases; nothing was
// taken.
var ErrPushRejected = errors.New("the remote refuses leases")

// ErrLost says that the lease is no longer this holder's, or that it was not
// renewed in time. No further step may start under it.
var ErrLost = errors.New("the lease is lost")

// Held says that a live holder has the lease.
//
//nolint:errname // an outcome that callers branch on, named as one
type Held struct {
	Key, Op, Holder  string
	Since, ExpiresAt string // as the holder wrote them
	// Dead is how long until the observer may take it for dead when the holder
	// says nothing more.
	Dead time.Duration
}

func (h *Held) Error() string {
	return fmt.Sprintf("lease %s is held by %s for %s since %s, until %s", h.Key, h.Holder, h.Op, h.Since, h.ExpiresAt)
}

// Clock tells the wall time written into records, and a monotonic reading that
// no clock step moves and that all judging goes by.
type Clock struct {
	Wall func() time.Time
	Mono func() time.Duration
}

// SystemClock is the machine's clock.
func SystemClock() Clock {
	start := time.Now()
	return Clock{Wall: time.Now, Mono: func() time.Duration { return time.Since(start) }}
}

// NewHolder names this process as a holder, "<host>:<pid>:<8 hex>".
func NewHolder() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming a lease holder: %w", err)
	}
	var id [4]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", fmt.Errorf("naming a lease holder: %w", err)
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), hex.EncodeToString(id[:])), nil
}

// Leases are the leases of one clone as one holder sees them. Its methods may
// be called concurrently. Use one Leases per process and clone: what it has
// seen of other holders is how it knows that they are dead.
type Leases struct {
	clone  *git.Clone
	holder string
	clock  Clock

	mu   sync.Mutex
	seen map[string]sighting
	mine map[string]bool // keys held or being acquired here
}

// sighting is since when a key's record has not changed.
type sighting struct {
	oid   string
	since time.Duration
}

// Open returns the leases of a clone for one holder (see NewHolder).
func Open(clone *git.Clone, holder string, clock Clock) *Leases {
	return &Leases{clone: clone, holder: holder, clock: clock, seen: map[string]sighting{}, mine: map[string]bool{}}
}

// observe notes a key's record and returns how long until it counts as dead, by
// our own monotonic clock since we first saw it unchanged: neither clock's wall
// time decides.
func (l *Leases) observe(key string, at standing) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Mono()
	if s, known := l.seen[key]; !known || s.oid != at.oid {
		l.seen[key] = sighting{oid: at.oid, since: now}
	}
	if at.oid == "" {
		return 0
	}
	return at.record.ttl() - (now - l.seen[key].since)
}

// reserve makes sure that this process takes a key once.
func (l *Leases) reserve(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mine[key] {
		return false
	}
	l.mine[key] = true
	return true
}

func (l *Leases) unreserve(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.mine, key)
}
