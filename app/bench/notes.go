package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// notes times how long a pull request waits for its note, over terraform by
// hand on the same roots, and counts what was written on the forge for it.
func notes(ctx context.Context, b *bench) error {
	sizes := []struct {
		roots, rounds int
		limit         float64
	}{{1, b.of(9, 2), 2.0}, {10, b.of(5, 2), 1.3}, {50, b.of(3, 1), 1.3}}
	w, err := newWorld(ctx, b, settings{roots: sizes[len(sizes)-1].roots, terraform: b.terraform})
	if err != nil {
		return err
	}
	defer w.close()
	var writes []float64
	for _, size := range sizes {
		if b.short && size.roots > 10 {
			continue
		}
		byHand, err := w.newRaw(b, size.roots)
		if err != nil {
			return err
		}
		round := 0
		ours := func() (float64, error) {
			round++
			w.forge.ResetCounts()
			took, err := w.timeNote(ctx, fmt.Sprintf("n%d-%d", size.roots, round), size.roots)
			writes = append(writes, w.written())
			return took.Seconds(), err
		}
		floor := func() (float64, error) {
			took, err := byHand.plan(ctx, fmt.Sprintf("value %d", round))
			return took.Seconds(), err
		}
		if _, err := ours(); err != nil { // the first one starts what later ones find running
			return err
		}
		taken, err := inTurn(size.rounds, ours, floor)
		if err != nil {
			return err
		}
		b.atMost(fmt.Sprintf("%d roots: delivery to note, of terraform by hand", size.roots), over(taken[0], taken[1]), size.limit, ratio)
		b.note(fmt.Sprintf("%d roots: delivery to note", size.roots), taken[0], " s")
	}
	b.atMost("writes on the forge, of those for one root", over(writes, repeat(writes[0], len(writes))), 1, ratio)
	b.note("writes on the forge", writes, "")
	return nil
}

// written counts what was written on the forge since the counts were reset;
// getting a token and git's own requests are not.
func (w *world) written() (n float64) {
	for request, times := range w.forge.Requests() {
		method, route, _ := strings.Cut(request, " ")
		switch {
		case method == "GET", method == "GIT", route == "/graphql", strings.HasSuffix(route, "/access_tokens"):
		default:
			n += float64(times)
		}
	}
	return n
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// timeNote opens a pull request over the first n roots and hands its delivery
// over when the server has nothing else to do.
func (w *world) timeNote(ctx context.Context, branch string, n int) (time.Duration, error) {
	opened := func(l letter) bool { return l.event() == "pull_request" }
	w.post.hold(opened)
	pr, err := w.change(branch, branch, n)
	if err != nil {
		return 0, err
	}
	if err := w.quiet(ctx); err != nil {
		return 0, err
	}
	w.post.hold(nil)
	begin := time.Now()
	for _, l := range w.post.fetch() {
		if _, err := w.post.hand(ctx, l); err != nil {
			return 0, err
		}
	}
	err = await(ctx, "the note of "+branch, func() (bool, error) { return w.noted(pr), nil })
	took := time.Since(begin)
	if err != nil {
		return 0, err
	}
	if err := w.quiet(ctx); err != nil {
		return 0, err
	}
	if got := w.repo.Status(pr.Head(), "chant/plan"); got.State != "success" {
		return 0, fmt.Errorf("the plan of %s is %s: %s", branch, got.State, got.Description)
	}
	return took, nil
}
