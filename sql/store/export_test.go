package store

// Waiting is how many deliveries were handed over and are in no commit yet.
func (b *Inbox) Waiting() int { return len(b.queue) }
