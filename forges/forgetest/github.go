package forgetest

import (
	"crypto/sha1" // GitHub still sends the legacy signature too
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// github is GitHub's dialect, laid out as on an Enterprise server.
type github struct{ *Forge }

// NewGitHub starts a fake GitHub on a loopback address. Close ends it.
func NewGitHub(o Options) (*Forge, error) {
	return start(o, func(f *Forge) dialect { return github{f} })
}

func (d github) habits() habits {
	return habits{
		api: "/api/v3", pull: "/pull/%d", pullRef: "refs/pull/%d/head",
		anchors: map[CommentKind]string{
			IssueComment: "issuecomment-%d", ReviewComment: "discussion_r%d", CommitComment: "commitcomment-%d", "": "pullrequestreview-%d",
		},
		presser: Person{Name: "GitHub", Email: "noreply@github.com"}, maxBody: 65536,
		noreply:   "%d+%s@users.noreply.github.com",
		reactions: []string{"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"},
		gitMoved:  http.StatusMovedPermanently,
	}
}

func (d github) routes() []route {
	return slices.Concat(
		d.appRoutes(), d.peopleRoutes(), d.repoRoutes(), d.pullRoutes(), d.reviewRoutes(), d.commentRoutes(), d.checkRoutes(), d.gitRoutes(),
		[]route{{method: "POST", path: "/graphql", handle: d.graphql}},
	)
}

// place: a repository is served under its names and under its id.
func (d github) place(path []string, params map[string]string) ([]string, bool) {
	switch {
	case path[0] == "repos" && len(path) >= 3:
		params["owner"], params["repo"] = path[1], path[2]
		return path[3:], true
	case path[0] == "repositories" && len(path) >= 2:
		params["repository"] = path[1]
		return path[2:], true
	case len(path) == 2 && path[0] == "api": // GraphQL stands beside REST
		return path[1:], false
	}
	return path, false
}

// moved redirects: 301 for a read, 307 for anything else, so that a client
// which follows keeps the body.
func (d github) moved(c *call, to *Repo) *APIError {
	prefix := d.habits().api + "/repos/" + c.params["owner"] + "/" + c.params["repo"]
	target := d.APIURL() + "repositories/" + fmt.Sprint(to.ID) + strings.TrimPrefix(c.r.URL.EscapedPath(), prefix)
	if c.r.URL.RawQuery != "" {
		target += "?" + c.r.URL.RawQuery
	}
	c.w.Header().Set("Location", target)
	status := http.StatusTemporaryRedirect
	if c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		status = http.StatusMovedPermanently
	}
	return &APIError{Status: status, Message: "Moved Permanently"}
}

func (d github) token(r *http.Request) string {
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "bearer") && !strings.EqualFold(scheme, "token") {
		return ""
	}
	return text
}

// allow checks the permission a route needs.
func (d github) allow(c *call, rt route) *APIError {
	if rt.needs == "" || rt.caller == byApp {
		return nil
	}
	alternatives := strings.Split(rt.needs, "|")
	if slices.ContainsFunc(alternatives, func(need string) bool { return c.may(need) }) {
		return nil
	}
	message := "Resource not accessible by integration"
	if c.grant.installation == nil {
		message = "Resource not accessible by personal access token"
	}
	accepted := strings.ReplaceAll(strings.Join(alternatives, "; "), ":", "=")
	return &APIError{Status: http.StatusForbidden, Message: message, Accepted: accepted}
}

// rateLimit is an installation's hourly budget.
const rateLimit = 5000

func limitHeaders(h http.Header, remaining int, reset time.Time) {
	h.Set("X-Ratelimit-Limit", strconv.Itoa(rateLimit))
	h.Set("X-Ratelimit-Remaining", strconv.Itoa(remaining))
	h.Set("X-Ratelimit-Used", strconv.Itoa(rateLimit-remaining))
	h.Set("X-Ratelimit-Reset", strconv.FormatInt(reset.Unix(), 10))
	h.Set("X-Ratelimit-Resource", "core")
}

func (d github) refuse(w http.ResponseWriter, e *APIError) {
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

// answered: a read carries an ETag that differs for each credential, and a
// matching If-None-Match gets a 304, which costs nothing.
func (d github) answered(c *call, body []byte) bool {
	points, h := 1, c.w.Header()
	defer func() { d.spend(c, points) }()
	if body == nil {
		return true
	}
	h.Set("X-Github-Media-Type", "github.v3; format=json")
	if c.r.Method != http.MethodGet {
		return true
	}
	sum := sha256.Sum256(append([]byte(c.r.Header.Get("Authorization")+"\n"), body...))
	etag := fmt.Sprintf(`W/"%x"`, sum)
	h.Set("ETag", etag)
	h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP,Accept-Encoding, Accept, X-Requested-With")
	if c.r.Header.Get("If-None-Match") == etag {
		points = 0
		return false
	}
	return true
}

// spend takes from the caller's budget and says what is left.
func (d github) spend(c *call, points int) {
	if c.grant == nil {
		limitHeaders(c.w.Header(), rateLimit, d.now().Add(time.Hour))
		return
	}
	c.grant.spent += points
	limitHeaders(c.w.Header(), max(1, rateLimit-c.grant.spent), d.now().Add(time.Hour))
}

// paging writes the Link header. The links name the repository by its id, as
// GitHub's do.
func (d github) paging(c *call, total int) (int, int) {
	query := c.r.URL.Query()
	size := bounded(query.Get("per_page"), 30, 100)
	page := bounded(query.Get("page"), 1, 1<<30)
	path := c.r.URL.EscapedPath()
	if c.repo != nil && c.params["owner"] != "" {
		prefix := d.habits().api + "/repos/" + c.params["owner"] + "/" + c.params["repo"]
		path = d.habits().api + "/repositories/" + fmt.Sprint(c.repo.ID) + strings.TrimPrefix(path, prefix)
	}
	c.links(path, query, page, max(1, (total+size-1)/size))
	from := min((page-1)*size, total)
	return from, min(from+size, total)
}

// links writes the Link header of a list.
func (c *call) links(path string, query url.Values, page, pages int) {
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

// Beyond these numbers in one push GitHub sends no event at all.
const (
	maxTagEvents    = 3
	maxBranchEvents = 5000
)

func (d github) loud(push []refChange, c refChange) bool {
	tagsMoved, tagsGone, branches := 0, 0, 0
	for _, c := range push {
		switch {
		case !isTag(c.name):
			branches++
		case c.new.object == "":
			tagsGone++
		default:
			tagsMoved++
		}
	}
	switch {
	case !isTag(c.name):
		return branches <= maxBranchEvents
	case c.new.object == "":
		return tagsGone <= maxTagEvents
	}
	return tagsMoved <= maxTagEvents
}

func (d github) header(s Delivery) http.Header {
	target, targetID := "repository", s.Repository
	if s.hook.app != nil {
		target, targetID = "integration", s.hook.app.ID
	}
	header := http.Header{}
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", "GitHub-Hookshot/fa4e000")
	header.Set("X-Github-Hook-Id", fmt.Sprint(s.hook.id))
	header.Set("X-Github-Event", s.Event)
	header.Set("X-Github-Delivery", s.GUID)
	header.Set("X-Github-Hook-Installation-Target-Type", target)
	header.Set("X-Github-Hook-Installation-Target-Id", fmt.Sprint(targetID))
	if s.hook.secret != "" {
		header.Set("X-Hub-Signature", "sha1="+sign(sha1.New, s.hook.secret, s.Body))
		header.Set("X-Hub-Signature-256", "sha256="+sign(sha256.New, s.hook.secret, s.Body))
	}
	return header
}

// Limits on commit statuses.
const (
	maxStatuses    = 1000
	maxDescription = 140
	maxContext     = 255
)

func (d github) checkStatus(r *Repo, sha string, s Status) *APIError {
	field := func(name, message string) *APIError {
		return invalid(FieldError{Resource: "Status", Code: "custom", Field: name, Message: message})
	}
	switch {
	case !r.hasCommit(d.life, sha):
		return unprocessable("No commit found for SHA: " + sha)
	case !slices.Contains([]string{"error", "failure", "pending", "success"}, s.State):
		return invalid(FieldError{Resource: "Status", Code: "invalid", Field: "state"})
	case utf8.RuneCountInString(s.Description) > maxDescription:
		return field("description", "description is too long (maximum is 140 characters)")
	case utf8.RuneCountInString(s.Context) > maxContext:
		return field("context", "context is too long (maximum is 255 characters)")
	case !webAddress(s.TargetURL):
		return field("target_url", "target_url must use http(s) scheme")
	}
	same := 0
	for _, old := range r.statuses {
		if old.sha == sha && strings.EqualFold(old.Context, s.Context) {
			same++
		}
	}
	if same >= maxStatuses {
		return field("base", "This SHA and context has reached the maximum number of statuses.")
	}
	return nil
}

// report sets a check run. A run of that name that has not completed is
// updated; otherwise a new attempt is made.
func (d github) report(r *Repo, sha, name, state, conclusion string) (CheckRun, *APIError) {
	if !r.hasCommit(d.life, sha) {
		return CheckRun{}, unprocessable("No commit found for SHA: " + sha)
	}
	if (state == "completed") != (conclusion != "") {
		return CheckRun{}, invalid(FieldError{Resource: "CheckRun", Code: "invalid", Field: "conclusion"})
	}
	run, action := r.unfinished(sha, name), "updated"
	if run == nil {
		run, action = r.newCheck(sha, name), "created"
	}
	run.Status, run.Conclusion = state, conclusion
	if state == "completed" {
		run.completed = d.now()
	}
	d.tell(event{kind: checkEvent, action: action, repo: r, by: d.account("github-actions[bot]", typeBot), check: run})
	return run.CheckRun, nil
}

// verdict: nobody approves a change of one's own, and only an approval may
// come without words.
func (d github) verdict(p *Pull, by *User, ask, body string) *APIError {
	if by == p.author && (ask == "APPROVE" || ask == "REQUEST_CHANGES") {
		verb := strings.ToLower(strings.ReplaceAll(ask, "_", " "))
		if ask == "REQUEST_CHANGES" {
			verb += " on"
		}
		return &APIError{Status: 422, Message: "Unprocessable Entity", Errors: []any{"Can not " + verb + " your own pull request"}}
	}
	if body == "" && (ask == "REQUEST_CHANGES" || ask == "COMMENT") {
		return invalid(FieldError{Resource: "PullRequestReview", Code: "missing_field", Field: "body"})
	}
	return nil
}
