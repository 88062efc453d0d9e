package forgetest

import (
	"fmt"
	"net/http"
	"strings"
)

func repoRoutes() []route {
	return []route{
		{method: "GET", path: "/", repo: true, needs: "metadata:read", handle: func(c *call) (int, any, *APIError) {
			return 200, c.f.renderRepo(c.repo), nil
		}},
		{method: "GET", path: "/tags", repo: true, needs: "metadata:read", handle: (*call).tags},
		{method: "GET", path: "/branches/{branch...}", repo: true, needs: "contents:read", handle: (*call).branch},
	}
}

func gitRoutes() []route {
	return []route{
		{method: "GET", path: "/git/ref/{ref...}", repo: true, needs: "contents:read", handle: (*call).gitRef},
		{method: "GET", path: "/git/matching-refs/{ref...}", repo: true, needs: "contents:read", handle: (*call).gitRefs},
		{method: "POST", path: "/git/refs", repo: true, needs: "contents:write", unlocked: true, handle: (*call).createRef},
		{method: "DELETE", path: "/git/refs/{ref...}", repo: true, needs: "contents:write", unlocked: true, handle: (*call).deleteRef},
	}
}

func (c *call) tags() (int, any, *APIError) {
	var names []string
	for _, name := range sortedKeys(c.repo.refs) {
		if isTag(name) {
			names = append(names, name)
		}
	}
	return 200, eachOf(c, names, func(name string) object {
		sha := c.repo.refs[name].commit
		short := strings.TrimPrefix(name, "refs/tags/")
		return object{
			"name": short, "node_id": "REF", "commit": object{"sha": sha, "url": c.repo.apiURL("/commits/" + sha)},
			"zipball_url": c.repo.apiURL("/zipball/" + name), "tarball_url": c.repo.apiURL("/tarball/" + name),
		}
	}), nil
}

func (c *call) branch() (int, any, *APIError) {
	at, ok := c.repo.refs["refs/heads/"+c.params["branch"]]
	if !ok {
		return 0, nil, &APIError{Status: http.StatusNotFound, Message: "Branch not found"}
	}
	commits, err := c.repo.readCommits(c.r.Context(), []string{at.commit})
	if err != nil {
		return 0, nil, fault500(err)
	}
	return 200, object{
		"name": c.params["branch"], "commit": c.f.renderCommit(c.repo, commits[0]), "protected": false,
		"_links": object{}, "protection": object{"enabled": false}, "protection_url": c.repo.apiURL("/branches/x/protection"),
	}, nil
}

func (c *call) renderRef(name string) object {
	at := c.repo.refs[name]
	kind, path := "commit", "commits"
	if at.object != at.commit {
		kind, path = "tag", "tags"
	}
	return object{
		"ref": name, "node_id": "REF", "url": c.repo.apiURL("/git/" + name),
		"object": object{"type": kind, "sha": at.object, "url": c.repo.apiURL(fmt.Sprintf("/git/%s/%s", path, at.object))},
	}
}

func (c *call) gitRef() (int, any, *APIError) {
	name := "refs/" + c.params["ref"]
	if _, ok := c.repo.refs[name]; !ok {
		return 0, nil, notFound()
	}
	return 200, c.renderRef(name), nil
}

func (c *call) gitRefs() (int, any, *APIError) {
	list := []object{}
	for _, name := range sortedKeys(c.repo.refs) {
		if strings.HasPrefix(name, "refs/"+c.params["ref"]) {
			list = append(list, c.renderRef(name))
		}
	}
	return 200, list, nil
}

func (c *call) createRef() (int, any, *APIError) {
	var ask struct{ Ref, SHA string }
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	var created object
	err := c.repo.changingRefs(c, func() error {
		if _, ok := c.repo.refs[ask.Ref]; ok {
			return unprocessable("Reference already exists")
		}
		if !strings.HasPrefix(ask.Ref, "refs/heads/") && !isTag(ask.Ref) {
			return unprocessable("Reference name must start with 'refs/heads/' or 'refs/tags/'")
		}
		if !c.repo.hasObject(c.r.Context(), ask.SHA) {
			return unprocessable("Object does not exist")
		}
		return c.repo.updateRef(c.r.Context(), ask.Ref, ask.SHA)
	}, func() { created = c.renderRef(ask.Ref) })
	if err != nil {
		return 0, nil, fault500(err)
	}
	return 201, created, nil
}

func (c *call) deleteRef() (int, any, *APIError) {
	name := "refs/" + c.params["ref"]
	err := c.repo.changingRefs(c, func() error {
		if _, ok := c.repo.refs[name]; !ok {
			return unprocessable("Reference does not exist")
		}
		_, err := c.f.git(c.r.Context(), c.repo.dir, nil, "update-ref", "-d", name)
		return err
	}, func() {})
	if err != nil {
		return 0, nil, fault500(err)
	}
	return 204, nil, nil
}

// changingRefs changes references for an API caller and reads the result
// under the same locks.
func (r *Repo) changingRefs(c *call, change func() error, then func()) error {
	r.pushing.Lock()
	defer r.pushing.Unlock()
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	if err := change(); err != nil {
		return err
	}
	if err := r.refsMoved(c.r.Context(), c.grant.user); err != nil {
		return err
	}
	then()
	return nil
}
