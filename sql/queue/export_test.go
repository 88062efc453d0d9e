package queue

import "context"

// ID is the name of a replica.
func (r *Replica) ID() string { return r.id }

// Beat is one beat.
func (r *Replica) Beat(ctx context.Context) error { return r.once(ctx) }

// Silent is what happens when the database was not reached for too long.
func (r *Replica) Silent() { r.silence() }
