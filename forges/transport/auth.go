package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

// Authenticate attaches the Authorization header to requests for the API's own
// scheme and host, and takes it off any other: an SDK's own authentication
// follows a redirect to a foreign host with the token.
func Authenticate(next http.RoundTripper, api *url.URL, header func(context.Context) (string, error)) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		ctx := req.Context()
		req = req.Clone(ctx)
		req.Header.Del("Authorization")
		if req.URL.Scheme == api.Scheme && req.URL.Host == api.Host {
			value, err := header(ctx)
			if err != nil {
				closeBody(req)
				return nil, err
			}
			req.Header.Set("Authorization", value)
		}
		return next.RoundTrip(req)
	})
}

// closeBody keeps the contract of http.RoundTripper when a request is not
// sent.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// RedirectError tells of a redirect that was not followed.
type RedirectError struct {
	Status int
	Why    string
}

func (e *RedirectError) Error() string {
	return fmt.Sprintf("redirect (%d) refused: %s", e.Status, e.Why)
}

// maxRedirects is enough for a repository that was renamed and transferred.
const maxRedirects = 5

// CheckRedirect is for http.Client. It stays on one host, and it lets a write
// be redirected only by 307 or 308: on 301, 302 and 303 net/http turns a POST
// into a GET without a body and reports success.
func CheckRedirect(req *http.Request, via []*http.Request) error {
	first, status := via[0], 0
	if req.Response != nil {
		status = req.Response.StatusCode
	}
	switch {
	case req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme:
		return &RedirectError{status, "it leads to another host"}
	case len(via) >= maxRedirects:
		return &RedirectError{status, "there were too many"}
	case first.Method == http.MethodGet || first.Method == http.MethodHead:
		return nil
	case status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect:
		return nil
	}
	return &RedirectError{status, "it would lose the body of a write"}
}
