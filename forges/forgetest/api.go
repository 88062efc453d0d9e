package forgetest

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxRequest bounds what a client may send to the API.
const maxRequest = 1 << 20

// who may call a route.
type audience int

const (
	byToken audience = iota // an installation's or a person's token
	byApp                   // the app's own JWT and nothing else
)

// route is one endpoint. A repository's route is written without the
// repository, which dialect.place cuts off.
type route struct {
	method, path string
	// needs is what dialect.allow reads: on GitHub alternatives of permissions,
	// "issues:write|pull_requests:write" (forge facts 1.13). Empty: any token.
	needs  string
	repo   bool
	caller audience
	// unlocked: the handler takes the locks itself because it moves refs.
	unlocked bool
	handle   func(*call) (int, any, *APIError)

	parts []string
}

// call is one API request on its way.
type call struct {
	f      *Forge
	r      *http.Request
	w      http.ResponseWriter
	params map[string]string
	repo   *Repo
	grant  *grant // nil for an app's JWT
	app    *App
}

func (f *Forge) handler() http.Handler {
	routes := f.dialect.routes()
	for i := range routes {
		routes[i].parts = strings.Split(strings.Trim(routes[i].path, "/"), "/")
	}
	pages := f.pages()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.options.RequestLog != nil {
			f.options.RequestLog(r.Method + " " + r.URL.Path)
		}
		switch {
		case strings.HasPrefix(r.URL.Path, "/api/"):
			f.serveAPI(w, r, routes)
		case f.isPage(r.URL.Path):
			pages.ServeHTTP(w, r)
		default:
			f.serveGit(w, r)
		}
	})
}

// serveAPI finds the route. What does not begin with the API's prefix keeps its
// whole path.
func (f *Forge) serveAPI(w http.ResponseWriter, r *http.Request, routes []route) {
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.EscapedPath(), f.dialect.habits().api+"/"), "/"), "/")
	params := map[string]string{}
	path, inRepo := f.dialect.place(path, params)
	if len(path) == 0 {
		path = []string{""}
	}
	for _, rt := range routes {
		if rt.repo == inRepo && rt.method == r.Method && match(rt.parts, path, params) {
			f.serveRoute(w, r, rt, params)
			return
		}
	}
	f.counts.add(r.Method + " unknown")
	f.dialect.refuse(w, notFound())
}

func match(pattern, path []string, params map[string]string) bool {
	found := map[string]string{}
	for i, part := range pattern {
		name, rest := strings.CutSuffix(strings.Trim(part, "{}"), "...")
		wild := strings.HasPrefix(part, "{")
		switch {
		case i >= len(path):
			return false
		case wild && rest:
			found[name] = unescape(strings.Join(path[i:], "/"))
			path = path[:i+1]
		case wild:
			found[name] = unescape(path[i])
		case part != path[i]:
			return false
		}
	}
	if len(path) != len(pattern) {
		return false
	}
	maps.Copy(params, found)
	return true
}

func unescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

// serveRoute applies faults, authentication and permission, in this order.
func (f *Forge) serveRoute(w http.ResponseWriter, r *http.Request, rt route, params map[string]string) {
	f.counts.add(r.Method + " " + rt.path)
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	fault := f.Faults.take(r)
	if fault != nil && fault.hold != nil && !f.Faults.wait(r.Context(), fault.hold) {
		return
	}
	if fault != nil && fault.answer != nil && !fault.after {
		fault.answer(w, r)
		return
	}
	c := &call{f: f, r: r, w: w, params: params}
	status, body, err := c.run(rt)
	switch {
	case fault != nil && fault.after:
		fault.answer(w, r)
	case err != nil:
		f.dialect.refuse(w, err)
	default:
		c.write(status, body)
	}
}

func (c *call) run(rt route) (int, any, *APIError) {
	c.f.mu.Lock()
	defer c.f.mu.Unlock()
	if err := c.authenticate(rt.caller); err != nil {
		return 0, nil, err
	}
	if rt.repo {
		if err := c.findRepo(); err != nil {
			return 0, nil, err
		}
	}
	if err := c.f.dialect.allow(c, rt); err != nil {
		return 0, nil, err
	}
	if rt.unlocked {
		c.f.mu.Unlock()
		defer c.f.mu.Lock()
	}
	return rt.handle(c)
}

// findRepo resolves the repository. What the caller does not see is 404.
func (c *call) findRepo() *APIError {
	if id := c.params["repository"]; id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if err != nil {
			return notFound()
		}
		c.repo = c.f.repos[n]
	} else {
		key := lower(c.params["owner"], c.params["repo"])
		c.repo = c.f.names[key]
		if id, ok := c.f.moved[key]; ok && c.repo == nil {
			return c.f.dialect.moved(c, c.f.repos[id])
		}
	}
	if c.repo == nil || !c.sees(c.repo) {
		return notFound()
	}
	return nil
}

// decode reads a JSON body.
func (c *call) decode(into any) *APIError {
	data, err := io.ReadAll(c.r.Body)
	if err != nil {
		if _, tooLong := errors.AsType[*http.MaxBytesError](err); tooLong {
			return &APIError{Status: http.StatusRequestEntityTooLarge, Message: "Request Entity Too Large"}
		}
		return &APIError{Status: http.StatusBadRequest, Message: "Problems reading the body"}
	}
	if len(data) == 0 {
		return nil
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &APIError{Status: http.StatusBadRequest, Message: "Problems parsing JSON"}
	}
	return nil
}

// id reads a numeric path parameter; 0 when it is none.
func (c *call) id(name string) int64 {
	n, err := strconv.ParseInt(c.params[name], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func (c *call) pull() (*Pull, *APIError) {
	p := c.repo.pulls[int(c.id("number"))]
	if p == nil {
		return nil, notFound()
	}
	return p, nil
}

// stored finds a comment by id and kind: the ids of one kind are unknown to
// the endpoints of another.
func (c *call) stored(kind CommentKind) (*comment, *APIError) {
	found := c.repo.comments[c.id("comment")]
	if found == nil || found.kind != kind {
		return nil, notFound()
	}
	return found, nil
}

// body reads a comment's text.
func (c *call) body() (string, *APIError) {
	var ask struct{ Body string }
	err := c.decode(&ask)
	return ask.Body, err
}

// commitParam resolves the path's ref: a sha, a branch or a tag.
func (c *call) commitParam() (string, *APIError) {
	rev := c.params["ref"]
	for _, full := range []string{"refs/heads/" + rev, "refs/tags/" + rev} {
		if at, ok := c.repo.refs[full]; ok {
			return at.commit, nil
		}
	}
	if c.repo.hasCommit(c.r.Context(), rev) {
		return rev, nil
	}
	return "", unprocessable("No commit found for SHA: " + rev)
}

// fault500 turns a failure of the fake itself into an answer.
func fault500(err error) *APIError {
	if refused, ok := errors.AsType[*APIError](err); ok {
		return refused
	}
	return &APIError{Status: http.StatusInternalServerError, Message: err.Error()}
}

// object is one JSON object of an API.
type object map[string]any
