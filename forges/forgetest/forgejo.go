package forgetest

import (
	"crypto/sha1" // one of the three families of headers still carries it
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
)

// forgejo is the dialect of Forgejo and Gitea, which share one API. What the
// two do differently is in family.
type forgejo struct {
	*Forge

	family family
}

// NewForgejo starts a fake Forgejo 11 on a loopback address. Close ends it.
func NewForgejo(o Options) (*Forge, error) {
	return start(o, func(f *Forge) dialect { return forgejo{f, forgejo11()} })
}

// NewGitea starts a fake Gitea 1.26 on a loopback address. Close ends it.
func NewGitea(o Options) (*Forge, error) {
	return start(o, func(f *Forge) dialect { return forgejo{f, gitea126()} })
}

func (d forgejo) habits() habits {
	return habits{
		api: "/api/v1", pull: "/pulls/%d", pullRef: "refs/pull/%d/head", noreply: "%[2]s@noreply.localhost",
		// There are no comments on commits.
		anchors:   map[CommentKind]string{IssueComment: "issuecomment-%d", ReviewComment: "issuecomment-%d", "": "issuecomment-%d"},
		reactions: []string{"+1", "-1", "laugh", "hooray", "confused", "heart", "rocket", "eyes"},
		gitMoved:  http.StatusMovedPermanently,
	}
}

func (d forgejo) routes() []route {
	return slices.Concat(d.repoRoutes(), d.pullRoutes(), d.talkRoutes(), d.peopleRoutes())
}

// place: a repository goes by its names; its id finds it at one endpoint only.
func (d forgejo) place(path []string, params map[string]string) ([]string, bool) {
	if path[0] == "repos" && len(path) >= 3 {
		params["owner"], params["repo"] = path[1], path[2]
		return path[3:], true
	}
	return path, false
}

// moved redirects every method alike, so that a write which follows may lose
// its body.
func (d forgejo) moved(c *call, to *Repo) *APIError {
	was := "/" + c.params["owner"] + "/" + c.params["repo"]
	target := strings.Replace(c.r.URL.EscapedPath(), was, "/"+url.PathEscape(to.owner.Login)+"/"+url.PathEscape(to.name), 1)
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	c.w.Header().Set("Location", path.Clean(target))
	return &APIError{Status: d.family.moved, Message: "moved"}
}

func (d forgejo) token(r *http.Request) string {
	if _, password, ok := r.BasicAuth(); ok {
		return password
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "token") && !strings.EqualFold(scheme, "bearer") {
		return ""
	}
	return text
}

// allow checks the token's scope by the method, and then the role. A route
// needs a category of scopes and, behind a colon, a role.
func (d forgejo) allow(c *call, rt route) *APIError {
	category, role, _ := strings.Cut(rt.needs, ":")
	level := "write"
	if c.r.Method == http.MethodGet {
		level = "read"
	}
	if scopes := c.grant.scopes; scopes != nil && !slices.Contains(scopes, "write:"+category) && !slices.Contains(scopes, level+":"+category) {
		return denied(fmt.Sprintf("token does not have at least one of required scope(s), required=[%s:%s], token scope=%s",
			level, category, strings.Join(scopes, ",")))
	}
	if role != "" && !atLeast(c.repoRole(c.repo), role) {
		return denied("user should have a permission to write to a repo")
	}
	return nil
}

func denied(message string) *APIError {
	return &APIError{Status: http.StatusForbidden, Message: message}
}

// paging writes the length of the list always, and the links only when there
// is more (test-peers, fact 7).
func (d forgejo) paging(c *call, total int) (int, int) {
	query := c.r.URL.Query()
	size := bounded(query.Get("limit"), 30, 50)
	page := bounded(query.Get("page"), 1, 1<<30)
	c.w.Header().Set("X-Total-Count", fmt.Sprint(total))
	c.links(c.r.URL.EscapedPath(), query, page, max(1, (total+size-1)/size))
	from := min((page-1)*size, total)
	return from, min(from+size, total)
}

// answered adds nothing: no answer has an ETag.
func (d forgejo) answered(*call, []byte) bool { return true }

func (d forgejo) refuse(w http.ResponseWriter, e *APIError) {
	w.Header().Set("Content-Type", "application/json;charset=utf-8")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(object{"message": e.Message, "url": d.URL() + "/api/swagger"}) // the client may be gone
}

// loud: every reference of a push is told of.
func (d forgejo) loud([]refChange, refChange) bool { return true }

// header sends three families of names at once, Forgejo a fourth. Without a
// secret the signatures are there and empty.
func (d forgejo) header(s Delivery) http.Header {
	sig1, sig256 := "", ""
	if s.hook.secret != "" {
		sig1, sig256 = sign(sha1.New, s.hook.secret, s.Body), sign(sha256.New, s.hook.secret, s.Body)
	}
	precise := s.precise
	if precise == "" {
		precise = s.Event
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "Go-http-client/1.1")
	for _, family := range d.family.headers {
		header.Set("X-"+family+"-Delivery", s.GUID)
		header.Set("X-"+family+"-Event", s.Event)
		header.Set("X-"+family+"-Event-Type", precise)
		if family != "GitHub" {
			header.Set("X-"+family+"-Signature", sig256)
		}
	}
	header.Set("X-Hub-Signature", "sha1="+sig1)
	header.Set("X-Hub-Signature-256", "sha256="+sig256)
	return header
}

// checkStatus takes any state and any length (test-peers, fact 7). For a commit
// that is not there the server fails and does not say why.
func (d forgejo) checkStatus(r *Repo, sha string, _ Status) *APIError {
	if !r.hasCommit(d.life, sha) {
		return &APIError{Status: http.StatusInternalServerError}
	}
	return nil
}

// report sets a commit status: that is all CI has. Each change is a new one,
// and its link is a path without a host.
func (d forgejo) report(r *Repo, sha, name, state, conclusion string) (CheckRun, *APIError) {
	states := map[string]string{"": "pending", "success": "success", "skipped": d.family.skipped}
	said, ok := states[conclusion]
	if !ok {
		said = "failure"
	}
	s, err := d.addStatus(r, sha, Status{
		Context: name, State: said, TargetURL: "/" + r.fullName() + "/actions/runs/1/jobs/0", Creator: d.actions(),
	})
	if err != nil {
		return CheckRun{}, err
	}
	return CheckRun{ID: s.ID, Name: name, Status: state, Conclusion: conclusion}, nil
}

// actions is the account CI reports as. It is none a person could have.
func (d forgejo) actions() *User {
	u := d.account(d.family.actions, typeBot)
	u.ID = -2
	return u
}

// verdict: nobody approves a change of one's own, a new verdict dismisses the
// earlier ones of the same account, and any review answers a request for one.
func (d forgejo) verdict(p *Pull, by *User, ask, body string) *APIError {
	decides := ask == "APPROVE" || ask == "REQUEST_CHANGES"
	verb := map[string]string{"APPROVE": "approve", "REQUEST_CHANGES": "reject"}[ask]
	switch {
	case decides && by == p.author:
		return &APIError{Status: http.StatusUnprocessableEntity, Message: verb + " your own pull is not allowed"}
	case ask != "" && ask != "APPROVE" && body == "":
		return &APIError{Status: http.StatusUnprocessableEntity, Message: "review event " + ask + " requires a body"}
	}
	for _, v := range p.reviewsOf() {
		if decides && v.author == by && (v.state == "APPROVED" || v.state == "CHANGES_REQUESTED") {
			v.was, v.state = v.state, "DISMISSED"
		}
	}
	if ask != "" {
		p.requested = slices.DeleteFunc(p.requested, func(r reviewRequest) bool { return r.of == by })
	}
	return nil
}
