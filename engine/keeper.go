package engine

import "context"

// KeptState is a state that an apply of a member by itself left on one machine, since its
// backend did not take it.
type KeptState struct {
	ID     string // of this one alone: 12 hex digits
	Member string
	File   string // where it is on that machine, for people
}

// Keeper has every machine know of kept states: from the present state, what exists would
// be made again (soundness I12).
type Keeper interface {
	// Keep is called when a state is kept, and again whenever one is found that still is.
	Keep(ctx context.Context, s KeptState) error
	// Void tells that somebody answers for the present state: the file counts no more.
	Void(ctx context.Context, id string) (bool, error)
	// Stored is called when the present state is seen to hold what was kept, before the
	// file is gone. An error keeps the member from being planned.
	Stored(ctx context.Context, id string) error
}
