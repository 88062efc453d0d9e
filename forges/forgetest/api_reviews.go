package forgetest

import "slices"

func reviewRoutes() []route {
	const read, write = "pull_requests:read", "pull_requests:write"
	return []route{
		{method: "GET", path: "/pulls/{number}/reviews", repo: true, needs: read, handle: (*call).listReviews},
		{method: "POST", path: "/pulls/{number}/reviews", repo: true, needs: write, handle: (*call).createReview},
		{method: "GET", path: "/pulls/{number}/reviews/{review}", repo: true, needs: read, handle: (*call).getReview},
		{method: "PUT", path: "/pulls/{number}/reviews/{review}/dismissals", repo: true, needs: write, handle: (*call).dismissReview},
	}
}

// visible hides a pending review from everybody but its author.
func (c *call) visible(v *review) bool { return v.state != "PENDING" || v.author == c.grant.user }

func (c *call) listReviews() (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	list := slices.DeleteFunc(p.reviewsOf(), func(v *review) bool { return !c.visible(v) })
	return 200, eachOf(c, list, c.f.renderReview), nil
}

func (c *call) review() (*review, *APIError) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	v := c.repo.reviews[c.id("review")]
	if v == nil || v.pull != p || !c.visible(v) {
		return nil, notFound()
	}
	return v, nil
}

func (c *call) getReview() (int, any, *APIError) {
	v, err := c.review()
	if err != nil {
		return 0, nil, err
	}
	return 200, c.f.renderReview(v), nil
}

func (c *call) createReview() (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	var ask struct{ Event, Body string }
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	v, err := c.f.addReview(p, c.grant.user, ask.Event, ask.Body)
	if err != nil {
		return 0, nil, err
	}
	return 200, c.f.renderReview(v), nil
}

func (c *call) dismissReview() (int, any, *APIError) {
	v, err := c.review()
	if err != nil {
		return 0, nil, err
	}
	if err := c.f.dismissReview(v, c.grant.user); err != nil {
		return 0, nil, err
	}
	return 200, c.f.renderReview(v), nil
}
