package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// JobPlan is PlanPull in a CI job: the forge comes from the job's environment.
func JobPlan(ctx context.Context, h *Host, o PlanOptions) error {
	o.Forge = h.jobForge(o.Forge)
	return PlanPull(ctx, h, o)
}

// JobRecord is Record in a CI job.
func JobRecord(ctx context.Context, h *Host, o RecordOptions) error {
	o.Forge = h.jobForge(o.Forge)
	return Record(ctx, h, o)
}

// JobApply applies in a CI job: the commit GREEN_SHA names, else the newest
// green one (components §6.5). The job of a wave hands it on first of all, so that one
// that fails or waits does too (pr-loop §10.3).
func JobApply(ctx context.Context, h *Host, o ApplyOptions) error {
	o.Forge = h.jobForge(o.Forge)
	o.ResumeOptions = o.inJob(h)
	if o.Wave > 1 && o.Head == "" { // another commit may be the newest green one by now
		return &ExitError{Code: Failed, Err: errors.New("GREEN_SHA is not set; hand on the commit that the first wave applied, so that every wave is of the same one")}
	}
	var found func(string) error
	if o.Wave > 0 {
		found = h.handOn
	}
	return h.apply(ctx, o, true, found)
}

// greenEnv is the dotenv report of a wave's job on GitLab.
const greenEnv = "chant-green.env"

// handOn tells the job of the next wave which commit is applied, in the way of the forge
// whose job this is: as the output green-sha, or in a dotenv report.
func (h *Host) handOn(commit string) error {
	// More outputs stand in that file, and of two of one name the last counts.
	name, line, how := h.env("GITHUB_OUTPUT"), "green-sha="+commit, os.O_APPEND
	if name == "" {
		if h.env("GITLAB_CI") == "" {
			return nil // whoever runs this by hand names the commit by hand
		}
		name, line, how = greenEnv, "GREEN_SHA="+commit, os.O_TRUNC
	}
	f, err := os.OpenFile(h.path(name), how|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = fmt.Fprintln(f, line)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("handing the commit on to the next wave: %w", err)
	}
	return nil
}

// jobForge is the forge whose job this is, unless one was named.
func (h *Host) jobForge(named string) string {
	j, err := h.job(named)
	if named != "" || err != nil || j.repo.ID == 0 && j.repo.Name == "" {
		return named
	}
	if _, token := h.token(j.repo.Instance.Kind); token == "" {
		return ""
	}
	return string(j.repo.Instance.Kind)
}
