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
	var writes []float64
	for _, size := range sizes {
		if b.short && size.roots > 10 {
			continue
		}
		taken, cpu, written, err := b.noteOf(ctx, size.roots, size.rounds)
		if err != nil {
			return err
		}
		b.atMost(fmt.Sprintf("%d roots: delivery to note, of terraform by hand", size.roots), over(taken[0], taken[1]), size.limit, ratio)
		b.note(fmt.Sprintf("%d roots: delivery to note", size.roots), taken[0], " s")
		b.note(fmt.Sprintf("%d roots: processor time, of terraform by hand", size.roots), cpu, ratio)
		writes = append(writes, written...)
	}
	most := quantile(writes, 1)
	b.atMost("most writes on the forge, of those for one root", []float64{most / writes[0]}, 1, ratio)
	b.note("writes on the forge", writes, "")
	return nil
}

// noteOf measures pull requests over every root of a repository: seconds of
// ours and of terraform by hand, how much more processor time ours takes until
// all is quiet, and the writes on the forge.
func (b *bench) noteOf(ctx context.Context, roots, rounds int) (taken [][]float64, cpu, writes []float64, err error) {
	w, err := newWorld(ctx, b, settings{roots: roots, terraform: b.terraform})
	if err != nil {
		return nil, nil, nil, err
	}
	defer w.close()
	byHand, err := w.newRaw(b, roots)
	if err != nil {
		return nil, nil, nil, err
	}
	round, used := 0, 0.0
	ours := func() (float64, error) {
		round++
		w.forge.ResetCounts()
		took, processor, err := w.timeNote(ctx, fmt.Sprintf("note-%d", round), roots)
		writes, used = append(writes, w.written()), processor
		return took.Seconds(), err
	}
	floor := func() (float64, error) {
		_, before, err := processorTime("self")
		if err != nil {
			return 0, err
		}
		took, err := byHand.plan(ctx, fmt.Sprintf("value %d", round))
		if err != nil {
			return 0, err
		}
		_, after, err := processorTime("self")
		cpu = append(cpu, used/(after-before))
		return took.Seconds(), err
	}
	for range 2 { // the first ones start what later ones find running
		if _, err := ours(); err != nil {
			return nil, nil, nil, err
		}
	}
	taken, err = inTurn(rounds, ours, floor)
	return taken, cpu, writes, err
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

// timeNote opens a pull request over the first n roots and hands its delivery
// over when the server has nothing else to do. It returns how long the note took
// and the processor time of the server and its children.
func (w *world) timeNote(ctx context.Context, branch string, n int) (took time.Duration, processor float64, err error) {
	opened := func(l letter) bool { return l.event() == "pull_request" }
	w.post.hold(opened)
	pr, err := w.change(branch, branch, n)
	if err != nil {
		return 0, 0, err
	}
	if err := w.quiet(ctx); err != nil {
		return 0, 0, err
	}
	if w.noted(pr) {
		return 0, 0, fmt.Errorf("%s was planned before the server was told", branch)
	}
	w.post.hold(nil)
	ownBefore, childrenBefore, err := processorTime(w.server.pid())
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	for _, l := range w.post.fetch() {
		if _, err := w.post.hand(ctx, l); err != nil {
			return 0, 0, err
		}
	}
	err = w.await(ctx, "the note of "+branch, func() (bool, error) { return w.noted(pr), nil })
	took = time.Since(begin)
	if err != nil {
		return 0, 0, err
	}
	if err := w.quiet(ctx); err != nil {
		return 0, 0, err
	}
	ownAfter, childrenAfter, err := processorTime(w.server.pid())
	if err != nil {
		return 0, 0, err
	}
	if got := w.repo.Status(pr.Head(), "chant/plan"); got.State != "success" {
		return 0, 0, fmt.Errorf("the plan of %s is %s: %s", branch, got.State, got.Description)
	}
	return took, ownAfter + childrenAfter - ownBefore - childrenBefore, nil
}
