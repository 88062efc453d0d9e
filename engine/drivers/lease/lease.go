// Package lease keeps git-ref leases (pr-loop §9): one blob per key under
// refs/chant/lease, taken and moved by compare-and-swap on the remote.
package lease

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/drivers/git"
)

var errUnfinished = errors.New("lease: not built yet")

// Clock tells the wall time written into records, and a monotonic reading that
// no clock step moves.
type Clock struct {
	Wall func() time.Time
	Mono func() time.Duration
}

// Record is what the lease's blob holds.
type Record struct {
	Op         string `json:"op"`
	Holder     string `json:"holder"`
	Token      string `json:"token"`
	AcquiredAt string `json:"acquiredAt"`
	ExpiresAt  string `json:"expiresAt"`
}

// Held says that somebody else holds the lease.
type Held struct {
	Key, Op, Holder  string
	Since, ExpiresAt string
}

func (h *Held) Error() string {
	return fmt.Sprintf("lease %s is held by %s for %s since %s, until %s", h.Key, h.Holder, h.Op, h.Since, h.ExpiresAt)
}

// Leases are the leases of one clone.
type Leases struct{}

// Open returns the leases of a clone for one holder.
func Open(clone *git.Clone, holder string, clock Clock) *Leases { return &Leases{} }

// Acquire takes the lease.
func (l *Leases) Acquire(ctx context.Context, key, op string, ttl time.Duration) (*Lease, error) {
	return nil, errUnfinished
}

// Read returns the record that stands, nil when there is none.
func (l *Leases) Read(ctx context.Context, key string) (*Record, error) { return nil, errUnfinished }

// Unlock removes the lease of a dead holder.
func (l *Leases) Unlock(ctx context.Context, key string) error { return errUnfinished }

// Lease is one lease held by this process.
type Lease struct{}

// Token is the fencing token.
func (x *Lease) Token() string { return "" }

// Renew moves the expiry on.
func (x *Lease) Renew(ctx context.Context) error { return errUnfinished }

// Check reads the remote again.
func (x *Lease) Check(ctx context.Context) error { return errUnfinished }

// Release gives the lease back.
func (x *Lease) Release(ctx context.Context) error { return errUnfinished }
