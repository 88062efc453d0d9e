package cli

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/project"
)

func host(environ ...string) (*Host, *bytes.Buffer, *bytes.Buffer) {
	var out, errs bytes.Buffer
	return &Host{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Dir: "/", Environ: environ, Now: time.Now}, &out, &errs
}

func TestEachEndHasItsExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want int
	}{
		{"done", nil, Done},
		{"a fault", errors.New("broken"), Failed},
		{"a wrong command line", Misuse("--x"), Misused},
		{"what is not built", NotBuilt("--x", ""), Misused},
		{"a stage that refuses", fmt.Errorf("applying: %w", &usecase.Refusal{Message: "older"}), Refused},
		{"another apply that runs", fmt.Errorf("applying: %w", &lease.Held{Key: "k"}), Refused},
		{"a report that waits", &ExitError{Code: Refused}, Refused},
		{"a refused approval", &ExitError{Code: Failed, Err: &usecase.Refusal{Message: "no plan"}}, Failed},
	} {
		if got := CodeOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestWhatWasSaidIsNotSaidAgain(t *testing.T) {
	t.Parallel()
	h, out, errs := host()
	h.Report(&ExitError{Code: Failed})
	h.Report(nil)
	if out.Len()+errs.Len() != 0 {
		t.Errorf("said %q %q", out, errs)
	}
	h.Report(errors.New("broken\x1b[2J"))
	if got := errs.String(); !strings.Contains(got, "broken") || strings.Contains(got, "\x1b") {
		t.Errorf("said %q", got)
	}
}

func TestAMistakeInTheConfigurationNamesItsKeys(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "chant.yaml")
	text := "externalUrl: https://chant.example.com\nrepositories: [\"acme/\\e[2Jinfra\"]\ngithub: {appId: 1, token: t, privateKey: hunter2, webhookSecrets: [s]}\npages: {token: short}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	h, _, errs := host()
	h.Report(PrintConfig(h, ConfigOptions{Config: path}))
	for _, want := range []string{"github.privateKey: want a PEM file", "github: set appId or token, not both", "pages.token: want at least 16", "repositories[0]: want owner/name"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%q is not in\n%s", want, errs)
		}
	}
	for _, hidden := range []string{"hunter2", "short", "\x1b"} {
		if strings.Contains(errs.String(), hidden) {
			t.Errorf("shown: %q in\n%s", hidden, errs)
		}
	}
}

func TestWhatOthersSayIsHiddenByTheNameBeforeIt(t *testing.T) {
	t.Parallel()
	h, _, errs := host()
	h.Report(fmt.Errorf("terraform init: %w", errors.New(`password = "hunter2" at https://x:hunter2@git.example`)))
	if got := errs.String(); strings.Contains(got, "hunter2") || !strings.Contains(got, "terraform init: password = (redacted)") {
		t.Errorf("said %q", got)
	}
}

func TestTerraformSeesProvidersVariablesAndNothingElse(t *testing.T) {
	t.Parallel()
	h, _, _ := host(
		"AWS_ACCESS_KEY_ID=a", "AWS_REGION=eu-west-1", "TF_TOKEN_app_terraform_io=b", "ARM_CLIENT_ID=c", "AWS_EMPTY=",
		"PATH=/bin", "HOME=/root", "CHANT_FORGE_TOKEN=t", "GITHUB_TOKEN=t", "GH_TOKEN=t", "CI_JOB_TOKEN=t",
		"TF_CLI_ARGS=-x", "TF_VAR_region=r", "TF_LOG=trace", "GIT_DIR=x", "LD_PRELOAD=x", "SECRET=x", "ACTIONS_RUNTIME_TOKEN=t",
	)
	got := []string(h.credentials(nil))
	want := []string{"AWS_ACCESS_KEY_ID=a", "AWS_REGION=eu-west-1", "TF_TOKEN_app_terraform_io=b", "ARM_CLIENT_ID=c"}
	if !slices.Equal(got, want) {
		t.Errorf("by default %q", got)
	}
	got = h.credentials([]string{"TF_VAR_*", "SECRET", "GITHUB_*", "CHANT_*", "LD_*", "[", "TF_CLI_ARGS"})
	if want := []string{"TF_VAR_region=r", "SECRET=x"}; !slices.Equal(got, want) {
		t.Errorf("when named %q", got)
	}
}

func TestFilesThatVariablesNameAreOpenedToTerraform(t *testing.T) {
	t.Parallel()
	key := filepath.Join(t.TempDir(), "key.json")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := namedFiles([]string{"GOOGLE_APPLICATION_CREDENTIALS=" + key, "AGAIN=" + key, "DIR=" + filepath.Dir(key), "REL=key.json", "GONE=/no/such"})
	if !slices.Equal(got, []string{key}) {
		t.Errorf("got %q", got)
	}
}

func TestAPersonsMachineRunsNothingWithoutAWall(t *testing.T) {
	t.Parallel()
	h, _, errs := host()
	if wall, err := h.wall(t.Context(), ""); err == nil && wall.Name() == exec.WallNone {
		t.Error("ran without a wall, unasked")
	}
	if wall, err := h.wall(t.Context(), "none"); err != nil || wall.Name() != exec.WallNone {
		t.Errorf("none was asked for: %v", err)
	}
	if _, err := h.wall(t.Context(), "moat"); err == nil || !strings.Contains(err.Error(), "moat") {
		t.Errorf("an unknown wall: %v", err)
	}
	if errs.Len() > 0 {
		t.Errorf("said %q", errs)
	}
}

func TestTheTokenOfChantWins(t *testing.T) {
	t.Parallel()
	h, _, _ := host("GH_TOKEN=3", "GITHUB_TOKEN=2", "CHANT_FORGE_TOKEN=1")
	if name, value := h.token(engine.GitHub); name != "CHANT_FORGE_TOKEN" || value != "1" {
		t.Errorf("%s=%s", name, value)
	}
	h, _, _ = host("GH_TOKEN=3", "GITHUB_TOKEN=2", "CHANT_FORGE_TOKEN=")
	if name, value := h.token(engine.GitHub); name != "GITHUB_TOKEN" || value != "2" {
		t.Errorf("%s=%s", name, value)
	}
}

func TestAJobsOwnTokenIsKnownByName(t *testing.T) {
	t.Parallel()
	h, _, _ := host("GITHUB_ACTIONS=true")
	if got := h.login("GITHUB_TOKEN", "ghs_x"); got != "github-actions[bot]" {
		t.Errorf("a job's token: %q", got)
	}
	for _, c := range [][2]string{{"CHANT_FORGE_TOKEN", "ghs_x"}, {"GITHUB_TOKEN", "ghp_x"}} {
		if got := h.login(c[0], c[1]); got != "" {
			t.Errorf("%s=%s: %q", c[0], c[1], got)
		}
	}
}

func TestWhoActsIsNamedAsReviewsNameThem(t *testing.T) {
	t.Parallel()
	for want, environ := range map[string][]string{
		"github:alice":             {"GITHUB_ACTOR=Alice", "USER=root"},
		"github@ghe.example:alice": {"GITHUB_ACTOR=alice", "GITHUB_SERVER_URL=https://GHE.example"},
		"bob":                      {"GITLAB_USER_LOGIN=bob", "USER=root"},
		"root":                     {"USER=root"},
	} {
		h, _, _ := host(environ...)
		j, err := h.job("")
		if err != nil {
			t.Fatal(err)
		}
		if got, err := h.person(j); err != nil || got != want {
			t.Errorf("%v: %q %v, want %q", environ, got, err, want)
		}
	}
}

func TestNobodyActsUnderNoName(t *testing.T) {
	t.Parallel()
	h, _, _ := host("USER=", "HOME=/root")
	if _, err := h.act(ActOptions{Op: "pr-1", Gate: "pr-apply"}, "", ""); CodeOf(err) != Failed || !strings.Contains(err.Error(), "--approver") {
		t.Errorf("got %v", err)
	}
}

// The line to copy that we print names <you>.
func TestAPlaceholderIsNobody(t *testing.T) {
	t.Parallel()
	h, _, _ := host()
	if _, err := h.act(ActOptions{Op: "pr-1", Gate: "pr-apply", Approver: "<you>"}, "", ""); err == nil || !strings.Contains(err.Error(), "in place of <you>") {
		t.Errorf("got %v", err)
	}
}

func TestAnOpBelongsToTheMemberItEndsIn(t *testing.T) {
	t.Parallel()
	d := &project.Declaration{File: "chant.workspace.json", Members: []project.WorkspaceMember{
		{Name: "dns", Dir: "dns", Kind: "chant"}, {Name: "docs", Dir: "docs", Kind: "other"}, {Name: "root", Dir: ".", Kind: "chant"},
	}}
	for op, want := range map[string]string{
		"pr-4": "", "pr-4-dns": "dns", "green-1a2b3c4d5e6f": "", "green-1a2b3c4d5e6f-dns": "dns",
		"pr-4-docs": "", "pr-4-root": "", "release-dns": "", "fan-out": "",
	} {
		if got, err := memberOf(d, op, ""); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", op, got, err, want)
		}
	}
	if got, err := memberOf(d, "release", "dns"); err != nil || got != "dns" {
		t.Errorf("named: %q %v", got, err)
	}
	if _, err := memberOf(d, "release", "docs"); CodeOf(err) != Misused {
		t.Errorf("a member of another kind: %v", err)
	}
}

func TestTheGitDirectoryIsSharedByLinkedWorktrees(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	git := filepath.Join(top, "main", ".git")
	own := filepath.Join(git, "worktrees", "linked")
	linked := filepath.Join(top, "linked")
	for _, dir := range []string{own, linked} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(linked, ".git"), "gitdir: "+own+"\n")
	write(filepath.Join(own, "commondir"), "../..\n")
	for _, dir := range []string{filepath.Join(top, "main"), linked} {
		if got, err := commonDir(dir); err != nil || got != git {
			t.Errorf("%s: %q %v, want %q", dir, got, err, git)
		}
	}
	write(filepath.Join(linked, ".git"), "something else")
	if _, err := commonDir(linked); err == nil {
		t.Error("took a .git file that names nothing")
	}
}

func TestThePullRequestOfAJob(t *testing.T) {
	t.Parallel()
	for ref, want := range map[string]int{"12/merge": 12, "12/head": 12, "main": 0, "x12/merge": 0, "": 0} {
		h, _, _ := host("GITHUB_REF_NAME="+ref, "GITHUB_SERVER_URL=https://github.com", "GITHUB_REPOSITORY=acme/infra")
		j, err := h.job("")
		if err != nil || j.number != want || j.merged != strings.HasSuffix(ref, "/merge") && want > 0 {
			t.Errorf("%s: %+v %v", ref, j, err)
		}
		if (j.pullURL == "https://github.com/acme/infra/pull/12") != (want == 12) {
			t.Errorf("%s: %q", ref, j.pullURL)
		}
	}
}

// pr-loop §5.10
func TestAJobTellsItsForge(t *testing.T) {
	t.Parallel()
	actions := []string{
		"GITHUB_SERVER_URL=https://git.example.com:3000", "GITHUB_API_URL=https://git.example.com:3000/api/v1",
		"GITHUB_REPOSITORY=acme/infra", "GITHUB_ACTOR=Alice", "GITHUB_RUN_ID=7", "GITHUB_REF_NAME=12/merge", "GITHUB_BASE_REF=main",
	}
	inForgejo := job{
		repo: engine.Repo{Instance: engine.Instance{Kind: engine.Forgejo, Host: "git.example.com:3000"}, Owner: "acme", Name: "infra"},
		api:  "https://git.example.com:3000/api/v1", actor: "Alice", url: "https://git.example.com:3000/acme/infra/actions/runs/7",
		number: 12, merged: true, pullURL: "https://git.example.com:3000/acme/infra/pulls/12", base: "main",
	}
	tests := []struct {
		name, kind string
		environ    []string
		want       job
		who        string
	}{
		{"no job", "", nil, job{repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}}}, ""},
		{"Forgejo, by its runner", "", append([]string{"FORGEJO_ACTIONS=true"}, actions...), inForgejo, "forgejo@git.example.com:3000:alice"},
		{"Gitea, by its runner", "", append([]string{"GITEA_ACTIONS=true"}, actions...), inForgejo, "forgejo@git.example.com:3000:alice"},
		{"Forgejo, by name", "forgejo", actions, inForgejo, "forgejo@git.example.com:3000:alice"},
		{"half an environment", "gitlab", []string{"CI_API_V4_URL=https://lab.example.com/api/v4", "CI_PROJECT_ID=42", "GITLAB_USER_LOGIN=alice"}, job{
			repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitLab, Host: "lab.example.com"}, ID: 42},
			api:  "https://lab.example.com/api/v4", actor: "alice",
		}, "gitlab@lab.example.com:alice"},
		{"GitHub with its API alone", "", []string{"GITHUB_API_URL=https://api.github.com", "GITHUB_ACTOR=alice"}, job{
			repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitHub, Host: "github.com"}}, api: "https://api.github.com", actor: "alice",
		}, "github:alice"},
		{"GitLab", "", []string{
			"GITLAB_CI=true", "CI_SERVER_URL=https://gitlab.com", "CI_API_V4_URL=https://gitlab.com/api/v4", "CI_PROJECT_ID=42",
			"CI_PROJECT_PATH=acme/platform/infra", "GITLAB_USER_LOGIN=alice", "CI_PIPELINE_URL=https://gitlab.com/p/1",
			"CI_MERGE_REQUEST_IID=12", "CI_MERGE_REQUEST_PROJECT_URL=https://gitlab.com/acme/platform/infra",
			"CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main", "CI_MERGE_REQUEST_EVENT_TYPE=merged_result",
		}, job{
			repo: engine.Repo{Instance: engine.Instance{Kind: engine.GitLab, Host: "gitlab.com"}, ID: 42, Owner: "acme/platform", Name: "infra"},
			api:  "https://gitlab.com/api/v4", actor: "alice", url: "https://gitlab.com/p/1", number: 12, merged: true,
			pullURL: "https://gitlab.com/acme/platform/infra/-/merge_requests/12", base: "main",
		}, "gitlab:alice"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _, _ := host(tt.environ...)
			got, err := h.job(tt.kind)
			if err != nil || got != tt.want {
				t.Fatalf("got %+v, %v", got, err)
			}
			if who, _ := h.person(got); who != tt.who {
				t.Errorf("who acts is %q, want %q", who, tt.who)
			}
		})
	}
}

// GitHub's client finds no pull request there, whatever made a merge.
func TestAForgejoIsNotAskedAsAGitHub(t *testing.T) {
	t.Parallel()
	h, _, _ := host("GITHUB_REPOSITORY=acme/infra", "GITHUB_API_URL=https://git.example.com/api/v1", "CHANT_FORGE_TOKEN=secret")
	if got := h.jobForge(""); got != string(engine.Forgejo) {
		t.Errorf("taken for a %s", got)
	}
	j, err := h.job(string(engine.GitHub))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err = h.connect(t.Context(), j); err == nil || !strings.Contains(err.Error(), "--forge forgejo") {
		t.Errorf("got %v", err)
	}
}

func TestAnUnreadableJobIsAnError(t *testing.T) {
	t.Parallel()
	for _, variable := range []string{"GITHUB_SERVER_URL=nowhere", "CI_SERVER_URL=nowhere", "CI_PROJECT_ID=x", "CI_MERGE_REQUEST_IID=x"} {
		h, _, _ := host(variable)
		if strings.HasPrefix(variable, "CI_") {
			h, _, _ = host("GITLAB_CI=true", variable)
		}
		name, _, _ := strings.Cut(variable, "=")
		if _, err := h.job(""); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", variable, err)
		}
	}
}

func TestAProjectThatIsKnownByItsNumberIsNamedByIt(t *testing.T) {
	t.Parallel()
	forge := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(forge.Close)
	h, _, _ := host("CI_PROJECT_ID=42", "CI_API_V4_URL="+forge.URL+"/api/v4", "GITLAB_TOKEN=t")
	j, err := h.job("gitlab")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := h.connect(t.Context(), j); err == nil || !strings.Contains(err.Error(), "reading repository 42: ") {
		t.Errorf("said %v", err)
	}
}

// pr-loop §10.3: the job of a wave hands its commit on as the forge's jobs do, beside what
// they hand on themselves.
func TestAWaveHandsItsCommitOn(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		file    string
		want    string
	}{
		"GitHub and Forgejo": {[]string{"GITHUB_OUTPUT=out", "GITLAB_CI="}, "out", "other=1\ngreen-sha=abc\n"},
		"GitLab":             {[]string{"GITLAB_CI=true"}, "chant-green.env", "GREEN_SHA=abc\n"},
		"by hand":            {nil, "chant-green.env", ""},
	} {
		h := &Host{Dir: t.TempDir(), Environ: c.environ}
		if name == "GitHub and Forgejo" {
			if err := os.WriteFile(filepath.Join(h.Dir, "out"), []byte("other=1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.handOn("abc"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got, err := os.ReadFile(filepath.Join(h.Dir, c.file))
		if string(got) != c.want || err != nil && c.want != "" {
			t.Errorf("%s: %q, %v; want %q", name, got, err, c.want)
		}
	}
	h := &Host{Dir: t.TempDir(), Environ: []string{"GITHUB_OUTPUT=gone/out"}}
	if err := h.handOn("abc"); err == nil {
		t.Error("what can't be handed on is no error")
	}
}
