package forgetest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"strings"
)

// maxPush bounds a pack a client may send.
const maxPush = 256 << 20

// serveGit serves a repository over git's smart HTTP protocol through git
// http-backend. The password is any token the API takes.
func (f *Forge) serveGit(w http.ResponseWriter, r *http.Request) {
	parts := strings.SplitN(strings.TrimPrefix(r.URL.Path, "/"), "/", 3)
	if len(parts) < 3 {
		http.NotFound(w, r)
		return
	}
	service := parts[2]
	if service == "info/refs" {
		service = r.URL.Query().Get("service")
	}
	if service != "git-upload-pack" && service != "git-receive-pack" {
		http.NotFound(w, r)
		return
	}
	write := service == "git-receive-pack"
	if fault := f.Faults.take(r); fault != nil && fault.answer != nil {
		fault.answer(w, r)
		return
	}
	repo, by, status := f.gitCaller(r, parts[0], strings.TrimSuffix(parts[1], ".git"), write)
	switch {
	case status == http.StatusUnauthorized:
		w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
		http.Error(w, "Authentication failed", status)
	case repo != nil && status != 0:
		http.Redirect(w, r, repo.GitURL()+"/"+parts[2]+"?"+r.URL.RawQuery, status)
	case status != 0:
		http.Error(w, http.StatusText(status), status)
	default:
		f.counts.add("GIT " + service + " " + strings.ReplaceAll(parts[2], "/", "-"))
		f.runGit(w, r, repo, by, parts[2])
	}
}

// gitCaller authenticates and authorises; status 0 means go on.
func (f *Forge) gitCaller(r *http.Request, owner, name string, write bool) (*Repo, *User, int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, password, ok := r.BasicAuth()
	if !ok {
		return nil, nil, http.StatusUnauthorized
	}
	g, err := f.grantOf(password)
	if err != nil {
		return nil, nil, http.StatusUnauthorized
	}
	repo := f.names[lower(owner, name)]
	if id, moved := f.moved[lower(owner, name)]; moved && repo == nil {
		return f.repos[id], nil, f.dialect.habits().gitMoved
	}
	c := &call{f: f, r: r, grant: g, repo: repo}
	need := "contents:read"
	if write {
		need = "contents:write"
	}
	switch {
	case repo == nil || !c.sees(repo):
		return nil, nil, http.StatusNotFound
	case !c.may(need):
		return nil, nil, http.StatusForbidden
	}
	return repo, g.user, 0
}

// runGit hands the request to git and sends the events of what it changed.
func (f *Forge) runGit(w http.ResponseWriter, r *http.Request, repo *Repo, by *User, rest string) {
	git, err := exec.LookPath("git")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	// CGI takes no chunked bodies, and git chunks large packs.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPush))
	if err != nil {
		http.Error(w, "pack too large", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body, r.ContentLength, r.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	r.URL.Path = fmt.Sprintf("/%d.git/%s", repo.ID, rest)
	var stderr bytes.Buffer
	backend := &cgi.Handler{
		Path: git, Args: []string{"http-backend"}, Root: "/", Stderr: &stderr, InheritEnv: []string{"PATH"},
		Env: append(f.gitBaseEnv(), "GIT_PROJECT_ROOT="+f.dir, "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER="+by.Login),
	}
	if rest != "git-receive-pack" {
		backend.ServeHTTP(w, r)
		return
	}
	// The answer waits for the events, so that whoever pushed and then waits
	// for quiet has not raced them.
	answer := &bufferedAnswer{header: http.Header{}, status: http.StatusOK}
	if err := f.receivePack(r, repo, by, backend, answer); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer.copyTo(w)
}

func (f *Forge) receivePack(r *http.Request, repo *Repo, by *User, backend http.Handler, answer *bufferedAnswer) error {
	repo.pushing.Lock()
	defer repo.pushing.Unlock()
	backend.ServeHTTP(answer, r)
	f.mu.Lock()
	defer f.mu.Unlock()
	return repo.refsMoved(context.WithoutCancel(r.Context()), by)
}

// bufferedAnswer keeps an answer until it may go out.
type bufferedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *bufferedAnswer) Header() http.Header         { return b.header }
func (b *bufferedAnswer) WriteHeader(status int)      { b.status = status }
func (b *bufferedAnswer) Write(p []byte) (int, error) { return b.body.Write(p) }

func (b *bufferedAnswer) copyTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), b.header)
	w.WriteHeader(b.status)
	_, _ = w.Write(b.body.Bytes()) // the client may be gone
}
