package terraform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/terraform/composed"
	plans "github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
	"github.com/chant-bot/chant/engine/report"
)

// rootFile is the generated root in its directory, and kept in a run directory.
const rootFile = "main.tf"

// PlanGroup implements engine.Grouper. Whatever keeps a member out of the group is
// a fallback, also that the whole of it can't be planned; what the members' own
// plans would fail of then shows there.
func (g *Grouper) PlanGroup(ctx context.Context, t engine.GroupTarget, sink engine.Sink) (engine.PlannedGroup, error) {
	name, err := g.d.Engine(ctx)
	if err != nil {
		return engine.PlannedGroup{}, err
	}
	grp, err := g.open(ctx, t, sink)
	if err != nil {
		return engine.PlannedGroup{}, err
	}
	defer grp.close()
	defer func() { _ = os.RemoveAll(grp.stateDir()) }() // it holds the members' states
	all := make([]*surveyed, len(grp.members))
	err = grp.each(func(m *member) error {
		s, err := grp.survey(ctx, m)
		all[m.at] = s
		return err
	})
	if err != nil {
		return engine.PlannedGroup{}, err
	}
	p := engine.PlannedGroup{Target: t, Engine: name, File: filepath.Join(t.RunDir, planFile)}
	if fallbacks := grp.together(all); len(fallbacks) > 0 {
		return engine.PlannedGroup{Target: t, Fallbacks: fallbacks}, nil
	}
	fallback, err := grp.prepare(ctx, all)
	if err == nil && fallback == nil {
		fallback, err = grp.plan(ctx, &p, all)
	}
	if err != nil {
		return engine.PlannedGroup{}, err
	}
	if fallback != nil {
		return engine.PlannedGroup{Target: t, Fallbacks: grp.dissolve(*fallback)}, nil
	}
	return p, nil
}

// dissolve is a fallback of one member, or of every one when it names none.
func (grp *group) dissolve(f engine.GroupFallback) []engine.GroupFallback {
	f.Reason = grp.readable(f.Reason)
	if f.Member != "" {
		return []engine.GroupFallback{f}
	}
	var all []engine.GroupFallback
	for _, m := range grp.members {
		f.Member = m.Target.Member
		all = append(all, f)
	}
	return sortedFallbacks(all)
}

// whole is a fallback of all members for what the tool said, or the error.
func whole(kind report.FallbackKind, err error) (*engine.GroupFallback, error) {
	if told, ok := errors.AsType[*engine.Told](err); ok {
		return &engine.GroupFallback{Kind: kind, Reason: told.Error()}, nil
	}
	return nil, err
}

// prepare writes the generated root and the joined state, and initialises.
func (grp *group) prepare(ctx context.Context, all []*surveyed) (*engine.GroupFallback, error) {
	text, fallback, err := grp.rootText(all)
	if err != nil || fallback != nil {
		return fallback, err
	}
	if err := grp.root.runDir.WriteFile(rootFile, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("keeping the root of the group %s: %w", grp.t.Group, err)
	}
	var files []composed.LockFile
	joinable := make([]states.Member, len(all))
	for i, m := range grp.members {
		joinable[i] = all[i].joinable(m)
		if all[i].lock != nil {
			files = append(files, composed.LockFile{Member: m.Target.Member, Text: all[i].lock})
		}
		grp.root.secrets = append(append(grp.root.secrets, secretsOf(all[i].state)...), m.w.secrets...)
	}
	locks, err := composed.MergeLocks(files)
	if err != nil {
		return &engine.GroupFallback{Kind: report.FallbackProvider, Reason: err.Error()}, nil //nolint:nilerr // it is the fallback
	}
	joined, err := states.Join(joinable)
	if err != nil {
		return &engine.GroupFallback{Kind: report.FallbackConfig, Reason: err.Error()}, nil //nolint:nilerr // as above
	}
	if err := errors.Join(grp.writeRoot([]byte(text), locks), grp.writeState(joined)); err != nil {
		return nil, err
	}
	return whole(report.FallbackProvider, grp.root.initialise(ctx, grp.sink))
}

// rootText is the generated root.
func (grp *group) rootText(all []*surveyed) (string, *engine.GroupFallback, error) {
	ids := map[string]string{}
	for _, m := range grp.members {
		ids[m.Target.Member] = m.id
	}
	var calls []composed.Call
	for i, m := range grp.members {
		for _, r := range m.Reads {
			output, _, _ := strings.Cut(r.Output, ".")
			if _, declared := grp.outputs(all, r.Member)[output]; !declared {
				return "", &engine.GroupFallback{Member: m.Target.Member, Kind: report.FallbackReads, Reason: fmt.Sprintf("%s declares no output %s", r.Member, output)}, nil
			}
		}
		arguments, fallback := m.arguments(ids, all[i].config)
		if fallback != nil {
			return "", fallback, nil
		}
		source, err := filepath.Rel(grp.root.dir, m.w.dir)
		if err != nil {
			return "", nil, fmt.Errorf("finding root %s from its group: %w", m.w.t.Root.Name, err)
		}
		call := composed.Call{ID: m.id, Source: filepath.ToSlash(source), Arguments: arguments, Outputs: all[i].config.Outputs}
		for _, name := range m.After {
			call.After = append(call.After, ids[name])
		}
		calls = append(calls, call)
	}
	return composed.Root(calls), nil, nil
}

// arguments are the expressions of the member's module call.
func (m *member) arguments(ids map[string]string, config composed.Config) (map[string]string, *engine.GroupFallback) {
	var arguments map[string]string
	given, err := m.given(ids)
	if err == nil {
		arguments, err = config.Arguments(given)
	}
	if read, ok := errors.AsType[*composed.ReadError](err); ok {
		return nil, &engine.GroupFallback{Member: m.Target.Member, Kind: report.FallbackReads, Reason: read.Error()}
	}
	if err != nil {
		return nil, &engine.GroupFallback{Member: m.Target.Member, Kind: report.FallbackPlan, Reason: err.Error()}
	}
	return arguments, nil
}

// given is what the member's variables would get in a root of its own.
func (m *member) given(ids map[string]string) (composed.Given, error) {
	given := composed.Given{Env: m.w.env, Vars: m.Target.Vars}
	for _, r := range m.Reads {
		given.Reads = append(given.Reads, composed.Read{Call: ids[r.Member], Output: r.Output, Path: r.Path})
	}
	entries, err := os.ReadDir(m.w.dir)
	if err != nil {
		return composed.Given{}, fmt.Errorf("looking for the variables of root %s: %w", m.w.t.Root.Name, err)
	}
	names := []string{"terraform.tfvars", "terraform.tfvars.json"}
	for _, e := range entries { // sorted, as the tool takes them
		if strings.HasSuffix(e.Name(), ".auto.tfvars") || strings.HasSuffix(e.Name(), ".auto.tfvars.json") {
			names = append(names, e.Name())
		}
	}
	for i, name := range append(names, m.Target.Root.VarFiles...) {
		text, found, err := m.w.readSmall(filepath.Join(m.w.rel, filepath.FromSlash(name)))
		if err != nil || !found && i >= len(names) {
			return composed.Given{}, fmt.Errorf("reading the variables %s of root %s: %w", name, m.w.t.Root.Name, err)
		}
		if found {
			given.Files = append(given.Files, composed.File{Name: name, Text: text})
		}
	}
	return given, nil
}

// writeRoot puts the generated root in place.
func (grp *group) writeRoot(text, locks []byte) error {
	w := grp.root
	err := w.tree.WriteFile(filepath.Join(w.rel, rootFile), text, 0o644)
	if err == nil && len(locks) > 0 {
		err = w.tree.WriteFile(filepath.Join(w.rel, lockFileName), locks, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the root of the group %s: %w", grp.t.Group, err)
	}
	return nil
}

// writeState puts the joined state where the tool finds it, in a directory that no
// run has used.
func (grp *group) writeState(joined digest.Value) error {
	err := errors.Join(os.RemoveAll(grp.stateDir()), grp.makeStateDir())
	if err == nil {
		err = os.WriteFile(grp.statePath(), []byte(joined.String()), 0o600)
	}
	if err != nil {
		return fmt.Errorf("writing the joined state of the group %s: %w", grp.t.Group, err)
	}
	return nil
}

// plan plans the generated root and takes its plan apart.
func (grp *group) plan(ctx context.Context, p *engine.PlannedGroup, all []*surveyed) (*engine.GroupFallback, error) {
	w := grp.root
	if err := w.keepLockFile(); err != nil {
		return nil, err
	}
	noChanges, err := w.plan(ctx, grp.sink)
	if err != nil {
		return whole(report.FallbackPlan, err)
	}
	p.NoChanges = noChanges
	if p.Hash, err = takeFile(w.private, savedPlan, w.runDir, planFile); err != nil {
		return nil, fmt.Errorf("saving the plan of the group %s: %w", grp.t.Group, err)
	}
	plan, err := w.document(ctx, call{args: []string{"show", "-json", p.File}, reads: []string{p.File}, json: true})
	if err != nil {
		return nil, err
	}
	return whole(report.FallbackPlan, grp.describe(p, plan, all))
}

// describe fills in what the plan JSON says of each member.
func (grp *group) describe(p *engine.PlannedGroup, plan digest.Value, all []*surveyed) error {
	ids := make([]string, len(grp.members))
	for i, m := range grp.members {
		ids[i] = m.id
	}
	own, err := plans.GroupPlans(plan, ids)
	if err != nil {
		return engine.Tell(fmt.Errorf("reading the plan of the group %s: %w", grp.t.Group, err))
	}
	byName := map[string]digest.Value{}
	for i, m := range grp.members {
		byName[m.Target.Member] = own[i]
	}
	if p.Digest, err = plans.GroupDigest(grp.t.Group, byName); err != nil {
		return engine.Tell(err)
	}
	grp.hides = grp.hidden(all)
	for i, m := range grp.members {
		planned, err := m.describe(grp.g.d, own[i], p, grp.hides[m.Target.Member])
		if err != nil {
			return engine.Tell(fmt.Errorf("reading the plan of root %s: %w", m.w.t.Root.Name, err))
		}
		if planned.State, err = stateDigest(all[i].state); err != nil {
			return err
		}
		planned.Place = all[i].place
		p.Members = append(p.Members, planned)
	}
	return nil
}

// outputs are what a member declares, by name, and whether it is sensitive.
func (grp *group) outputs(all []*surveyed, name string) map[string]bool {
	at := slices.IndexFunc(grp.members, func(m *member) bool { return m.Target.Member == name })
	return all[at].config.Outputs // a member is read by members only
}

// hidden are the members whose attributes may show a secret: one reads a sensitive
// output, or anything of another that does and may hand it on unmarked.
func (grp *group) hidden(all []*surveyed) map[string]bool {
	hidden := map[string]bool{}
	for _, m := range grp.members { // each after those it reads
		hidden[m.Target.Member] = len(m.Target.Secrets) > 0 || slices.ContainsFunc(m.Reads, func(r engine.GroupRead) bool {
			output, _, _ := strings.Cut(r.Output, ".")
			return hidden[r.Member] || grp.outputs(all, r.Member)[output]
		})
	}
	return hidden
}

func (m *member) describe(d *Driver, plan digest.Value, p *engine.PlannedGroup, hide bool) (engine.PlannedMember, error) {
	planned := engine.PlannedMember{Member: m.Target.Member, NoChanges: p.NoChanges || plans.Unchanged(plan)}
	shown := plan
	if hide {
		shown = plans.Hide(plan)
	}
	var err error
	if planned.Part, err = plans.Part(m.Target.Member, shown, plans.Options{Planner: d.planner, Scope: m.Target.Root.Workspace}); err != nil {
		return planned, err
	}
	planned.Part.Member.PlanDigest = &p.Digest
	planned.Moves = plans.Moves(shown)
	if planned.Code, err = plans.Code(plan); err != nil {
		return planned, err
	}
	for _, e := range planned.Part.Entries {
		if e.Action != changeset.NoOp && e.Action != changeset.Read {
			planned.Changes = append(planned.Changes, engine.PlannedChange{Address: e.Address, Action: e.Action})
		}
	}
	for _, name := range plans.ChangedOutputs(plan) {
		planned.Changes = append(planned.Changes, engine.PlannedChange{Address: states.OutputAddress(name), Action: changeset.Update})
	}
	return planned, nil
}

// restoreRoot puts the root that was planned in place.
func (grp *group) restoreRoot() error {
	text, err := grp.root.runDir.ReadFile(rootFile)
	if err == nil {
		err = grp.writeRoot(bytes.Clone(text), nil)
	}
	if err != nil {
		return fmt.Errorf("restoring the root of the group %s: %w", grp.t.Group, err)
	}
	return grp.root.restoreLockFile()
}
