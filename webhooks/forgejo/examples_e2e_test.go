//go:build e2e

package forgejo_test

import (
	"testing"

	"github.com/chant-bot/chant/webhooks/internal/hooktest"
)

func TestEveryExampleOfGoPlaygroundBecomesAnEventOrIsIgnoredForAReason(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ event, want string }{
		"create-event":                 {"create", "Ignored"},
		"delete-event":                 {"delete", "BranchPushed"},
		"fork-event":                   {"fork", "Ignored"},
		"issue-assign-event":           {"issues", "Ignored"},
		"issue-comment-event":          {"issue_comment", "Ignored"},
		"issue-label-event":            {"issues", "Ignored"},
		"issue-milestone-event":        {"issues", "Ignored"},
		"issues-event":                 {"issues", "Ignored"},
		"pull-request-assign-event":    {"pull_request", "Ignored"},
		"pull-request-comment-event":   {"issue_comment", "CommandPosted"},
		"pull-request-event":           {"pull_request", "ChangeUpdated"},
		"pull-request-label-event":     {"pull_request", "Ignored"},
		"pull-request-milestone-event": {"pull_request", "Ignored"},
		"pull-request-review-event":    {"pull_request_approved", "ReviewChanged"},
		"push-event":                   {"push", "BranchPushed"},
		"release-event":                {"release", "Ignored"},
		"repository-event":             {"repository", "Ignored"},
	}
	files := hooktest.Files(t, hooktest.Module(t, "github.com/go-playground/webhooks/v6")+"/testdata/gitea")
	for name, body := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt, known := tests[name]
			if !known {
				t.Fatal("name its event in the table above")
			}
			d, err := decode(headers(tt.event), body)
			hooktest.Becomes(t, d, err, tt.want)
		})
	}
	t.Logf("%d payloads", len(files))
}
