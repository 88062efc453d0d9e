package forgetest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pipeline is one of GitLab's. External statuses are jobs of it.
type pipeline struct {
	id, iid  int64
	repo     *Repo
	sha, ref string
	source   string // "push", "merge_request_event", "external"
	by       *User
	created  time.Time
	jobs     []*job // oldest first, retried ones too
}

// job is a job of CI, or an external status.
type job struct {
	id                       int64
	in                       *pipeline
	name, state, description string
	target                   string
	by                       *User
	external, retried        bool
	created, started, ended  time.Time
	mirror                   *status   // of an external one
	run                      *checkRun // of CI's own
}

// StartPipeline makes a pipeline of CI for a commit, with no job yet. Ref is a
// branch, or refs/merge-requests/N/head.
func (r *Repo) StartPipeline(by *User, sha, ref string) (int64, error) {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	d := gitlabOf(r)
	if !r.hasCommit(d.life, sha) {
		return 0, notFoundAs("Commit")
	}
	source := "push"
	if strings.HasPrefix(ref, "refs/merge-requests/") {
		source = "merge_request_event"
	}
	return d.newPipeline(r, by, sha, ref, source).id, nil
}

func (d gitlab) newPipeline(r *Repo, by *User, sha, ref, source string) *pipeline {
	all := d.state.pipelines[r]
	p := &pipeline{id: d.nextID(), iid: int64(len(all) + 1), repo: r, sha: sha, ref: ref, source: source, by: by, created: d.now()}
	d.state.pipelines[r] = append(all, p)
	return p
}

// status of a pipeline, from what counts of its jobs.
func (p *pipeline) status() string {
	status := "created"
	for _, j := range p.jobs {
		switch {
		case j.retried:
		case j.state == "pending" || j.state == "running" || j.state == "created":
			return "running" // and so it stays until they all ended
		case j.state == "failed":
			status = "failed"
		case status == "failed":
		case j.state == "canceled":
			status = "canceled"
		case status != "canceled":
			status = "success"
		}
	}
	return status
}

// pipelineFor is the newest pipeline of a commit that a status fits in.
func (d gitlab) pipelineFor(r *Repo, sha, ref string, id int64) *pipeline {
	for _, p := range slices.Backward(d.state.pipelines[r]) {
		if p.sha == sha && (ref == "" || p.ref == ref) && (id == 0 || p.id == id) {
			return p
		}
	}
	return nil
}

// branchWith is the first branch that holds a commit.
func (r *Repo) branchWith(sha string) string {
	for _, name := range sortedKeys(r.refs) {
		if short, ok := strings.CutPrefix(name, "refs/heads/"); ok && r.isAncestor(r.f.life, sha, r.refs[name].commit) {
			return short
		}
	}
	return ""
}

// place finds or makes the pipeline of an external status.
func (d gitlab) statusPipeline(r *Repo, by *User, sha, ref string, id int64) (*pipeline, *APIError) {
	found := d.pipelineFor(r, sha, ref, id)
	if ref == "" && found == nil {
		ref = r.branchWith(sha)
	}
	switch {
	case found == nil && ref == "":
		return nil, notFoundAs("References for commit")
	case found == nil && id != 0:
		return nil, notFoundAs("Pipeline for pipeline_id, sha and ref")
	case found == nil:
		found = d.newPipeline(r, by, sha, ref, "external")
	}
	// The default branch is protected: only Maintainers push and merge there.
	if found.ref == r.defaultBranch && !atLeast(r.roleOf(by), "maintain") {
		return nil, forbidden()
	}
	return found, nil
}

// askedStatus is the body of a status request.
type askedStatus struct {
	State       string  `json:"state"`
	Ref         string  `json:"ref"`
	Name        string  `json:"name"`
	Context     string  `json:"context"`
	Description *string `json:"description"`
	TargetURL   *string `json:"target_url"`
	PipelineID  int64   `json:"pipeline_id"`
}

// setStatus writes an external status: the one of this name and account that
// has not ended is moved on, else a new job replaces what stands.
func (d gitlab) setStatus(r *Repo, by *User, sha string, ask askedStatus) (*job, *APIError) {
	check := Status{Context: ask.Name, State: ask.State, Creator: by}
	if ask.Description != nil {
		check.Description = *ask.Description
	}
	if ask.TargetURL != nil {
		check.TargetURL = *ask.TargetURL
	}
	if err := d.checkStatus(r, sha, check); err != nil {
		return nil, err
	}
	in, refused := d.statusPipeline(r, by, sha, ask.Ref, ask.PipelineID)
	if refused != nil {
		return nil, refused
	}
	moving := in.unfinished(ask.Name, by)
	if moving != nil {
		if refused := cannotMove(moving.state, ask.State); refused != nil {
			return nil, refused
		}
	} else {
		moving = d.newJob(in, by, ask.Name)
		moving.external = true
	}
	moving.state = ask.State
	if ask.Description != nil {
		moving.description = *ask.Description
	}
	if ask.TargetURL != nil {
		moving.target = *ask.TargetURL
	}
	d.clock(moving)
	return moving, d.reflect(r, moving)
}

// unfinished is the external status of a name and account that a new state moves
// on.
func (p *pipeline) unfinished(name string, by *User) *job {
	for _, j := range p.jobs {
		if j.external && j.name == name && j.by == by && (j.state == "pending" || j.state == "running") {
			return j
		}
	}
	return nil
}

// cannotMove refuses what GitLab's state machine does not know.
func cannotMove(from, to string) *APIError {
	verb := map[string]string{"pending": "enqueue", "running": "run", "skipped": "skip"}[to]
	if to == "running" && from == "pending" || verb == "" {
		return nil
	}
	message := fmt.Sprintf("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via %q)", verb, from, verb)
	return &APIError{Status: http.StatusBadRequest, Message: message}
}

// newJob adds a job; what stood under its name is retried then.
func (d gitlab) newJob(in *pipeline, by *User, name string) *job {
	j := &job{id: d.nextID(), in: in, name: name, by: by, created: d.now()}
	for _, old := range in.jobs {
		if old.name == name {
			old.retried = true
		}
	}
	in.jobs = append(in.jobs, j)
	return j
}

// clock writes when a job began and ended.
func (d gitlab) clock(j *job) {
	switch j.state {
	case "created", "pending":
	case "running":
		j.started = d.now()
	default:
		j.ended = d.now()
	}
}

// reflect keeps the status that tests look at, in the words of all forges.
func (d gitlab) reflect(r *Repo, j *job) *APIError {
	state := map[string]string{"pending": "pending", "running": "pending", "success": "success", "failed": "failure"}[j.state]
	if state == "" {
		state = "error"
	}
	if j.mirror == nil {
		stored, err := d.addStatus(r, j.in.sha, Status{
			Context: j.name, State: state, Description: j.description, TargetURL: j.target, Creator: j.by,
		})
		j.mirror = stored
		return err
	}
	j.mirror.State, j.mirror.Description, j.mirror.TargetURL = state, j.description, j.target
	d.tell(event{kind: statusEvent, repo: r, by: j.by, status: j.mirror})
	return nil
}

// report sets a job of CI's own, in the newest pipeline of the commit that is
// CI's. A job of that name that has not ended is moved on.
func (d gitlab) report(r *Repo, sha, name, state, conclusion string) (CheckRun, *APIError) {
	if !r.hasCommit(d.life, sha) {
		return CheckRun{}, notFoundAs("Commit")
	}
	native := map[string]string{
		"success": "success", "failure": "failed", "cancelled": "canceled", "skipped": "skipped", "action_required": "manual",
	}[conclusion]
	switch {
	case (state == "completed") != (conclusion != ""):
		return CheckRun{}, invalid(FieldError{Field: "state", Message: "does not go with the conclusion"})
	case state == "queued":
		native = "pending"
	case state == "in_progress":
		native = "running"
	case native == "":
		native = "failed"
	}
	runner := d.account("ci-runner", typeUser)
	in := d.ciPipeline(r, runner, sha)
	run := r.unfinished(sha, name)
	var j *job
	if run == nil {
		run = r.newCheck(sha, name)
		j = d.newJob(in, runner, name)
		j.id, j.run = run.ID, run
	} else {
		j = in.jobs[slices.IndexFunc(in.jobs, func(o *job) bool { return o.run == run })]
	}
	run.Status, run.Conclusion, j.state = state, conclusion, native
	d.clock(j)
	run.completed = j.ended
	d.tell(event{kind: checkEvent, action: "updated", repo: r, by: runner, check: run})
	return run.CheckRun, nil
}

func (d gitlab) ciPipeline(r *Repo, by *User, sha string) *pipeline {
	for _, p := range slices.Backward(d.state.pipelines[r]) {
		if p.sha == sha && p.source != "external" {
			return p
		}
	}
	return d.newPipeline(r, by, sha, r.branchWith(sha), "push")
}

// jobsOf lists the jobs and statuses of a commit, oldest first.
func (d gitlab) jobsOf(r *Repo, sha string) []*job {
	var all []*job
	for _, p := range d.state.pipelines[r] {
		if p.sha == sha {
			all = append(all, p.jobs...)
		}
	}
	slices.SortFunc(all, func(a, b *job) int { return int(a.id - b.id) })
	return all
}

// PipelineOf is the pipeline that the newest status or job of a name stands in;
// 0 for none.
func (r *Repo) PipelineOf(sha, name string) int64 {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	for _, j := range slices.Backward(gitlabOf(r).jobsOf(r, sha)) {
		if j.name == name {
			return j.in.id
		}
	}
	return 0
}

// RefOfPipeline is the branch or ref of a pipeline.
func (r *Repo) RefOfPipeline(id int64) string {
	r.f.mu.Lock()
	defer r.f.mu.Unlock()
	for _, p := range gitlabOf(r).state.pipelines[r] {
		if p.id == id {
			return p.ref
		}
	}
	return ""
}
