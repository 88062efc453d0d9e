package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/bradleyfalzon/ghinstallation/v2"
	gogithub "github.com/google/go-github/v62/github"

	"github.com/chant-bot/chant/forges"
)

// tokenSource gives a token that is valid now. A token is opaque: GitHub
// changed length and alphabet before.
type tokenSource interface {
	token(ctx context.Context) (string, error)
	// drop forgets a token that was refused.
	drop()
}

type staticToken string

func (t staticToken) token(context.Context) (string, error) { return string(t), nil }
func (t staticToken) drop()                                 {}

// appToken makes installation tokens and renews them a minute before they end.
type appToken struct {
	fresh func() *ghinstallation.Transport
	gone  func() // called when the installation is no more

	mu      sync.Mutex
	current *ghinstallation.Transport
}

// installationToken is a source for one installation, narrowed when narrow is
// set. Each source has an AppsTransport of its own: ghinstallation writes to
// it on every renewal, without a lock.
func (all *Connections) installationToken(id int64, narrow *gogithub.InstallationTokenOptions) tokenSource {
	base := strings.TrimSuffix(all.api.String(), "/")
	fresh := func() *ghinstallation.Transport {
		app := ghinstallation.NewAppsTransportFromPrivateKey(all.signed, all.config.AppID, all.key)
		app.BaseURL = base
		tr := ghinstallation.NewFromAppsTransport(app, id)
		tr.BaseURL, tr.InstallationTokenOptions = base, narrow
		return tr
	}
	return &appToken{fresh: fresh, current: fresh(), gone: func() { all.Forget(id) }}
}

func (t *appToken) token(ctx context.Context) (string, error) {
	t.mu.Lock()
	current := t.current
	t.mu.Unlock()
	token, err := current.Token(ctx)
	if err != nil {
		err = tokenError(err)
		if errors.Is(err, forges.ErrNotFound) {
			t.gone()
		}
		return "", err
	}
	return token, nil
}

func (t *appToken) drop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = t.fresh()
}

// tokenError maps a refused token. The library leaves the body open.
func tokenError(err error) error {
	const what = "getting an installation token"
	var refused *ghinstallation.HTTPError
	if !errors.As(err, &refused) || refused.Response == nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	_ = refused.Response.Body.Close()
	switch refused.Response.StatusCode {
	case http.StatusNotFound:
		return fmt.Errorf("%s: installation %d is gone: %w", what, refused.InstallationID, forges.ErrNotFound)
	case http.StatusForbidden:
		return &forges.Forbidden{Call: what + ": the installation is suspended"}
	case http.StatusUnprocessableEntity:
		return &forges.Rejected{Call: what, Message: "the installation was not granted the repository or the permission asked for"}
	case http.StatusUnauthorized:
		return fmt.Errorf("%s: GitHub refused the app's signature (its clock says %q): check app id, private key and this machine's clock",
			what, refused.Response.Header.Get("Date"))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// dropOn401 lets the next request fetch a new token when GitHub refused the
// one at hand before its time. The refused request is not sent again.
func dropOn401(next http.RoundTripper, source tokenSource) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil && resp.StatusCode == http.StatusUnauthorized {
			source.drop()
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// connectApp speaks as the app itself, by its key.
func (all *Connections) connectApp() *Conn {
	signed := ghinstallation.NewAppsTransportFromPrivateKey(all.signed, all.config.AppID, all.key)
	return all.newConn(0, signed, staticToken(""))
}
