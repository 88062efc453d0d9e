package usecase

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/run"
)

// Resume carries an apply on that a crash interrupted: what a supervisor saw end
// is taken, what nobody saw end is not repeated (soundness I6), the rest applies
// under the approvals that still stand. Where its saved plans are gone the run
// ends there, and a fresh apply is due.
func (st *Stage) Resume(ctx context.Context, in ApplyInput, a *Apply) (*Apply, error) {
	return st.leased(ctx, in.Site, in.Env, in.Member, func(held *lease.Lease) (*Apply, error) {
		if err := in.Site.FetchBranch(ctx, a.Branch); err != nil {
			return nil, err
		}
		dir := filepath.Join(a.Dir, "tree-"+st.NewID())
		plans := a.plansGone()
		checkout, err := in.Site.Checkout(ctx, a.State.Commit, dir)
		if err != nil {
			return nil, err
		}
		if err := st.forgetGroups(ctx, in, a, checkout); err != nil {
			return nil, err
		}
		if err := st.recoverSteps(ctx, in, a, checkout); err != nil {
			return nil, err
		}
		if err := st.stopBehindGroups(ctx, in, a, checkout); err != nil {
			return nil, err
		}
		if plans {
			a.current().State.Halt("superseded: the files of this run are gone, so it is planned again")
		}
		return a, st.carryOut(ctx, in, a, checkout, held)
	})
}

// Abandon ends an apply that can't be carried on. What may have run is unknown
// (soundness I6); a fresh plan decides about everything.
func (a *Apply) Abandon(cause string) {
	state := &a.current().State
	state.Recover()
	state.Halt(fmt.Sprintf("superseded: this run could not be carried on after a restart (%s), so it is planned again", cause))
	a.conclude()
	if a.Passes().Complete() {
		a.Fresh = true // what is left is to record it
	}
}

// plansGone tells whether a saved plan that is still to be applied is not there.
func (a *Apply) plansGone() bool {
	p := a.current()
	for name, m := range p.State.Members {
		if !m.Status.Final() && p.planGone(name) {
			return true
		}
	}
	return false
}

func (p *Pass) planGone(member string) bool {
	planned := p.Set.Members[member].Planned
	if planned.File == "" {
		return false // a hole: nothing was saved
	}
	_, err := os.Stat(planned.File)
	return errors.Is(err, fs.ErrNotExist)
}

// forgetGroups leaves out of what is recovered what somebody said is right as it is.
func (st *Stage) forgetGroups(ctx context.Context, in ApplyInput, a *Apply, checkout *Checkout) error {
	proj, err := findProject(checkout.Workspace, in.Member)
	if err != nil {
		return err
	}
	ends, err := st.groupEnds(ctx, in, a.Policy.Env, proj)
	if err != nil {
		return err
	}
	_, err = ends.left()
	return err
}

// stopBehindGroups ends what the run may still apply where a group that another run
// applied meanwhile left its members without their states: one of them, or what reads
// outputs that may not stand any more (soundness I7, I12).
func (st *Stage) stopBehindGroups(ctx context.Context, in ApplyInput, a *Apply, checkout *Checkout) error {
	proj, err := findProject(checkout.Workspace, in.Member)
	if err != nil {
		return err
	}
	open, err := st.endGroups(ctx, in, a.Policy.Env, proj, a.Token)
	if err != nil {
		return err
	}
	p := a.current()
	for _, name := range p.State.Order {
		if why := open.behind(proj, name, p.Set.Members[name]); why != nil && !p.State.Members[name].Status.Final() {
			p.State.Halt("superseded: " + why.Error())
		}
	}
	return nil
}

// recoverSteps settles what ended while nobody of this process looked.
func (st *Stage) recoverSteps(ctx context.Context, in ApplyInput, a *Apply, checkout *Checkout) error {
	ex := newExecution(st, in, a, checkout, nil)
	if err := ex.prepare(ctx); err != nil {
		return err
	}
	state := &ex.pass.State
	for _, member := range state.Order {
		if state.Members[member].Status == run.Running {
			if err := ex.recoverStep(ctx, member); err != nil {
				return err
			}
		}
	}
	state.Recover()
	return in.Journal.Save(ctx, a)
}

const runFilesGone = "it started, and how it ended can't be told, since the files of its run are gone"

func (ex *execution) recoverStep(ctx context.Context, member string) error {
	if g := ex.pass.Set.groupOf(member); g != nil {
		return ex.recoverGroup(ctx, g)
	}
	if ex.pass.planGone(member) {
		// So is what its supervisor wrote: that nothing is found proves nothing.
		return ex.settle(ctx, member, engine.Outcome{Unknown: true, Error: runFilesGone})
	}
	planned := ex.pass.Set.Members[member]
	target, err := ex.target(planned)
	if err != nil {
		return err
	}
	plan := planned.Planned
	plan.Target = target
	outcome, found, err := ex.driver.Recover(ctx, plan)
	if err != nil {
		return fmt.Errorf("finding out how the apply of %s ended: %w", member, err)
	}
	if !found {
		// The step was stored and its process never started.
		return ex.change(ctx, func(s *run.State) error { return s.NotStarted(member) })
	}
	return ex.settle(ctx, member, outcome)
}
