package forgetest

import (
	"fmt"
	"net/http"
	"strings"
)

func (d github) repoRoutes() []route {
	return []route{
		{method: "GET", path: "/", repo: true, needs: "metadata:read", handle: func(c *call) (int, any, *APIError) {
			return 200, d.renderRepo(c.repo), nil
		}},
		{method: "GET", path: "/tags", repo: true, needs: "metadata:read", handle: d.tags},
		{method: "GET", path: "/branches/{branch...}", repo: true, needs: "contents:read", handle: d.branch},
	}
}

func (d github) gitRoutes() []route {
	return []route{
		{method: "GET", path: "/git/ref/{ref...}", repo: true, needs: "contents:read", handle: d.gitRef},
		{method: "GET", path: "/git/matching-refs/{ref...}", repo: true, needs: "contents:read", handle: d.gitRefs},
		{method: "POST", path: "/git/refs", repo: true, needs: "contents:write", unlocked: true, handle: d.createRef},
		{method: "DELETE", path: "/git/refs/{ref...}", repo: true, needs: "contents:write", unlocked: true, handle: d.deleteRef},
	}
}

func (d github) tags(c *call) (int, any, *APIError) {
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
			"name": short, "node_id": "REF", "commit": object{"sha": sha, "url": d.apiURL(c.repo, "/commits/"+sha)},
			"zipball_url": d.apiURL(c.repo, "/zipball/"+name), "tarball_url": d.apiURL(c.repo, "/tarball/"+name),
		}
	}), nil
}

func (d github) branch(c *call) (int, any, *APIError) {
	at, ok := c.repo.refs["refs/heads/"+c.params["branch"]]
	if !ok {
		return 0, nil, &APIError{Status: http.StatusNotFound, Message: "Branch not found"}
	}
	commits, err := c.repo.readCommits(c.r.Context(), []string{at.commit})
	if err != nil {
		return 0, nil, fault500(err)
	}
	return 200, object{
		"name": c.params["branch"], "commit": d.renderCommit(c.repo, commits[0]), "protected": false,
		"_links": object{}, "protection": object{"enabled": false}, "protection_url": d.apiURL(c.repo, "/branches/x/protection"),
	}, nil
}

func (d github) renderRef(c *call, name string) object {
	at := c.repo.refs[name]
	kind, path := "commit", "commits"
	if at.object != at.commit {
		kind, path = "tag", "tags"
	}
	return object{
		"ref": name, "node_id": "REF", "url": d.apiURL(c.repo, "/git/"+name),
		"object": object{"type": kind, "sha": at.object, "url": d.apiURL(c.repo, fmt.Sprintf("/git/%s/%s", path, at.object))},
	}
}

func (d github) gitRef(c *call) (int, any, *APIError) {
	name := "refs/" + c.params["ref"]
	if _, ok := c.repo.refs[name]; !ok {
		return 0, nil, notFound()
	}
	return 200, d.renderRef(c, name), nil
}

func (d github) gitRefs(c *call) (int, any, *APIError) {
	list := []object{}
	for _, name := range sortedKeys(c.repo.refs) {
		if strings.HasPrefix(name, "refs/"+c.params["ref"]) {
			list = append(list, d.renderRef(c, name))
		}
	}
	return 200, list, nil
}

func (d github) createRef(c *call) (int, any, *APIError) {
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
	}, func() { created = d.renderRef(c, ask.Ref) })
	if err != nil {
		return 0, nil, fault500(err)
	}
	return 201, created, nil
}

func (d github) deleteRef(c *call) (int, any, *APIError) {
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
