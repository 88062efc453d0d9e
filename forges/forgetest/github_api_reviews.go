package forgetest

import "slices"

func (d github) reviewRoutes() []route {
	const read, write = "pull_requests:read", "pull_requests:write"
	return []route{
		{method: "GET", path: "/pulls/{number}/reviews", repo: true, needs: read, handle: d.listReviews},
		{method: "POST", path: "/pulls/{number}/reviews", repo: true, needs: write, handle: d.createReview},
		{method: "GET", path: "/pulls/{number}/reviews/{review}", repo: true, needs: read, handle: d.getReview},
		{method: "PUT", path: "/pulls/{number}/reviews/{review}/dismissals", repo: true, needs: write, handle: d.dismissReview},
	}
}

// visible hides a pending review from everybody but its author.
func (d github) visible(c *call, v *review) bool {
	return v.state != "PENDING" || v.author == c.grant.user
}

func (d github) listReviews(c *call) (int, any, *APIError) {
	p, err := c.pull()
	if err != nil {
		return 0, nil, err
	}
	list := slices.DeleteFunc(p.reviewsOf(), func(v *review) bool { return !d.visible(c, v) })
	return 200, eachOf(c, list, d.renderReview), nil
}

func (d github) review(c *call) (*review, *APIError) {
	p, err := c.pull()
	if err != nil {
		return nil, err
	}
	v := c.repo.reviews[c.id("review")]
	if v == nil || v.pull != p || !d.visible(c, v) {
		return nil, notFound()
	}
	return v, nil
}

func (d github) getReview(c *call) (int, any, *APIError) {
	v, err := d.review(c)
	if err != nil {
		return 0, nil, err
	}
	return 200, d.renderReview(v), nil
}

func (d github) createReview(c *call) (int, any, *APIError) {
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
	return 200, d.renderReview(v), nil
}

func (d github) dismissReview(c *call) (int, any, *APIError) {
	v, err := d.review(c)
	if err != nil {
		return 0, nil, err
	}
	if err := c.f.dismissReview(v, c.grant.user); err != nil {
		return 0, nil, err
	}
	return 200, d.renderReview(v), nil
}
