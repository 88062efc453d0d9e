package usecase

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/git"
	"github.com/chant-bot/chant/engine/drivers/lease"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/green"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// execution is one apply being carried out.
type execution struct {
	*Stage
	in          ApplyInput
	apply       *Apply
	pass        *Pass // the one that is carried out
	checkout    *Checkout
	driver      Driver
	project     project.Project
	lease       *lease.Lease
	credentials []string
	components  map[string]*project.Component
	line        []git.Commit
	trees       *trees

	mu        sync.Mutex // guards apply
	upstreams *upstreams
}

func newExecution(st *Stage, in ApplyInput, a *Apply, checkout *Checkout, held *lease.Lease) *execution {
	return &execution{
		Stage: st, in: in, apply: a, pass: a.current(), checkout: checkout, lease: held,
		components: map[string]*project.Component{},
	}
}

// carryOut applies the saved plans wave by wave and records the end.
func (st *Stage) carryOut(ctx context.Context, in ApplyInput, a *Apply, checkout *Checkout, held *lease.Lease) error {
	ex := newExecution(st, in, a, checkout, held)
	if err := ex.prepare(ctx); err != nil {
		return err
	}
	if err := a.keepWaves(); err != nil {
		return err
	}
	if err := in.Journal.Save(ctx, a); err != nil {
		return err
	}
	if a.Passes().Halted() == "" {
		err := ex.claim(ctx)
		var refusal *Refusal
		switch {
		case errors.Is(err, record.ErrTaken):
			ex.pass.State.Halt("superseded: " + record.ErrTaken.Error())
		case errors.As(err, &refusal):
			a.refuse(report.NotGreen, refusal.Message)
			return in.Journal.Save(ctx, a)
		case err != nil:
			return err
		}
	}
	if err := ex.passes(ctx); err != nil {
		return err
	}
	return ex.finish(ctx)
}

// waves starts what may start of the pass, wave by wave, while everything it rests
// on stands.
func (ex *execution) waves(ctx context.Context) error {
	for {
		next := ex.pass.State.Next()
		if len(next) == 0 {
			return nil
		}
		if reason, err := ex.standing(ctx); err != nil {
			return err
		} else if reason != "" {
			ex.pass.State.Halt(reason)
			return nil
		}
		if held, err := ex.holdAtGates(ctx, next); err != nil {
			return err
		} else if held {
			continue
		}
		var errs errorList
		each(ex.driver.Parallel(), ex.oncePerGroup(next), func(member string) { errs.add(ex.step(ctx, member)) })
		if err := errs.first(); err != nil {
			return err
		}
	}
}

// prepare reads what the steps need. The apply credentials are asked for only
// here, when the decision is made (soundness, walls).
func (ex *execution) prepare(ctx context.Context) error {
	var err error
	if ex.project, err = findProject(ex.checkout.Workspace, ex.in.Member); err != nil {
		return err
	}
	for _, c := range ex.project.Components {
		ex.components[c.Name] = c
	}
	if ex.driver, err = ex.driverOf(ctx, ex.in.Site.Repo, ex.in.Env, ex.project, ForApply); err != nil {
		return err
	}
	if err := ex.use(ex.pass); err != nil {
		return err
	}
	if _, ex.line, err = ex.in.Site.lineOf(ctx, ex.apply.Branch); err != nil {
		return err
	}
	ex.credentials, err = ex.Credentials.For(ctx, ex.in.Site.Repo, ex.in.Env, ForApply)
	if err != nil {
		return fmt.Errorf("apply credentials of env %s: %w", ex.in.Env, err)
	}
	return nil
}

// claim pushes the attempt, which proves that the ledger can be written and
// fences older commits off (decision 18). A resumed apply finds its own; one that
// finds another's, which was not there when it planned, is over: ErrTaken.
func (ex *execution) claim(ctx context.Context) error {
	a := ex.apply
	written, err := ex.in.Site.Ledger.Update(ctx, "Apply attempt", func(snap *ledger.Snapshot) ([]ledger.File, error) {
		attempt, applied, err := readProgress(snap, a.Prefix, a.Policy.Env.Name)
		if err != nil {
			return nil, err
		}
		if attempt != nil && attempt.Token == a.Token {
			return nil, nil
		}
		if attempt != nil && attempt.Token != a.Follows {
			return nil, fmt.Errorf("%w, at %s", record.ErrTaken, attempt.StartedAt)
		}
		if err := record.Fence(a.State.Commit, shas(ex.line), attempt, applied, ""); err != nil {
			return nil, &Refusal{Message: err.Error()}
		}
		mine := record.Attempt{
			Env: a.Policy.Env.Name, Commit: a.State.Commit, Base: a.State.Base,
			Digest: a.State.Digest, Token: a.Token, StartedAt: gate.Timestamp(ex.Now()),
			Rounds: a.keptForRounds(), Started: record.Unfinished(a.State.Commit, shas(ex.line), attempt, applied),
		}
		return []ledger.File{{Path: record.AttemptPath(a.Prefix, a.Policy.Env.Name), Content: mine.JSON()}}, nil
	})
	return landed(written, err)
}

// standing reads everything again that the next wave rests on: the lease, the
// green tag and the checks behind it, the fence, and every approval it applies
// under, with the permissions and reviews behind it (decision 5, soundness I2,
// I4, I5). It returns why nothing more may start; an
// error says that it could not be read, and then nothing starts either and the
// apply is carried on later.
func (ex *execution) standing(ctx context.Context) (string, error) {
	if err := ex.lease.Renew(ctx); err != nil {
		return "", fmt.Errorf("renewing the lease of env %s: %w", ex.in.Env, err)
	}
	if reason, err := ex.stillGreen(ctx); err != nil || reason != "" {
		return reason, err
	}
	snap, err := ex.in.Site.Ledger.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	a := ex.apply
	attempt, applied, err := readProgress(snap, a.Prefix, a.Policy.Env.Name)
	if err != nil {
		return "", err
	}
	if err := record.Fence(a.State.Commit, shas(ex.line), attempt, applied, a.Token); err != nil {
		return err.Error(), nil //nolint:nilerr // the answer: why not
	}
	return ex.passStands(ctx, snap)
}

// stillGreen counts the tags again and judges the checks again, on the branch as
// the remote has it now: a commit may be revoked while a server is down, or while
// a wave runs.
func (ex *execution) stillGreen(ctx context.Context) (string, error) {
	a, site := ex.apply, ex.in.Site
	if err := site.fetchAgain(ctx, a.Branch); err != nil {
		return "", err
	}
	tip, line, err := site.lineOf(ctx, a.Branch)
	if err != nil {
		return "", err
	}
	ex.line = line
	tags, err := site.greenTags(ctx)
	if err != nil {
		return "", err
	}
	if counting := green.Count(tags, shas(line)); !counting.Green[a.State.Commit] {
		return notGreen(a.State.Commit, a.Branch, counting), nil
	}
	declaration, err := site.Declaration(ctx, tip)
	if err != nil {
		if problem := ForPeople(err); problem != nil {
			return fmt.Sprintf("the declaration on %s can't be read any more: %v", a.Branch, problem), nil
		}
		return "", err
	}
	return ex.judgeAgain(ctx, site, a.State.Commit, declaration)
}

// step brings one member from Next to its end: held when an input moved, without
// a process when there is nothing to apply, applied otherwise. The state is
// stored before the process starts and after it ended.
func (ex *execution) step(ctx context.Context, member string) error {
	if g := ex.pass.Set.groupOf(member); g != nil {
		return ex.stepGroup(ctx, g)
	}
	planned := ex.pass.Set.Members[member]
	moved, err := ex.movedInputs(ctx, planned)
	if err != nil {
		return err
	}
	if len(moved) > 0 {
		ex.say("%s is held: an input moved", member)
		return ex.change(ctx, func(s *run.State) error { return s.Hold(member, moved) })
	}
	if err := ex.lease.Live(); err != nil {
		return err
	}
	if err := ex.change(ctx, func(s *run.State) error { return s.Start(member) }); err != nil {
		return err
	}
	if ex.pass.Set.Nothing()[member] {
		return ex.change(ctx, func(s *run.State) error { return s.Settle(member, run.Outcome{NoChanges: true}) })
	}
	ex.say("applying %s", member)
	target, err := ex.target(planned)
	if err != nil {
		return err
	}
	if target.Secrets, err = ex.secrets(ctx, planned); err != nil {
		return err
	}
	// It may wait long for a free place, and a holder that can't renew starts no
	// new step (pr-loop §9).
	var lost error
	target.Ready = func() error { lost = ex.lease.Live(); return lost }
	plan := planned.Planned
	plan.Target = target
	outcome, err := ex.driver.Apply(context.WithoutCancel(ctx), plan, func(line string) { ex.say("%s: %s", member, line) })
	if lost != nil {
		return errors.Join(lost, ex.change(ctx, func(s *run.State) error { return s.NotStarted(member) }))
	}
	if !outcome.Unknown {
		ex.trees.drop(member) // else its process may still be there
	}
	if err != nil {
		outcome = engine.Outcome{Error: ex.Words(ctx, err)}
	}
	return ex.settle(ctx, member, outcome)
}

// settle stores how a member ended.
func (ex *execution) settle(ctx context.Context, member string, o engine.Outcome) error {
	if o.Fault != nil {
		o.Error += ": " + ex.Words(ctx, o.Fault)
	}
	end := run.Outcome{Moved: o.Moved, Unknown: o.Unknown, Error: o.Error}
	if o.Error == "" && !o.Unknown && !o.Moved {
		ex.say("applied %s", member)
		ex.upstreams.add(ex.pass.Set.Members[member].Component, o.Outputs)
	} else {
		ex.say("%s failed: %s", member, o.Error)
	}
	return ex.change(ctx, func(s *run.State) error { return s.Settle(member, end) })
}

// change makes one move of the state machine and stores it.
func (ex *execution) change(ctx context.Context, move func(*run.State) error) error {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if err := move(&ex.pass.State); err != nil {
		return err
	}
	return ex.in.Journal.Save(context.WithoutCancel(ctx), ex.apply)
}

// movedInputs compares what the member was planned with against what stands now
// (pr-loop §7.5, soundness I7).
func (ex *execution) movedInputs(ctx context.Context, m *PlannedMember) ([]run.InputRead, error) {
	var moved []run.InputRead
	for _, read := range m.Unknown {
		now, sensitive, err := ex.current(ctx, read.Component, read.Output)
		if err != nil {
			return nil, err
		}
		r, _ := run.PlannedRead(read.Component, read.Output, digest.Value{}, sensitive).Moved(now, sensitive)
		moved = append(moved, r)
	}
	for _, read := range m.Reads {
		now, sensitive, err := ex.current(ctx, read.From, read.Output)
		if err != nil {
			return nil, err
		}
		if r, changed := read.Moved(now, sensitive); changed {
			moved = append(moved, r)
		}
	}
	return moved, nil
}

func (ex *execution) planInput() PlanInput {
	in := PlanInput{
		Site: ex.in.Site, Checkout: ex.checkout, Project: ex.project, Env: ex.apply.Policy.Env, RunDir: ex.apply.Dir,
		WaveByWave: ex.apply.gated(), trees: ex.trees,
	}
	in.keeper = ex.keeper(in)
	return in
}

// target is the planned target with the apply credentials and this checkout.
func (ex *execution) target(m *PlannedMember) (engine.Target, error) {
	c := ex.components[m.Component]
	return ex.planInput().target(c.Steps()[m.Step], nil, ex.credentials)
}

func (ex *execution) say(format string, args ...any) {
	if ex.in.Progress != nil {
		ex.in.Progress(fmt.Sprintf(format, args...))
	}
}
