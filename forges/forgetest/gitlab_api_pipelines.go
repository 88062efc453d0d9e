package forgetest

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
)

func (d gitlab) pipelineRoutes() []route {
	return []route{
		{method: "GET", path: "/repository/commits/{sha}/statuses", repo: true, needs: "read", handle: d.listStatuses},
		{method: "POST", path: "/statuses/{sha}", repo: true, needs: "write", handle: d.postStatus},
	}
}

// listStatuses shows what counts, or with all also what was retried.
func (d gitlab) listStatuses(c *call) (int, any, *APIError) {
	if !c.repo.hasCommit(c.r.Context(), c.params["sha"]) {
		return 0, nil, notFoundAs("Commit")
	}
	query := c.r.URL.Query()
	jobs := slices.DeleteFunc(d.jobsOf(c.repo, c.params["sha"]), func(j *job) bool {
		return query.Get("all") != "true" && j.retried ||
			query.Get("name") != "" && query.Get("name") != j.name ||
			query.Get("ref") != "" && query.Get("ref") != j.in.ref ||
			query.Get("pipeline_id") != "" && query.Get("pipeline_id") != fmt.Sprint(j.in.id)
	})
	return 200, eachOf(c, jobs, d.renderJob), nil
}

func (d gitlab) postStatus(c *call) (int, any, *APIError) {
	var ask askedStatus
	if err := c.decode(&ask); err != nil {
		return 0, nil, err
	}
	ask.Name = cmp.Or(ask.Name, ask.Context, "default")
	if !slices.Contains([]string{"pending", "running", "success", "failed", "canceled", "skipped"}, ask.State) {
		return 0, nil, &APIError{Status: http.StatusBadRequest, Message: "state does not have a valid value"}
	}
	j, err := d.setStatus(c.repo, c.grant.user, c.params["sha"], ask)
	if err != nil {
		return 0, nil, err
	}
	return 201, d.renderJob(j), nil
}

func (d gitlab) renderJob(j *job) object {
	return object{
		"id": j.id, "sha": j.in.sha, "ref": j.in.ref, "status": j.state, "name": j.name,
		"target_url": textOrNull(j.target), "description": textOrNull(j.description),
		"created_at": stamp(j.created), "started_at": stamp(j.started), "finished_at": stamp(j.ended),
		"allow_failure": false, "coverage": nil, "pipeline_id": j.in.id, "author": d.renderUser(j.by),
	}
}

// renderPipeline is a pipeline as a merge request shows it.
func (d gitlab) renderPipeline(p *pipeline) any {
	if p == nil {
		return nil
	}
	return object{
		"id": p.id, "iid": p.iid, "project_id": p.repo.ID, "sha": p.sha, "ref": p.ref, "status": p.status(),
		"source": p.source, "before_sha": zeroSHA, "tag": false, "user": d.renderUser(p.by),
		"web_url":    fmt.Sprintf("%s/-/pipelines/%d", d.web(p.repo), p.id),
		"created_at": stamp(p.created), "updated_at": stamp(p.created),
	}
}

// headPipeline is the pipeline of a merge request: one for its source branch or
// for its own ref, in the source project.
func (d gitlab) headPipeline(p *Pull) *pipeline {
	if p.head.repo != p.Repo {
		return nil
	}
	for _, found := range slices.Backward(d.state.pipelines[p.Repo]) {
		if found.sha == p.head.sha && (found.ref == p.head.branch || found.ref == p.headRef()) {
			return found
		}
	}
	return nil
}
