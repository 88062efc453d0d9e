package usecase

import (
	"errors"
	"sync"
)

// together runs reads side by side and joins what they return: one after the
// other, each would cost its whole way there and back. Never writes: forges want
// these one at a time (forge-facts, secondary rate limits).
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { errs[i] = call() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// ahead makes a fetch one of what is likely to be needed. Where it fails it is no
// error yet: whoever does need it fetches it again.
func ahead(fetch func() error) func() error {
	return func() error { _ = fetch(); return nil }
}

// each runs f for every item, in order and at most limit of them at one time, 0
// being any number, and waits. An item waits for no other.
func each[T any](limit int, items []T, f func(T)) {
	if limit == 0 {
		limit = len(items)
	}
	next := make(chan T)
	var wg sync.WaitGroup
	for range min(limit, len(items)) {
		wg.Go(func() {
			for item := range next {
				f(item)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wg.Wait()
}

// errorList collects the errors of concurrent steps.
type errorList struct {
	mu   sync.Mutex
	errs []error
}

func (l *errorList) add(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.errs = append(l.errs, err)
}

func (l *errorList) first() error {
	if len(l.errs) == 0 {
		return nil
	}
	return l.errs[0]
}
