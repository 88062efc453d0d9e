package forgetest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Match picks requests. Empty fields match everything.
type Match struct {
	Method string
	// Path is a part of the path, such as "/statuses/".
	Path string
	// When tells whether it is time. It runs beside other requests, and may read the
	// repository.
	When func() bool
}

func (m Match) fits(r *http.Request) bool {
	return (m.Method == "" || m.Method == r.Method) && strings.Contains(r.URL.Path, m.Path) && (m.When == nil || m.When())
}

// Faults scripts what goes wrong. Each fault is used up after its number of
// times; 0 times means until Clear.
type Faults struct {
	mu        sync.Mutex
	requests  []*requestFault
	deliver   []*deliveryFault
	held      []*sending
	holdUntil int
	skew      time.Duration
	closed    bool
	ended     chan struct{}
	dialect   dialect
}

type requestFault struct {
	Match

	left   int // 0: for ever
	answer func(w http.ResponseWriter, r *http.Request)
	// after: the request is carried out and its answer is lost.
	after bool
	// hold: the request waits until the channel closes, then goes on.
	hold chan struct{}
}

type deliveryFault struct {
	event  string
	left   int
	drop   bool
	copies int
}

func newFaults(d dialect) *Faults { return &Faults{ended: make(chan struct{}), dialect: d} }

// Clear ends every fault on requests and deliveries. Held requests go on.
func (x *Faults) Clear() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, f := range x.requests {
		if f.hold != nil {
			close(f.hold)
		}
	}
	x.requests, x.deliver = nil, nil
}

func (x *Faults) add(f *requestFault) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.requests = append(x.requests, f)
}

// Fail answers with a status before anything was done.
func (x *Faults) Fail(m Match, status, times int) {
	x.add(&requestFault{Match: m, left: times, answer: func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>Unicorn!</html>", status)
	}})
}

// LoseAnswer carries the request out and answers 502, as when a proxy gives
// up on a slow success.
func (x *Faults) LoseAnswer(m Match, times int) {
	x.add(&requestFault{Match: m, left: times, after: true, answer: func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>Bad Gateway</html>", http.StatusBadGateway)
	}})
}

// PrimaryLimit answers with an exhausted primary limit: status 403 or 429.
func (x *Faults) PrimaryLimit(m Match, status int, reset time.Time, times int) {
	x.add(&requestFault{Match: m, left: times, answer: func(w http.ResponseWriter, _ *http.Request) {
		limitHeaders(w.Header(), 0, reset)
		x.dialect.refuse(w, &APIError{Status: status, Message: "API rate limit exceeded for installation ID 1."})
	}})
}

// SecondaryLimit answers with a secondary limit: status 403 or 429, with
// retryAfter as the header's text, or without one when empty.
func (x *Faults) SecondaryLimit(m Match, status int, retryAfter string, times int) {
	x.add(&requestFault{Match: m, left: times, answer: func(w http.ResponseWriter, _ *http.Request) {
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		message := "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
		x.dialect.refuse(w, &APIError{Status: status, Message: message})
	}})
}

// Redirect answers with a redirect to any address.
func (x *Faults) Redirect(m Match, status int, location string, times int) {
	x.add(&requestFault{Match: m, left: times, answer: func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}})
}

// Hold keeps matching requests waiting until release is called, then lets
// them go on.
func (x *Faults) Hold(m Match) (release func()) {
	f := &requestFault{Match: m, hold: make(chan struct{})}
	x.add(f)
	return func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if slices.Contains(x.requests, f) {
			close(f.hold)
			x.requests = slices.DeleteFunc(x.requests, func(o *requestFault) bool { return o == f })
		}
	}
}

// ClockSkew moves the clock the forge checks app tokens with.
func (x *Faults) ClockSkew(d time.Duration) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.skew = d
}

func (x *Faults) clockSkew() time.Duration {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.skew
}

// DropDeliveries loses deliveries of an event (empty: any).
func (x *Faults) DropDeliveries(event string, times int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deliver = append(x.deliver, &deliveryFault{event: event, left: times, drop: true})
}

// DuplicateDeliveries sends each delivery of an event twice, under one GUID.
func (x *Faults) DuplicateDeliveries(event string, times int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.deliver = append(x.deliver, &deliveryFault{event: event, left: times, copies: 2})
}

// ReorderDeliveries holds the next n deliveries and then sends them last to
// first.
func (x *Faults) ReorderDeliveries(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.holdUntil = n
}

// delivery decides over one delivery: lost, or how many times and which ones
// go out now.
func (x *Faults) delivery(s *sending) (drop bool, copies int, release []*sending) {
	x.mu.Lock()
	defer x.mu.Unlock()
	copies = 1
	for _, f := range x.deliver {
		if f.left < 0 || f.event != "" && f.event != s.Event {
			continue
		}
		if f.left > 0 {
			if f.left--; f.left == 0 {
				f.left = -1
			}
		}
		if f.drop {
			return true, 0, nil
		}
		copies = f.copies
		break
	}
	if x.holdUntil == 0 {
		return false, copies, []*sending{s}
	}
	x.held = append(x.held, s)
	if len(x.held) < x.holdUntil {
		return false, copies, nil
	}
	release, x.held, x.holdUntil = x.held, nil, 0
	slices.Reverse(release)
	return false, copies, release
}

// take finds the fault for a request and uses it up.
func (x *Faults) take(r *http.Request) *requestFault {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i, f := range x.requests {
		if !f.fits(r) {
			continue
		}
		if f.left > 0 {
			if f.left--; f.left == 0 {
				x.requests = slices.Delete(x.requests, i, i+1)
			}
		}
		return f
	}
	return nil
}

// wait holds a request; false when the client went away or the fake closed.
func (x *Faults) wait(ctx context.Context, hold chan struct{}) bool {
	select {
	case <-hold:
		return true
	case <-ctx.Done():
	case <-x.ended:
	}
	return false
}

func (x *Faults) releaseAll() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.closed {
		x.closed = true
		close(x.ended)
	}
}
