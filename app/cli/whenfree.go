package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chant-bot/chant/engine/drivers/lease"
)

// lookAgain is how often a lease that somebody holds is read.
const lookAgain = 10 * time.Second

// whenFree does what takes a lease, and waits for one whose holder gives no sign of
// life. A run that was killed leaves its lease behind, and a command that has just
// started can't know how long ago. Whoever lives renews it before it is taken for
// dead, which ends the wait.
func (h *Host) whenFree(ctx context.Context, do func() error) error {
	var first *lease.Held
	for {
		err := do()
		held, ok := errors.AsType[*lease.Held](err)
		switch {
		case !ok, held.Dead <= 0:
			return err
		case first == nil:
			first = held
			h.progress(fmt.Sprintf("%v; it is taken over in %s unless its holder gives a sign of life", held, held.Dead.Round(time.Second)))
		case held.Holder != first.Holder || held.ExpiresAt != first.ExpiresAt:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(held.Dead, lookAgain)):
		}
	}
}
