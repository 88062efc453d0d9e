package drivertest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
)

func vars(pairs ...string) map[string]digest.Value {
	m := map[string]digest.Value{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i]] = digest.StringOf(pairs[i+1])
	}
	return m
}

// shapes are those of Notes, made by a previewer that may do it wrong.
func shapes(n Notes, p engine.Previewer) Shapes {
	return Shapes{
		Planner: n, Previewer: p,
		Target: func(vars map[string]digest.Value) engine.Target { return engine.Target{Member: "net", Vars: vars} },
		Known:  vars("size", "2"), Later: vars("cidr", "10.0.0.0/16"), Moved: vars("size", "3"),
	}
}

func TestNotesKeepToTheirShapes(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]Notes{
		"notes are written": {},
		"notes are updated": {"net": vars("size", "1", "cidr", "10.0.0.0/8")},
		"notes are removed": {"net": vars("size", "1", "old", "x")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shapes(n, n).Check(t)
		})
	}
}

// asked previews as it is told to.
type asked func(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput) (cover.PlanShape, error)

func (a asked) Preview(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput, _ engine.Sink) (cover.PlanShape, error) {
	return a(ctx, t, unresolved)
}

func TestAWrongShapeIsFound(t *testing.T) {
	t.Parallel()
	n := Notes{"net": vars("size", "1")}
	previewed := func(change func(*cover.PlanShape)) asked {
		return func(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput) (cover.PlanShape, error) {
			s, err := n.Preview(ctx, t, unresolved, nil)
			change(&s)
			return s, err
		}
	}
	for name, c := range map[string]struct {
		preview asked
		problem string
	}{
		"the stand-in is shown": {func(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput) (cover.PlanShape, error) {
			t.Vars["cidr"] = digest.StringOf(unresolved[0].StandIn)
			p, err := n.Plan(ctx, t, nil)
			return cover.PlanShape{Part: p.Part}, err
		}, "shows a stand-in"},
		"something follows from the stand-in": {func(ctx context.Context, t engine.Target, unresolved []engine.UnresolvedInput) (cover.PlanShape, error) {
			t.Vars["length"] = digest.IntOf(int64(len(unresolved[0].StandIn)))
			return n.Preview(ctx, t, unresolved, nil)
		}, "follows from the stand-in"},
		"the input is left out": {func(ctx context.Context, t engine.Target, _ []engine.UnresolvedInput) (cover.PlanShape, error) {
			return n.Preview(ctx, t, nil, nil)
		}, "leaves nothing open"},
		"no digest binds it":    {previewed(func(s *cover.PlanShape) { s.Member.PlanDigest = nil }), "would not bind"},
		"it is provisional":     {previewed(func(s *cover.PlanShape) { s.Member.Provisional = true }), "would not bind"},
		"it is of another plan": {previewed(func(s *cover.PlanShape) { s.Entries = s.Entries[1:] }), "does not cover the plan with the real values"},
		"a known value is left open": {previewed(func(s *cover.PlanShape) {
			for i := range s.Entries {
				s.Entries[i].Attributes[0].Unknown, s.Entries[i].Attributes[0].After = true, digest.Value{}
			}
		}), "with another known value"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problems, err := shapes(n, c.preview).Problems(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, c.problem) }) {
				t.Errorf("want %q among %q", c.problem, problems)
			}
		})
	}
}

func TestAPartOfAVariableIsNotPreviewed(t *testing.T) {
	t.Parallel()
	_, err := Notes{}.Preview(t.Context(), engine.Target{Member: "net"}, []engine.UnresolvedInput{{Path: []string{"a", "b"}, Reads: "net.id", StandIn: "x"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "net.id") {
		t.Error(err)
	}
}
