package transport

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/chant-bot/chant/forges"
)

const (
	// minSecondary is how long GitHub asks to wait at least when a secondary
	// limit names no time; it doubles while the limit lasts.
	minSecondary = time.Minute
	maxSecondary = 15 * time.Minute
	// maxWait caps what a header may ask, so that one bad answer does not stop
	// a repository for good.
	maxWait = 2 * time.Hour
	// maxRefusal is how much of a refusal is read to find its reason.
	maxRefusal = 64 << 10
)

// RateLimits turns a primary or secondary rate limit, 403 or 429, into
// *forges.RateLimited, and then refuses every request locally until the time
// has come: a client that goes on may be banned. One limiter serves one
// credential; limits of one installation do not block another.
//
// The order is GitHub's: Retry-After first, then the reset time when nothing
// remains, else a minute and more each time.
func RateLimits(next http.RoundTripper, now func() time.Time) http.RoundTripper {
	return &limiter{next: next, now: now}
}

type limiter struct {
	next http.RoundTripper
	now  func() time.Time

	mu     sync.Mutex
	limit  *forges.RateLimited // in force until its time
	streak int                 // secondary limits in a row without a time
}

func (l *limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	if limited := l.inForce(); limited != nil {
		closeBody(req)
		return nil, limited
	}
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests {
		l.passed()
		return resp, nil
	}
	limited, err := l.judge(resp)
	if err != nil {
		return nil, err
	}
	if limited != nil {
		_ = resp.Body.Close() // read as far as needed
		return nil, limited
	}
	return resp, nil
}

// limitHeader reads what GitHub calls X-RateLimit-NAME and GitLab RateLimit-NAME.
func limitHeader(h http.Header, name string) string {
	return cmp.Or(h.Get("X-Ratelimit-"+name), h.Get("Ratelimit-"+name))
}

func (l *limiter) inForce() *forges.RateLimited {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limit == nil || !l.now().Before(l.limit.Until) {
		return nil
	}
	limited := *l.limit
	return &limited
}

func (l *limiter) passed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.streak = 0
}

// judge reads a refusal and puts its body back when it is no rate limit.
func (l *limiter) judge(resp *http.Response) (*forges.RateLimited, error) {
	start, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if err != nil {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("reading a refusal: %w", err)
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), resp.Body), resp.Body}

	message := strings.ToLower(string(start))
	spent := limitHeader(resp.Header, "Remaining") == "0"
	wait := resp.Header.Get("Retry-After")
	secondary := wait != "" || strings.Contains(message, "secondary rate limit") || strings.Contains(message, "abuse detection")
	primary := spent || strings.Contains(message, "api rate limit exceeded")
	if resp.StatusCode == http.StatusForbidden && !secondary && !primary {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	limited := &forges.RateLimited{Until: l.until(wait, spent, limitHeader(resp.Header, "Reset"))}
	l.limit = limited
	answer := *limited
	return &answer, nil
}

// until decides when to come back. The caller holds mu.
func (l *limiter) until(wait string, spent bool, reset string) time.Time {
	now := l.now()
	if after, ok := retryAfter(wait, now); ok {
		return now.Add(min(max(after, time.Second), maxWait))
	}
	if at, err := strconv.ParseInt(reset, 10, 64); spent && err == nil {
		// One second more, for the reset is given in whole seconds.
		return now.Add(min(max(time.Unix(at, 0).Sub(now), 0)+time.Second, maxWait))
	}
	pause := min(minSecondary<<min(l.streak, 10), maxSecondary)
	l.streak++
	return now.Add(pause)
}

// retryAfter reads the header in both its forms.
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	if seconds, err := strconv.ParseInt(text, 10, 32); err == nil && seconds >= 0 {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(text); err == nil {
		return at.Sub(now), true
	}
	return 0, false
}
