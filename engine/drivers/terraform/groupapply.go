package terraform

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/drivers/terraform/composed"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
	"github.com/chant-bot/chant/engine/report"
)

// The steps of an apply, after each of which a crash must lose nothing.
const (
	stepPulled  = "pulled"
	stepBegun   = "begun" // the caller knows
	stepApplied = "applied"
	stepPushed  = "pushed" // one member's state
	stepGiven   = "given"  // every member has its state, and nobody was told
	stepDone    = "done"
)

// ApplyGroup implements engine.Grouper: it takes every member's lock, refuses when
// a state is another than the one planned from, applies the saved plan under a
// supervisor and gives each member its part of the state, however the apply ended.
func (g *Grouper) ApplyGroup(ctx context.Context, p engine.PlannedGroup, sink engine.Sink) (engine.GroupOutcome, error) {
	if err := g.unused(p); err != nil {
		return engine.GroupOutcome{}, err
	}
	grp, err := g.reopen(ctx, p, sink)
	if err != nil {
		return engine.GroupOutcome{}, err
	}
	defer grp.close()
	if err := grp.restoreRoot(); err != nil {
		return engine.GroupOutcome{}, err
	}
	out, err := grp.apply(ctx, p)
	if out.Unknown && errors.Is(out.Fault, exec.ErrRunning) {
		return out, nil // RecoverGroup ends what still runs, and its holds
	}
	// What applied has applied, whether or not its locks can be given back.
	out.Fault = errors.Join(out.Fault, grp.release(ctx))
	return out, err
}

// reopen is open for what PlanGroup made a plan of.
func (g *Grouper) reopen(ctx context.Context, p engine.PlannedGroup, sink engine.Sink) (*group, error) {
	if len(p.Members) != len(p.Target.Members) {
		return nil, fmt.Errorf("opening the group %s: %d plans of %d members", p.Target.Group, len(p.Members), len(p.Target.Members))
	}
	grp, err := g.open(ctx, p.Target, sink)
	if err == nil && slices.ContainsFunc(grp.members, grp.sharesDir) {
		grp.close()
		return nil, fmt.Errorf("opening the group %s: two members have one directory", p.Target.Group)
	}
	return grp, err
}

// unused refuses a plan that was applied from, or begun to.
func (g *Grouper) unused(p engine.PlannedGroup) error {
	st, err := exec.Recover(filepath.Join(p.Target.RunDir, applyDir))
	if err != nil {
		return fmt.Errorf("applying the group %s: %w", p.Target.Group, err)
	}
	_, begun, err := g.journal(p.Target).read()
	if err != nil {
		return err
	}
	if st.State != exec.None || begun {
		return engine.Tell(fmt.Errorf("applying the group %s: its plan was used already; plan again", p.Target.Group))
	}
	return nil
}

// apply goes from the locks of the members to their new states.
func (grp *group) apply(ctx context.Context, p engine.PlannedGroup) (engine.GroupOutcome, error) {
	if outcome, err := grp.takeHolds(ctx, p); err != nil || outcome != nil {
		return orNone(outcome), err
	}
	j, moved, err := grp.pullAll(ctx, p)
	if err != nil {
		return engine.GroupOutcome{}, err
	}
	if moved != "" {
		out := notStarted(p, moved)
		out.Moved = true
		return out, nil
	}
	journal := grp.g.journal(p.Target)
	if err = grp.ready(ctx, p, j); err == nil {
		j.Unstarted = true
		err = journal.begin(j)
	}
	if err != nil {
		return engine.GroupOutcome{}, err
	}
	grp.g.passed(stepPulled)
	if err := grp.begin(journal, &j); err != nil {
		return engine.GroupOutcome{}, errors.Join(err, grp.drop(journal, j))
	}
	grp.g.passed(stepBegun)
	started, res, err := grp.root.supervise(ctx, filepath.Join(p.Target.RunDir, applyDir), "", grp.withoutSecrets())
	stopped, interrupted := errors.AsType[*exec.StoppedError](err)
	switch {
	case !started:
		return engine.GroupOutcome{}, errors.Join(fmt.Errorf("applying the group %s: %w", p.Target.Group, err), grp.drop(journal, j))
	case errors.Is(err, exec.ErrRunning):
		out := grp.unseen(p)
		out.Fault = err
		return out, nil
	}
	end := ending{res: &res}
	end.errored, end.unread = erroredOfGroup(p.Target.RunDir)
	if interrupted {
		end.interrupted = stopped.Cause
	} else if err != nil {
		end.res = nil
	}
	out, err := grp.settle(ctx, p, j, end)
	if err != nil { // it was tried, so that is an outcome
		grp.keepRoot = true // with the state that the tool may have left there
		out = grp.unseen(p)
		out.Error += "; what is known of its states is in the journal " + grp.g.journal(p.Target).path
		out.Fault = err
	}
	return out, nil
}

// ready puts everything in place that the apply needs.
func (grp *group) ready(ctx context.Context, p engine.PlannedGroup, j journaled) error {
	joined, err := states.Join(j.joinable())
	if err == nil {
		err = grp.writeState(joined)
	}
	if err == nil {
		err = grp.root.initialise(ctx, grp.sink)
	}
	if err == nil {
		err = grp.root.copyIn(engine.Planned{Target: grp.root.t, File: p.File, Hash: p.Hash})
	}
	if err == nil {
		err = grp.root.noteWhere()
	}
	return err
}

// begin tells the caller that it begins, and then the journal: from here on it may have
// started.
func (grp *group) begin(journal journal, j *journaled) error {
	if grp.t.Begun != nil {
		if err := grp.t.Begun(journal.path); err != nil {
			return fmt.Errorf("applying the group %s: %w", grp.t.Group, err)
		}
	}
	j.Unstarted = false
	return journal.write(*j)
}

// drop ends the journal of an apply that was not started.
func (grp *group) drop(journal journal, j journaled) error {
	if err := grp.settled(); err != nil {
		j.Unstarted = true
		return errors.Join(err, journal.write(j))
	}
	return errors.Join(journal.remove(), os.RemoveAll(grp.stateDir()))
}

func (grp *group) settled() error {
	if grp.t.Settled == nil {
		return nil
	}
	return grp.t.Settled()
}

func orNone(out *engine.GroupOutcome) engine.GroupOutcome {
	if out == nil {
		return engine.GroupOutcome{}
	}
	return *out
}

// takeHolds initialises every member and takes its lock. What the tool refuses of
// that is an outcome: nothing was started.
func (grp *group) takeHolds(ctx context.Context, p engine.PlannedGroup) (*engine.GroupOutcome, error) {
	err := grp.each(func(m *member) error {
		if err := m.w.init(ctx, grp.sink); err != nil {
			return err
		}
		var err error
		m.hold, err = m.w.hold(ctx)
		return err
	})
	if told, ok := errors.AsType[*engine.Told](err); ok {
		out := notStarted(p, grp.readable(told.Error()))
		return &out, nil
	}
	return nil, err
}

// notStarted is an outcome in which nothing was applied, and why.
func notStarted(p engine.PlannedGroup, why string) engine.GroupOutcome {
	out := engine.GroupOutcome{Error: why}
	for _, m := range p.Members {
		status := report.OutcomeNotStarted
		if m.NoChanges {
			status = report.OutcomeNoChanges
		}
		out.Members = append(out.Members, engine.MemberOutcome{Member: m.Member, Status: status})
	}
	return out
}

// pullAll pulls the states under their locks into a journal to be. moved says
// which one is not the state that was planned from.
func (grp *group) pullAll(ctx context.Context, p engine.PlannedGroup) (j journaled, moved string, err error) {
	j = journaled{Group: grp.t.Group, RunDir: grp.t.RunDir, Memo: grp.t.Memo, Members: make([]journaledMember, len(grp.members))}
	all := make([]*surveyed, len(grp.members))
	err = grp.each(func(m *member) error {
		i := m.at
		config, err := composed.ReadConfig(m.w.tree.FS(), []composed.Module{{Path: filepath.ToSlash(m.w.rel), Root: true}}, m.w.d.planner)
		if err != nil {
			return fmt.Errorf("root %s: %w", m.w.t.Root.Name, err)
		}
		all[i] = &surveyed{config: config}
		own := journaledMember{Member: m.Target.Member, ID: m.id, Providers: config.Providers, Lineage: newLineage()}
		own.State, err = m.w.pull(ctx)
		j.Members[i] = own
		return err
	})
	if err != nil {
		return j, "", err
	}
	grp.hides = grp.hidden(all)
	for i, own := range j.Members {
		grp.root.secrets = append(append(grp.root.secrets, secretsOf(own.State)...), grp.members[i].w.secrets...)
		d, err := stateDigest(own.State)
		if err != nil {
			return j, "", err
		}
		if !digest.Same(d, p.Members[i].State) {
			return j, fmt.Sprintf("the state of %s is not the one that was planned from; nothing was applied, plan again", own.Member), nil
		}
	}
	return j, "", nil
}

// withoutSecrets is the sink without what may show a secret that the apply only makes:
// the outputs that the tool shows at the end, and what provisioners of a member that
// reads one say.
func (grp *group) withoutSecrets() engine.Sink {
	if grp.sink == nil {
		return nil
	}
	over := false
	return func(line string) {
		if over = over || line == "Outputs:"; !over && !grp.provisions(line) {
			grp.sink(line)
		}
	}
}

// provisions tells whether a provisioner of a member that may show a secret says it.
func (grp *group) provisions(line string) bool {
	return strings.Contains(line, "-exec): ") && slices.ContainsFunc(grp.members, func(m *member) bool {
		return grp.hides[m.Target.Member] && strings.HasPrefix(line, "module."+m.id+".")
	})
}

// release ends the consoles that hold the members' locks.
func (grp *group) release(ctx context.Context) error {
	return grp.each(func(m *member) error {
		if m.hold == nil {
			return nil
		}
		return m.hold.release(ctx)
	})
}
