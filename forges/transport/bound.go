package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// ErrTooLarge says that an answer is longer than the bound.
var ErrTooLarge = errors.New("the forge's answer is too large")

// Bound fails the read of a response body that is longer than most bytes, so
// that one answer cannot fill the memory. It never cuts silently.
func Bound(next http.RoundTripper, most int64) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		if resp.ContentLength > most {
			_ = resp.Body.Close() // nothing of it is wanted
			return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, resp.ContentLength, most)
		}
		resp.Body = &boundedBody{body: resp.Body, left: most}
		return resp, nil
	})
}

// roundTripper is a function as a http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type boundedBody struct {
	body io.ReadCloser
	left int64
}

// Read allows one byte beyond the bound to tell the end from an overrun.
func (b *boundedBody) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.body.Read(p)
	if int64(n) > b.left {
		return int(b.left), ErrTooLarge
	}
	b.left -= int64(n)
	return n, err
}

func (b *boundedBody) Close() error { return b.body.Close() }
