package usecase

import "sync"

// each runs f for every item, in order and at most limit of them at one time, 0
// being any number, and waits. An item waits for no other. Where one panics, the others
// end, and then the caller panics.
func each[T any](limit int, items []T, f func(T)) {
	if limit == 0 {
		limit = len(items)
	}
	next := make(chan T)
	var faults errorList
	var wg sync.WaitGroup
	for range min(limit, len(items)) {
		wg.Go(func() {
			for item := range next {
				_, err := Survive(func() (struct{}, error) { f(item); return struct{}{}, nil })
				faults.add(err)
			}
		})
	}
	for _, item := range items {
		next <- item
	}
	close(next)
	wg.Wait()
	if fault := faults.first(); fault != nil {
		panic(fault) //nolint:forbidigo // it is one already
	}
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
