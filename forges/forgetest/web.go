package forgetest

import (
	"cmp"
	"errors"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// The web pages let a person walk through a demo: read a pull request, write a
// comment as anybody, review, merge, and report a check. There is no sign-in;
// the fake listens on loopback only.

// isPage tells the pages from git's own addresses.
func (f *Forge) isPage(path string) bool {
	parts := strings.SplitN(strings.Trim(path, "/"), "/", 3)
	if path == "/" || len(parts) < 3 {
		return path == "/" || len(parts) == 2
	}
	pull, _, _ := strings.Cut(f.dialect.habits().pull, "%d")
	number, ok := strings.CutPrefix("/"+parts[2], pull)
	return ok && !strings.Contains(number, "/")
}

// pages serves the web pages. Forms of foreign sites are refused.
func (f *Forge) pages() http.Handler {
	page := template.Must(template.New("page").Parse(pageText))
	mux := http.NewServeMux()
	show := func(read func(*http.Request) (pageData, error)) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			data, err := read(r)
			if err != nil {
				writePageError(w, err)
				return
			}
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
			_ = page.Execute(w, data) // the client may be gone
		}
	}
	mux.HandleFunc("GET /{$}", show(f.homePage))
	mux.HandleFunc("GET /{owner}/{repo}", show(f.repoPage))
	pull := "/{owner}/{repo}" + strings.ReplaceAll(f.dialect.habits().pull, "%d", "{number}")
	mux.HandleFunc("GET "+pull, show(f.pullPage))
	mux.HandleFunc("POST "+pull, f.pullAction)
	return http.NewCrossOriginProtection().Handler(mux)
}

func writePageError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	if refused, ok := errors.AsType[*APIError](err); ok {
		status = refused.Status
	}
	http.Error(w, err.Error(), status)
}

// pageData is what the template shows; empty parts are left out.
type pageData struct {
	Title    string
	Links    []pageLink
	State    string
	Head     string
	Statuses []Status
	Checks   []CheckRun
	Talk     []pageEntry
	People   []string
	Action   string
}

type pageLink struct{ URL, Text, Note string }

type pageEntry struct {
	id                      int64
	Who, What, Body, Answer string
}

func (f *Forge) homePage(*http.Request) (pageData, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data := pageData{Title: "Repositories"}
	for _, r := range f.sortedRepos() {
		data.Links = append(data.Links, pageLink{"/" + r.fullName(), r.fullName(), ""})
	}
	return data, nil
}

func (f *Forge) repoPage(r *http.Request) (pageData, error) {
	repo, err := f.Repo(r.PathValue("owner"), r.PathValue("repo"))
	if err != nil {
		return pageData{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	data := pageData{Title: repo.fullName(), Head: repo.refs["refs/heads/"+repo.defaultBranch].commit}
	for n := repo.lastNumber; n > 0; n-- {
		if p := repo.pulls[n]; p != nil {
			link := strings.TrimPrefix(p.htmlURL(), f.URL())
			data.Links = append(data.Links, pageLink{link, "#" + strconv.Itoa(n) + " " + p.title, p.stateWord()})
		}
	}
	for _, name := range sortedKeys(repo.refs) {
		data.Links = append(data.Links, pageLink{"", name, repo.refs[name].commit})
	}
	return data, nil
}

func (p *Pull) stateWord() string {
	switch {
	case !p.mergedAt.IsZero():
		return "merged as " + p.landed
	case p.draft:
		return "draft"
	}
	return p.state
}

func (f *Forge) pagePull(r *http.Request) (*Pull, error) {
	repo, err := f.Repo(r.PathValue("owner"), r.PathValue("repo"))
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(r.PathValue("number"))
	if err != nil {
		return nil, notFound()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if p := repo.pulls[n]; p != nil {
		return p, nil
	}
	return nil, notFound()
}

func (f *Forge) pullPage(r *http.Request) (pageData, error) {
	p, err := f.pagePull(r)
	if err != nil {
		return pageData{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	// After merging, what CI says of the landed commit is what counts.
	sha := cmp.Or(p.landed, p.head.sha)
	data := pageData{
		Title: p.Repo.fullName() + "#" + strconv.Itoa(p.Number) + " " + p.title, State: p.stateWord(),
		Head: sha, Talk: p.talk(), People: f.people(p.Repo), Action: r.URL.Path,
	}
	for _, of := range []string{p.head.sha, p.landed} {
		for _, s := range p.Repo.latestStatuses(of) {
			data.Statuses = append(data.Statuses, s.Status)
		}
	}
	for _, c := range p.Repo.checksOf(sha, true) {
		data.Checks = append(data.Checks, c.CheckRun)
	}
	return data, nil
}

// people are the accounts that may write.
func (f *Forge) people(repo *Repo) []string {
	var names []string
	for _, login := range slices.Sorted(maps.Keys(f.accounts)) {
		if u := f.accounts[login]; u.Type == typeUser && atLeast(repo.roleOf(u), "write") {
			names = append(names, u.Login)
		}
	}
	return names
}

// talk lists comments and reviews in the order they were written.
func (p *Pull) talk() []pageEntry {
	var out []pageEntry
	for _, c := range p.Repo.comments {
		if c.pull != p && (c.kind != CommitComment || c.sha != p.landed) {
			continue
		}
		var answers []string
		for _, r := range c.reactions {
			answers = append(answers, r.by.Login+" reacted with "+r.content)
		}
		out = append(out, pageEntry{c.id, c.author.Login, "wrote", c.body, strings.Join(answers, ", ")})
	}
	for _, v := range p.reviewsOf() {
		if v.body != "" || v.state != "COMMENTED" {
			out = append(out, pageEntry{v.id, v.author.Login, "reviewed: " + strings.ToLower(v.state), v.body, ""})
		}
	}
	slices.SortFunc(out, func(a, b pageEntry) int { return cmp.Compare(a.id, b.id) })
	return out
}

// pullAction does what a button says, as the person chosen.
func (f *Forge) pullAction(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	p, err := f.pagePull(r)
	if err != nil {
		writePageError(w, err)
		return
	}
	f.mu.Lock()
	by := f.accounts[lower(r.FormValue("as"))]
	allowed := by != nil && slices.Contains(f.people(p.Repo), by.Login)
	f.mu.Unlock()
	if !allowed {
		writePageError(w, &APIError{Status: http.StatusForbidden, Message: "choose somebody who may write"})
		return
	}
	if err := f.act(p, by, r.FormValue("do"), r.FormValue("body")); err != nil {
		writePageError(w, err)
		return
	}
	http.Redirect(w, r, r.URL.Path, http.StatusSeeOther)
}

func (f *Forge) act(p *Pull, by *User, do, body string) error {
	var err error
	switch do {
	case "comment":
		_, err = f.As(by).Comment(p, body)
	case "approve":
		_, err = f.As(by).Review(p, "APPROVE", body)
	case "merge", "squash", "rebase":
		_, err = p.Merge(do, by)
	case "check":
		_, err = p.Repo.SetCheck(cmp.Or(p.MergeCommit(), p.Head()), strings.TrimSpace(body), "completed", "success")
	default:
		err = unprocessable("unknown button " + do)
	}
	return err
}
