package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/forges"
	"github.com/chant-bot/chant/forges/forgejo"
	"github.com/chant-bot/chant/forges/github"
	"github.com/chant-bot/chant/forges/gitlab"
)

// checkForge refuses forges we do not speak to.
func checkForge(kind string) error {
	switch engine.ForgeKind(kind) {
	case "", engine.GitHub, engine.GitLab, engine.Forgejo:
		return nil
	}
	return Misuse("--forge %q is unknown; use github, gitlab or forgejo", kind)
}

// job is the CI job we run in, as its environment tells (pr-loop §5.10). Where
// there is none, most of it is empty.
type job struct {
	repo   engine.Repo // by owner and name, on GitLab by its number too
	api    string      // address of the REST API, "" for the usual one
	actor  string      // login of who caused it
	url    string      // page of the job's run
	number int         // pull request whose job this is, 0 for none
	// merged: the checkout is the forge's own merge of the pull request.
	merged  bool
	pullURL string // page of the pull request
	base    string // branch the pull request is for
}

// job reads the environment. kind is the forge's, "" to tell by the environment.
func (h *Host) job(kind string) (job, error) {
	switch engine.ForgeKind(kind) {
	case engine.GitHub, engine.Forgejo:
		return h.actionsJob(engine.ForgeKind(kind))
	case engine.GitLab:
		return h.gitlabJob()
	}
	switch {
	case h.env("GITLAB_CI") != "":
		return h.gitlabJob()
	case h.env("FORGEJO_ACTIONS") != "", h.env("GITEA_ACTIONS") != "", ofForgejo(h.env("GITHUB_API_URL")):
		return h.actionsJob(engine.Forgejo)
	}
	return h.actionsJob(engine.GitHub)
}

// ofForgejo tells the address of an API by its path, which GitHub has on no server. Asked
// as GitHub's it knows of no pull request that made a merge, and that would be recorded.
func ofForgejo(api string) bool {
	return strings.HasSuffix(strings.TrimSuffix(api, "/"), "/api/v1")
}

var pullRef = regexp.MustCompile(`^(\d+)/(merge|head)$`)

// actionsJob reads what GitHub's runners set, and Forgejo's and Gitea's alike.
func (h *Host) actionsJob(kind engine.ForgeKind) (job, error) {
	server, err := h.address("GITHUB_SERVER_URL", h.env("GITHUB_API_URL"), "https://github.com")
	if err != nil {
		return job{}, err
	}
	j := job{api: h.env("GITHUB_API_URL"), actor: h.env("GITHUB_ACTOR"), base: h.env("GITHUB_BASE_REF")}
	j.repo = engine.Repo{Instance: engine.Instance{Kind: kind, Host: strings.ToLower(server.Host)}}
	path := h.env("GITHUB_REPOSITORY")
	j.repo.Owner, j.repo.Name, _ = strings.Cut(path, "/")
	if m := pullRef.FindStringSubmatch(h.env("GITHUB_REF_NAME")); m != nil {
		if j.number, err = strconv.Atoi(m[1]); err != nil {
			return job{}, fmt.Errorf("GITHUB_REF_NAME: %w", err)
		}
		j.merged = m[2] == "merge"
	}
	if h.env("GITHUB_SERVER_URL") == "" || path == "" {
		return j, nil
	}
	page := h.env("GITHUB_SERVER_URL") + "/" + path
	if id := h.env("GITHUB_RUN_ID"); id != "" {
		j.url = page + "/actions/runs/" + id
	}
	if j.number > 0 {
		pull := "pull"
		if kind == engine.Forgejo {
			pull = "pulls"
		}
		j.pullURL = fmt.Sprintf("%s/%s/%d", page, pull, j.number)
	}
	return j, nil
}

// gitlabJob reads what GitLab's runners set.
func (h *Host) gitlabJob() (job, error) {
	server, err := h.address("CI_SERVER_URL", h.env("CI_API_V4_URL"), "https://gitlab.com")
	if err != nil {
		return job{}, err
	}
	j := job{
		api: h.env("CI_API_V4_URL"), actor: h.env("GITLAB_USER_LOGIN"), url: h.env("CI_PIPELINE_URL"),
		base: h.env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), merged: h.env("CI_MERGE_REQUEST_EVENT_TYPE") == "merged_result",
	}
	path := h.env("CI_PROJECT_PATH")
	slash := max(0, strings.LastIndexByte(path, '/'))
	j.repo = engine.Repo{Instance: engine.Instance{Kind: engine.GitLab, Host: strings.ToLower(server.Host)}, Owner: path[:slash], Name: strings.TrimPrefix(path[slash:], "/")}
	if id := h.env("CI_PROJECT_ID"); id != "" {
		if j.repo.ID, err = strconv.ParseInt(id, 10, 64); err != nil {
			return job{}, fmt.Errorf("CI_PROJECT_ID %q is no number", id)
		}
	}
	if iid := h.env("CI_MERGE_REQUEST_IID"); iid != "" {
		if j.number, err = strconv.Atoi(iid); err != nil {
			return job{}, fmt.Errorf("CI_MERGE_REQUEST_IID %q is no number", iid)
		}
		j.pullURL = h.env("CI_MERGE_REQUEST_PROJECT_URL") + "/-/merge_requests/" + iid
	}
	return j, nil
}

// address reads a web address from a variable. Where it is not set the server is
// the API's, unless that has a name of its own, so that nobody is named as on
// another one.
func (h *Host) address(name, api, usual string) (*url.URL, error) {
	text := h.env(name)
	if text == "" {
		text = usual
		if api != "" && api != "https://api.github.com" {
			name, text = "the address of the API", api
		}
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%s %q is no address; set it to the web address of the forge", name, text)
	}
	return u, nil
}

// tokenNames are read in this order (pr-loop §5.10).
func tokenNames(kind engine.ForgeKind) []string {
	if kind == engine.GitLab {
		return []string{"CHANT_FORGE_TOKEN", "GITLAB_TOKEN"}
	}
	return []string{"CHANT_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"}
}

// token is the forge's token and the variable it came from.
func (h *Host) token(kind engine.ForgeKind) (name, value string) {
	for _, name := range tokenNames(kind) {
		if v := h.env(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// connect opens the forge of a job and reads the repository there.
func (h *Host) connect(ctx context.Context, j job) (forges.Forge, engine.Repo, error) {
	kind := j.repo.Instance.Kind
	named, path := "GITHUB_REPOSITORY to owner/name", j.repo.FullName()
	if kind == engine.GitLab {
		named = "CI_PROJECT_ID to the project's number, or CI_PROJECT_PATH"
	}
	if j.repo.ID == 0 && (j.repo.Owner == "" || j.repo.Name == "") {
		return nil, engine.Repo{}, fmt.Errorf("which repository this is cannot be told: set %s", named)
	}
	if j.repo.Name == "" {
		path = fmt.Sprintf("%d", j.repo.ID)
	}
	if kind == engine.GitHub && ofForgejo(j.api) {
		return nil, engine.Repo{}, fmt.Errorf("GITHUB_API_URL %s is that of a Forgejo or Gitea: use --forge forgejo", j.api)
	}
	if j.api == "" && kind == engine.Forgejo {
		return nil, engine.Repo{}, errors.New("where the forge is cannot be told: set GITHUB_SERVER_URL and GITHUB_API_URL")
	}
	from, token := h.token(kind)
	if token == "" {
		return nil, engine.Repo{}, fmt.Errorf("no token for the forge: set %s", strings.Join(tokenNames(kind), " or "))
	}
	forge, err := h.dial(ctx, j, from, token)
	if err != nil {
		return nil, engine.Repo{}, fmt.Errorf("reaching %s: %w", path, err)
	}
	repo, _, err := forge.Repository(ctx, j.repo)
	if err != nil {
		return nil, engine.Repo{}, fmt.Errorf("reading repository %s: %w", path, err)
	}
	return forge, repo, nil
}

func (h *Host) dial(ctx context.Context, j job, from, token string) (forges.Forge, error) {
	switch j.repo.Instance.Kind {
	case engine.GitLab:
		return gitlab.New(gitlab.Config{Instance: j.repo.Instance, APIURL: j.api, Token: token, Now: h.Now})
	case engine.Forgejo:
		return forgejo.New(forgejo.Config{Instance: j.repo.Instance, APIURL: j.api, Token: token, Now: h.Now})
	}
	all, err := github.New(github.Config{
		Instance: j.repo.Instance, APIURL: j.api, Token: token, Login: h.login(from, token), Now: h.Now,
	})
	if err != nil {
		return nil, err
	}
	return all.For(ctx, j.repo)
}

// login names the account of a job's own token, which may not ask who it is.
func (h *Host) login(from, token string) string {
	if h.env("GITHUB_ACTIONS") == "true" && from != "CHANT_FORGE_TOKEN" && strings.HasPrefix(token, "ghs_") {
		return "github-actions[bot]"
	}
	return ""
}
