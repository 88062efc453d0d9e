package usecase

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/chant-bot/chant/engine"
)

// handedFor is how long ago a settle may have handed over what it read for the plan
// that it queued to begin with it.
const handedFor = 2 * time.Second

// handover is what a settle read of a pull request right before it queued its
// plan, and found that it may be planned.
type handover struct {
	change engine.Change
	at     time.Time
	head   chan struct{} // closed once the head was fetched, or could not be
}

// handovers are for the plan job that starts a moment later in this process, so
// that it does not ask again what was just answered. Each is taken once; any other
// job, and one that had to wait, reads for itself.
type handovers struct {
	mu    sync.Mutex
	pulls map[string]handover
}

func handoverKey(repo engine.Repo, number int) string {
	return fmt.Sprintf("%s#%d", repo.Key(), number)
}

// give leaves a handover, and drops those that nobody took in time.
func (h *handovers) give(repo engine.Repo, given handover) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.pulls == nil {
		h.pulls = map[string]handover{}
	}
	for key, old := range h.pulls {
		if given.at.Sub(old.at) > handedFor {
			delete(h.pulls, key)
		}
	}
	h.pulls[handoverKey(repo, given.change.Number)] = given
}

// take is the pull request of a wish as it was handed over, once its head was
// fetched. A head that somebody asked to be planned again has been read by nobody.
func (h *handovers) take(ctx context.Context, site *Site, wish PlanWish, now time.Time) (engine.Change, bool) {
	key := handoverKey(site.Repo, wish.Number)
	h.mu.Lock()
	given, found := h.pulls[key]
	delete(h.pulls, key)
	h.mu.Unlock()
	if !found || wish.Again || now.Sub(given.at) > handedFor || given.change.Head != wish.Head || given.change.BaseBranch != wish.BaseBranch {
		return engine.Change{}, false
	}
	select {
	case <-given.head:
	case <-ctx.Done():
	}
	site.isFetched(wish.BaseBranch)
	return given.change, true
}
