package forgetest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Redelivery reaches back this far on github.com.
const deliveryWindow = 72 * time.Hour

// maxTokenRepos is how many repositories a token can be narrowed to.
const maxTokenRepos = 500

func appRoutes() []route {
	app := func(method, path string, handle func(*call) (int, any, *APIError)) route {
		return route{method: method, path: path, caller: byApp, handle: handle}
	}
	return []route{
		app("GET", "/app", func(c *call) (int, any, *APIError) { return 200, c.f.renderApp(c.app), nil }),
		app("GET", "/app/installations", (*call).installations),
		app("GET", "/app/installations/{installation}", (*call).getInstallation),
		app("POST", "/app/installations/{installation}/access_tokens", (*call).accessToken),
		app("GET", "/app/hook/config", (*call).hookConfig),
		app("GET", "/app/hook/deliveries", (*call).hookDeliveries),
		app("GET", "/app/hook/deliveries/{delivery}", (*call).hookDelivery),
		app("POST", "/app/hook/deliveries/{delivery}/attempts", (*call).hookRedeliver),
		{method: "GET", path: "/installation", repo: true, caller: byApp, handle: (*call).repoInstallation},
		{method: "GET", path: "/installation/repositories", needs: "metadata:read", handle: (*call).installedRepos},
	}
}

func (c *call) installations() (int, any, *APIError) {
	var mine []*Installation
	for _, id := range slices.Sorted(maps.Keys(c.f.installs)) {
		if in := c.f.installs[id]; in.app == c.app {
			mine = append(mine, in)
		}
	}
	return 200, eachOf(c, mine, c.f.renderInstallation), nil
}

func (c *call) installation() (*Installation, *APIError) {
	in := c.f.installs[c.id("installation")]
	if in == nil || in.app != c.app {
		return nil, notFound()
	}
	return in, nil
}

func (c *call) getInstallation() (int, any, *APIError) {
	in, err := c.installation()
	if err != nil {
		return 0, nil, err
	}
	return 200, c.f.renderInstallation(in), nil
}

func (c *call) repoInstallation() (int, any, *APIError) {
	in := c.app.installationOf(c.repo)
	if in == nil {
		return 0, nil, notFound()
	}
	return 200, c.f.renderInstallation(in), nil
}

// accessToken gives a token, narrowed as asked. It cannot exceed the grant.
func (c *call) accessToken() (int, any, *APIError) {
	in, err := c.installation()
	if err != nil {
		return 0, nil, err
	}
	if in.suspended {
		return 0, nil, &APIError{Status: http.StatusForbidden, Message: "This installation has been suspended"}
	}
	var ask struct {
		Repositories  []string          `json:"repositories"`
		RepositoryIDs []int64           `json:"repository_ids"`
		Permissions   map[string]string `json:"permissions"`
	}
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	permissions := maps.Clone(in.permissions)
	if len(ask.Permissions) > 0 {
		for name, level := range ask.Permissions {
			if levelRank(level) < 1 || levelRank(in.permissions[name]) < levelRank(level) {
				return 0, nil, unprocessable("The permissions requested are not granted to this installation.")
			}
		}
		permissions = maps.Clone(ask.Permissions)
		permissions["metadata"] = "read"
	}
	repos, err := c.narrowedRepos(in, ask.Repositories, ask.RepositoryIDs)
	if err != nil {
		return 0, nil, err
	}
	token, expires := c.f.newToken(in, permissions, repos)
	answer := object{
		"token": token, "expires_at": stamp(expires), "permissions": permissions, "repository_selection": in.selection(),
	}
	if repos != nil {
		list := []object{}
		for _, id := range slices.Sorted(maps.Keys(repos)) {
			list = append(list, c.f.renderRepo(c.f.repos[id]))
		}
		answer["repositories"], answer["repository_selection"] = list, "selected"
	}
	return 201, answer, nil
}

func (c *call) narrowedRepos(in *Installation, names []string, ids []int64) (map[int64]bool, *APIError) {
	if len(names)+len(ids) == 0 {
		return nil, nil
	}
	refused := unprocessable("There is at least one repository that does not exist or is not accessible to the parent installation.")
	if len(names)+len(ids) > maxTokenRepos {
		return nil, unprocessable("Too many repositories requested")
	}
	repos := map[int64]bool{}
	add := func(r *Repo) bool {
		if r == nil || !in.serves(r) {
			return false
		}
		repos[r.ID] = true
		return true
	}
	for _, name := range names {
		if !add(c.f.names[lower(in.account.Login, name)]) {
			return nil, refused
		}
	}
	for _, id := range ids {
		if !add(c.f.repos[id]) {
			return nil, refused
		}
	}
	return repos, nil
}

func (c *call) installedRepos() (int, any, *APIError) {
	if c.grant.installation == nil {
		return 0, nil, &APIError{Status: http.StatusForbidden, Message: "You must authenticate with an installation access token in order to list repositories for an installation."}
	}
	var list []*Repo
	for _, r := range c.f.sortedRepos() {
		if c.grant.installation.serves(r) && (c.grant.repos == nil || c.grant.repos[r.ID]) {
			list = append(list, r)
		}
	}
	return 200, object{
		"total_count": len(list), "repository_selection": c.grant.installation.selection(),
		"repositories": eachOf(c, list, c.f.renderRepo),
	}, nil
}

func (c *call) hookConfig() (int, any, *APIError) {
	o := object{"content_type": "json", "insecure_ssl": "0", "url": ""}
	if c.app.hook != nil {
		o["url"] = c.app.hook.url
		if c.app.hook.secret != "" {
			o["secret"] = "********"
		}
	}
	return 200, o, nil
}

// deliveries lists the app's attempts of the window, newest first.
func (c *call) deliveries() []Delivery {
	var list []Delivery
	for _, d := range slices.Backward(c.f.hooks.attempts()) {
		if h := c.f.hookByID[headerID(d.Header)]; h != nil && h.app == c.app && d.At.After(c.f.now().Add(-deliveryWindow)) {
			list = append(list, d)
		}
	}
	return list
}

func (c *call) hookDeliveries() (int, any, *APIError) {
	query := c.r.URL.Query()
	list := c.deliveries()
	if want := query.Get("status"); want != "" {
		list = slices.DeleteFunc(list, func(d Delivery) bool { return d.OK() != (want == "success") })
	}
	if cursor := strings.TrimPrefix(query.Get("cursor"), "v1_"); cursor != "" {
		after, _ := strconv.ParseInt(cursor, 10, 64)
		list = slices.DeleteFunc(list, func(d Delivery) bool { return d.ID >= after })
	}
	size := bounded(query.Get("per_page"), 30, 100)
	if len(list) > size {
		list = list[:size]
		query.Set("cursor", "v1_"+strconv.FormatInt(list[size-1].ID, 10))
		c.w.Header().Set("Link", "<"+c.f.URL()+c.r.URL.Path+"?"+query.Encode()+`>; rel="next"`)
	}
	out := []object{}
	for _, d := range list {
		out = append(out, renderDelivery(d))
	}
	return 200, out, nil
}

func renderDelivery(d Delivery) object {
	o := object{
		"id": d.ID, "guid": d.GUID, "delivered_at": stamp(d.At), "redelivery": d.Redelivery, "duration": 0.02,
		"status": "OK", "status_code": d.StatusCode, "event": d.Event, "action": textOrNull(d.Action),
		"installation_id": nil, "repository_id": nil, "throttled_at": nil,
	}
	if !d.OK() {
		o["status"] = "Invalid HTTP Response: " + strconv.Itoa(d.StatusCode)
	}
	if d.Installation != 0 {
		o["installation_id"] = d.Installation
	}
	if d.Repository != 0 {
		o["repository_id"] = d.Repository
	}
	return o
}

func (c *call) delivery() (Delivery, *APIError) {
	for _, d := range c.deliveries() {
		if d.ID == c.id("delivery") {
			return d, nil
		}
	}
	return Delivery{}, notFound()
}

func (c *call) hookDelivery() (int, any, *APIError) {
	d, err := c.delivery()
	if err != nil {
		return 0, nil, err
	}
	o := renderDelivery(d)
	headers := object{}
	for name := range d.Header {
		headers[name] = d.Header.Get(name)
	}
	o["url"] = c.app.hook.url
	o["request"] = object{"headers": headers, "payload": rawJSON(d.Body)}
	o["response"] = object{"headers": object{}, "payload": ""}
	return 200, o, nil
}

// hookRedeliver answers 202 and sends the same delivery under its GUID.
func (c *call) hookRedeliver() (int, any, *APIError) {
	d, err := c.delivery()
	if err != nil {
		return 0, nil, err
	}
	if err := c.f.redeliver(d); err != nil {
		return 0, nil, fault500(err)
	}
	return 202, object{}, nil
}
