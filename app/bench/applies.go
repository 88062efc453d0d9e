package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/chant-bot/chant/forges/forgetest"
)

// applies times an approved pull request from its merge to applied, over
// terraform by hand that plans and applies the same roots.
func applies(ctx context.Context, b *bench) error {
	const roots = 10
	w, err := newWorld(ctx, b, settings{roots: roots, terraform: b.terraform})
	if err != nil {
		return err
	}
	defer w.close()
	byHand, err := w.newRaw(b, roots)
	if err != nil {
		return err
	}
	round := 0
	ours := func() (float64, error) {
		round++
		took, err := w.timeApply(ctx, fmt.Sprintf("value-%d", round), roots)
		return took.Seconds(), err
	}
	floor := func() (float64, error) {
		took, err := byHand.apply(ctx, fmt.Sprintf("value-%d", round))
		return took.Seconds(), err
	}
	taken, err := inTurn(b.of(5, 1), ours, floor)
	if err != nil {
		return err
	}
	b.atMost("10 roots: merge to applied, of terraform by hand", over(taken[0], taken[1]), 4, ratio)
	b.note("10 roots: merge to applied", taken[0], " s")
	return nil
}

// timeApply has a change planned and approved, and hands over the deliveries of
// its merge and of its checks when the server has nothing else to do.
func (w *world) timeApply(ctx context.Context, value string, roots int) (time.Duration, error) {
	pr, err := w.approved(ctx, value, roots)
	if err != nil {
		return 0, err
	}
	w.post.hold(all)
	merge, err := pr.Merge("merge", w.alice)
	if err != nil {
		return 0, err
	}
	if _, err := w.repo.SetCheck(merge, "unit", "completed", "success"); err != nil {
		return 0, err
	}
	if err := w.forge.Quiesce(ctx); err != nil {
		return 0, err
	}
	w.post.hold(nil)
	begin := time.Now()
	for _, l := range w.post.fetch() {
		if _, err := w.post.hand(ctx, l); err != nil {
			return 0, err
		}
	}
	err = w.await(ctx, "the apply of "+value, func() (bool, error) {
		s := w.repo.Status(pr.Head(), "chant/apply")
		if s.State == "failure" || s.State == "error" {
			return false, fmt.Errorf("the apply is %s: %s", s.State, s.Description)
		}
		return s.State == "success" && strings.Contains(s.Description, "applied") && !strings.Contains(s.Description, "before the merge"), nil
	})
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	return took, w.quiet(ctx)
}

var approveLine = regexp.MustCompile(`(?m)^chant approve \S+ \S+ --plan jcs1-sha256:[0-9a-f]{64}$`)

// approved opens a pull request and approves its plan.
func (w *world) approved(ctx context.Context, value string, roots int) (*forgetest.Pull, error) {
	pr, err := w.change(value, value, roots)
	if err != nil {
		return nil, err
	}
	line := ""
	err = w.await(ctx, "the note of "+value, func() (bool, error) {
		for _, c := range w.repo.Comments(pr.Number) {
			if found := approveLine.FindString(c.Body); found != "" {
				line = found
			}
		}
		return line != "", nil
	})
	if err != nil {
		return nil, err
	}
	if _, err := w.forge.As(w.alice).Review(pr, "APPROVE", line); err != nil {
		return nil, err
	}
	err = w.await(ctx, "the approval of "+value, func() (bool, error) {
		for _, c := range w.repo.Comments(pr.Number) {
			if strings.Contains(c.Body, "Approved by") {
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	return pr, w.quiet(ctx)
}
