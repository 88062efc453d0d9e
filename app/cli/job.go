package cli

import (
	"context"
	"errors"
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
// green one (components §6.5).
func JobApply(ctx context.Context, h *Host, o ApplyOptions) error {
	o.Forge = h.jobForge(o.Forge)
	o.ResumeOptions = o.inJob(h)
	if o.Wave > 1 && o.Head == "" { // another commit may be the newest green one by now
		return &ExitError{Code: Failed, Err: errors.New("GREEN_SHA is not set; hand on the commit that the first wave applied, so that every wave is of the same one")}
	}
	return h.apply(ctx, o, true)
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
