package terraform

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/terraform/composed"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
	"github.com/chant-bot/chant/engine/report"
)

// provenBackends are those of which a test on the real tool shows that a state's
// lock can be held by an open console, and the state pushed under it.
var provenBackends = []string{"local", "pg"}

// surveyed is what is known of a member before its group is planned.
type surveyed struct {
	config  composed.Config
	kind    string       // of its backend
	backend digest.Value // its configuration
	place   string       // of its state
	state   digest.Value // absent for a root that was never applied
	lock    []byte       // its lock file after init
	// why it can't be in the group; no more than the first is looked for
	fallback *engine.GroupFallback
}

// survey initialises a member, reads its configuration and pulls its state.
func (grp *group) survey(ctx context.Context, m *member) (*surveyed, error) {
	s := &surveyed{}
	if m.w == nil {
		s.fallBack(m, report.FallbackConfig, "another member of the group has its directory")
		return s, nil
	}
	err := m.w.init(ctx, grp.sink)
	if err == nil {
		err = m.w.unpushed(ctx)
	}
	if told, ok := errors.AsType[*engine.Told](err); ok {
		s.fallBack(m, report.FallbackPlan, told.Error())
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := s.look(m); err != nil || s.fallback != nil {
		return s, err
	}
	if s.state, err = m.w.pull(ctx); err == nil && s.kind == "pg" && s.state.IsAbsent() {
		s.fallBack(m, report.FallbackBackend, "it has no state yet, and the lock of a first state in PostgreSQL is one for the whole database")
	}
	return s, err
}

func (s *surveyed) fallBack(m *member, kind report.FallbackKind, reason string) {
	if s.fallback == nil {
		s.fallback = &engine.GroupFallback{Member: m.Target.Member, Kind: kind, Reason: reason}
	}
}

// look reads what the files of an initialised member say.
func (s *surveyed) look(m *member) error {
	var err error
	if s.kind, s.backend, err = m.w.backend(); err != nil {
		return err
	}
	if s.kind == "" {
		s.kind = "local"
	}
	if s.place, err = m.w.place(); err != nil {
		return err
	}
	modules, err := m.w.modules()
	if err != nil {
		return err
	}
	if s.config, err = composed.ReadConfig(m.w.tree.FS(), modules, m.w.d.planner); err != nil {
		s.fallBack(m, report.FallbackConfig, err.Error())
		return nil
	}
	if s.lock, _, err = m.w.readSmall(filepath.Join(m.w.rel, lockFileName)); err != nil {
		return fmt.Errorf("reading the lock file of root %s: %w", m.w.t.Root.Name, err)
	}
	s.judge(m)
	return nil
}

// judge finds what of a member alone keeps it out of a group.
func (s *surveyed) judge(m *member) {
	encrypted := slices.ContainsFunc(m.w.env, func(pair string) bool { return strings.HasPrefix(pair, "TF_ENCRYPTION=") })
	switch {
	case !slices.Contains(provenBackends, s.kind):
		s.fallBack(m, report.FallbackBackend, fmt.Sprintf("that a state of the backend %q can be pushed while its lock is held is not proven", s.kind))
	case s.config.Encryption || encrypted:
		s.fallBack(m, report.FallbackConfig, "its state is encrypted")
	case len(s.config.Problems) > 0:
		s.fallBack(m, report.FallbackConfig, strings.Join(s.config.Problems, "; "))
	case len(m.After) > 0 && s.config.ProviderBlocks:
		s.fallBack(m, report.FallbackConfig, fmt.Sprintf("it configures providers, and has to come after %s without reading anything of it", strings.Join(m.After, ", ")))
	}
}

// modules are the directories of an initialised member's own configuration and of
// all modules it calls, in the worktree.
func (w *workdir) modules() ([]composed.Module, error) {
	modules := []composed.Module{{Path: filepath.ToSlash(w.rel), Root: true}}
	data, found, err := w.readSmall(filepath.Join(w.rel, dataDir, "modules", "modules.json"))
	if err != nil || !found {
		return modules, err
	}
	manifest, err := digest.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading the modules of root %s: %w", w.t.Root.Name, err)
	}
	all := manifest.Get("Modules")
	for i := range all.Len() {
		dir, _ := all.At(i).Get("Dir").Text()
		at := path.Join(filepath.ToSlash(w.rel), dir)
		if !slices.ContainsFunc(modules, func(m composed.Module) bool { return m.Path == at }) {
			modules = append(modules, composed.Module{Path: at})
		}
	}
	return modules, nil
}

// pull reads the state of an initialised root as its backend holds it, absent for
// a root that was never applied.
func (w *workdir) pull(ctx context.Context) (digest.Value, error) {
	c := call{args: []string{"state", "pull"}, exact: true}
	res, err := w.run(ctx, c)
	if err != nil {
		return digest.Value{}, err
	}
	if res.ExitCode != 0 {
		return digest.Value{}, w.failure(c, res)
	}
	if strings.TrimSpace(string(res.Stdout)) == "" {
		return digest.Value{}, nil
	}
	v, err := digest.Decode(res.Stdout)
	if err != nil {
		return digest.Value{}, fmt.Errorf("reading the state of root %s: %w", w.t.Root.Name, err)
	}
	if lineage, _ := v.Get("lineage").Text(); lineage == "" && v.Get("resources").Len() == 0 {
		return digest.Value{}, nil // as remote backends say it
	}
	return v, nil
}

// stateDigest names a state exactly, serial and all.
func stateDigest(state digest.Value) (digest.Digest, error) {
	if !state.IsAbsent() {
		state = states.Ordered(state)
	}
	return digest.Of("terraform-state", digest.StringOf(state.String())) // as text: numbers are exact
}

// joinable is the member as its state is joined.
func (s *surveyed) joinable(m *member) states.Member {
	return states.Member{ID: m.id, State: s.state, Providers: s.config.Providers}
}

// together finds what keeps members out of one group with the others.
func (grp *group) together(all []*surveyed) []engine.GroupFallback {
	first := grp.members[0]
	for i, m := range grp.members {
		s := all[i]
		if name := first.Target.Root.Workspace; m.Target.Root.Workspace != name {
			s.fallBack(m, report.FallbackEngine, fmt.Sprintf("its workspace %q is not %q, that of %s", m.Target.Root.Workspace, name, first.Target.Member))
		}
		for j, other := range all[:i] {
			if s.place != "" && s.place == other.place {
				s.fallBack(m, report.FallbackBackend, "it keeps its state where "+grp.members[j].Target.Member+" does")
			}
		}
		for _, remote := range s.config.RemoteStates {
			for j, other := range all {
				if other.backend.IsAbsent() && other.fallback != nil {
					continue // not initialised, and out of the group
				}
				if remote.Reads(other.kind, plainTexts(other.backend)) {
					s.fallBack(m, report.FallbackRemoteState, fmt.Sprintf("%s may read the state of %s as it is before the group applies", remote.Address, grp.members[j].Target.Member))
				}
			}
		}
	}
	var fallbacks []engine.GroupFallback
	for _, s := range all {
		if s.fallback != nil {
			fallbacks = append(fallbacks, *s.fallback)
		}
	}
	return sortedFallbacks(fallbacks)
}

func sortedFallbacks(fallbacks []engine.GroupFallback) []engine.GroupFallback {
	slices.SortFunc(fallbacks, func(a, b engine.GroupFallback) int { return cmp.Compare(a.Member, b.Member) })
	return fallbacks
}

func plainTexts(object digest.Value) map[string]string {
	texts := map[string]string{}
	for i, key := range object.Keys() {
		if text, ok := object.At(i).Text(); ok {
			texts[key] = text
		}
	}
	return texts
}

// secretsOf are the texts in a state's sensitive outputs.
func secretsOf(state digest.Value) []string {
	outputs := state.Get("outputs")
	var secrets []string
	for i := range outputs.Len() {
		if sensitive, _ := outputs.At(i).Get("sensitive").Bool(); sensitive {
			secrets = append(secrets, textsIn(outputs.At(i).Get("value"))...)
		}
	}
	return secrets
}

func textsIn(v digest.Value) []string {
	if text, ok := v.Text(); ok && len(text) >= minTextSecret {
		return []string{text}
	}
	var texts []string
	for i := range v.Len() {
		texts = append(texts, textsIn(v.At(i))...)
	}
	return texts
}
