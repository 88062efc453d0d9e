package forgetest

import (
	"maps"
	"net/http"
	"strings"
	"sync"
)

// counter counts API requests by method and route.
type counter struct {
	mu sync.Mutex
	by map[string]int
}

func newCounter() *counter { return &counter{by: map[string]int{}} }

func (c *counter) add(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by[key]++
}

// Requests counts API requests so far by method and route, the route without
// its repository: "POST /statuses/{sha}", "GET /pulls/{number}",
// "POST /app/installations/{installation}/access_tokens". Requests that a
// fault answered are counted.
func (f *Forge) Requests() map[string]int {
	f.counts.mu.Lock()
	defer f.counts.mu.Unlock()
	return maps.Clone(f.counts.by)
}

// Count is the number of requests of one method and route.
func (f *Forge) Count(method, route string) int { return f.Requests()[method+" "+route] }

// Writes counts every request that is not a read, tokens left out.
func (f *Forge) Writes() int {
	total := 0
	for key, n := range f.Requests() {
		method, route, _ := strings.Cut(key, " ")
		if method != http.MethodGet && !strings.HasSuffix(route, "/access_tokens") && route != "/graphql" {
			total += n
		}
	}
	return total
}

// ResetCounts starts counting anew.
func (f *Forge) ResetCounts() {
	f.counts.mu.Lock()
	defer f.counts.mu.Unlock()
	clear(f.counts.by)
}

// Spent is how much of the primary rate limit an installation's tokens used.
func (f *Forge) Spent(in *Installation) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := 0
	for _, g := range f.tokens {
		if g.installation == in {
			total += g.spent
		}
	}
	return total
}
