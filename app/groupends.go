package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/chant-bot/chant/app/facts"
	"github.com/chant-bot/chant/app/logs"
	"github.com/chant-bot/chant/app/settle"
	"github.com/chant-bot/chant/app/usecase"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
)

// groupEnder ends the applies of groups that were left in this state directory and that no
// run carries on: with replicas another one may have taken the run over, which can't end
// what it has no journal of, and waits for this one.
type groupEnder struct {
	drivers *drivers
	sites   *sites
	facts   *facts.Facts
	stage   *usecase.Stage
	log     *slog.Logger
	every   time.Duration
}

// start has it run until it is stopped.
func (g *groupEnder) start(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { g.run(ctx) })
	return func() { cancel(); running.Wait() }
}

// run looks at once, and again from time to time: a run may be given up, or the ledger not
// be reached.
func (g *groupEnder) run(ctx context.Context) {
	tick := time.NewTicker(g.every)
	defer tick.Stop()
	for {
		if err := g.endAll(ctx); err != nil && ctx.Err() == nil {
			g.log.WarnContext(ctx, "an apply of a group is not ended yet", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (g *groupEnder) endAll(ctx context.Context) error {
	left, err := g.drivers.unendedGroups()
	if err != nil {
		return err
	}
	var errs []error
	done := map[usecase.LeftGroup]bool{}
	for _, u := range left {
		if at, ok := usecase.LeftBy(u); ok && !done[at] {
			done[at] = true
			errs = append(errs, g.end(ctx, at))
		}
	}
	return errors.Join(errs...)
}

// end ends what is left in one environment, unless somebody works on it.
func (g *groupEnder) end(ctx context.Context, left usecase.LeftGroup) error {
	site, err := g.sites.Open(ctx, left.Repo)
	if err != nil {
		return err
	}
	ctx = logs.With(ctx, slog.String(logs.Repository, site.Repo.FullName()), slog.String("env", left.Env))
	run, found, err := g.facts.NewestRun(ctx, site.Repo, left.Env, left.Member)
	if err != nil || found && run.Status == settle.RunRunning {
		return err
	}
	dir := filepath.Join(g.stage.Dir, "apply-"+g.stage.NewID()) // one of a run, when it is left
	defer func() { _ = git.RemoveWorktree(dir) }()
	err = g.stage.EndLeft(ctx, site, left, dir)
	if _, held := errors.AsType[*lease.Held](err); held {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s, env %s: %w", site.Repo.FullName(), left.Env, err)
	}
	g.log.InfoContext(ctx, "an apply of a group that was left is ended")
	return nil
}
