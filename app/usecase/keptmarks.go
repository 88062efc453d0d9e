package usecase

import (
	"context"
	"fmt"
	"os"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
)

// keptMarks has every machine see the states of single roots that no backend took: a mark
// beside those of groups, by the id of the state.
type keptMarks struct {
	groupsAt

	commit string
}

// keeper is told of what the driver keeps of the members of a plan.
func (st *Stage) keeper(in PlanInput) engine.Keeper {
	return keptMarks{st.groupsOf(in.Site, in.Project.Member, in.Env.Name), in.Checkout.Commit}
}

// Keep implements engine.Keeper.
func (k keptMarks) Keep(ctx context.Context, s engine.KeptState) error {
	machine, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("naming this machine: %w", err)
	}
	err = k.change(ctx, "State is in no backend", func(marks *record.Groups) bool {
		return !marks.WasReleased(s.ID) && marks.Begin(record.OpenGroup{
			ID: s.ID, Group: s.Member, Members: []string{s.Member}, Commit: k.commit,
			Machine: machine, Journal: s.File, StartedAt: gate.Timestamp(k.st.Now()), Kept: true,
		})
	})
	if err != nil {
		return fmt.Errorf("noting on the ledger that the state of %s is kept: %w", s.Member, err)
	}
	return nil
}

// Void implements engine.Keeper.
func (k keptMarks) Void(ctx context.Context, id string) (bool, error) {
	marks, err := k.read(ctx)
	return marks.WasReleased(id), err
}

// Stored implements engine.Keeper.
func (k keptMarks) Stored(ctx context.Context, id string) error {
	err := k.change(ctx, "State is stored", func(marks *record.Groups) bool { return marks.End(id) })
	if err != nil {
		return fmt.Errorf("noting on the ledger that a state is stored: %w", err)
	}
	return nil
}

// keptHere tells that a mark is of a state that is kept on this machine: its driver plans
// nothing of the root before that is dealt with, and sees when it is.
func (e *groupEnds) keptHere(o record.OpenGroup) (bool, error) {
	if !o.Kept {
		return false, nil
	}
	return e.applier.Keeps(o.ID)
}

// keptElsewhere is what people are told of such a mark where the file is not.
func (e *groupEnds) keptElsewhere(o record.OpenGroup) error {
	return Refusef("%s is neither planned nor applied in %s: the backend did not take its state after an apply at commit %s, %s on %s, and what that made is in no state. "+
		"The state is kept in %s of that machine. Push that file by hand (state push), and then run chant on that machine again, or %s. "+
		"If the machine or that file is gone for good, do this first: %s",
		o, e.env.Name, project.Short(o.Commit), o.StartedAt, o.Machine, o.Journal, unlockLine(o.ID), e.mendByHand())
}
