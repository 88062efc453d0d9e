package usecase

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// PullInput is a pull request to plan.
type PullInput struct {
	Site *Site
	// Head is planned merged into BaseTip (pr-loop decision 1).
	Head, BaseTip, BaseBranch string
	Number                    int
	// Env keeps to one env, "" plans all of the branch.
	Env, Member string
	// RootOnly keeps to the root project where Member is "".
	RootOnly bool
	Gate     string // overrides the env's gate, "" does not
	Dir      string // where the run keeps its files; the caller removes it
	Progress func(line string)
	// Ending is called when the last plan is made and has only to be read; it does not
	// block. nil for nobody.
	Ending func()
}

// PullPlan is the plan of one env and project.
type PullPlan struct {
	Policy Policy
	Member string
	Set    *PlanSet // nil when nothing was planned
	Tree   string   // git tree planned, "" on a conflict
	Report report.Report
}

// Trust says what a pull request's own declaration could not change yet
// (pr-loop decision 2).
type Trust struct {
	Declaration *project.Declaration
	// Changed: the head changes identity, security or x-bot; it counts after the
	// merge.
	Changed bool

	commit string // that Declaration was read of
}

// PlanPull plans the merge of a pull request into its base branch, for every
// env and project concerned. What the author can mend (a conflict, a broken
// declaration) is a report that says so, not an error.
func (st *Stage) PlanPull(ctx context.Context, in PullInput) ([]PullPlan, Trust, error) {
	mergeBase, err := in.Site.Clone.MergeBase(ctx, in.BaseTip, in.Head)
	if err != nil {
		return nil, Trust{}, err
	}
	commit, tree, conflicts, err := in.Site.Clone.MergeResult(ctx, in.BaseTip, in.Head)
	if err != nil {
		return nil, Trust{}, err
	}
	trust, problem := in.trust(ctx, commit)
	if len(conflicts) == 0 && problem != nil && ForPeople(problem) == nil {
		return nil, Trust{}, problem
	}
	if len(conflicts) > 0 {
		problem = fmt.Errorf("does not merge into %s: conflict in %s; merge or rebase the branch and push", in.BaseBranch, strings.Join(conflicts, ", "))
	}
	if problem != nil {
		return in.failedPlans(ctx, trust, st.DefaultEnv, mergeBase, problem)
	}
	checkout, err := in.Site.Checkout(ctx, commit, filepath.Join(in.Dir, "tree"))
	if err != nil {
		if problem := ForPeople(err); problem != nil {
			return in.failedPlans(ctx, trust, st.DefaultEnv, mergeBase, problem)
		}
		return nil, Trust{}, err
	}
	defer os.RemoveAll(checkout.Dir)
	all := in.wanted(trust.Declaration.EnvsOf(in.BaseBranch, st.DefaultEnv), checkout.Workspace.Projects)
	var plans []PullPlan
	for i, one := range all {
		in := in
		if i < len(all)-1 {
			in.Ending = nil
		}
		plan, err := st.planPullProject(ctx, in, PolicyOf(trust.Declaration, one.env), checkout, one.project, mergeBase)
		if err != nil {
			return nil, Trust{}, err
		}
		plan.Tree = tree
		plans = append(plans, plan)
	}
	return plans, trust, nil
}

// envProject is one env and project to plan.
type envProject struct {
	env     project.Env
	project project.Project
}

// wanted are the envs and projects that are asked for.
func (in PullInput) wanted(envs []project.Env, projects []project.Project) []envProject {
	var all []envProject
	for _, env := range envs {
		if in.Env != "" && env.Name != in.Env {
			continue
		}
		if in.Gate != "" {
			env.Gate = in.Gate
		}
		for _, proj := range projects {
			if in.Member == "" && !in.RootOnly || proj.Member == in.Member {
				all = append(all, envProject{env: env, project: proj})
			}
		}
	}
	return all
}

// trust reads the declaration that binds the gates: the base branch's. Where
// the base has none that reads, the head's serves for planning, so that a pull
// request that adds or repairs one gets a plan.
func (in PullInput) trust(ctx context.Context, mergeResult string) (Trust, error) {
	base, baseErr := in.Site.Declaration(ctx, in.BaseTip)
	head, headErr := in.Site.Declaration(ctx, mergeResult)
	if headErr != nil {
		return Trust{Declaration: base, commit: in.BaseTip}, headErr
	}
	if baseErr != nil {
		if ForPeople(baseErr) == nil {
			return Trust{}, baseErr
		}
		return Trust{Declaration: head, commit: mergeResult}, nil
	}
	return Trust{Declaration: base, Changed: project.TrustChanged(base, head), commit: in.BaseTip}, nil
}

func (st *Stage) planPullProject(ctx context.Context, in PullInput, p Policy, checkout *Checkout, proj project.Project, mergeBase string) (PullPlan, error) {
	plan := PullPlan{Policy: p, Member: proj.Member}
	set, err := st.PlanMembers(ctx, PlanInput{
		Site: in.Site, Checkout: checkout, Project: proj, Env: p.Env,
		Base: mergeBase, Head: in.Head, Paths: p.Paths, RunDir: filepath.Join(in.Dir, "runs", safeName(p.Env.Name+"-"+proj.Member)),
		Progress: in.Progress, Ending: in.Ending,
	})
	if err != nil {
		problem := ForPeople(err)
		if problem == nil {
			return PullPlan{}, err
		}
		plan.Report, err = in.FailedReport(p, proj.Member, mergeBase, problem)
		return plan, err
	}
	plan.Set = set
	if plan.Report, err = set.report(report.Plan); err != nil {
		return PullPlan{}, err
	}
	in.address(&plan.Report, p, proj.Member, mergeBase)
	return plan, nil
}

// address says which pull request, env and gate a report is of.
func (in PullInput) address(r *report.Report, p Policy, member, mergeBase string) {
	r.Env, r.Member, r.Base, r.Head = p.Env.Name, member, mergeBase, in.Head
	r.Op, r.Gate = "pr-unknown", p.Env.Gate
	if in.Number > 0 {
		number := in.Number
		r.PR, r.Op = &number, project.OpPull(in.Number, member)
	}
}

// FailedReport says of a project that it did not plan, and why.
func (in PullInput) FailedReport(p Policy, member, mergeBase string, problem error) (report.Report, error) {
	r, err := report.New(report.Plan, nil, nil)
	if err != nil {
		return report.Report{}, err
	}
	in.address(&r, p, member, mergeBase)
	r.Status, r.Message = report.PlanFailed, problem.Error()
	return r, nil
}

// failedPlans is one failed report for every env and project, so that every
// context gets its status. Without any declaration there is the default env
// alone.
func (in PullInput) failedPlans(ctx context.Context, trust Trust, defaultEnv, mergeBase string, problem error) ([]PullPlan, Trust, error) {
	b := Undeclared()
	if trust.Declaration != nil {
		projects, err := in.Site.Projects(ctx, trust.commit, trust.Declaration)
		if err != nil {
			return nil, trust, err
		}
		b = Bound{Declaration: trust.Declaration, projects: projects}
	}
	var plans []PullPlan
	for _, at := range b.Places(in.BaseBranch, defaultEnv) {
		if in.Env != "" && at.Env.Name != in.Env || (in.Member != "" || in.RootOnly) && at.Member != in.Member {
			continue
		}
		p := PolicyOf(b.Declaration, at.Env)
		r, err := in.FailedReport(p, at.Member, mergeBase, problem)
		if err != nil {
			return nil, trust, err
		}
		plans = append(plans, PullPlan{Policy: p, Member: at.Member, Report: r})
	}
	return plans, trust, nil
}

// ForPeople is the error when its words are meant for whoever wrote the change,
// nil when it is a fault of ours or of a system we depend on.
func ForPeople(err error) error {
	var refusal *Refusal
	var problems project.Problems
	switch {
	case errors.As(err, &refusal):
		return refusal
	case errors.As(err, &problems):
		return problems
	case errors.Is(err, project.ErrNoDeclaration):
		return project.ErrNoDeclaration
	}
	return nil
}

// report is the set as a report, without its address.
func (p *PlanSet) report(stage report.Stage) (report.Report, error) {
	components := make(map[string]string, len(p.Members))
	for name, m := range p.Members {
		components[name] = m.Component
	}
	r, err := report.New(stage, p.Document, components)
	if err != nil {
		return report.Report{}, err
	}
	r.Selection, r.Status, r.RunsCode = p.Selection, planStatus(p), p.runsCode()
	for i, row := range r.Members {
		m := p.Members[row.Member]
		for _, read := range m.Unknown {
			r.Members[i].UnknownInputs = append(r.Members[i].UnknownInputs, report.UnknownInput{From: read.Component, Output: read.Output})
		}
	}
	if len(p.Members) == 0 {
		r.Digest = digest.Digest{}
	}
	p.reportGroups(&r)
	return r, nil
}

// codeRow is what a plan executes, as the note says it; nil when nothing.
func codeRow(code terraform.RunsCode) *report.RunsCode {
	if len(code.Provisioners) == 0 && len(code.External) == 0 && !code.HasDeferredReads {
		return nil
	}
	row := &report.RunsCode{External: code.External, DeferredReads: code.HasDeferredReads}
	for _, p := range code.Provisioners {
		row.Provisioners = append(row.Provisioners, report.Provisioner{Address: p.Address, Type: p.Type})
	}
	return row
}

func planStatus(p *PlanSet) report.Status {
	if len(p.Members) == 0 {
		return report.Nothing
	}
	for _, m := range p.Members {
		if m.Error != "" {
			return report.PlanFailed
		}
	}
	return report.Planned
}
