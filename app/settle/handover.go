package settle

import (
	"context"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
)

// handedFor is how long ago one job may have read what the next begins with.
const handedFor = 2 * time.Second

// handovers hold what one job read of a pull request for the one that follows a
// moment later in this process, so that it does not ask again what was just
// answered. Each is taken once; any other job, and one that had to wait, reads for
// itself.
type handovers[T any] struct {
	mu    sync.Mutex
	pulls map[string]handed[T]
}

type handed[T any] struct {
	what T
	at   time.Time
}

func handoverKey(repo engine.Repo, number int) string {
	return fmt.Sprintf("%s#%d", repo.Key(), number)
}

// give leaves what was read at a time, and drops what nobody took in time.
func (h *handovers[T]) give(repo engine.Repo, number int, what T, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pulls == nil {
		h.pulls = map[string]handed[T]{}
	}
	for key, old := range h.pulls {
		if at.Sub(old.at) > handedFor {
			delete(h.pulls, key)
		}
	}
	h.pulls[handoverKey(repo, number)] = handed[T]{what: what, at: at}
}

func (h *handovers[T]) take(repo engine.Repo, number int, now time.Time) (what T, found bool) {
	key := handoverKey(repo, number)
	h.mu.Lock()
	defer h.mu.Unlock()
	given, found := h.pulls[key]
	delete(h.pulls, key)
	return given.what, found && now.Sub(given.at) <= handedFor
}

// toPlan is what a settle read of a pull request right before it queued its plan,
// and found that it may be planned.
type toPlan struct {
	reading

	head chan struct{} // closed once the head was fetched, or could not be
}

// takePlan is the pull request of a wish as a settle handed it over, once its head
// was fetched. A head that somebody asked to be planned again has been read by
// nobody.
func (s *Settler) takePlan(ctx context.Context, site *usecase.Site, wish PlanWish) (reading, bool) {
	given, found := s.toPlan.take(site.Repo, wish.Number, s.Now())
	if !found || wish.Again || given.change.Head != wish.Head || given.change.BaseBranch != wish.BaseBranch {
		return reading{}, false
	}
	select {
	case <-given.head:
	case <-ctx.Done():
	}
	site.GoOn(wish.BaseBranch, nil)
	return given.reading, true
}

var commitPattern = regexp.MustCompile(`^[0-9a-f]{40}(?:[0-9a-f]{24})?$`)

// Expect says which head a delivery named, for the settle that follows to fetch
// while it reads the pull request: it saves time where it is right, and means
// nothing where it is not.
func (s *Settler) Expect(repo engine.Repo, number int, head string) {
	if commitPattern.MatchString(head) {
		s.expected.give(repo, number, head, s.Now())
	}
}

// fetchExpected begins to fetch the head that a delivery named, if one did; wait for
// it.
func (s *Settler) fetchExpected(ctx context.Context, site *usecase.Site, number int) (wait func()) {
	head, found := s.expected.take(site.Repo, number, s.Now())
	if !found {
		return func() {}
	}
	var all sync.WaitGroup
	all.Go(func() { _ = ahead(func() error { return site.FetchHead(ctx, number, head) })() })
	return all.Wait
}
