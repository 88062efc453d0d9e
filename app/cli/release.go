package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/release"
)

// ReleaseOptions are those of `chant components release` (components §1.1).
type ReleaseOptions struct {
	Env       string `arg:"" help:"Environment the component was deployed to."`
	Component string `required:"" placeholder:"NAME" help:"Component that was deployed."`
	Digest    string `required:"" placeholder:"DIGEST" help:"Digest of the published artifact, as its registry gives it."`
	GitSHA    string `name:"git-sha" placeholder:"REF" help:"Commit the artifact was built from. Default: HEAD."`
	RunID     string `name:"run-id" placeholder:"ID" help:"Run that deployed it. Default: that of the CI job, else a new one."`
	Actor     string `placeholder:"WHO" help:"Who deployed it, such as github:alice. Default: the job's actor, else USER; without either it is required."`
	Member    string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	JSON      bool   `name:"json" help:"Print the record as JSON."`
}

// Release appends to the ledger that an artifact of a component was deployed.
func Release(ctx context.Context, h *Host, o ReleaseOptions) error {
	c, t, err := h.openReleases(ctx, o.Env, o.Member)
	if err != nil {
		return err
	}
	if err := c.declares(ctx, t.member, o.Component); err != nil {
		return err
	}
	r, err := h.releaseOf(ctx, c, o)
	if err != nil {
		return err
	}
	if err := (&usecase.Stage{Now: h.Now}).AddRelease(ctx, c.site, t.member, &r); err != nil {
		return err
	}
	if o.JSON {
		return h.compact(r)
	}
	h.sayf("recorded: %s %s in %s, built from %s, run %s by %s", r.Component, r.Digest, r.Env, r.GitSHA, r.RunID, r.Actor)
	return nil
}

// openReleases opens the checkout; the env, where envs are declared, is one of them.
func (h *Host) openReleases(ctx context.Context, env, member string) (*checkout, target, error) {
	c, err := h.open(ctx, "")
	if err != nil {
		return nil, target{}, err
	}
	head, err := c.resolve(ctx, "HEAD")
	if err != nil {
		return nil, target{}, err
	}
	t, err := h.deployTarget(ctx, c, DeployOptions{Env: env, Member: member}, head)
	return c, t, err
}

// declares refuses a component that the commit checked out does not declare: a misspelt
// name would be a release that nobody finds.
func (c *checkout) declares(ctx context.Context, member, component string) error {
	head, err := c.resolve(ctx, "HEAD")
	if err != nil {
		return err
	}
	dir, remove, err := c.runDir()
	if err != nil {
		return err
	}
	defer remove()
	files, err := c.site.Checkout(ctx, head, filepath.Join(dir, "tree"))
	if err != nil {
		return err
	}
	for _, p := range files.Workspace.Projects {
		for _, declared := range p.Components {
			if p.Member == member && declared.Name == component {
				return nil
			}
		}
	}
	return fmt.Errorf("component %q is not declared in this checkout; correct --component", component)
}

// releaseOf fills in what the person left out.
func (h *Host) releaseOf(ctx context.Context, c *checkout, o ReleaseOptions) (release.Record, error) {
	r := release.Record{Component: o.Component, Env: o.Env, Digest: o.Digest, RunID: o.RunID, Actor: o.Actor, Origin: h.runOrigin(c.job)}
	var err error
	rev := o.GitSHA
	if rev == "" {
		rev = "HEAD"
	}
	if r.GitSHA, err = c.resolve(ctx, rev); err != nil {
		return r, fmt.Errorf("--git-sha: %w", err)
	}
	if r.Actor == "" {
		if r.Actor, err = h.person(c.job); err != nil {
			return r, errors.New("who deployed it cannot be told: name them with --actor, such as github:alice, or set GITHUB_ACTOR")
		}
	}
	for _, id := range []string{h.env("GITHUB_RUN_ID"), h.env("CI_PIPELINE_ID"), fmt.Sprintf("release-%d", h.Now().UnixMilli())} {
		if r.RunID == "" {
			r.RunID = id
		}
	}
	return r, nil
}

// runOrigin is where this run is made; of a forge that readers of the ledger have no
// word for it is left out.
func (h *Host) runOrigin(j job) release.Origin {
	switch {
	case j.repo.Name == "":
		return release.Origin{Forge: "local"}
	case j.repo.Instance.Kind == engine.Forgejo:
		return release.Origin{}
	}
	return release.Origin{Forge: string(j.repo.Instance.Kind), Repo: j.repo.FullName(), URL: j.url}
}

// ReleaseStatusOptions are those of `chant components status`.
type ReleaseStatusOptions struct {
	Env    string `arg:"" help:"Environment to look at."`
	Member string `placeholder:"MEMBER" help:"Workspace member; it must be the one the working directory is in."`
	JSON   bool   `name:"json" help:"Print the latest records as JSON."`
}

// ReleaseStatus lists what of each component was deployed last.
func ReleaseStatus(ctx context.Context, h *Host, o ReleaseStatusOptions) error {
	c, t, err := h.openReleases(ctx, o.Env, o.Member)
	if err != nil {
		return err
	}
	records, skipped, err := usecase.Releases(ctx, c.site, t.member, o.Env)
	if err != nil {
		return err
	}
	if skipped > 0 {
		h.warnf("%d lines of the releases of %s are not understood and were skipped", skipped, o.Env)
	}
	latest := release.Latest(records)
	list := make([]release.Record, 0, len(latest))
	for _, name := range slices.Sorted(maps.Keys(latest)) {
		list = append(list, latest[name])
	}
	if o.JSON {
		return h.compact(struct {
			Env        string           `json:"env"`
			Components []release.Record `json:"components"`
		}{o.Env, list})
	}
	for _, r := range list {
		h.sayf("%s %s, since %s, built from %s, run %s by %s", r.Component, r.Digest, r.Timestamp, r.GitSHA, r.RunID, r.Actor)
	}
	if len(list) == 0 {
		h.progress("nothing is recorded as released to " + o.Env)
	}
	return nil
}
