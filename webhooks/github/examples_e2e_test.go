//go:build e2e

package github_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/webhooks/internal/hooktest"
)

// becomes says what we take: by event and action, or by event for every action
// that is not named. Of two, the payload decides. All else is ignored.
var becomes = map[string][]string{
	"check_run":                           {"ChecksChanged"},
	"check_suite":                         {"ChecksChanged"},
	"check_suite requested":               {"Ignored"},
	"commit_comment created":              {"CommandPosted"},
	"create":                              {"TagChanged", "Ignored"},
	"delete":                              {"TagChanged", "Ignored"},
	"installation":                        {"InstallationChanged"},
	"installation_repositories":           {"InstallationChanged"},
	"issue_comment created":               {"CommandPosted", "Ignored"},
	"merge_group checks_requested":        {"QueueRequested"},
	"pull_request opened":                 {"ChangeUpdated"},
	"pull_request synchronize":            {"ChangeUpdated"},
	"pull_request reopened":               {"ChangeUpdated"},
	"pull_request ready_for_review":       {"ChangeUpdated"},
	"pull_request converted_to_draft":     {"ChangeUpdated"},
	"pull_request closed":                 {"ChangeClosed"},
	"pull_request_review submitted":       {"CommandPosted", "ReviewChanged"},
	"pull_request_review dismissed":       {"ReviewChanged"},
	"pull_request_review edited":          {"ReviewChanged"},
	"pull_request_review_comment created": {"CommandPosted"},
	"push":                                {"BranchPushed", "TagChanged"},
	"repository edited":                   {"RepoChanged", "Ignored"},
	"repository renamed":                  {"RepoChanged"},
	"repository transferred":              {"RepoChanged"},
	"status":                              {"ChecksChanged"},
	"workflow_run":                        {"ChecksChanged"},
}

func wanted(event string, body []byte) []string {
	var p struct{ Action string }
	_ = json.Unmarshal(body, &p) // the decoder says what is wrong with it
	for _, key := range []string{event + " " + p.Action, event} {
		if want := becomes[key]; want != nil {
			return want
		}
	}
	return []string{"Ignored"}
}

// seen counts what examples became.
type seen map[string]int

func (s seen) check(t *testing.T) {
	t.Helper()
	for _, names := range becomes {
		for _, name := range names {
			if s[name] == 0 {
				t.Errorf("no example became %s", name)
			}
		}
	}
	total := 0
	for _, name := range slices.Sorted(maps.Keys(s)) {
		total += s[name]
		t.Logf("%4d %s", s[name], name)
	}
	t.Logf("%4d payloads", total)
}

func TestEveryExampleOfGitHubBecomesAnEventOrIsIgnoredForAReason(t *testing.T) {
	t.Parallel()
	counts := seen{}
	for event, bodies := range hooktest.Octokit(t) {
		for _, body := range bodies {
			d, err := decode(headers(event), body)
			counts[hooktest.Becomes(t, d, err, wanted(event, body)...)]++
		}
	}
	counts.check(t)
}

// eventOf is the event of a file of go-playground/webhooks whose name is another.
var eventOf = map[string]string{
	"pull_request_issue_comment": "issue_comment",
	"repository_edited":          "repository",
}

func TestEveryExampleOfGoPlaygroundBecomesAnEventOrIsIgnoredForAReason(t *testing.T) {
	t.Parallel()
	counts := seen{}
	for name, body := range hooktest.Files(t, hooktest.Module(t, "github.com/go-playground/webhooks/v6")+"/testdata/github") {
		event := strings.ReplaceAll(name, "-", "_")
		if other := eventOf[event]; other != "" {
			event = other
		}
		d, err := decode(headers(event), body)
		counts[hooktest.Becomes(t, d, err, wanted(event, body)...)]++
	}
	t.Log(counts)
}
