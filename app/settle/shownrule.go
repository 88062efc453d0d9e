package settle

import (
	"context"
	"sync"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/gate"
)

// shownRule is the review rule of an open pull request, and who judges by it what
// is shown. Nothing hangs on it but the note and the statuses: who wrote a head is
// remembered, and reviews are read when there is an approval to judge. Whoever
// writes an approval, records a merge or applies reads both anew (reviewRule).
func (s *Settler) shownRule(ctx context.Context, site *usecase.Site, change engine.Change, p usecase.Policy, base string) (*gate.ReviewRule, *usecase.Approvers, error) {
	if !p.ReviewRules {
		return nil, site.Approvers(p.Env, nil), nil
	}
	authors, err := s.wrote.authors(ctx, site, change, base)
	if err != nil {
		return nil, nil, err
	}
	rule, who := site.ApproversOf(p.Env, change.Number, authors)
	return rule, who, nil
}

// mostWritten is how many pull requests' authors are remembered.
const mostWritten = 1000

// written remembers who wrote the heads that are open. A head is what it is; which
// account an address belongs to may change, which an apply would see.
type written struct {
	mu   sync.Mutex
	seen map[string]headAuthors // by handoverKey
}

type headAuthors struct {
	head, base string
	authors    []string
}

func (w *written) authors(ctx context.Context, site *usecase.Site, change engine.Change, base string) ([]string, error) {
	key := handoverKey(site.Repo, change.Number)
	w.mu.Lock()
	known, found := w.seen[key]
	w.mu.Unlock()
	if found && known.head == change.Head && known.base == base {
		return known.authors, nil
	}
	authors, err := site.Authors(ctx, change, base)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.seen == nil || len(w.seen) >= mostWritten {
		w.seen = map[string]headAuthors{}
	}
	w.seen[key] = headAuthors{head: change.Head, base: base, authors: authors}
	return authors, nil
}
