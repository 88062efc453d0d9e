package forgetest

func (d github) checkRoutes() []route {
	return []route{
		{method: "POST", path: "/statuses/{sha}", repo: true, needs: "statuses:write", handle: d.postStatus},
		{method: "GET", path: "/commits/{ref}/statuses", repo: true, needs: "statuses:read", handle: d.listStatuses},
		{method: "GET", path: "/commits/{ref}/status", repo: true, needs: "statuses:read", handle: d.combinedStatus},
		{method: "GET", path: "/commits/{ref}/check-runs", repo: true, needs: "checks:read", handle: d.listChecks},
	}
}

func (d github) postStatus(c *call) (int, any, *APIError) {
	var ask struct {
		State       string `json:"state"`
		Context     string `json:"context"`
		Description string `json:"description"`
		TargetURL   string `json:"target_url"`
	}
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	s, err := c.f.addStatus(c.repo, c.params["sha"], Status{
		Context: ask.Context, State: ask.State, Description: ask.Description, TargetURL: ask.TargetURL, Creator: c.grant.user,
	})
	if err != nil {
		return 0, nil, err
	}
	return 201, d.renderStatus(c.repo, s), nil
}

func (d github) listStatuses(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	return 200, eachOf(c, c.repo.statusesOf(sha), func(s *status) object { return d.renderStatus(c.repo, s) }), nil
}

// combinedStatus is failure with any error or failure, pending with any
// pending or with none at all, else success.
func (d github) combinedStatus(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	latest := c.repo.latestStatuses(sha)
	state := "success"
	if len(latest) == 0 {
		state = "pending"
	}
	for _, s := range latest {
		switch {
		case s.State == "error" || s.State == "failure":
			state = "failure"
		case s.State == "pending" && state != "failure":
			state = "pending"
		}
	}
	return 200, object{
		"state": state, "sha": sha, "total_count": len(latest), "repository": d.renderRepo(c.repo),
		"statuses":   eachOf(c, latest, func(s *status) object { return d.renderStatus(c.repo, s) }),
		"commit_url": d.apiURL(c.repo, "/commits/"+sha), "url": d.apiURL(c.repo, "/commits/"+sha+"/status"),
	}, nil
}

// listChecks shows the latest run of each name unless asked for all.
func (d github) listChecks(c *call) (int, any, *APIError) {
	sha, err := c.commitParam()
	if err != nil {
		return 0, nil, err
	}
	list := c.repo.checksOf(sha, c.r.URL.Query().Get("filter") != "all")
	return 200, object{
		"total_count": len(list),
		"check_runs":  eachOf(c, list, func(run *checkRun) object { return d.renderCheck(c.repo, run, false) }),
	}, nil
}
