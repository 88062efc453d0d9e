package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// crash kills the server the moment it has acknowledged the last of many
// deliveries, and starts it again.
func crash(ctx context.Context, b *bench) error {
	var resumed []float64
	lost, twice := 0, 0
	for range b.of(3, 1) {
		w, _, err := b.countedWorld(ctx)
		if err != nil {
			return err
		}
		after, err := w.crash(ctx, b.of(100, 20))
		if err == nil {
			resumed = append(resumed, after.resumed.Seconds())
			lost, twice = lost+after.lost, twice+after.twice
		}
		w.close()
		if err != nil {
			return err
		}
	}
	b.atMost("start to the first job done", resumed, 2, " s")
	b.atMost("deliveries or plans lost", []float64{float64(lost)}, 0, "")
	b.atMost("said twice", []float64{float64(twice)}, 0, "")
	return nil
}

// aftermath is what a killed server left and the next one made of it.
type aftermath struct {
	resumed     time.Duration
	lost, twice int
}

// eachTold is how many deliveries tell of one push.
const eachTold = 5

func (w *world) crash(ctx context.Context, pulls int) (aftermath, error) {
	c, err := w.newCrowd(ctx, pulls)
	if err != nil {
		return aftermath{}, err
	}
	if err := w.tell(ctx, c); err != nil {
		return aftermath{}, err
	}
	if err := w.server.kill(); err != nil {
		return aftermath{}, err
	}
	var stored, done int
	if err := w.server.ask(ctx, "SELECT count(*) FROM deliveries", &stored); err != nil {
		return aftermath{}, err
	}
	const finished = "SELECT count(*) FROM river_job WHERE state = 'completed' AND kind <> 'sweep'"
	if err := w.server.ask(ctx, finished, &done); err != nil {
		return aftermath{}, err
	}
	begin := time.Now()
	if _, err := w.server.start(ctx); err != nil {
		return aftermath{}, err
	}
	err = w.await(ctx, "the first job after the crash", func() (bool, error) {
		var now int
		err := w.server.ask(ctx, finished, &now)
		return now > done, err
	})
	after := aftermath{resumed: time.Since(begin)}
	if err != nil {
		return after, err
	}
	if err := w.quiet(ctx); err != nil {
		return after, err
	}
	var kept int
	if err := w.server.ask(ctx, "SELECT count(*) FROM deliveries WHERE state <> 'pending'", &kept); err != nil {
		return after, err
	}
	after.lost = max(0, stored-kept) + max(0, pulls*eachTold-kept) + c.unplanned(w)
	after.twice = c.twice(w)
	return after, nil
}

// tell hands over every push several times, as deliveries of their own, and
// returns when all are acknowledged.
func (w *world) tell(ctx context.Context, c *crowd) error {
	errs := make([]error, len(c.pushes))
	var answered sync.WaitGroup
	for i, p := range c.pushes {
		answered.Go(func() {
			for n := range eachTold {
				if _, err := w.post.hand(ctx, p.pull.again(fmt.Sprintf("told-%d-%d", i, n))); err != nil {
					errs[i] = err
				}
			}
		})
	}
	answered.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
