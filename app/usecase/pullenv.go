package usecase

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/ledger"
	"github.com/chant-bot/chant/engine/gate"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/pullenv"
)

// PullEnvInput is the environment that a pull request has of its own (components
// decision 6): what it changes is applied there as merged, without a gate.
type PullEnvInput struct {
	Site   *Site
	Number int
	Member string // workspace member, "" for the root project
	// Head is merged into BaseTip, as a plan of the pull request is made.
	Head, BaseTip string
	Dir           string
	Progress      func(line string)
}

// ownEnv is what sets the environment of a pull request apart from a declared one.
type ownEnv struct {
	in    PullEnvInput
	apart []project.Root // every declared root, at the base and as merged
	ends  bool           // steps destroy

	mu    sync.Mutex
	taken map[string]bool // the states that the ledger has
}

// OpenPullEnv merges the pull request and selects what it changes, what follows that,
// and what either depends on: nothing is there before. Nothing runs yet.
func (st *Stage) OpenPullEnv(ctx context.Context, in PullEnvInput) (*Deployment, graph.Selection, error) {
	d, err := st.openPullEnv(ctx, in)
	if err != nil {
		return nil, graph.Selection{}, err
	}
	mergeBase, err := in.Site.Clone.MergeBase(ctx, in.BaseTip, in.Head)
	if err != nil {
		return nil, graph.Selection{}, err
	}
	s, err := st.selectComponents(ctx, PlanInput{
		Site: in.Site, Checkout: d.checkout, Project: d.project, Base: mergeBase, Head: in.Head, Paths: d.policy.Paths, RunDir: in.Dir,
	})
	if err != nil || len(s.Waves) == 0 {
		return d, s, err
	}
	s, err = graph.WithUpstreams(d.project.Components, s)
	return d, s, err
}

// openPullEnv opens a deployment whose roots all run in the workspace of the pull
// request.
func (st *Stage) openPullEnv(ctx context.Context, in PullEnvInput) (*Deployment, error) {
	name := pullenv.Name(in.Number)
	if err := st.ownCredentials(ctx, in.Site, name); err != nil {
		return nil, err
	}
	commit, _, conflicts, err := in.Site.Clone.MergeResult(ctx, in.BaseTip, in.Head)
	if err != nil {
		return nil, err
	}
	if len(conflicts) > 0 {
		return nil, Refusef("%s does not merge into %s: conflict in %s; merge or rebase the branch and push", project.Short(in.Head), project.Short(in.BaseTip), strings.Join(conflicts, ", "))
	}
	declared, err := in.declaredAtBase(ctx)
	if err != nil {
		return nil, err
	}
	checkout, err := in.Site.Checkout(ctx, commit, filepath.Join(in.Dir, "tree"))
	if err != nil {
		return nil, err
	}
	declared = append(declared, checkout.Workspace)
	own := &ownEnv{in: in, apart: declaredRoots(declared), taken: map[string]bool{}}
	policy := PolicyOf(declared[0].Declaration, project.Env{Name: name})
	d, err := st.deploymentOf(DeployInput{
		Site: in.Site, Commit: commit, Member: in.Member, Env: name, Dir: in.Dir, Progress: in.Progress,
	}, policy, checkout)
	if err != nil {
		return nil, err
	}
	d.own, d.gateOf = own, noGate
	d.project.Roots = inWorkspace(d.project.Roots, name)
	return d, nil
}

// mergedAt is the pull request as a group of its environment was applied from it.
func (d *Deployment) mergedAt(ctx context.Context, memo groupMemo) (PlanInput, Driver, error) {
	in := d.own.in
	in.Head, in.BaseTip, in.Dir = memo.Head, memo.Base, filepath.Join(d.in.Dir, "group-"+d.NewID())
	if err := os.MkdirAll(in.Dir, 0o711); err != nil { //nolint:gosec // a directory
		return PlanInput{}, nil, fmt.Errorf("making the directory of a commit: %w", err)
	}
	made, err := d.openPullEnv(ctx, in)
	if err != nil {
		return PlanInput{}, nil, err
	}
	made.own.apart = append(made.own.apart, d.own.apart...)
	side, err := made.side(ctx, ForApply)
	return made.planInput(side, in.Dir), side.driver, err
}

// declaredRoots are the roots of every project.
func declaredRoots(declared []*project.Workspace) []project.Root {
	var roots []project.Root
	for _, w := range declared {
		for _, p := range w.Projects {
			for _, name := range slices.Sorted(maps.Keys(p.Roots)) {
				roots = append(roots, p.Roots[name])
			}
		}
	}
	return roots
}

// noGate stands where nobody is asked.
func noGate(context.Context, *project.Component, project.Step, digest.Digest) (GateAnswer, error) {
	return GateAnswer{Approved: true, Reason: "the environment of a pull request has no gate"}, nil
}

// ownCredentials refuses an environment that has none of its own: a pull request is
// never applied with those of a declared one (soundness I13).
func (st *Stage) ownCredentials(ctx context.Context, site *Site, env string) error {
	for _, kind := range []CredentialKind{ForPlan, ForApply} {
		pairs, err := st.Credentials.For(ctx, site.Repo, env, kind)
		if err != nil {
			return fmt.Errorf("%s credentials of env %s: %w", kind, env, err)
		}
		if len(pairs) == 0 {
			return Refusef("env %s has no %s credentials of its own, and those of a declared environment are never used for it; configure them (--credentials on the command line)", env, kind)
		}
	}
	return nil
}

// declaredAtBase is what the base branch declares, nothing where it declares nothing
// yet. What can't be read there may declare anything, so it is an error.
func (in PullEnvInput) declaredAtBase(ctx context.Context) ([]*project.Workspace, error) {
	dir := filepath.Join(in.Dir, "base")
	defer os.RemoveAll(dir)
	checkout, err := in.Site.Checkout(ctx, in.BaseTip, dir)
	if errors.Is(err, project.ErrNoDeclaration) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("what the base branch declares: %w", err)
	}
	return []*project.Workspace{checkout.Workspace}, nil
}

func inWorkspace(roots map[string]project.Root, name string) map[string]project.Root {
	out := make(map[string]project.Root, len(roots))
	for key, root := range roots {
		root.Workspace = name
		out[key] = root
	}
	return out
}

// before is asked before a plan that changes something is applied. What would take over
// something that exists is refused: ending the environment would destroy it. And the state
// is on the ledger before it holds anything, so that it can be ended from anywhere.
func (o *ownEnv) before(ctx context.Context, d *Deployment, m *member) error {
	for _, e := range m.part.Entries {
		if e.Importing {
			return Refusef("root %s imports %s, which exists outside of %s and would be destroyed with it; import it when the pull request is merged", m.name, e.Address, d.in.Env)
		}
	}
	state, err := stateOf(m)
	if err != nil || o.ends {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken[state] {
		return nil
	}
	err = d.writePullEnv(ctx, o.in, pullenv.Entry{
		Component: m.component.Name, Root: m.name, State: state, Head: o.in.Head, Base: o.in.BaseTip,
		DependsOn: m.component.Dependencies(),
	})
	if err == nil {
		o.taken[state] = true
	}
	return err
}

// stateOf names the state of a planned root.
func stateOf(m *member) (string, error) {
	place := m.planned.Planned.State
	if place == "" {
		return "", fmt.Errorf("where the state of root %s is was not found out", m.name)
	}
	d, err := digest.Of("pull-env-state", digest.StringOf(place))
	return d.String(), err
}

// writePullEnv appends one line of the environment, stamped now.
func (st *Stage) writePullEnv(ctx context.Context, in PullEnvInput, e pullenv.Entry) error {
	e.Timestamp = gate.Timestamp(st.Now())
	path := pullenv.Path(project.LedgerPrefix(in.Member), in.Number)
	return landed(in.Site.Ledger.Update(ctx, "State of a pull request's environment", func(*ledger.Snapshot) ([]ledger.File, error) {
		return []ledger.File{{Path: path, Content: e.Line(), Append: true}}, nil
	}))
}

// readPullEnv reads the lines of the environment, and how many are not understood.
func readPullEnv(ctx context.Context, in PullEnvInput) ([]pullenv.Entry, int, error) {
	snap, err := in.Site.Ledger.Snapshot(ctx)
	if err != nil {
		return nil, 0, err
	}
	data, _, err := snap.Read(pullenv.Path(project.LedgerPrefix(in.Member), in.Number))
	if err != nil {
		return nil, 0, err
	}
	entries, skipped := pullenv.Parse(data)
	return entries, skipped, nil
}
