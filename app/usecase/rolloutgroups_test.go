package usecase

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/compose"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/drivers/declare"
	"github.com/chant-bot/chant/engine/fanout"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// grouping is a driver of which only its being one that groups is asked.
type grouping struct {
	Driver
	engine.Grouper
}

func (grouping) Parallel() int { return 1 }

// rolledOut is a fan-out of net, app and data, which read net, and web, which reads app.
func rolledOut(t *testing.T) (*rollout, *plannedGroup) {
	t.Helper()
	one := &plannedGroup{plan: &GroupPlan{ID: "net", Wave: 1, Capability: project.TerraformApply, Members: []string{"net", "app", "data", "web"}}}
	d := &Deployment{checkout: &Checkout{}, components: map[string]*project.Component{}, planning: deploySide{driver: grouping{}}}
	for _, text := range []string{
		`{"name":"net","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"net"}]}]}`,
		`{"name":"app","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"app","vars":{"a":{"stackOutput":{"stack":"net","name":"x"}}}}]}]}`,
		`{"name":"data","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"data","vars":{"a":{"stackOutput":{"stack":"net","name":"x"}}}}]}]}`,
		`{"name":"web","dependsOn":[],"deploy":[{"phase":"Apply","steps":[{"kind":"terraform-apply","root":"web","vars":{"a":{"stackOutput":{"stack":"app","name":"x"}}}}]}]}`,
	} {
		node, err := declare.Parse([]byte(text), "x.component.json")
		if err != nil {
			t.Fatal(err)
		}
		c, err := project.ParseComponent(node)
		if err != nil {
			t.Fatal(err)
		}
		d.project.Components, d.components[c.Name] = append(d.project.Components, c), c
		one.members = append(one.members, d.member(c, 0, c.Steps()[0]))
	}
	selection, err := graph.SelectChanges(d.project.Components, graph.Changes{Components: []string{"net"}})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := fanout.Derive(d.project.Components, selection, map[string]digest.Digest{})
	if err != nil {
		t.Fatal(err)
	}
	run, _ := fanout.NewRun(plan, nil)
	d.upstreams = d.newUpstreams()
	return &rollout{Deployment: d, in: RolloutInput{Run: run}, refused: map[string]compose.Refusal{}, composed: plan.Waves}, one
}

// Soundness I12: what an earlier apply did not give its state yet is planned neither in a
// group nor by itself, and nobody is given its outputs.
func TestAMemberThatWaitsForItsStateIsPlannedNowhere(t *testing.T) {
	t.Parallel()
	r, one := rolledOut(t)
	r.Stage, r.open = &Stage{NewID: func() string { return "id" }}, openGroups{}
	r.open.add([]string{"net", "app", "data", "web"}, "mark", Refusef("waits"))
	c, err := compose.Of(r.composition(r.planner()))
	if err != nil {
		t.Fatal(err)
	}
	planned := r.planner().planGroup(t.Context(), c.Groups[0])
	for _, m := range one.members {
		if got := planned.refused[m.component.Name]; got.Kind != report.FallbackPlan {
			t.Errorf("%s in its group: %+v", m.name, got)
		}
		if err := r.planStep(t.Context(), m, nil); err == nil || err.Error() != "waits" {
			t.Errorf("%s by itself: %v", m.name, err)
		}
		r.upstreams.read(t.Context(), m.component.Name)
		if known, _ := r.upstreams.of(m.component.Name); ForPeople(known.err) == nil {
			t.Errorf("its outputs: %v", known.err)
		}
	}
}

// pr-loop §8.2, soundness I6: within a fan-out each member of a group ends for itself. A
// member that was not reached is planned again, in the same run, unless it follows one
// that failed; and nothing that follows one that failed counts as done.
func TestTheEndsOfAGroupInAFanOut(t *testing.T) {
	t.Parallel()
	const applied, failed, partial = report.OutcomeApplied, report.OutcomeFailed, report.OutcomePartial
	const unreached, unchanged = report.OutcomeNotStarted, report.OutcomeNoChanges
	type ends struct{ OK, Fail, Blocked, Due, Group []string }
	for name, tt := range map[string]struct {
		statuses []report.OutcomeStatus // of net, app, data and web
		unknown  bool
		want     ends
	}{
		"all applied":              {[]report.OutcomeStatus{applied, applied, unchanged, applied}, false, ends{OK: []string{"net", "app", "data", "web"}}},
		"one failed":               {[]report.OutcomeStatus{applied, failed, applied, unreached}, false, ends{OK: []string{"net", "data"}, Fail: []string{"app"}, Blocked: []string{"web"}}},
		"one failed, one is left":  {[]report.OutcomeStatus{applied, partial, unreached, unreached}, false, ends{OK: []string{"net"}, Fail: []string{"app"}, Blocked: []string{"web"}, Due: []string{"data"}}},
		"two are left as a group":  {[]report.OutcomeStatus{applied, unreached, failed, unreached}, false, ends{OK: []string{"net"}, Fail: []string{"data"}, Due: []string{"app", "web"}, Group: []string{"app", "web"}}},
		"the first failed":         {[]report.OutcomeStatus{failed, unreached, unchanged, unreached}, false, ends{Fail: []string{"net"}, Blocked: []string{"app", "data", "web"}}},
		"applied, its input isn't": {[]report.OutcomeStatus{partial, applied, unreached, unreached}, false, ends{Fail: []string{"net", "app"}, Blocked: []string{"data", "web"}}},
		"none was begun":           {[]report.OutcomeStatus{unreached, unreached, unreached, unreached}, false, ends{Fail: []string{"net", "app", "data", "web"}}},
		"nobody saw the end":       {[]report.OutcomeStatus{applied, partial, unreached, unchanged}, true, ends{Fail: []string{"net", "app", "data"}, Blocked: []string{"web"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, one := rolledOut(t)
			o := engine.GroupOutcome{Error: "boom", Unknown: tt.unknown}
			var rows []report.Outcome
			for i, m := range one.plan.Members {
				o.Members = append(o.Members, engine.MemberOutcome{Member: m, Status: tt.statuses[i], Outputs: map[string]engine.Output{}})
				rows = append(rows, report.Outcome{Member: m, Status: tt.statuses[i]})
			}
			r.settleGroup(t.Context(), one, o, 1)
			run := r.in.Run
			got := ends{OK: run.Of(fanout.OK), Fail: run.Of(fanout.Fail), Due: run.Due(run.Plan.Order())}
			for _, b := range run.Blocked() {
				got.Blocked = append(got.Blocked, b.Component)
			}
			c, err := compose.Of(r.composition(r.planner()))
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range c.Groups {
				got.Group = append(got.Group, g.Members...)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Transformer("none", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
				t.Errorf("ends (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(rows, r.result.Groups[0].Outcome); diff != "" {
				t.Errorf("row (-want +got):\n%s", diff)
			}
			for _, result := range r.result.Results {
				if result.Status == fanout.Fail && result.Problem() == "" {
					t.Errorf("%s failed without a word", result.Component)
				}
			}
		})
	}
}

// pr-loop §8.2, components decision 6: who in a fan-out is planned together.
func TestWhoJoinsAGroupInAFanOut(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*rollout)
		groups [][]string
		kinds  map[string]report.FallbackKind
	}{
		"all that read each other": {func(*rollout) {}, [][]string{{"net", "app", "data", "web"}}, nil},
		"what an earlier run applied is left out": {
			func(r *rollout) { r.in.Run.Settle("net", fanout.OK, nil) }, [][]string{{"app", "web"}}, map[string]report.FallbackKind{"data": report.FallbackAlone},
		},
		"a canary goes first": {
			func(r *rollout) { r.in.Canary = []string{"net"} }, [][]string{{"app", "web"}},
			map[string]report.FallbackKind{"net": report.FallbackWaveGate, "data": report.FallbackAlone},
		},
		"none under a wave gate": {
			func(r *rollout) { r.in.WaveGate = "go" }, nil,
			map[string]report.FallbackKind{"net": report.FallbackWaveGate, "app": report.FallbackWaveGate, "data": report.FallbackWaveGate, "web": report.FallbackWaveGate},
		},
		"none of what may be live": {
			func(r *rollout) {
				r.project.Config = &project.Config{Terraform: &project.Terraform{Binary: "choudoufu"}}
			}, nil,
			map[string]report.FallbackKind{"net": report.FallbackLive, "app": report.FallbackLive, "data": report.FallbackLive, "web": report.FallbackLive},
		},
		"as anywhere in the environment of a pull request": {
			func(r *rollout) { r.own = &ownEnv{apart: []project.Root{{}}} }, [][]string{{"net", "app", "data", "web"}}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, _ := rolledOut(t)
			tt.change(r)
			c, err := compose.Of(r.composition(r.planner()))
			if err != nil {
				t.Fatal(err)
			}
			r.take(c)
			var groups [][]string
			for _, g := range c.Groups {
				groups = append(groups, g.Members)
			}
			var kinds map[string]report.FallbackKind
			for _, f := range r.result.Fallbacks {
				if kinds == nil {
					kinds = map[string]report.FallbackKind{}
				}
				kinds[f.Component] = f.Kind
			}
			if diff := cmp.Diff(tt.groups, groups); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.kinds, kinds); diff != "" {
				t.Errorf("fallbacks (-want +got):\n%s", diff)
			}
		})
	}
}
