package settle

import (
	"errors"
	"sync"

	"github.com/chant-bot/chant/app/usecase"
)

// together runs reads side by side and joins what they return: one after the
// other, each would cost its whole way there and back. Never writes: forges want
// these one at a time (forge-facts, secondary rate limits).
func together(calls ...func() error) error {
	errs := make([]error, len(calls))
	var all sync.WaitGroup
	for i, call := range calls {
		all.Go(func() { _, errs[i] = usecase.Survive(func() (struct{}, error) { return struct{}{}, call() }) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// ahead makes a fetch one of what is likely to be needed. Where it fails it is no
// error yet: whoever does need it fetches it again.
func ahead(fetch func() error) func() error {
	return func() error { _ = fetch(); return nil }
}
