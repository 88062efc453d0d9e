package transport

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
)

// Cache keeps answers for conditional reads: a 304 costs nothing of the
// primary rate limit. It is keyed by URL and by a scope the caller names, the
// installation: GitHub varies ETags by Authorization, and tokens change every
// hour, but what an installation may see is its own. Safe for concurrent use.
type Cache struct {
	most int64 // bytes of bodies

	mu    sync.Mutex
	size  int64
	uses  uint64 // grows with every use
	byKey map[string]*stored
}

type stored struct {
	etag   string
	header http.Header
	body   []byte
	used   uint64 // when it was last used, in uses
}

// NewCache keeps up to most bytes of bodies, the least recently used going
// first. No single body may take more than an eighth.
func NewCache(most int64) *Cache {
	return &Cache{most: most, byKey: map[string]*stored{}}
}

// Conditional makes reads conditional and replays the stored answer on a 304.
// Only GET answers 200 with an ETag are kept.
func (c *Cache) Conditional(next http.RoundTripper, scope string) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if req.Method != http.MethodGet || req.Header.Get("If-None-Match") != "" || req.Header.Get("Range") != "" {
			return next.RoundTrip(req)
		}
		key := scope + "\n" + req.Header.Get("Accept") + "\n" + req.URL.String()
		known := c.get(key)
		if known != nil {
			req = req.Clone(req.Context())
			req.Header.Set("If-None-Match", known.etag)
		}
		resp, err := next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		switch {
		case resp.StatusCode == http.StatusNotModified && known != nil:
			return known.replay(resp), nil
		case resp.StatusCode == http.StatusOK && resp.Header.Get("ETag") != "":
			return c.keep(key, resp)
		}
		return resp, nil
	})
}

// Forget drops everything of a scope, for an installation that lost a
// repository or was removed.
func (c *Cache) Forget(scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.byKey {
		if strings.HasPrefix(key, scope+"\n") {
			c.remove(key)
		}
	}
}

func (c *Cache) get(key string) *stored {
	c.mu.Lock()
	defer c.mu.Unlock()
	entry, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.uses++
	entry.used = c.uses
	return entry
}

// keep stores an answer whose body is read to its end.
func (c *Cache) keep(key string, resp *http.Response) (*http.Response, error) {
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // read to its end
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", resp.Request.URL.Path, err)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	entry := &stored{etag: resp.Header.Get("ETag"), header: resp.Header.Clone(), body: body}

	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(key)
	if int64(len(body)) > c.most/8 {
		return resp, nil
	}
	c.uses++
	entry.used = c.uses
	c.byKey[key] = entry
	c.size += int64(len(body))
	for c.size > c.most {
		c.remove(c.oldest())
	}
	return resp, nil
}

// oldest is the key that was not used for the longest time. A scan is cheap
// beside the request that led here.
func (c *Cache) oldest() string {
	oldest, when := "", uint64(math.MaxUint64)
	for key, entry := range c.byKey {
		if entry.used < when {
			oldest, when = key, entry.used
		}
	}
	return oldest
}

func (c *Cache) remove(key string) {
	if entry, ok := c.byKey[key]; ok {
		delete(c.byKey, key)
		c.size -= int64(len(entry.body))
	}
}

// replay answers 200 with the stored body and headers, Link among them, under
// the fresh rate limit headers.
func (s *stored) replay(fresh *http.Response) *http.Response {
	_ = fresh.Body.Close() // a 304 has none
	header := s.header.Clone()
	for name, values := range fresh.Header {
		if strings.HasPrefix(name, "X-Ratelimit-") || name == "Date" {
			header[name] = values
		}
	}
	fresh.Status, fresh.StatusCode = "200 OK", http.StatusOK
	fresh.Header, fresh.Body, fresh.ContentLength = header, io.NopCloser(bytes.NewReader(s.body)), int64(len(s.body))
	return fresh
}
