package forgetest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// gitlab is GitLab's dialect, of a self-managed instance on the Free tier. A
// pull request is a merge request there, and an organisation a group.
type gitlab struct {
	*Forge

	state *gitlabState
}

// gitlabState is what no other forge has.
type gitlabState struct {
	pipelines map[*Repo][]*pipeline // oldest first
	ends      map[membership]time.Time
	resets    map[*Repo]bool // a push takes approvals away
}

type membership struct {
	repo *Repo
	user *User
}

// NewGitLab starts a fake GitLab on a loopback address. Close ends it.
func NewGitLab(o Options) (*Forge, error) {
	state := &gitlabState{pipelines: map[*Repo][]*pipeline{}, ends: map[membership]time.Time{}, resets: map[*Repo]bool{}}
	return start(o, func(f *Forge) dialect { return gitlab{f, state} })
}

// gitlabOf is the dialect of a repository that is known to be on a GitLab.
func gitlabOf(r *Repo) gitlab {
	d, ok := r.f.dialect.(gitlab)
	if !ok {
		panic("forgetest: only a GitLab has this") //nolint:forbidigo // a mistake in a test's setup
	}
	return d
}

// ResetApprovalsOnPush sets GitLab's setting of this name.
func (r *Repo) ResetApprovalsOnPush() {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	gitlabOf(r).state.resets[r] = true
}

// EndMembership sets the day a direct membership ends on.
func (r *Repo) EndMembership(u *User, day time.Time) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	gitlabOf(r).state.ends[membership{r, u}] = day
}

// AccessToken makes a project's own token with scopes, and the bot account that
// it acts as.
func (r *Repo) AccessToken(role string, scopes ...string) (string, *User) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	bot := r.f.account(fmt.Sprintf("project_%d_bot_%s", r.ID, strings.ToLower(newGUID()[:8])), typeBot)
	r.access[bot.ID] = role
	text := "glpat-" + randomText(20)
	granted := map[string]string{}
	for _, s := range scopes {
		granted[s] = "yes"
	}
	r.f.tokens[text] = &grant{user: bot, permissions: granted}
	return text, bot
}

func (d gitlab) habits() habits {
	return habits{
		api: "/api/v4", pull: "/-/merge_requests/%d", pullRef: "refs/merge-requests/%d/head",
		anchors: map[CommentKind]string{
			IssueComment: "note_%d", ReviewComment: "note_%d", CommitComment: "note_%d", "": "note_%d",
		},
		maxBody: 1_000_000, gitMoved: http.StatusMovedPermanently, noreply: "%d-%s@users.noreply.gitlab.com",
		reactions: []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"},
	}
}

func (d gitlab) routes() []route {
	return slices.Concat(
		d.peopleRoutes(), d.mergeRequestRoutes(), d.noteRoutes(), d.pipelineRoutes(),
		[]route{{method: "POST", path: "/graphql", handle: d.graphql}},
	)
}

// place: a project is served under its id and under its full path, which is one
// part with its slashes escaped.
func (d gitlab) place(path []string, params map[string]string) ([]string, bool) {
	switch {
	case path[0] == "projects" && len(path) >= 2:
		full := unescape(path[1])
		if slash := strings.LastIndexByte(full, '/'); slash >= 0 {
			params["owner"], params["repo"] = full[:slash], full[slash+1:]
		} else {
			params["repository"] = full
		}
		return path[2:], true
	case len(path) == 2 && path[0] == "api": // GraphQL stands beside REST
		return path[1:], false
	}
	return path, false
}

// moved redirects a read to the project's number and refuses anything else.
func (d gitlab) moved(c *call, to *Repo) *APIError {
	if c.r.Method != http.MethodGet {
		return &APIError{Status: http.StatusMethodNotAllowed, Message: "Non GET methods are not allowed for moved projects"}
	}
	parts := strings.SplitN(c.r.URL.EscapedPath(), "/", 6) // "", api, v4, projects, path, rest
	target := fmt.Sprintf("%sprojects/%d", d.APIURL(), to.ID)
	if len(parts) == 6 {
		target += "/" + parts[5]
	}
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	c.w.Header().Set("Location", target)
	return &APIError{Status: http.StatusMovedPermanently, Message: "This resource has been moved permanently to " + target}
}

func (d gitlab) token(r *http.Request) string {
	if text := r.Header.Get("Private-Token"); text != "" {
		return text
	}
	text, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return text
}

// allow checks the token's scope and, where a route names one, the role in the
// project: both apply.
func (d gitlab) allow(c *call, rt route) *APIError {
	scopes := c.grant.permissions
	reads := rt.method == http.MethodGet || rt.path == "/graphql"
	if scopes != nil && scopes["api"] == "" && (!reads || scopes["read_api"] == "") {
		return &APIError{Status: http.StatusForbidden, Message: "insufficient_scope"}
	}
	if rt.needs != "" && !atLeast(c.repoRole(c.repo), rt.needs) {
		return forbidden()
	}
	return nil
}

func forbidden() *APIError { return &APIError{Status: http.StatusForbidden, Message: "403 Forbidden"} }

func (d gitlab) refuse(w http.ResponseWriter, e *APIError) {
	if e.Status == http.StatusTooManyRequests || strings.Contains(e.Message, "rate limit") {
		d.throttle(w)
		return
	}
	body := object{"message": e.Message}
	status := e.Status
	switch {
	case e.Message == "insufficient_scope":
		body = object{"error": e.Message, "error_description": "The request requires higher privileges than provided by the access token.", "scope": "api"}
	case status == http.StatusUnauthorized:
		body = object{"error": "invalid_token", "error_description": "Token was revoked or has expired. You have to re-authorize from the user."}
	case status == http.StatusNotFound && !strings.HasPrefix(e.Message, "404"):
		body = object{"message": "404 Not Found"}
	case status == http.StatusUnprocessableEntity:
		status = http.StatusBadRequest
		for _, detail := range e.Errors {
			if field, ok := detail.(FieldError); ok {
				body = object{"message": object{field.Field: []string{field.Message}}}
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client may be gone
}

// throttle answers as GitLab's limiter does: in plain text, with a status of its
// own, and with its names of the headers.
func (d gitlab) throttle(w http.ResponseWriter) {
	h := w.Header()
	if reset := h.Get("X-Ratelimit-Reset"); reset != "" {
		h.Set("RateLimit-Limit", "2000")
		h.Set("RateLimit-Observed", "2001")
		h.Set("RateLimit-Remaining", "0")
		h.Set("RateLimit-Reset", reset)
	}
	for _, name := range []string{"Limit", "Remaining", "Used", "Reset", "Resource"} {
		h.Del("X-Ratelimit-" + name)
	}
	h.Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = w.Write([]byte("Retry later\n")) // the client may be gone
}

// answered: every read has an ETag and honours If-None-Match.
func (d gitlab) answered(c *call, body []byte) bool {
	if c.r.Method != http.MethodGet || body == nil {
		return true
	}
	etag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(body))
	c.w.Header().Set("ETag", etag)
	return c.r.Header.Get("If-None-Match") != etag
}

// maxCounted is up to how many items a list tells its length.
const maxCounted = 10000

func (d gitlab) paging(c *call, total int) (int, int) {
	query := c.r.URL.Query()
	size := bounded(query.Get("per_page"), 20, 100)
	page := bounded(query.Get("page"), 1, 1<<30)
	pages := max(1, (total+size-1)/size)
	h := c.w.Header()
	h.Set("X-Per-Page", strconv.Itoa(size))
	h.Set("X-Page", strconv.Itoa(page))
	next, prev := "", ""
	if page < pages {
		next = strconv.Itoa(page + 1)
	}
	if page > 1 {
		prev = strconv.Itoa(page - 1)
	}
	h.Set("X-Next-Page", next) // empty on the last
	h.Set("X-Prev-Page", prev)
	if total <= maxCounted {
		h.Set("X-Total", strconv.Itoa(total))
		h.Set("X-Total-Pages", strconv.Itoa(pages))
	}
	c.links(c.r.URL.EscapedPath(), query, page, pages)
	from := min((page-1)*size, total)
	return from, min(from+size, total)
}

// maxRefEvents: of more references in one push GitLab tells nothing at all.
const maxRefEvents = 3

func (d gitlab) loud(push []refChange, _ refChange) bool { return len(push) <= maxRefEvents }

// header: the token stands in clear. A secret that begins like a signing token
// signs instead, as Standard Webhooks has it.
func (d gitlab) header(s Delivery) http.Header {
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "GitLab/18.4.0")
	header.Set("X-Gitlab-Event", s.Event)
	header.Set("X-Gitlab-Instance", d.URL())
	header.Set("X-Gitlab-Webhook-UUID", uuidOf(fmt.Sprint("hook ", s.hook.id)))
	// Everything that one trigger led to has the same; here all of one second.
	header.Set("X-Gitlab-Event-UUID", uuidOf(fmt.Sprint("event ", s.Repository, s.At.Unix())))
	header.Set("Idempotency-Key", s.GUID)
	key, signs := strings.CutPrefix(s.hook.secret, "whsec_")
	switch {
	case signs:
		raw, _ := base64.StdEncoding.DecodeString(key) // what is no key signs with none
		at := strconv.FormatInt(d.options.Now().Unix(), 10)
		mac := hmac.New(sha256.New, raw)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", s.GUID, at, s.Body) // a hash takes everything
		header.Set("Webhook-Id", s.GUID)
		header.Set("Webhook-Timestamp", at)
		header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	case s.hook.secret != "":
		header.Set("X-Gitlab-Token", s.hook.secret)
	}
	return header
}

// uuidOf is the same for the same text.
func uuidOf(text string) string {
	b := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// maxShort bounds every text of a status.
const maxShort = 255

func (d gitlab) checkStatus(r *Repo, sha string, s Status) *APIError {
	if !r.hasCommit(d.life, sha) {
		return notFoundAs("Commit")
	}
	for field, text := range map[string]string{"name": s.Context, "description": s.Description, "target_url": s.TargetURL} {
		if utf8.RuneCountInString(text) > maxShort {
			return invalid(FieldError{Field: field, Message: fmt.Sprintf("is too long (maximum is %d characters)", maxShort)})
		}
	}
	if !webAddress(s.TargetURL) {
		return invalid(FieldError{Field: "target_url", Message: "is blocked: Only allowed schemes are http, https"})
	}
	return nil
}

func notFoundAs(what string) *APIError {
	return &APIError{Status: http.StatusNotFound, Message: "404 " + what + " Not Found"}
}

// verdict: on the Free tier every Developer approves, the author too. What is
// written with a review is a note.
func (d gitlab) verdict(p *Pull, by *User, ask, body string) *APIError {
	if ask != "COMMENT" && ask != "" && !atLeast(p.Repo.roleOf(by), "write") {
		return &APIError{Status: http.StatusUnauthorized, Message: "401 Unauthorized"}
	}
	if body == "" || ask == "" {
		return nil
	}
	return d.addComment(&comment{kind: IssueComment, repo: p.Repo, pull: p, author: by, body: body})
}

// approvers are the accounts whose approval stands, in the order they approved.
func (p *Pull) approvers() []*review {
	var stand []*review
	for _, v := range p.reviewsOf() {
		if v.state == "COMMENTED" || v.state == "PENDING" {
			continue
		}
		stand = slices.DeleteFunc(stand, func(o *review) bool { return o.author == v.author })
		if v.state == "APPROVED" {
			stand = append(stand, v)
		}
	}
	return stand
}

// namespaceOf and nameOf split a full path, whose namespace may be nested.
func namespaceOf(full string) string { return path.Dir(full) }
func nameOf(full string) string      { return path.Base(full) }
