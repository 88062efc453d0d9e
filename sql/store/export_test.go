package store

import "time"

// SetClock has the inbox take its time from now.
func (b *Inbox) SetClock(now func() time.Duration) { b.arrivals.now = now }

// SetLimit bounds the commits from now on. Call it between them.
func (b *Inbox) SetLimit(limit time.Duration) { b.limit = limit }

// Waiting is how many deliveries were handed over and are in no commit yet.
func (b *Inbox) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting)
}
