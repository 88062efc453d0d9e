package forgejo

import (
	"net/http"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/webhooks"
	"github.com/chant-bot/chant/webhooks/internal/decode"
)

// familyOf is how the header fields of the sender begin. Forgejo sends those of
// Gitea too, and both send those of GitHub, so Forgejo's own decide and GitHub's
// are never looked at.
func familyOf(h http.Header) string {
	if h.Get("X-Forgejo-Event") != "" {
		return "X-Forgejo-"
	}
	return "X-Gitea-"
}

// shortRef is the name that create and delete carry: Forgejo spells it in full,
// "refs/tags/v1", Gitea does not, "v1".
func shortRef(ref string) string {
	for _, prefix := range []string{"refs/tags/", "refs/heads/"} {
		if short, ok := strings.CutPrefix(ref, prefix); ok {
			return short
		}
	}
	return ref
}

// checks finds the commit whose checks moved. Gitea tells of commit statuses and,
// from 1.24 on, of workflows; Forgejo 11 of neither, from 12 on it tells of runs
// that ended.
func checks(d webhooks.Delivery, p *payload) (engine.Event, error) {
	sha, field := p.SHA, "sha"
	switch d.Event {
	case "workflow_run":
		sha, field = p.WorkflowRun, "workflow_run.head_sha"
	case "workflow_job":
		sha, field = p.WorkflowJob, "workflow_job.head_sha"
	case "action_run_success", "action_run_failure", "action_run_recover":
		sha, field = p.ActionRun, "run.commit_sha"
	}
	if sha == "" {
		return nil, decode.Missing(d, field)
	}
	return engine.ChecksChanged{Repo: d.Repo, Commit: sha}, nil
}

// sender is who caused the event. That of a workflow is who started it, maybe
// we; how it went is nobody's own act.
func (p *payload) sender(event string) engine.Actor {
	if event == "workflow_run" || event == "workflow_job" {
		return engine.Actor{}
	}
	return p.Sender.actor()
}
