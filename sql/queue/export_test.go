package queue

import (
	"context"
	"time"
)

// ID is the name of a replica.
func (r *Replica) ID() string { return r.id }

// Beat is one beat.
func (r *Replica) Beat(ctx context.Context) error { return r.once(ctx) }

// BeatAfter is one beat of a process that last said that it lives at said.
func (r *Replica) BeatAfter(ctx context.Context, said time.Time) { r.beat(ctx, said) }
