package metrics

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/chant-bot/chant/engine"
)

// Transport counts what is sent to the API of a forge through next. What a rate
// limit keeps us from sending is not counted.
func (m *Metrics) Transport(forge engine.Instance, next http.RoundTripper) http.RoundTripper {
	return transport(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		answer := "none"
		if err == nil {
			answer = fmt.Sprintf("%dxx", resp.StatusCode/100)
			m.remaining(forge, resp.Header)
		}
		m.requests.WithLabelValues(forge.String(), req.Method, answer).Inc()
		return resp, err
	})
}

type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// remaining keeps what the forge says is left of the limit that nearly all
// requests count against; GitHub's searches and the like have others.
func (m *Metrics) remaining(forge engine.Instance, h http.Header) {
	if resource := h.Get("X-Ratelimit-Resource"); resource != "" && resource != "core" {
		return
	}
	for _, name := range []string{"X-Ratelimit-Remaining", "Ratelimit-Remaining"} {
		if n, err := strconv.Atoi(h.Get(name)); err == nil {
			m.left.WithLabelValues(forge.String()).Set(float64(n))
			return
		}
	}
}

// Receives counts what a webhook endpoint refuses. What it accepts is counted
// where it is stored, which knows more.
func (m *Metrics) Receives(forge engine.Instance, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := &answer{ResponseWriter: w}
		next.ServeHTTP(answer, r)
		switch {
		case answer.status >= http.StatusInternalServerError:
			m.Received(forge, "failed")
		case answer.status >= http.StatusBadRequest:
			m.Received(forge, "refused")
		}
	})
}

// answer remembers the status.
type answer struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController, and http.MaxBytesReader with it, reach
// what is below.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
