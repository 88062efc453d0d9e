package github

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestWritesAreMadeOneAfterTheOtherASecondApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(time.Second)
		start := time.Now()
		at := make(chan time.Duration, 4)
		writing := 0
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				end, err := p.begin(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if writing++; writing != 1 {
					t.Error("two writes at once")
				}
				at <- time.Since(start)
				time.Sleep(100 * time.Millisecond) // the request, on the bubble's clock
				writing--
				end()
			})
		}
		all.Wait()
		for i := range 4 {
			if got, want := <-at, time.Duration(i)*1100*time.Millisecond; got != want {
				t.Errorf("write %d began after %s, want %s", i, got, want)
			}
		}
	})
}

func TestWhoStopsWaitingTakesNoTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPacer(time.Second)
		end, err := p.begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		if _, err := p.begin(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		end()
		gone, stop := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer stop()
		if _, err := p.begin(gone); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v", err)
		}
		if _, err := p.begin(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOnlyGitHubsOwnHostsArePaced(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]time.Duration{
		"api.github.com": time.Second, "api.acme.ghe.com": time.Second, "ghes.example.com": 0, "127.0.0.1:8080": 0,
	} {
		if got := gapFor(host); got != want {
			t.Errorf("%s: %s", host, got)
		}
	}
}
