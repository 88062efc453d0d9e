package ledger

import (
	"context"
	"fmt"
	"sync/atomic"
)

// File is one file an Update adds or changes. Paths are slash-separated and
// relative to the root of the branch.
type File struct {
	Path    string
	Content []byte
	// Append says that Content is one line, without its line end, to add to
	// what the file holds (pr-loop §1.2). Otherwise Content is the whole file.
	Append bool
}

// Written says what became of an Update.
type Written struct {
	// Tip is the ledger's tip that holds what was written, or that the decision
	// to write nothing was made on.
	Tip string
	// Pushed tells that the remote holds Tip. It is false without a remote.
	Pushed bool
	// Warning is for people: what was written is true here and not yet there.
	Warning string
}

// Decide looks at the ledger and says what to write; no file means nothing. It
// runs again, on what the ledger holds then, whenever another writer was
// faster. Its error fails its own Update only.
type Decide = func(*Snapshot) ([]File, error)

// Update fetches, decides, and writes what was decided as one commit on exactly
// the tip it was decided on, pushed before the local branch moves (pr-loop
// §1.3-§1.5). Updates that wait while another one is being written are decided
// one after another, each seeing those before, and written together. The commit
// is theirs in common; message is its subject when they agree on it.
//
// decide runs on the caller's goroutine. When ctx ends after it ran, Update
// returns at once and what was decided may or may not be written; otherwise an
// error means that nothing was written here, and with ErrUnreachable that it is
// not known whether the remote took it. Every retry decides again, so a decide
// that looks for its own record first never writes it twice.
//
// In a checkout of the user's, a write that the remote did not take stays as a
// local fact with a Warning. In a clone of ours it is an error.
func (l *Ledger) Update(ctx context.Context, message string, decide Decide) (Written, error) {
	r := &request{
		ctx: ctx, message: message,
		turn: make(chan *Snapshot), answer: make(chan answer, 1),
		gone: make(chan struct{}), done: make(chan outcome, 1),
	}
	defer close(r.gone) // also when decide panics: nobody waits for its answer
	l.enqueue(r)        //nolint:contextcheck // a group is written for several callers
	for {
		select {
		case s := <-r.turn:
			files, err := decide(s)
			r.answer <- answer{files: files, err: err}
		case end := <-r.done:
			return end.written, end.err
		case <-ctx.Done():
			return Written{}, l.withdraw(r)
		}
	}
}

// request is one Update on its way.
type request struct {
	ctx     context.Context //nolint:containedctx // the caller's, for reading on its behalf
	message string
	turn    chan *Snapshot // "decide on this"
	answer  chan answer
	gone    chan struct{} // closed when the caller stopped listening
	done    chan outcome
}

type answer struct {
	files []File
	err   error
}

type outcome struct {
	written Written
	err     error
}

// ask has the caller decide; present is false when it has left.
func (r *request) ask(s *Snapshot) (a answer, present bool) {
	select {
	case r.turn <- s:
	case <-r.gone:
		return answer{}, false
	}
	select {
	case a = <-r.answer:
		return a, true
	case <-r.gone:
		return answer{}, false
	}
}

func (r *request) finish(w Written, err error) {
	if err != nil {
		err = fmt.Errorf("writing to %s: %w", Branch, err)
	}
	r.done <- outcome{written: w, err: err}
}

func (l *Ledger) enqueue(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, r)
	if !l.running {
		l.running = true
		go l.lead()
	}
}

// withdraw takes a request back and tells its caller how far it had come.
func (l *Ledger) withdraw(r *request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, w := range l.waiting {
		if w == r {
			l.waiting = append(l.waiting[:i:i], l.waiting[i+1:]...)
			return fmt.Errorf("writing to %s: nothing was written: %w", Branch, context.Cause(r.ctx))
		}
	}
	return fmt.Errorf("writing to %s: stopped waiting, what was decided may still be written: %w", Branch, context.Cause(r.ctx))
}

// lead writes for everyone who waits, until nobody does. Whoever asks while a
// group is being written is in the next group, whose fetch starts after it
// asked.
func (l *Ledger) lead() {
	for {
		l.mu.Lock()
		group := l.waiting
		l.waiting = nil
		l.running = len(group) > 0
		l.mu.Unlock()
		if len(group) == 0 {
			return
		}
		ctx, stop := groupContext(group)
		l.serve(ctx, group)
		stop()
	}
}

// groupContext ends when the contexts of all callers have ended.
func groupContext(group []*request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(group[0].ctx))
	var live atomic.Int64
	live.Store(int64(len(group)))
	stops := make([]func() bool, 0, len(group))
	for _, r := range group {
		stops = append(stops, context.AfterFunc(r.ctx, func() {
			if live.Add(-1) == 0 {
				cancel()
			}
		}))
	}
	return ctx, func() {
		for _, stop := range stops {
			stop()
		}
		cancel()
	}
}
