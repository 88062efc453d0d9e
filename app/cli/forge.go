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
	"github.com/chant-bot/chant/forges/github"
)

// GitHub is the one forge this version speaks to from a command line.
const GitHub = "github"

// tokenNames are read in this order (pr-loop §5.10).
func tokenNames() []string { return []string{"CHANT_FORGE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"} }

// token is the forge's token and the variable it came from.
func (h *Host) token() (name, value string) {
	for _, name := range tokenNames() {
		if v := h.env(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// checkForge refuses forges this version does not speak to.
func checkForge(kind string) error {
	switch kind {
	case "", GitHub:
		return nil
	case string(engine.GitLab), string(engine.Forgejo):
		return NotBuilt("--forge "+kind, "github is")
	}
	return Misuse("--forge %q is unknown; use github", kind)
}

// instance is the forge server the environment names.
func (h *Host) instance() (engine.Instance, error) {
	server := h.env("GITHUB_SERVER_URL")
	if server == "" {
		return engine.Instance{Kind: engine.GitHub, Host: "github.com"}, nil
	}
	u, err := url.Parse(server)
	if err != nil || u.Host == "" {
		return engine.Instance{}, fmt.Errorf("GITHUB_SERVER_URL %q is no address; set it to the web address of the forge", server)
	}
	return engine.Instance{Kind: engine.GitHub, Host: strings.ToLower(u.Host)}, nil
}

// errNoToken: the environment holds no token for the forge.
var errNoToken = errors.New("no token for the forge: set CHANT_FORGE_TOKEN or GITHUB_TOKEN")

// connect opens the forge the environment names and reads the repository there.
func (h *Host) connect(ctx context.Context) (forges.Forge, engine.Repo, error) {
	fail := func(err error) (forges.Forge, engine.Repo, error) { return nil, engine.Repo{}, err }
	instance, err := h.instance()
	if err != nil {
		return fail(err)
	}
	owner, name, ok := strings.Cut(h.env("GITHUB_REPOSITORY"), "/")
	if !ok || owner == "" || name == "" {
		return fail(errors.New("which repository this is cannot be told: set GITHUB_REPOSITORY to owner/name"))
	}
	from, token := h.token()
	if token == "" {
		return fail(errNoToken)
	}
	all, err := github.New(github.Config{
		Instance: instance, APIURL: h.env("GITHUB_API_URL"), Token: token, Login: h.login(from, token), Now: h.Now,
	})
	if err != nil {
		return fail(err)
	}
	repo := engine.Repo{Instance: instance, Owner: owner, Name: name}
	forge, err := all.For(ctx, repo)
	if err != nil {
		return fail(fmt.Errorf("reaching %s: %w", repo.FullName(), err))
	}
	repo, _, err = forge.Repository(ctx, repo)
	if err != nil {
		return fail(fmt.Errorf("reading repository %s/%s: %w", owner, name, err))
	}
	return forge, repo, nil
}

// login names the account of a job's own token, which may not ask who it is.
func (h *Host) login(from, token string) string {
	if h.env("GITHUB_ACTIONS") == "true" && from != "CHANT_FORGE_TOKEN" && strings.HasPrefix(token, "ghs_") {
		return "github-actions[bot]"
	}
	return ""
}

// runURL is the page of the CI job this runs in, "" outside one (pr-loop §5.10).
func (h *Host) runURL() string {
	server, repo, id := h.env("GITHUB_SERVER_URL"), h.env("GITHUB_REPOSITORY"), h.env("GITHUB_RUN_ID")
	if server == "" || repo == "" || id == "" {
		return ""
	}
	return server + "/" + repo + "/actions/runs/" + id
}

var pullRef = regexp.MustCompile(`^(\d+)/(merge|head)$`)

// jobPull is the pull request whose job this is, 0 outside one; merged tells
// that the job's checkout is the forge's own merge of it.
func (h *Host) jobPull() (number int, merged bool) {
	m := pullRef.FindStringSubmatch(h.env("GITHUB_REF_NAME"))
	if m == nil {
		return 0, false
	}
	number, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, false
	}
	return number, m[2] == "merge"
}

// pullURL is the page of the pull request whose job this is (pr-loop §3.5).
func (h *Host) pullURL() string {
	server, repo := h.env("GITHUB_SERVER_URL"), h.env("GITHUB_REPOSITORY")
	number, _ := h.jobPull()
	if server == "" || repo == "" || number == 0 {
		return ""
	}
	return fmt.Sprintf("%s/%s/pull/%d", server, repo, number)
}
