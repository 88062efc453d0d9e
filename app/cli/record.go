package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/record"
)

// RecordOptions are those of `chant ci run record`.
type RecordOptions struct {
	CommonOptions

	Base string `env:"BASE_SHA" placeholder:"REF" help:"Commit the branch was at before the push: where recording starts when nothing was recorded yet."`
}

// Record writes the merge records of the branch's commits that have none yet
// (pr-loop §6.1). It deploys nothing.
func Record(ctx context.Context, h *Host, o RecordOptions) error {
	c, err := h.openWith(ctx, o.Forge)
	if err != nil {
		return err
	}
	where, err := h.target(ctx, c, o.CommonOptions, "HEAD")
	if err != nil {
		return err
	}
	if err := c.site.FetchBranch(ctx, where.branch); err != nil {
		return err
	}
	tip, err := c.site.Clone.Resolve(ctx, c.trackedRef(where.branch))
	if err != nil {
		return fmt.Errorf("branch %s: %w", where.branch, err)
	}
	since, err := c.commitBefore(ctx, o.Base)
	if errors.Is(err, git.ErrUnknownRevision) {
		// The branch was pushed over: what it was is gone, and starts nothing.
		h.warnf("--base: %v", err)
	} else if err != nil {
		return err
	}
	stage, _, err := h.stage(ctx, c, o.Run, where.env)
	if err != nil {
		return err
	}
	written, err := stage.Record(ctx, usecase.RecordInput{
		Site: c.site, Branch: where.branch, Tip: tip, Plans: usecase.NoPlans{},
		Env: where.env, Since: since, Progress: h.progress,
	})
	if c.site.Forge == nil && len(written) > 0 {
		h.warnf("no forge was given, so which pull request made a merge cannot be told, and no approval counts for it; from the next one on add --forge, and a token in CHANT_FORGE_TOKEN")
	}
	if printed := h.printRecords(o.JSON, written); printed != nil && err == nil {
		return printed
	}
	if err == nil && len(written) == 0 && !o.JSON {
		h.progress("every merge is recorded already")
	}
	return err
}

func (h *Host) printRecords(asJSON bool, written []record.Merge) error {
	if asJSON {
		if written == nil {
			written = []record.Merge{}
		}
		return h.json(written)
	}
	for _, m := range written {
		by := "no pull request"
		if m.PR != nil {
			by = fmt.Sprintf("#%d", *m.PR)
		}
		project := ""
		if m.Member != "" {
			project = " in " + m.Member
		}
		h.sayf("recorded %s in %s%s: %s, merged by %s, %s", m.Commit, m.Env, project, m.Status, by, m.Approval.Status)
	}
	return nil
}
