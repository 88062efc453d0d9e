package soundness_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// proxy stands between the server and the forge. At a point it holds one request
// before the forge saw it, or its answer before the server did, until the test
// says how to go on. So the server can be killed exactly there, or lose exactly
// that answer, without a line in it that knows.
type proxy struct {
	listen, forge string // host:port
	client        *http.Client

	mu     sync.Mutex
	points []*point
}

// request is one request of the server's.
type request struct {
	Method, Path string
	Body         []byte
	Refs         []refUpdate // of a push
}

type refUpdate struct{ Old, New, Ref string }

// when tells the two sides of a request apart.
type when string

const (
	before when = "before" // the forge has not seen it
	after  when = "after"  // the forge did it, the answer is not given yet
)

// point is one place where a request is held.
type point struct {
	when  when
	match func(request) bool
	hit   chan struct{} // closed when a request is held here
	on    chan verdict
}

type verdict bool

const (
	goOn verdict = true
	drop verdict = false // the connection ends without an answer
)

func newProxy(t testing.TB, forge string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listen: l.Addr().String(), forge: forge, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	s := &http.Server{Handler: p, ReadHeaderTimeout: time.Minute}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() {
		p.release()
		_ = s.Close()
		p.client.CloseIdleConnections()
	})
	return p
}

// at arms a point for the next request that matches.
func (p *proxy) at(w when, match func(request) bool) *point {
	pt := &point{when: w, match: match, hit: make(chan struct{}), on: make(chan verdict, 1)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.points = append(p.points, pt)
	return pt
}

// wait returns once a request is held.
func (pt *point) wait(ctx context.Context, t testing.TB) {
	t.Helper()
	select {
	case <-pt.hit:
	case <-ctx.Done():
		t.Fatal("no request came to the point")
	}
}

// take finds the point a request is to be held at, and uses it up.
func (p *proxy) take(r request) *point {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, pt := range p.points {
		if pt.match(r) {
			p.points = append(p.points[:i:i], p.points[i+1:]...)
			return pt
		}
	}
	return nil
}

func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.points = nil
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the server was killed while it sent
	}
	req := request{Method: r.Method, Path: r.URL.Path, Body: body}
	if strings.HasSuffix(req.Path, "/git-receive-pack") {
		req.Refs = refUpdates(body)
	}
	pt := p.take(req)
	if pt != nil && pt.when == before && !pt.hold(r.Context()) {
		hangUp(w)
		return
	}
	// A push that was sent is carried out, whether or not who sent it still lives.
	resp, answer, err := p.forward(context.WithoutCancel(r.Context()), r, body)
	if pt != nil && pt.when == after && !pt.hold(r.Context()) || err != nil {
		hangUp(w)
		return
	}
	for key, values := range resp.Header {
		for _, v := range values {
			w.Header().Add(key, p.rewrite(v))
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(answer)
}

// hold says that a request is here and waits for the verdict. A client that died
// meanwhile changes nothing: the test decides what the forge sees.
func (pt *point) hold(context.Context) bool {
	close(pt.hit)
	return bool(<-pt.on)
}

func (p *proxy) forward(ctx context.Context, r *http.Request, body []byte) (*http.Response, []byte, error) {
	url := *r.URL
	url.Scheme, url.Host = "http", p.forge
	out, err := http.NewRequestWithContext(ctx, r.Method, url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	out.Header = r.Header.Clone()
	resp, err := p.client.Do(out)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if strings.Contains(resp.Header.Get("Content-Type"), "json") {
		answer = []byte(p.rewrite(string(answer)))
	}
	resp.Header.Del("Content-Length")
	return resp, answer, err
}

// rewrite keeps the server on this side: addresses the forge gives of itself
// lead through the proxy.
func (p *proxy) rewrite(s string) string { return strings.ReplaceAll(s, p.forge, p.listen) }

func hangUp(w http.ResponseWriter) {
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

var refLine = regexp.MustCompile(`([0-9a-f]{40}) ([0-9a-f]{40}) (refs/[^\x00 \n]+)`)

// refUpdates reads the commands at the head of a push.
func refUpdates(body []byte) []refUpdate {
	head, _, _ := bytes.Cut(body, []byte("0000PACK"))
	var out []refUpdate
	for _, m := range refLine.FindAllSubmatch(head, -1) {
		out = append(out, refUpdate{Old: string(m[1]), New: string(m[2]), Ref: string(m[3])})
	}
	return out
}

// push matches a push that moves a ref; deletes do not count.
func push(prefix string) func(request) bool {
	return func(r request) bool {
		for _, u := range r.Refs {
			if strings.HasPrefix(u.Ref, prefix) && strings.Trim(u.New, "0") != "" {
				return true
			}
		}
		return false
	}
}

// removal matches a push that deletes a ref.
func removal(prefix string) func(request) bool {
	return func(r request) bool {
		for _, u := range r.Refs {
			if strings.HasPrefix(u.Ref, prefix) && strings.Trim(u.New, "0") == "" {
				return true
			}
		}
		return false
	}
}

// call matches an API request by method, part of the path and part of the body.
func call(method, path, body string) func(request) bool {
	pattern := regexp.MustCompile(path)
	return func(r request) bool {
		return r.Method == method && pattern.MatchString(r.Path) && strings.Contains(string(r.Body), body)
	}
}
