package forgetest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// rateLimit is an installation's hourly budget.
const rateLimit = 5000

func limitHeaders(h http.Header, remaining int, reset time.Time) {
	h.Set("X-Ratelimit-Limit", strconv.Itoa(rateLimit))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(remaining))
	h.Set("X-Ratelimit-Used", strconv.Itoa(rateLimit-remaining))
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	h.Set("X-Ratelimit-Resource", "core")
}

func writeError(w http.ResponseWriter, e *APIError) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if e.Accepted != "" {
		w.Header().Set("X-Accepted-Github-Permissions", e.Accepted)
	}
	body := object{"message": e.Message, "documentation_url": "https://docs.github.com/rest", "status": strconv.Itoa(e.Status)}
	if len(e.Errors) > 0 {
		body["errors"] = e.Errors
	}
	if location := w.Header().Get("Location"); location != "" {
		body["url"] = location
	}
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// write answers with JSON. A read carries an ETag that differs for each
// credential, and a matching If-None-Match gets a 304, which costs nothing.
func (c *call) write(status int, body any) {
	h := c.w.Header()
	if status == http.StatusNoContent || body == nil {
		c.spend(1)
		c.w.WriteHeader(status)
		return
	}
	data, err := json.Marshal(body)
	if err != nil {
		writeError(c.w, fault500(err))
		return
	}
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("X-Github-Media-Type", "github.v3; format=json")
	if c.r.Method == http.MethodGet && status == http.StatusOK {
		sum := sha256.Sum256(append([]byte(c.r.Header.Get("Authorization")+"\n"), data...))
		etag := fmt.Sprintf(`W/"%x"`, sum)
		h.Set("ETag", etag)
		h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With")
		if c.r.Header.Get("If-None-Match") == etag {
			c.spend(0)
			h.Del("Content-Type")
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	c.spend(1)
	c.w.WriteHeader(status)
	_, _ = c.w.Write(data) // the client may be gone
}

// spend takes from the caller's budget and says what is left.
func (c *call) spend(points int) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if c.grant == nil {
		limitHeaders(c.w.Header(), rateLimit, c.f.now().Add(time.Hour))
		return
	}
	c.grant.spent += points
	limitHeaders(c.w.Header(), max(1, rateLimit-c.grant.spent), c.f.now().Add(time.Hour))
}

// pageOf cuts a list to the page asked for and writes the Link header. The
// links name the repository by its id, as GitHub's do.
func pageOf[T any](c *call, list []T) []T {
	query := c.r.URL.Query()
	size := bounded(query.Get("per_page"), 30, 100)
	page := bounded(query.Get("page"), 1, 1<<30)
	pages := max(1, (len(list)+size-1)/size)
	c.links(query, page, pages)
	from := min((page-1)*size, len(list))
	return list[from:min(from+size, len(list))]
}

func bounded(text string, normal, most int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return normal
	}
	return min(n, most)
}

func (c *call) links(query url.Values, page, pages int) {
	path := c.r.URL.EscapedPath()
	if c.repo != nil && c.params["owner"] != "" {
		prefix := apiPrefix + "/repos/" + c.params["owner"] + "/" + c.params["repo"]
		path = apiPrefix + "/repositories/" + fmt.Sprint(c.repo.ID) + strings.TrimPrefix(path, prefix)
	}
	var links []string
	add := func(rel string, n int) {
		query.Set("page", strconv.Itoa(n))
		links = append(links, fmt.Sprintf(`<%s%s?%s>; rel="%s"`, c.f.URL(), path, query.Encode(), rel))
	}
	if page > 1 {
		add("prev", page-1)
	}
	if page < pages {
		add("next", page+1)
		add("last", pages)
	}
	if page > 1 {
		add("first", 1)
	}
	if len(links) > 0 {
		c.w.Header().Set("Link", strings.Join(links, ", "))
	}
}

// eachOf renders the page of a list.
func eachOf[T any](c *call, list []T, render func(T) object) []object {
	out := []object{}
	for _, item := range pageOf(c, list) {
		out = append(out, render(item))
	}
	return out
}
