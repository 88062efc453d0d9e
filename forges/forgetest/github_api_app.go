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

func (d github) appRoutes() []route {
	app := func(method, path string, handle func(*call) (int, any, *APIError)) route {
		return route{method: method, path: path, caller: byApp, handle: handle}
	}
	return []route{
		app("GET", "/app", func(c *call) (int, any, *APIError) { return 200, d.renderApp(c.app), nil }),
		app("GET", "/app/installations", d.installations),
		app("GET", "/app/installations/{installation}", d.getInstallation),
		app("POST", "/app/installations/{installation}/access_tokens", d.accessToken),
		app("GET", "/app/hook/config", d.hookConfig),
		app("GET", "/app/hook/deliveries", d.hookDeliveries),
		app("GET", "/app/hook/deliveries/{delivery}", d.hookDelivery),
		app("POST", "/app/hook/deliveries/{delivery}/attempts", d.hookRedeliver),
		{method: "GET", path: "/installation", repo: true, caller: byApp, handle: d.repoInstallation},
		{method: "GET", path: "/installation/repositories", needs: "metadata:read", handle: d.installedRepos},
	}
}

func (d github) installations(c *call) (int, any, *APIError) {
	var mine []*Installation
	for _, id := range slices.Sorted(maps.Keys(c.f.installs)) {
		if in := c.f.installs[id]; in.app == c.app {
			mine = append(mine, in)
		}
	}
	return 200, eachOf(c, mine, d.renderInstallation), nil
}

func (d github) installation(c *call) (*Installation, *APIError) {
	in := c.f.installs[c.id("installation")]
	if in == nil || in.app != c.app {
		return nil, notFound()
	}
	return in, nil
}

func (d github) getInstallation(c *call) (int, any, *APIError) {
	in, err := d.installation(c)
	if err != nil {
		return 0, nil, err
	}
	return 200, d.renderInstallation(in), nil
}

func (d github) repoInstallation(c *call) (int, any, *APIError) {
	in := c.app.installationOf(c.repo)
	if in == nil {
		return 0, nil, notFound()
	}
	return 200, d.renderInstallation(in), nil
}

// accessToken gives a token, narrowed as asked. It cannot exceed the grant.
func (d github) accessToken(c *call) (int, any, *APIError) {
	in, err := d.installation(c)
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
	repos, err := d.narrowedRepos(c, in, ask.Repositories, ask.RepositoryIDs)
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
			list = append(list, d.renderRepo(c.f.repos[id]))
		}
		answer["repositories"], answer["repository_selection"] = list, "selected"
	}
	return 201, answer, nil
}

func (d github) narrowedRepos(c *call, in *Installation, names []string, ids []int64) (map[int64]bool, *APIError) {
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

func (d github) installedRepos(c *call) (int, any, *APIError) {
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
		"repositories": eachOf(c, list, d.renderRepo),
	}, nil
}

func (d github) hookConfig(c *call) (int, any, *APIError) {
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
func (d github) deliveries(c *call) []Delivery {
	var list []Delivery
	for _, a := range slices.Backward(c.f.hooks.attempts()) {
		if a.hook.app == c.app && a.At.After(c.f.now().Add(-deliveryWindow)) {
			list = append(list, a)
		}
	}
	return list
}

func (d github) hookDeliveries(c *call) (int, any, *APIError) {
	query := c.r.URL.Query()
	list := d.deliveries(c)
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

func (d github) delivery(c *call) (Delivery, *APIError) {
	for _, d := range d.deliveries(c) {
		if d.ID == c.id("delivery") {
			return d, nil
		}
	}
	return Delivery{}, notFound()
}

func (d github) hookDelivery(c *call) (int, any, *APIError) {
	sent, err := d.delivery(c)
	if err != nil {
		return 0, nil, err
	}
	o := renderDelivery(sent)
	headers := object{}
	for name := range sent.Header {
		headers[name] = sent.Header.Get(name)
	}
	o["url"] = c.app.hook.url
	o["request"] = object{"headers": headers, "payload": rawJSON(sent.Body)}
	o["response"] = object{"headers": object{}, "payload": ""}
	return 200, o, nil
}

// hookRedeliver answers 202 and sends the same delivery under its GUID.
func (d github) hookRedeliver(c *call) (int, any, *APIError) {
	sent, err := d.delivery(c)
	if err != nil {
		return 0, nil, err
	}
	d.redeliver(sent)
	return 202, object{}, nil
}
