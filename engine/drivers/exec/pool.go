package exec

import "context"

// Pool bounds how many children run at one time over everything that shares
// it. A nil Pool bounds nothing.
type Pool struct{ slots chan struct{} }

// NewPool makes a pool of size slots; a size below one is one.
func NewPool(size int) *Pool { return &Pool{slots: make(chan struct{}, max(size, 1))} }

// Size is how many children may run at one time, 0 for any number.
func (p *Pool) Size() int {
	if p == nil {
		return 0
	}
	return cap(p.slots)
}

// Running is how many children run now.
func (p *Pool) Running() int { return len(p.slots) }

// Do runs f while holding a slot. It waits for one in order of arrival and
// returns the cause of ctx when that ends first.
func (p *Pool) Do(ctx context.Context, f func() error) error {
	if p == nil {
		return f()
	}
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() { <-p.slots }()
	return f()
}
