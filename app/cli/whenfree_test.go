package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-bot/chant/engine/drivers/lease"
)

// holder is somebody who took a lease when the test began and says one thing more
// after a while, or nothing.
type holder struct {
	start    time.Time
	silent   time.Duration // 0: for ever
	releases bool
}

const ttl = 5 * time.Minute

// take is how Leases.Acquire answers somebody who looks for the first time.
func (o holder) take() error {
	passed := time.Since(o.start)
	held := &lease.Held{Key: "ci-apply/prod", Op: "apply-prod", Holder: "host:1:aaaaaaaa", ExpiresAt: "first", Dead: ttl - passed}
	switch {
	case o.silent > 0 && passed >= o.silent && o.releases, held.Dead <= 0:
		return nil
	case o.silent > 0 && passed >= o.silent:
		held.ExpiresAt = "renewed"
		held.Dead = ttl
	}
	return held
}

func TestALeaseIsWaitedForAsLongAsItsHolderIsSilent(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		holder holder
		waits  time.Duration
		taken  bool
	}{
		{"a holder that was killed", holder{}, ttl, true},
		{"a holder that renews lives", holder{silent: 95 * time.Second}, 100 * time.Second, false},
		{"a holder that ends", holder{silent: 42 * time.Second, releases: true}, 50 * time.Second, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var said bytes.Buffer
				h := &Host{Stderr: &said}
				tt.holder.start = time.Now()
				err := h.whenFree(t.Context(), tt.holder.take)
				_, held := errors.AsType[*lease.Held](err)
				if waited := time.Since(tt.holder.start); waited != tt.waits || (err == nil) != tt.taken || held == tt.taken {
					t.Errorf("waited %s, then %v", waited, err)
				}
				if got := said.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "taken over in 5m0s unless its holder gives a sign of life") {
					t.Errorf("said %q", got)
				}
			})
		})
	}
}

func TestAWaitForALeaseEndsWithTheCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		h := &Host{Stderr: new(bytes.Buffer)}
		if err := h.whenFree(ctx, holder{start: time.Now()}.take); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ended with %v", err)
		}
		other := errors.New("something else")
		if err := h.whenFree(t.Context(), func() error { return other }); !errors.Is(err, other) {
			t.Errorf("ended with %v", err)
		}
	})
}
