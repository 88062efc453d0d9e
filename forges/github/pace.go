package github

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// writeGap is the pause GitHub asks for between writes; they are to be made
// one after the other. An Enterprise server has no such limits unless its
// owner sets them, and then says so by a rate limit.
const writeGap = time.Second

// gapFor is the pause between writes on a host of the API.
func gapFor(host string) time.Duration {
	if host == "api.github.com" || strings.HasSuffix(host, ".ghe.com") {
		return writeGap
	}
	return 0
}

// pacer lets one write at a time through, a gap after the one before. It
// stands before the client, so that waiting does not use up a request's
// timeout.
type pacer struct {
	gap  time.Duration
	turn chan time.Time // holds when the last write ended; taken by who writes
}

func newPacer(gap time.Duration) *pacer {
	p := &pacer{gap: gap, turn: make(chan time.Time, 1)}
	p.turn <- time.Time{}
	return p
}

// begin waits for its turn. The caller calls end once the write was answered.
func (p *pacer) begin(ctx context.Context) (end func(), err error) {
	var last time.Time
	select {
	case last = <-p.turn:
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting to write: %w", ctx.Err())
	}
	if wait := time.Until(last.Add(p.gap)); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			p.turn <- last
			return nil, fmt.Errorf("waiting to write: %w", ctx.Err())
		}
	}
	return func() { p.turn <- time.Now() }, nil
}

// writes says whether a request changes something: a GraphQL query is a POST
// that does not.
func (r request) writes() bool {
	return r.method != http.MethodGet && r.method != http.MethodHead && !strings.HasSuffix(r.path, "/graphql")
}
