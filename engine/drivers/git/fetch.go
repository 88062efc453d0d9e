package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Fetch brings the given refspecs from the remote, forgetting what is gone
// there where a refspec is a pattern. Without refspecs it brings all branches,
// into refs/remotes/<remote>, and the ci tags. Fetches of a clone run one at a
// time; callers that wait for the same refspecs share the next one, which
// starts after they asked. When the remote's refs are what they
// were before the last fetch of the same refspecs, nothing is fetched. A ref
// that is not there is ErrUnknownRevision.
func (c *Clone) Fetch(ctx context.Context, refspecs ...string) error {
	if c.remote == "" {
		return errors.New("fetching: the repository has no remote")
	}
	if len(refspecs) == 0 {
		refspecs = []string{"+refs/heads/*:refs/remotes/" + c.remote + "/*", ciTagRefspec}
	}
	asked, moved := c.ask(ctx, refspecs)
	if !moved {
		return nil
	}
	return c.fetches.do(ctx, asked.key(refspecs), func(ctx context.Context) error {
		return c.fetchMoved(ctx, refspecs, asked)
	})
}

// FetchCommit brings a commit into ref, unless it is here when its turn comes: a
// fetch before it may have brought it under another name. The commit is asked for by
// its id, for which git needs no list of refs; where the remote gives only what it
// lists, source is the ref that holds it there.
func (c *Clone) FetchCommit(ctx context.Context, commit, source, ref string) error {
	if c.remote == "" {
		return errors.New("fetching: the repository has no remote")
	}
	return c.fetches.do(ctx, commit+" "+source, func(ctx context.Context) error {
		if _, err := c.Resolve(ctx, commit+"^{commit}"); err == nil {
			return nil
		}
		err := c.fetch(ctx, []string{"+" + commit + ":" + ref})
		if errors.Is(err, ErrUnknownRevision) {
			err = c.fetch(ctx, []string{"+" + source + ":" + ref})
		}
		return err
	})
}

func (c *Clone) fetch(ctx context.Context, refspecs []string) error {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}
	if slices.ContainsFunc(refspecs, func(spec string) bool { return strings.HasSuffix(spec, "*") }) {
		args = append(args, "--prune")
	}
	res, err := c.run(ctx, call{args: append(append(args, "--", c.remote), refspecs...), remote: true})
	if err == nil {
		err = failure("git fetch", res)
	}
	if err != nil {
		return fmt.Errorf("fetching %s: %w", strings.Join(refspecs, " "), err)
	}
	return nil
}

// fetchQueue runs fetches one at a time and lets callers share those that have
// not started.
type fetchQueue struct {
	turn    chan struct{}
	mu      sync.Mutex
	waiting map[string]*fetchCall
}

// fetchCall is one fetch to come, or running.
type fetchCall struct {
	callers int
	cancel  context.CancelFunc
	done    chan struct{}
	err     error
}

func newFetchQueue() *fetchQueue {
	return &fetchQueue{turn: make(chan struct{}, 1), waiting: map[string]*fetchCall{}}
}

// do joins the fetch of that key that has not started yet, or queues one. When
// every caller of a fetch has left, it is stopped.
func (q *fetchQueue) do(ctx context.Context, key string, fetch func(context.Context) error) error {
	q.mu.Lock()
	call := q.waiting[key]
	if call == nil {
		run, cancel := context.WithCancel(context.WithoutCancel(ctx))
		call = &fetchCall{cancel: cancel, done: make(chan struct{})}
		q.waiting[key] = call
		go q.run(run, key, call, fetch)
	}
	call.callers++
	q.mu.Unlock()

	select {
	case <-call.done:
		return call.err
	case <-ctx.Done():
		q.leave(key, call)
		return fmt.Errorf("waiting for a fetch: %w", context.Cause(ctx))
	}
}

func (q *fetchQueue) run(ctx context.Context, key string, call *fetchCall, fetch func(context.Context) error) {
	defer close(call.done)
	defer call.cancel()
	select {
	case q.turn <- struct{}{}:
	case <-ctx.Done():
		call.err = ctx.Err()
		return
	}
	defer func() { <-q.turn }()
	q.forget(key, call) // whoever asks from here on may have seen later things
	call.err = fetch(ctx)
}

func (q *fetchQueue) leave(key string, call *fetchCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	call.callers--
	if call.callers > 0 {
		return
	}
	if q.waiting[key] == call {
		delete(q.waiting, key)
	}
	call.cancel()
}

func (q *fetchQueue) forget(key string, call *fetchCall) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting[key] == call {
		delete(q.waiting, key)
	}
}
