package usecase

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
)

// groupMemo is what the journal of a group's apply keeps for whoever has to end it
// without the apply that it was part of.
type groupMemo struct {
	Member string `json:"member,omitempty"` // of the workspace
	Commit string `json:"commit"`
	// Head and Base make that commit where it is a pull request in its own environment.
	Head string     `json:"head,omitempty"`
	Base string     `json:"base,omitempty"`
	Plan *GroupPlan `json:"plan"`
}

// madeFrom opens what a group was applied from, with the driver that applies it.
type madeFrom func(ctx context.Context, memo groupMemo) (PlanInput, Driver, error)

// endGroups ends the applies of groups that nobody works on any more, since the lease
// of the environment is held: what they applied is in no state yet, and a plan made now
// would make it again (soundness I12). Where one can't be ended nothing is planned.
func (st *Stage) endGroups(ctx context.Context, in ApplyInput, env project.Env, proj project.Project) error {
	return st.endGroupsOf(ctx, in, env, proj, func(ctx context.Context, memo groupMemo) (PlanInput, Driver, error) {
		return st.declaredAt(ctx, in, env, memo)
	})
}

func (st *Stage) endGroupsOf(ctx context.Context, in ApplyInput, env project.Env, proj project.Project, from madeFrom) error {
	driver, err := st.driverOf(ctx, in.Site.Repo, env.Name, proj, ForApply)
	if err != nil {
		return err
	}
	grouper, can := driver.(engine.Grouper)
	if !can {
		return nil
	}
	left, err := grouper.Unended()
	if err != nil {
		return err
	}
	for _, u := range left {
		var memo groupMemo
		if u.Err == nil {
			u.Err = json.Unmarshal(u.Memo, &memo)
		}
		if u.Err != nil {
			return refusef("an apply of a group did not end, and its journal can't be read: %v. Configure the key it was written with. If that is lost, compare the states of the group's members with what exists, mend them by hand, and move %s away", u.Err, u.Journal)
		}
		if memo.Member != in.Member {
			continue // another lease's
		}
		if in.DryRun {
			return refusef("the apply of %s at commit %s did not end. Without --dry-run that would be ended first: its members get the states of what was applied, and are planned from those. A dry run writes nothing, so what would be deployed after it can't be told", memo.Plan, short(memo.Commit))
		}
		if err := st.endGroup(ctx, in, env, memo, from); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return refusef("the apply of %s at commit %s did not end, and its members can't be given their states: %s. They are in %s", memo.Plan, short(memo.Commit), st.Words(ctx, err), u.Journal)
		}
	}
	return nil
}

// declaredAt is what the commit of a group declares.
func (st *Stage) declaredAt(ctx context.Context, in ApplyInput, env project.Env, memo groupMemo) (plan PlanInput, driver Driver, err error) {
	checkout, err := in.Site.Checkout(ctx, memo.Commit, filepath.Join(in.Dir, "group-"+st.NewID()))
	if err != nil {
		return plan, nil, err
	}
	proj, err := findProject(checkout.Workspace, in.Member)
	if err != nil {
		return plan, nil, err
	}
	if driver, err = st.driverOf(ctx, in.Site.Repo, env.Name, proj, ForApply); err != nil {
		return plan, nil, err
	}
	plan = PlanInput{Site: in.Site, Checkout: checkout, Project: proj, Env: env, RunDir: in.Dir}
	plan.trees, err = st.newTrees(checkout, driver, in.Dir, "ending")
	return plan, driver, err
}

// endGroup ends one, in a checkout of the commit that was applied.
func (st *Stage) endGroup(ctx context.Context, in ApplyInput, env project.Env, memo groupMemo, from madeFrom) error {
	plan, driver, err := from(ctx, memo)
	if err != nil {
		return err
	}
	credentials, err := st.Credentials.For(ctx, in.Site.Repo, env.Name, ForApply)
	if err != nil {
		return fmt.Errorf("apply credentials of env %s: %w", env.Name, err)
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
	outcome, _, err := driver.(engine.Grouper).RecoverGroup(ctx, planned) //nolint:forcetypeassert // every driver of the stage has groups, or none
	if err != nil {
		return err
	}
	if in.Progress != nil {
		for _, m := range outcome.Members {
			in.Progress(fmt.Sprintf("an earlier apply of %s is ended: %s", m.Member, strings.TrimSuffix(string(m.Status)+": "+m.Error, ": ")))
		}
	}
	return nil
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
	return project.Step{}, refusef("no component has the root %s", member)
}
