package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// pushRate is how many pushes come each second; a push is two deliveries.
const pushRate = 50

// pushes makes pushes to a thousand pull requests and counts the planners that run
// meanwhile.
func pushes(ctx context.Context, b *bench) error {
	w, ran, err := b.countedWorld(ctx)
	if err != nil {
		return err
	}
	defer w.close()
	n := b.of(1000, 40)
	b.say("opening %d pull requests", n)
	c, err := w.newCrowd(ctx, n)
	if err != nil {
		return err
	}
	who := "a stand-in for terraform"
	if b.real {
		who = "terraform"
	}
	b.say("pushing to all of them, planned by %s", who)
	begin := time.Now()
	took, err := w.storm(ctx, c.pushes)
	if err != nil {
		return err
	}
	if err := w.quiet(ctx); err != nil {
		return err
	}
	b.atMost(fmt.Sprintf("%d pushes at %d/s: p99 of acknowledgement", n, pushRate), []float64{quantile(took, 0.99) * 1000}, 50, " ms")
	intervals, err := readRuns(ran)
	if err != nil {
		return err
	}
	b.atMost("planners at once, by "+who, []float64{float64(atOnce(intervals))}, pool, "")
	b.atMost("pushes not planned", []float64{float64(c.unplanned(w))}, 0, "")
	b.atMost("said twice", []float64{float64(c.twice(w))}, 0, "")
	b.note("first push to everything planned", []float64{time.Since(begin).Seconds()}, " s")
	return nil
}

// countedWorld is a world whose planner notes its runs in a file: terraform
// itself, or a stand-in.
func (b *bench) countedWorld(ctx context.Context) (w *world, ran string, err error) {
	dir, err := b.tempDir("planner")
	if err != nil {
		return nil, "", err
	}
	program, err := b.plannerIn(dir)
	if err != nil {
		return nil, "", err
	}
	s := settings{roots: 10, terraform: program, planEnv: map[string]string{}, logIn: planLog}
	if b.real {
		s.planEnv[planReal] = b.terraform
	}
	if w, err = newWorld(ctx, b, s); err != nil {
		return nil, "", err
	}
	return w, filepath.Join(w.state, plannersLog), nil
}

// plannersLog is where a world's planners note their runs.
const plannersLog = "planners.log"

// storm hands over pushes at the rate, whatever the answers do, and returns how
// long each acknowledgement took, in seconds.
func (w *world) storm(ctx context.Context, all []push) ([]float64, error) {
	ticker := time.NewTicker(time.Second / pushRate)
	defer ticker.Stop()
	took, errs := make([]float64, 2*len(all)), make([]error, 2*len(all))
	var answered sync.WaitGroup
	for i, p := range all {
		for j, l := range []letter{p.branch, p.pull} {
			answered.Go(func() {
				one, err := w.post.hand(ctx, l)
				took[2*i+j], errs[2*i+j] = one.Seconds(), err
			})
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	answered.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// moment is the start (+1) or end (-1) of a planner.
type moment struct {
	at    int64
	delta int
}

func readRuns(path string) ([]moment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []moment
	for line := range strings.Lines(string(data)) {
		m, what := moment{delta: 1}, ""
		if _, err := fmt.Sscanf(line, "%s %d", &what, &m.at); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		if what == "end" {
			m.delta = -1
		}
		out = append(out, m)
	}
	return out, nil
}

// atOnce is the most planners that ran at one time.
func atOnce(moments []moment) int {
	slices.SortFunc(moments, func(a, b moment) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return a.delta - b.delta
	})
	now, most := 0, 0
	for _, m := range moments {
		now += m.delta
		most = max(most, now)
	}
	return most
}
