package terraform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/exec"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
	"github.com/chant-bot/chant/engine/report"
)

// ending is how an apply ended, as far as it was seen.
type ending struct {
	res         *exec.Result // nil: nobody saw it
	interrupted error        // why it was asked to end
	// errored is the joined state where it could not be written to its place, and unread
	// why that can't be told.
	errored digest.Value
	unread  error
}

// maxState bounds a joined state in bytes.
const maxState = 1 << 30

// settle gives every member its part of the joined state, and says how each ended.
// What applied stays applied, so it goes on when ctx has ended meanwhile.
func (grp *group) settle(ctx context.Context, p engine.PlannedGroup, j journaled, end ending) (engine.GroupOutcome, error) {
	ctx = context.WithoutCancel(ctx)
	grp.g.passed(stepApplied)
	if j.Joined.IsAbsent() {
		var err error
		if j.Joined, err = grp.left(end); err != nil {
			return engine.GroupOutcome{}, grp.unreadable(err)
		}
		j.Ended = grp.ended(end)
		for _, secret := range secretsOf(j.Joined) { // one that the apply made was masked by nobody
			j.Ended.Said = strings.ReplaceAll(j.Ended.Said, secret, "***")
		}
		if err := grp.g.journal(p.Target).write(j); err != nil {
			return engine.GroupOutcome{}, err
		}
	}
	out, kept, err := grp.split(ctx, p, j)
	if err != nil {
		return engine.GroupOutcome{}, err
	}
	return out, grp.finish(p, j, &out, kept)
}

// left is the joined state as the apply left it.
func (grp *group) left(end ending) (digest.Value, error) {
	if end.unread != nil || !end.errored.IsAbsent() {
		return end.errored, end.unread
	}
	return grp.readState()
}

// unreadable is what people are told of a joined state that can't be given back: a tool
// that lost its power writes half of one. Every member still has the state from before,
// and what was made since is written down there alone.
func (grp *group) unreadable(why error) error {
	return engine.Tell(fmt.Errorf("the state that the tool left of the group %s, in %s of the machine that applied, can't be used (%w); each member has the state from before the apply, and what was made since is to be told from that file, if from anything", grp.t.Group, grp.statePath(), why))
}

// unseen is the outcome of an apply of whose end nothing is known.
func (grp *group) unseen(p engine.PlannedGroup) engine.GroupOutcome {
	out := notStarted(p, fmt.Sprintf("group %s: the end of the apply was not observed; plan again", grp.t.Group))
	out.Unknown = true
	for i := range out.Members {
		if out.Members[i].Status == report.OutcomeNotStarted {
			out.Members[i].Status, out.Members[i].Error = report.OutcomePartial, "what became of it is not known"
		}
	}
	return out
}

// killedCode is the least exit code of a process that a signal ended.
const killedCode = 128

func (grp *group) ended(end ending) ended {
	if end.res == nil {
		return ended{Said: "the end of the apply was not observed"}
	}
	// Killed, it may have made what it did not write down: tofu writes a state every
	// 20 seconds only.
	e := ended{Seen: end.res.ExitCode < killedCode, ExitCode: end.res.ExitCode}
	if e.ExitCode != 0 {
		e.Said = grp.root.failure(call{args: []string{"apply"}}, *end.res).Error()
		if end.interrupted != nil {
			e.Said = fmt.Sprintf("interrupted (%v): %s", end.interrupted, e.Said)
		}
	}
	return e
}

// readState is the joined state as the tool left it.
func (grp *group) readState() (digest.Value, error) {
	dir, err := os.OpenRoot(grp.stateDir())
	if err != nil {
		return digest.Value{}, fmt.Errorf("reading the joined state: %w", err)
	}
	defer func() { _ = dir.Close() }()
	rel, err := filepath.Rel(grp.stateDir(), grp.statePath())
	if err != nil {
		return digest.Value{}, fmt.Errorf("reading the joined state: %w", err)
	}
	f, err := openRegular(dir, rel)
	if err != nil {
		return digest.Value{}, fmt.Errorf("reading the joined state: %w", err)
	}
	defer func() { _ = f.Close() }()
	text, err := readAtMost(f, maxState)
	if err != nil {
		return digest.Value{}, fmt.Errorf("reading the joined state: %w", err)
	}
	return digest.Decode(text)
}

// split pushes the parts, one member after the other. anyKept: a part is in a file.
func (grp *group) split(ctx context.Context, p engine.PlannedGroup, j journaled) (out engine.GroupOutcome, anyKept bool, err error) {
	parts, err := states.Split(j.Joined, j.joinable())
	if err != nil {
		return engine.GroupOutcome{}, false, grp.unreadable(err)
	}
	out = engine.GroupOutcome{Unknown: !j.Ended.Seen, Error: grp.readable(j.Ended.Said)}
	for i, m := range grp.members {
		part := parts[m.id]
		one := engine.MemberOutcome{
			Member: m.Target.Member, Status: memberStatus(p.Members[i], j.Ended, m.id, j.Members[i].State, part),
			Outputs: outputsOf(part),
		}
		if one.Status == report.OutcomeFailed || one.Status == report.OutcomePartial {
			one.Error = out.Error
		}
		kept, err := grp.store(ctx, m, j.Members[i].State, part)
		if err != nil {
			return engine.GroupOutcome{}, false, err
		}
		if kept != "" {
			anyKept = true
			one.Status, one.Error, one.Outputs = report.OutcomePartial, kept, nil
			out.Error = strings.TrimPrefix(out.Error+"\n"+kept, "\n")
		}
		out.Members = append(out.Members, one)
		grp.g.passed(stepPushed)
	}
	return out, anyKept, nil
}

// memberStatus is how a member ended, by what became of its changes.
func memberStatus(p engine.PlannedMember, e ended, id string, before, after digest.Value) report.OutcomeStatus {
	if p.NoChanges {
		return report.OutcomeNoChanges
	}
	if e.Seen && e.ExitCode == 0 {
		return report.OutcomeApplied
	}
	progress := states.NewProgress(before, after)
	finished, touched := 0, false
	for _, c := range p.Changes {
		switch progress.Of(c.Address) {
		case states.Finished:
			finished++
			touched = true
		case states.Unfinished:
			touched = true
		case states.Untouched:
		}
	}
	switch {
	case finished == len(p.Changes) && finished > 0:
		return report.OutcomeApplied
	case touched || !states.Same(before, after):
		return report.OutcomePartial
	case strings.Contains(e.Said, "module."+id+".") || !e.Seen:
		return report.OutcomeFailed
	}
	return report.OutcomeNotStarted
}

// outputsOf are the outputs in a state.
func outputsOf(state digest.Value) map[string]engine.Output {
	outputs := map[string]engine.Output{}
	own := state.Get("outputs")
	for i, name := range own.Keys() {
		sensitive, _ := own.At(i).Get("sensitive").Bool()
		outputs[name] = engine.Output{Value: own.At(i).Get("value"), Sensitive: sensitive}
	}
	return outputs
}

// store gives a member its part: not when it is there already, and never over a
// state that is neither it nor the one pulled. Where that is so, or the backend
// refuses, the part is kept in a file and told.
func (grp *group) store(ctx context.Context, m *member, pulled, part digest.Value) (kept string, err error) {
	if states.Same(pulled, part) {
		return "", nil // nothing of it changed
	}
	now, err := m.w.pull(ctx)
	if err == nil && states.Same(now, part) {
		return "", nil // pushed before a crash
	}
	before, _ := stateDigest(pulled)
	if err == nil {
		var after digest.Digest
		if after, err = stateDigest(now); err == nil && !digest.Same(before, after) {
			err = engine.Tell(errors.New("its state moved during the apply, though it was locked"))
		}
	}
	if err == nil {
		err = m.w.push(ctx, part.String())
	}
	if err == nil {
		return "", nil
	}
	return grp.keep(m, part, err)
}

// outcomeFile holds how a group ended once every part is stored or kept.
const outcomeFile = "outcome.json"

// finish notes the outcome, without its outputs, and ends the journal, or what of it has
// to wait: whoever the caller can't tell yet that every member has its state, which is
// the outcome's fault, and a state in a file.
func (grp *group) finish(p engine.PlannedGroup, j journaled, out *engine.GroupOutcome, kept bool) error {
	text, err := json.Marshal(out)
	if err == nil {
		err = writeDurably(filepath.Join(grp.t.RunDir, outcomeFile), text)
	}
	if err == nil {
		rest := journaled{Group: j.Group, RunDir: j.RunDir, Memo: j.Memo, Given: !kept, Kept: kept}
		err = errors.Join(grp.g.journal(p.Target).write(rest), os.RemoveAll(grp.stateDir()), os.RemoveAll(filepath.Join(grp.t.RunDir, erroredFile)))
	}
	if err == nil && !kept {
		grp.g.passed(stepGiven)
		if fault := grp.settled(); fault != nil {
			out.Fault = errors.Join(out.Fault, fault)
			return nil
		}
		err = grp.g.journal(p.Target).remove()
	}
	if err != nil {
		return fmt.Errorf("ending the apply of the group %s: %w", grp.t.Group, err)
	}
	grp.g.passed(stepDone)
	return nil
}

// endRest does what was left to do once every member had its state, or a file holds it.
func (grp *group) endRest(ctx context.Context, p engine.PlannedGroup, j journaled) error {
	if j.Kept {
		if err := grp.each(func(m *member) error {
			if err := m.w.init(ctx, nil); err != nil {
				return err
			}
			return m.w.unpushed(ctx)
		}); err != nil {
			return err
		}
	}
	if err := grp.settled(); err != nil {
		return err
	}
	return grp.g.journal(p.Target).remove()
}

// RecoverGroup implements engine.Grouper. It waits for an apply that still runs;
// when ctx ends first that is left alone. Where the files of the run are gone and with
// them the joined state, the journal stays for a person: what applied is written down
// nowhere.
func (g *Grouper) RecoverGroup(ctx context.Context, p engine.PlannedGroup) (engine.GroupOutcome, bool, error) {
	j, begun, err := g.journal(p.Target).read()
	if err != nil {
		return engine.GroupOutcome{}, true, err
	}
	st, err := exec.AwaitRecovered(ctx, filepath.Join(p.Target.RunDir, applyDir))
	notStarted := errors.Is(err, exec.ErrNotStarted) || err == nil && st.State == exec.None
	if err != nil && !notStarted {
		return engine.GroupOutcome{}, true, fmt.Errorf("recovering the apply of the group %s: %w", p.Target.Group, err)
	}
	rest := j.Given || j.Kept
	gone := notStarted && begun && !rest && !j.Unstarted && isGone(p.File)
	if gone && j.Joined.IsAbsent() {
		return engine.GroupOutcome{}, true, engine.Tell(fmt.Errorf("the files of an apply of the group %s are gone, so what it applied can't be told; the states before it are in the journal %s", p.Target.Group, g.journal(p.Target).path))
	}
	var end ending
	if !rest && j.Joined.IsAbsent() {
		if end.errored, err = erroredOfGroup(p.Target.RunDir); err != nil {
			return engine.GroupOutcome{}, true, err
		}
	}
	grp, err := g.reopen(ctx, p, nil)
	if err != nil {
		return engine.GroupOutcome{}, true, err
	}
	defer grp.close()
	switch {
	case rest:
		if err := grp.endRest(ctx, p, j); err != nil {
			return engine.GroupOutcome{}, true, err
		}
		out, err := grp.noted(ctx, p)
		return out, true, err
	case notStarted && !gone:
		err := grp.each(func(m *member) error { return m.w.releaseAll(ctx) })
		if begun && err == nil {
			err = grp.drop(g.journal(p.Target), j)
		}
		return engine.GroupOutcome{}, false, err
	case !begun:
		out, err := grp.noted(ctx, p)
		return out, true, err
	}
	if held, err := grp.takeHolds(ctx, p); err != nil || held != nil {
		return engine.GroupOutcome{}, true, errors.Join(err, unheld(held))
	}
	if st.State == exec.Exited {
		end.res = &st.Result
	}
	out, err := grp.settle(ctx, p, j, end)
	return out, true, errors.Join(err, grp.release(ctx))
}

func isGone(file string) bool {
	_, err := os.Stat(file)
	return errors.Is(err, fs.ErrNotExist)
}

// unheld is a member whose lock can't be had now: the journal stays, and the
// recovery is to be tried again.
func unheld(out *engine.GroupOutcome) error {
	if out == nil {
		return nil
	}
	return engine.Tell(errors.New(out.Error))
}

// noted is the outcome of an apply that ended, with the outputs that stand.
func (grp *group) noted(ctx context.Context, p engine.PlannedGroup) (engine.GroupOutcome, error) {
	text, err := os.ReadFile(filepath.Join(grp.t.RunDir, outcomeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return grp.unseen(p), grp.each(func(m *member) error { return m.w.releaseAll(ctx) })
	}
	var out engine.GroupOutcome
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		return engine.GroupOutcome{}, fmt.Errorf("reading how the group %s ended: %w", grp.t.Group, err)
	}
	return out, grp.each(func(m *member) error {
		if err := m.w.releaseAll(ctx); err != nil {
			return err
		}
		if err := m.w.init(ctx, nil); err != nil {
			return err
		}
		state, err := m.w.pull(ctx)
		if i := m.at; i < len(out.Members) {
			out.Members[i].Outputs = outputsOf(state)
		}
		return err
	})
}
