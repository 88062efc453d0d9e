package usecase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/record"
)

// groupMemo is what the journal of a group's apply keeps for whoever has to end it
// without the apply that it was part of.
type groupMemo struct {
	// Repo and Env are where a server applied it.
	Repo   string `json:"repo,omitempty"`
	Env    string `json:"env,omitempty"`
	Member string `json:"member,omitempty"` // of the workspace
	Commit string `json:"commit"`
	// Head and Base make that commit where it is a pull request in its own environment.
	Head string     `json:"head,omitempty"`
	Base string     `json:"base,omitempty"`
	Plan *GroupPlan `json:"plan"`
}

// memoOf reads what a journal keeps.
func memoOf(u engine.UnendedGroup) (memo groupMemo, err error) {
	if err = u.Err; err == nil {
		err = json.Unmarshal(u.Memo, &memo)
	}
	if err == nil && memo.Plan == nil {
		err = errors.New("it names no group")
	}
	return memo, err
}

// madeFrom opens what a group was applied from, with the driver that applies it.
type madeFrom func(ctx context.Context, memo groupMemo) (PlanInput, Driver, error)

// groupEnds ends the applies of groups that nobody works on any more, since the lease of
// the environment is held.
type groupEnds struct {
	*Stage

	in      ApplyInput
	env     project.Env
	proj    project.Project // whose members are to be planned
	applier engine.Applier
	grouper engine.Grouper // nil for a driver that applies no groups
	from    madeFrom       // nil: what the commit declares
	marks   record.Groups
	waits   openGroups
}

// endGroups ends what is left of groups: what they applied is in no state yet, and a plan
// made now would make it again (soundness I12). The members of one that can't be ended
// here, or that is marked on the ledger and whose journal is elsewhere, are not to be
// planned. run is the token of the run that asks, whose own marks it knows about.
func (st *Stage) endGroups(ctx context.Context, in ApplyInput, env project.Env, proj project.Project, run string) (openGroups, error) {
	e, err := st.groupEnds(ctx, in, env, proj)
	if err != nil {
		return nil, err
	}
	return e.end(ctx, run)
}

func (st *Stage) groupEnds(ctx context.Context, in ApplyInput, env project.Env, proj project.Project) (*groupEnds, error) {
	e := &groupEnds{Stage: st, in: in, env: env, proj: proj, waits: openGroups{}}
	driver, err := st.driverOf(ctx, in.Site.Repo, env.Name, proj, ForApply)
	if err != nil {
		return nil, err
	}
	e.applier = driver
	e.grouper, _ = driver.(engine.Grouper)
	e.marks, err = e.at().read(ctx)
	return e, err
}

func (e *groupEnds) at() groupsAt { return e.groupsOf(e.in.Site, e.in.Member, e.env.Name) }

func (e *groupEnds) end(ctx context.Context, run string) (openGroups, error) {
	found, err := e.endLeft(ctx)
	if err != nil {
		return nil, err
	}
	if found { // and with it its mark, unless that could not be taken away
		if e.marks, err = e.at().read(ctx); err != nil {
			return nil, err
		}
	}
	for _, o := range e.marks.Open {
		here, err := e.keptHere(o)
		switch {
		case err != nil:
			return nil, err
		case here, run != "" && o.Run == run:
		case o.Kept:
			e.waits.add(o.Members, o.ID, e.keptElsewhere(o))
		default:
			e.waits.add(o.Members, o.ID, e.openElsewhere(o))
		}
	}
	e.waits.spread(membersOf(e.proj))
	return e.waits, nil
}

// left are the journals here that still count. Those that are void by somebody's word are
// put aside, since their states must not be given to anybody any more; a dry run passes
// over them.
func (e *groupEnds) left() ([]engine.UnendedGroup, error) {
	if e.grouper == nil {
		return nil, nil
	}
	all, err := e.grouper.Unended()
	if err != nil {
		return nil, err
	}
	var left []engine.UnendedGroup
	for _, u := range all {
		switch {
		case !e.isVoid(u):
			left = append(left, u)
		case e.in.DryRun:
		default:
			e.in.say("the journal %s is void, since its group was unlocked; it is put aside", u.Journal)
			if err := e.grouper.Forget(u); err != nil {
				return nil, err
			}
		}
	}
	return left, nil
}

// isVoid tells that somebody released a group. Of a journal that can't be read its name
// tells which one it is of.
func (e *groupEnds) isVoid(u engine.UnendedGroup) bool {
	memo, err := memoOf(u)
	if err != nil {
		return slices.ContainsFunc(e.marks.Released, func(r record.ReleasedGroup) bool { return isOf(r.OpenGroup, u.Journal) })
	}
	return memo.Member == e.in.Member && e.marks.WasReleased(memo.Plan.mark())
}

// isOf tells whether the mark of a group names a journal; no two have one name.
func isOf(o record.OpenGroup, journal string) bool {
	return filepath.Base(o.Journal) == filepath.Base(journal)
}

// unreadable has the members of a group wait whose journal can't be read, as its mark
// tells who they are. Without a mark nobody is planned: that is the error.
func (e *groupEnds) unreadable(journal string, why error) error {
	i := slices.IndexFunc(e.marks.Open, func(o record.OpenGroup) bool { return isOf(o, journal) })
	if i < 0 {
		return Refusef("an apply of a group did not end, and its journal can't be read: %v. Configure the key it was written with. If that is lost, compare the states of the group's members with what exists, mend them by hand, and move %s away", why, journal)
	}
	o := e.marks.Open[i]
	e.waits.add(o.Members, o.ID, Refusef("%s is neither planned nor applied in %s: an apply of it at commit %s did not end, and its journal %s can't be read: %v. Configure the key it was written with, and it ends by itself. %s",
		o, e.env.Name, project.Short(o.Commit), journal, why, e.answerFor("that is lost", o.ID)))
	return nil
}

// endLeft ends those whose journals are here, and tells whether there were any.
func (e *groupEnds) endLeft(ctx context.Context) (found bool, err error) {
	left, err := e.left()
	if err != nil {
		return false, err
	}
	for _, u := range left {
		memo, why := memoOf(u)
		if why != nil {
			if err := e.unreadable(u.Journal, why); err != nil {
				return found, err
			}
			continue
		}
		if memo.Member != e.in.Member {
			continue // another lease's
		}
		if e.in.DryRun {
			return found, Refusef("the apply of %s at commit %s did not end. Without --dry-run that would be ended first: its members get the states of what was applied, and are planned from those. A dry run ends nothing, so what would be deployed after it can't be told", memo.Plan, project.Short(memo.Commit))
		}
		found = true
		e.in.say("the apply of %s at commit %s did not end; it is ended first", memo.Plan, project.Short(memo.Commit)) // which takes as long as what lives of it
		if err := e.endGroup(ctx, memo); err != nil {
			if ctx.Err() != nil {
				return found, ctx.Err()
			}
			mark := memo.Plan.mark()
			if !e.marks.IsOpen(mark) {
				mark = "" // written by a version without marks
			}
			e.waits.add(memo.Plan.Members, mark, e.notGiven(memo, mark, e.Words(ctx, err), u.Journal))
		}
	}
	return found, nil
}

// notGiven is what people are told of a group whose journal is here and can't be ended
// now. Most of what keeps it from that passes or can be mended, so it is tried again.
func (e *groupEnds) notGiven(memo groupMemo, mark, why, journal string) error {
	text := fmt.Sprintf("the apply of %s at commit %s did not end, and its members can't be given their states: %s. Its journal is %s", memo.Plan, project.Short(memo.Commit), why, journal)
	if mark == "" {
		return Refusef("%s", text)
	}
	return Refusef("%s; mend that and run it again. %s", text, e.answerFor("that can't be mended", mark))
}

func (in ApplyInput) say(format string, args ...any) {
	if in.Progress != nil {
		in.Progress(fmt.Sprintf(format, args...))
	}
}

// declaredAt is what the commit of a group declares.
func (e *groupEnds) declaredAt(ctx context.Context, memo groupMemo) (plan PlanInput, driver Driver, err error) {
	in := e.in
	checkout, err := in.Site.Checkout(ctx, memo.Commit, filepath.Join(in.Dir, "group-"+e.NewID()))
	if err != nil {
		return plan, nil, err
	}
	proj, err := findProject(checkout.Workspace, in.Member)
	if err != nil {
		return plan, nil, err
	}
	if driver, err = e.driverOf(ctx, in.Site.Repo, e.env.Name, proj, ForApply); err != nil {
		return plan, nil, err
	}
	plan = PlanInput{Site: in.Site, Checkout: checkout, Project: proj, Env: e.env, RunDir: in.Dir}
	plan.keeper = e.keeper(plan)
	plan.trees, err = e.newTrees(checkout, driver, in.Dir, "ending")
	return plan, driver, err
}

// endGroup ends one, in a checkout of the commit that was applied.
func (e *groupEnds) endGroup(ctx context.Context, memo groupMemo) error {
	from := e.from
	if from == nil {
		from = e.declaredAt
	}
	plan, driver, err := from(ctx, memo)
	if err != nil {
		return err
	}
	credentials, err := e.Credentials.For(ctx, e.in.Site.Repo, e.env.Name, ForApply)
	if err != nil {
		return fmt.Errorf("apply credentials of env %s: %w", e.env.Name, err)
	}
	steps := make([]project.Step, len(memo.Plan.Members))
	for i, name := range memo.Plan.Members {
		if steps[i], err = stepOf(plan.Project, name); err != nil {
			return err
		}
	}
	planned, err := plan.savedGroup(memo.Plan, steps, credentials)
	if err != nil {
		return err
	}
	e.at().mark(ctx, memo.Plan, memo.Commit, "", &planned.Target)
	outcome, _, err := driver.(engine.Grouper).RecoverGroup(ctx, planned) //nolint:forcetypeassert // every driver of the stage has groups, or none
	for _, m := range outcome.Members {
		e.in.say("an earlier apply of %s is ended: %s", m.Member, strings.TrimSuffix(string(m.Status)+": "+m.Error, ": "))
	}
	return errors.Join(err, outcome.Fault)
}

// membersOf are the members that a project declares and that have a state, those of
// rollbacks too.
func membersOf(proj project.Project) []string {
	var names []string
	for _, c := range proj.Components {
		undo := &project.Component{Deploy: c.Rollback}
		for _, s := range slices.Concat(c.Steps(), undo.Steps()) {
			if s.RootOf() != "" {
				names = append(names, memberName(c, s))
			}
		}
	}
	return names
}

// stepOf is the step that plans a member.
func stepOf(proj project.Project, member string) (project.Step, error) {
	for _, c := range proj.Components {
		for _, s := range c.Steps() {
			if s.RootOf() != "" && memberName(c, s) == member {
				return s, nil
			}
		}
	}
	return project.Step{}, Refusef("no component has the root %s", member)
}
