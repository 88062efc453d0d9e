// Package gitlab is the adapter to GitLab over client-go. It asks and tells
// what forges.Forge says, maps every answer to chant's vocabulary and every
// refusal to the typed errors of forges, and decides nothing. It never retries
// a request.
//
// A pull request is a merge request here and its number the iid. Every request
// names the project by its number: GitLab refuses writes under a former path,
// and a new project may take one (forge-facts 2.8).
package gitlab

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	gogitlab "gitlab.com/gitlab-org/api/client-go"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/transport"
)

const (
	// maxBody bounds one answer; a note has a million characters at most, a page
	// a hundred notes, and hardly one of them is long.
	maxBody = 32 << 20
	// cacheSize bounds what is kept for conditional reads.
	cacheSize      = 32 << 20
	defaultTimeout = 30 * time.Second
	apiPath        = "/api/v4/"
)

// Config says where GitLab is and who we are there: the token of a project, of a
// group or of an account. Each needs the scope api.
type Config struct {
	Instance engine.Instance
	// APIURL is the base of the REST API. Empty means https://HOST/api/v4/.
	APIURL string
	Token  string

	// Timeout of one request; 0 means 30 seconds.
	Timeout time.Duration
	// Transport reaches the network; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Conn is the connection of one token. Safe for concurrent use.
type Conn struct {
	config Config
	root   *url.URL // of the instance's pages, with a trailing slash
	client *gogitlab.Client

	mu   sync.Mutex
	self engine.Actor
	bots map[int64]bool  // accounts asked about; what an account is never changes
	seen map[string]seen // accounts by their names, as an answer gave them
}

var _ forges.Forge = (*Conn)(nil)

// New checks the configuration. It sends nothing.
func New(c Config) (*Conn, error) {
	if c.Instance.Kind != engine.GitLab || c.Instance.Host == "" {
		return nil, fmt.Errorf("gitlab: instance %q is no GitLab", c.Instance)
	}
	if c.Token == "" {
		return nil, errors.New("gitlab: give a token with the scope api")
	}
	root, err := rootURL(c)
	if err != nil {
		return nil, err
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	conn := &Conn{config: c, root: root, bots: map[int64]bool{}, seen: map[string]seen{}}
	conn.client, err = gogitlab.NewAuthSourceClient(gogitlab.Unauthenticated{},
		gogitlab.WithURLWarningLogger(slog.New(slog.DiscardHandler)),
		gogitlab.WithBaseURL(strings.TrimSuffix(root.String(), "/")+apiPath),
		gogitlab.WithHTTPClient(&http.Client{
			Transport: stack(c, root), CheckRedirect: transport.CheckRedirect, Timeout: c.Timeout,
		}),
		gogitlab.WithoutRetries(), // it would send a refused write six times (forge-facts 2.9)
		gogitlab.WithCustomLimiter(unlimited{}),
		gogitlab.WithUserAgent("chant"))
	if err != nil {
		return nil, fmt.Errorf("gitlab: %w", err)
	}
	return conn, nil
}

// rootURL is where the instance is, found from the address of its API.
func rootURL(c Config) (*url.URL, error) {
	text := c.APIURL
	if text == "" {
		text = "https://" + c.Instance.Host + apiPath
	}
	u, err := transport.Root(text, apiPath)
	if err != nil {
		return nil, fmt.Errorf("gitlab: %w", err)
	}
	u.Path += "/"
	return u, nil
}

// stack are the layers between the client and the network. GitLab takes every
// kind of token as a bearer token; its own header would follow a redirect to
// another host (forge-facts 2.9).
func stack(c Config, root *url.URL) http.RoundTripper {
	tr := transport.Authenticate(transport.Bound(c.Transport, maxBody), root, func(context.Context) (string, error) {
		return "Bearer " + c.Token, nil
	})
	tr = transport.RateLimits(tr, c.Now)
	return transport.NewCache(cacheSize).Conditional(tr, "token")
}

// unlimited stands in for the limiter that client-go makes of the first answer,
// without a lock. Our transport obeys GitLab's own word.
type unlimited struct{}

func (unlimited) Wait(context.Context) error { return nil }

// Instance is the GitLab this connection reaches.
func (c *Conn) Instance() engine.Instance { return c.config.Instance }
