//go:build e2e

package gitlab_test

import (
	"strings"
	"testing"

	"github.com/chant-bot/chant/webhooks/internal/hooktest"
)

// example is the name of a payload's event in the header, and what it becomes.
type example struct{ hook, want string }

func examples(t *testing.T, dir string, tests map[string]example) {
	t.Helper()
	files := hooktest.Files(t, dir)
	for name, body := range files {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt, known := tests[name]
			if strings.HasPrefix(name, "system-") {
				tt, known = example{"System Hook", "Ignored"}, true
			}
			if !known {
				t.Fatal("name its event in the table of this test")
			}
			h := headers("push")
			h.Set("X-Gitlab-Event", tt.hook)
			d, err := decode(h, body)
			hooktest.Becomes(t, d, err, tt.want)
		})
	}
	t.Logf("%d payloads", len(files))
}

func TestEveryExampleOfClientGoBecomesAnEventOrIsIgnoredForAReason(t *testing.T) {
	t.Parallel()
	examples(t, hooktest.Module(t, "gitlab.com/gitlab-org/api/client-go")+"/testdata/webhooks", map[string]example{
		"build":                         {"Build Hook", "ChecksChanged"},
		"deployment":                    {"Deployment Hook", "Ignored"},
		"emoji_issue":                   {"Emoji Hook", "Ignored"},
		"emoji_merge_request":           {"Emoji Hook", "Ignored"},
		"emoji_note_commit":             {"Emoji Hook", "Ignored"},
		"emoji_note_issue":              {"Emoji Hook", "Ignored"},
		"emoji_note_merge_request":      {"Emoji Hook", "Ignored"},
		"emoji_note_snippet":            {"Emoji Hook", "Ignored"},
		"emoji_snippet":                 {"Emoji Hook", "Ignored"},
		"feature_flag":                  {"Feature Flag Hook", "Ignored"},
		"group_merge_request":           {"Merge Request Hook", "Ignored"}, // of 2016, without the project's id
		"issue":                         {"Issue Hook", "Ignored"},
		"job":                           {"Job Hook", "ChecksChanged"},
		"member":                        {"Member Hook", "Ignored"},
		"merge_request":                 {"Merge Request Hook", "ChangeUpdated"},
		"milestone_group":               {"Milestone Hook", "Ignored"},
		"milestone_project":             {"Milestone Hook", "Ignored"},
		"note_commit":                   {"Note Hook", "CommandPosted"},
		"note_issue":                    {"Note Hook", "Ignored"},
		"note_merge_request":            {"Note Hook", "CommandPosted"},
		"note_snippet":                  {"Note Hook", "Ignored"},
		"pipeline":                      {"Pipeline Hook", "ChecksChanged"},
		"project":                       {"Project Hook", "Ignored"},
		"push":                          {"Push Hook", "BranchPushed"},
		"release":                       {"Release Hook", "Ignored"},
		"resource_access_token_group":   {"Resource Access Token Hook", "Ignored"},
		"resource_access_token_project": {"Resource Access Token Hook", "Ignored"},
		"service_merge_request":         {"Merge Request Hook", "ChangeUpdated"},
		"subgroup":                      {"Subgroup Hook", "Ignored"},
		"tag_push":                      {"Tag Push Hook", "TagChanged"},
		"vulnerability":                 {"Vulnerability Hook", "Ignored"},
		"wiki_page":                     {"Wiki Page Hook", "Ignored"},
	})
}

func TestEveryExampleOfGoPlaygroundBecomesAnEventOrIsIgnoredForAReason(t *testing.T) {
	t.Parallel()
	examples(t, hooktest.Module(t, "github.com/go-playground/webhooks/v6")+"/testdata/gitlab", map[string]example{
		"build-event":                 {"Build Hook", "ChecksChanged"},
		"comment-commit-event":        {"Note Hook", "CommandPosted"},
		"comment-issue-event":         {"Note Hook", "Ignored"},
		"comment-merge-request-event": {"Note Hook", "CommandPosted"},
		"comment-snippet-event":       {"Note Hook", "Ignored"},
		"confidential-comment-event":  {"Confidential Note Hook", "Ignored"},
		"confidential-issue-event":    {"Confidential Issue Hook", "Ignored"},
		"deployment-event":            {"Deployment Hook", "Ignored"},
		"issue-event":                 {"Issue Hook", "Ignored"},
		"job-event":                   {"Job Hook", "ChecksChanged"},
		"merge-request-event":         {"Merge Request Hook", "ChangeUpdated"},
		"pipeline-event":              {"Pipeline Hook", "ChecksChanged"},
		"push-event":                  {"Push Hook", "BranchPushed"},
		"release-event":               {"Release Hook", "Ignored"},
		"tag-event":                   {"Tag Push Hook", "TagChanged"},
		"wikipage-event":              {"Wiki Page Hook", "Ignored"},
	})
}
