package forgetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Caps on lists of commits and files.
const (
	maxPullCommits  = 250
	maxPullFiles    = 3000
	maxCompareFiles = 300
)

func (d github) pullRoutes() []route {
	const read = "pull_requests:read"
	return []route{
		{method: "GET", path: "/pulls", repo: true, needs: read, handle: d.listPulls},
		{method: "GET", path: "/pulls/{number}", repo: true, needs: read, handle: d.getPull},
		{method: "GET", path: "/pulls/{number}/commits", repo: true, needs: read, handle: d.pullCommits},
		{method: "GET", path: "/pulls/{number}/files", repo: true, needs: read, handle: d.pullFiles},
		{method: "PUT", path: "/pulls/{number}/merge", repo: true, needs: "contents:write", unlocked: true, handle: d.mergePull},
		{method: "GET", path: "/commits/{ref}/pulls", repo: true, needs: read, handle: d.commitPulls},
		{method: "GET", path: "/commits/{ref}", repo: true, needs: "contents:read", handle: d.getCommit},
		{method: "GET", path: "/compare/{span...}", repo: true, needs: "contents:read", handle: d.compare},
	}
}

func (d github) listPulls(c *call) (int, any, *APIError) {
	query := c.r.URL.Query()
	state, base := query.Get("state"), query.Get("base")
	var list []*Pull
	for n := 1; n <= c.repo.lastNumber; n++ {
		p := c.repo.pulls[n]
		if p == nil || base != "" && p.base.branch != base {
			continue
		}
		if state == "all" || state == p.state || state == "" && p.state == "open" {
			list = append(list, p)
		}
	}
	if query.Get("direction") != "asc" { // newest first by default
		slices.Reverse(list)
	}
	return 200, eachOf(c, list, d.renderPullItem), nil
}

// getPull shows what is known of mergeability and starts the test merge, so
// that only a later read knows about the newest head.
func (d github) getPull(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	shown := d.renderPull(p)
	if p.state == "open" && !p.checked {
		if err := p.checkMergeable(context.WithoutCancel(c.r.Context())); err != nil {
			return 0, nil, fault500(err)
		}
	}
	return 200, shown, nil
}

// pullCommits stops at 250, whatever page is asked for.
func (d github) pullCommits(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	shas, gerr := p.commitsOf(c.r.Context())
	if gerr != nil {
		return 0, nil, fault500(gerr)
	}
	if len(shas) > maxPullCommits {
		shas = shas[:maxPullCommits]
	}
	return d.commitPage(c, shas)
}

func (d github) commitPage(c *call, shas []string) (int, any, *APIError) {
	list, err := d.renderCommits(c, pageOf(c, shas))
	if err != nil {
		return 0, nil, err
	}
	return 200, list, nil
}

func (d github) renderCommits(c *call, shas []string) ([]object, *APIError) {
	commits, err := c.repo.readCommits(c.r.Context(), shas)
	if err != nil {
		return nil, fault500(err)
	}
	list := []object{}
	for _, info := range commits {
		list = append(list, d.renderCommit(c.repo, info))
	}
	return list, nil
}

func (d github) pullFiles(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	files, err := d.files(c, p.base.sha+"..."+p.head.sha)
	if err != nil {
		return 0, nil, err
	}
	return 200, pageOf(c, files[:min(len(files), maxPullFiles)]), nil
}

func (d github) files(c *call, span string) ([]object, *APIError) {
	out, err := c.f.git(c.r.Context(), c.repo.dir, nil, "diff", "--no-renames", "--name-status", span)
	if err != nil {
		return nil, fault500(err)
	}
	kinds := map[string]string{"A": "added", "D": "removed"}
	files := []object{}
	for line := range strings.Lines(out) {
		letter, path, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		kind := kinds[letter]
		if kind == "" {
			kind = "modified"
		}
		web := fmt.Sprintf("%s/%s/blob/%s", c.f.URL(), c.repo.fullName(), path)
		files = append(files, object{
			"sha": zeroSHA, "filename": path, "status": kind, "additions": 1, "deletions": 0, "changes": 1,
			"blob_url": web, "raw_url": web, "contents_url": d.apiURL(c.repo, "/contents/"+path),
		})
	}
	return files, nil
}

func (d github) mergePull(c *call) (int, any, *APIError) {
	var ask struct {
		SHA    string `json:"sha"`
		Method string `json:"merge_method"`
	}
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	if ask.Method == "" {
		ask.Method = "merge"
	}
	c.f.mu.Lock()
	p, err := c.pull()
	c.f.mu.Unlock()
	if err != nil {
		return 0, nil, err
	}
	sha, merr := p.mergeAt(ask.Method, c.grant.user, ask.SHA)
	if merr != nil {
		return 0, nil, fault500(merr)
	}
	return 200, object{"sha": sha, "merged": true, "message": "Pull Request successfully merged"}, nil
}

// commitPulls lists the merged pull request that brought a commit to the
// default branch, or else merged and open ones that carry it.
func (d github) commitPulls(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	onDefault := c.repo.isAncestor(c.r.Context(), sha, "refs/heads/"+c.repo.defaultBranch)
	var list []*Pull
	for n := 1; n <= c.repo.lastNumber; n++ {
		p := c.repo.pulls[n]
		merged := p != nil && !p.mergedAt.IsZero()
		if p == nil || !merged && (onDefault || p.state != "open") {
			continue
		}
		if p.carries(c.r.Context(), sha) {
			list = append(list, p)
		}
	}
	return 200, eachOf(c, list, d.renderPullItem), nil
}

func (d github) getCommit(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	commits, err := d.renderCommits(c, []string{sha})
	if err != nil {
		return 0, nil, err
	}
	shown := commits[0]
	shown["stats"], shown["files"] = object{"additions": 1, "deletions": 0, "total": 1}, []object{}
	return 200, shown, nil
}

// compare lists the newest 250 commits without paging, all of them with it;
// files are on the first page only.
func (d github) compare(c *call) (int, any, *APIError) {
	base, head, ok := strings.Cut(c.params["span"], "...")
	if !ok {
		return 0, nil, notFound()
	}
	for _, rev := range []string{base, head} {
		if !c.repo.hasCommit(c.r.Context(), rev) {
			return 0, nil, notFound()
		}
	}
	shas, err := c.repo.revList(c.r.Context(), base+".."+head)
	if err != nil {
		return 0, nil, fault500(err)
	}
	total, query := len(shas), c.r.URL.Query()
	switch {
	case query.Get("page") != "" || query.Get("per_page") != "":
		shas = pageOf(c, shas)
	case total > maxPullCommits:
		shas = shas[total-maxPullCommits:]
	}
	commits, aerr := d.renderCommits(c, shas)
	if aerr != nil {
		return 0, nil, aerr
	}
	files := []object{}
	if bounded(query.Get("page"), 1, 1<<30) == 1 {
		if files, aerr = d.files(c, base+"..."+head); aerr != nil {
			return 0, nil, aerr
		}
		files = files[:min(len(files), maxCompareFiles)]
	}
	return 200, object{
		"url": d.apiURL(c.repo, "/compare/"+c.params["span"]), "html_url": c.f.URL(), "permalink_url": c.f.URL(),
		"diff_url": c.f.URL(), "patch_url": c.f.URL(), "status": "ahead", "ahead_by": total, "behind_by": 0,
		"total_commits": total, "commits": commits, "files": files,
	}, nil
}
