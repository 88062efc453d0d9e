package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Acquire takes a lease for ttl, DefaultTTL when not positive, MaxTTL at most. A live lease of
// anyone else, or one that this process holds already, is *Held. Whether
// another's lease is dead is judged by how long this Leases has seen it
// unchanged, so a first sight never takes it over. Who loses a race looks again. A lease that the remote does
// not hold is not taken: ErrRace, ErrPushRejected or git.ErrUnreachable.
func (l *Leases) Acquire(ctx context.Context, key, op string, ttl time.Duration) (*Lease, error) {
	if ttl <= 0 {
		ttl = DefaultTTL
	}
	if ttl > MaxTTL {
		return nil, fmt.Errorf("taking lease %s: %s is longer than %s", key, ttl, MaxTTL)
	}
	if err := checkKey(key); err != nil {
		return nil, err
	}
	if !l.reserve(key) {
		return nil, &Held{Key: key, Op: op, Holder: l.holder}
	}
	x, err := l.acquire(ctx, key, op, ttl)
	// Whoever was faster is seen to hold it as soon as its push has landed.
	for deadline := time.Now().Add(racePatience); errors.Is(err, ErrRace) && time.Now().Before(deadline) && pause(ctx) == nil; {
		x, err = l.acquire(ctx, key, op, ttl)
	}
	if err != nil {
		l.unreserve(key)
		return nil, err
	}
	return x, nil
}

func (l *Leases) acquire(ctx context.Context, key, op string, ttl time.Duration) (*Lease, error) {
	at, err := l.look(ctx, key)
	if err != nil {
		return nil, err
	}
	// A record of our own that no Lease of ours stands for is left from a push
	// whose answer was lost.
	if left := l.observe(key, at); left > 0 && at.record.Holder != l.holder {
		return nil, at.held(key, left)
	}
	now := l.clock.Wall()
	x := &Lease{leases: l, key: key, ttl: ttl, until: l.clock.Mono() + ttl, record: Record{
		Op: op, Holder: l.holder, Token: uuid.NewString(), AcquiredAt: stamp(now), ExpiresAt: stamp(now.Add(ttl)),
	}}
	oid, err := l.store(x.record)
	if err != nil {
		return nil, fmt.Errorf("taking lease %s: %w", key, err)
	}
	if err := l.put(ctx, key, at, oid); err != nil {
		return nil, fmt.Errorf("taking lease %s: %w", key, err)
	}
	return x, nil
}

func (l *Leases) store(r Record) (string, error) {
	data, err := r.encode()
	if err != nil {
		return "", err
	}
	return l.clone.WriteBlob(data)
}

func (at standing) held(key string, left time.Duration) *Held {
	return &Held{
		Key: key, Op: at.record.Op, Holder: at.record.Holder,
		Since: at.record.AcquiredAt, ExpiresAt: at.record.ExpiresAt, Dead: left,
	}
}

// Read returns the record that stands, dead or alive, nil when there is none.
// Reading is also how a holder comes to be known as dead (see Acquire).
func (l *Leases) Read(ctx context.Context, key string) (*Record, error) {
	at, err := l.look(ctx, key)
	if err != nil {
		return nil, err
	}
	l.observe(key, at)
	if at.oid == "" {
		return nil, nil //nolint:nilnil // no lease is an answer
	}
	if at.bad != nil {
		return nil, fmt.Errorf("reading lease %s: %w", key, at.bad)
	}
	return &at.record, nil
}

// Unlock removes the lease of a dead holder; a live one is *Held, and a lease
// that is not there is no error.
func (l *Leases) Unlock(ctx context.Context, key string) error {
	at, err := l.look(ctx, key)
	if err != nil {
		return err
	}
	if left := l.observe(key, at); left > 0 {
		return at.held(key, left)
	}
	if at.oid == "" {
		return nil
	}
	if err := l.put(ctx, key, at, ""); err != nil {
		return fmt.Errorf("unlocking %s: %w", key, err)
	}
	return nil
}

// Lease is one lease held by this process. Its methods may be called
// concurrently.
type Lease struct {
	leases *Leases
	key    string
	ttl    time.Duration

	mu     sync.Mutex
	record Record
	until  time.Duration // own monotonic time it is good until
	ended  bool
}

// own looks and makes sure that the lease is live and still this one.
func (x *Lease) own(ctx context.Context) (standing, error) {
	if err := x.live(); err != nil {
		return standing{}, err
	}
	at, err := x.leases.look(ctx, x.key)
	if err != nil {
		return standing{}, err
	}
	if err := x.same(at); err != nil {
		x.until = 0 // lost once is lost for good
		return at, err
	}
	return at, nil
}

// Live tells without asking the remote whether the lease was renewed in time
// and not found lost since; ErrLost says that nothing may start. It waits for a
// renewal that is under way.
func (x *Lease) Live() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.live()
}

func (x *Lease) live() error {
	if x.ended {
		return fmt.Errorf("lease %s: %w: it was released", x.key, ErrLost)
	}
	if x.leases.clock.Mono() >= x.until {
		return fmt.Errorf("lease %s: %w: it was not renewed in time", x.key, ErrLost)
	}
	return nil
}

func (x *Lease) same(at standing) error {
	switch {
	case at.oid == "":
		return fmt.Errorf("lease %s: %w: it is gone", x.key, ErrLost)
	case at.bad != nil || at.record.Holder != x.record.Holder || at.record.Token != x.record.Token:
		return fmt.Errorf("lease %s: %w: %s holds it", x.key, ErrLost, at.record.Holder)
	}
	return nil
}

// Renew moves the expiry on by the lease's ttl from now. It needs the lease
// live and own. A holder that can't renew starts no new step.
func (x *Lease) Renew(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, err := x.own(ctx)
	if err != nil {
		return err
	}
	wall, mono := x.leases.clock.Wall(), x.leases.clock.Mono()
	next := x.record
	next.RenewedAt, next.ExpiresAt = stamp(wall), stamp(wall.Add(x.ttl))
	oid, err := x.leases.store(next)
	if err != nil {
		return fmt.Errorf("renewing lease %s: %w", x.key, err)
	}
	if err := x.leases.put(ctx, x.key, at, oid); err != nil {
		if lost := x.lostTo(ctx, err); lost != nil {
			return lost
		}
		return fmt.Errorf("renewing lease %s: %w", x.key, err)
	}
	x.record, x.until = next, mono+x.ttl
	return nil
}

// lostTo tells, after a race, a lease that is gone from one that is still ours.
func (x *Lease) lostTo(ctx context.Context, race error) error {
	if !errors.Is(race, ErrRace) {
		return nil
	}
	at, err := x.leases.look(ctx, x.key)
	if err != nil {
		return nil //nolint:nilerr // the race is the error to report
	}
	return x.same(at)
}

// Release gives the lease back. After it this Lease is good for nothing,
// whatever the error; a lease that could not be removed ends by itself.
func (x *Lease) Release(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ended {
		return nil
	}
	x.ended = true
	defer x.leases.unreserve(x.key)
	at, err := x.leases.look(ctx, x.key)
	if err == nil {
		err = x.same(at)
	}
	if err == nil {
		err = x.leases.put(ctx, x.key, at, "")
	}
	if err != nil {
		return fmt.Errorf("releasing lease %s: %w", x.key, err)
	}
	return nil
}
