package usecase

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// released is a release of components with their steps: a name in them is a gate, and
// "root" a step that applies the member of the component's name.
func released(t *testing.T, waves [][]string, steps map[string][]string) *Apply {
	t.Helper()
	d := &Deployment{components: map[string]*project.Component{}}
	a := &Apply{Release: &Release{deployment: d, Rounds: map[string]int{}, AtGate: map[string]bool{}}}
	a.Set = &PlanSet{Selection: graph.Selection{Waves: waves}, Members: map[string]*PlannedMember{}}
	for _, name := range a.Set.Selection.Order() {
		c := &project.Component{Name: name, Deploy: []project.DeployPhase{{Name: "Apply"}}}
		for i, s := range steps[name] {
			step := project.Step{Kind: "gate", Gate: &project.GateStep{Name: s}}
			if s == "root" {
				step = project.Step{Kind: "terraform-apply"}
				a.Set.Members[name] = &PlannedMember{Component: name, Step: i}
				a.Set.Units = append(a.Set.Units, run.Unit{Member: name, Component: name, Phase: "Apply", Step: "terraform-apply"})
			}
			c.Deploy[0].Steps = append(c.Deploy[0].Steps, step)
		}
		d.components[name] = c
	}
	var err error
	if a.State, err = run.New(run.Config{Waves: waves, DependsOn: map[string][]string{}, Units: a.Set.Units}); err != nil {
		t.Fatal(err)
	}
	return a
}

// ADR 18: a round is asked at the last gate before the member, else at the first of the
// release.
func TestARoundIsAskedAtTheGateThatCoveredTheFirstPass(t *testing.T) {
	t.Parallel()
	a := released(t, [][]string{{"net", "web"}, {"app", "shop"}}, map[string][]string{
		"net": {"root"}, "web": {"go-live", "root", "seen"}, "app": {"root"}, "shop": {"first", "second", "root", "after"},
	})
	got := map[string]string{}
	for name := range a.Set.Members {
		for _, g := range a.roundGate(name) {
			got[name] = g.component.Name + " " + g.step.Gate.Name
		}
	}
	want := map[string]string{"net": "web go-live", "web": "web go-live", "app": "web go-live", "shop": "shop second"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	free := released(t, [][]string{{"net"}}, map[string][]string{"net": {"root"}})
	if g := free.roundGate("net"); g != nil {
		t.Errorf("a release without a gate asks %v", g)
	}
}

// What a round decides about is known to the next promote by the attempt, with the
// number that was asked; what ended well is forgotten.
func TestWhatOnlyARoundMayApplyIsKept(t *testing.T) {
	t.Parallel()
	a := released(t, [][]string{{"net", "web"}, {"app", "late", "shop"}}, map[string][]string{
		"net": {"root"}, "web": {"go-live", "root"}, "app": {"root"}, "late": {"root"}, "shop": {"root"},
	})
	a.Set.Members["app"].Unknown = []project.Read{{Component: "net", Output: "cidr"}}
	a.Release.Rounds = map[string]int{"late": 3, "net": 2}
	if diff := cmp.Diff(map[string]int{"app": 0, "late": 3, "net": 2}, a.keptForRounds()); diff != "" {
		t.Errorf("before anything ran (-want +got):\n%s", diff)
	}
	a.State.Members["net"].Status = run.NoChanges
	for _, name := range []string{"app", "late"} {
		a.State.Members[name].Status = run.Held
	}
	a.State.Members["shop"].Status = run.Held
	a.State.Members["shop"].Reads = []run.InputRead{{From: "net", Output: "cidr"}}
	waiting := &Pass{Round: 4, Asked: &Opened{Op: "web", Base: "go-live"}, Set: &PlanSet{Members: map[string]*PlannedMember{"app": nil}}}
	waiting.State = run.State{Order: []string{"app"}, Members: map[string]*run.MemberState{"app": {Member: "app", Status: run.Held}}}
	a.Later = []*Pass{waiting}
	if diff := cmp.Diff(map[string]int{"app": 4, "late": 3, "shop": 0}, a.keptForRounds()); diff != "" {
		t.Errorf("while a round waits (-want +got):\n%s", diff)
	}
	at := Opened{Op: "web", Base: "go-live"}
	if n := a.roundAt(at, []string{"late"}); n != 3 {
		t.Errorf("late is asked for in round %d, want the 3 it was asked for in", n)
	}
	waiting.Gates = []Opened{*waiting.Asked} // it opened
	if n := a.roundAt(at, []string{"late"}); n != 5 {
		t.Errorf("after round 4 comes round %d", n)
	}
	if n := a.roundAt(Opened{Op: "shop", Base: "go-live"}, []string{"shop"}); n != 2 {
		t.Errorf("the first round at another gate is %d", n)
	}
}

// components §1.3: each gate has rounds of its own, so that two of them have one number.
func TestEachRoundEndsByItself(t *testing.T) {
	t.Parallel()
	a := released(t, [][]string{{"app", "shop"}}, map[string][]string{"app": {"root"}, "shop": {"root"}})
	for op, status := range map[string]run.Status{"web": run.Applied, "api": run.Failed} {
		at := Opened{Op: op, Gate: "go-live-round-2", Base: "go-live"}
		state := run.State{Order: []string{op}, Members: map[string]*run.MemberState{op: {Member: op, Status: status}}}
		p := &Pass{Set: &PlanSet{Document: &changeset.Document{}}, Round: 2, Asked: &at, Gates: []Opened{at}, State: state}
		a.Later, a.Report.Rounds = append(a.Later, p), append(a.Report.Rounds, a.roundRow(p, nil))
	}
	a.endRounds()
	got := map[string]report.WaveStatus{}
	for _, r := range a.Report.Rounds {
		got[r.Op] = r.Status
	}
	want := map[string]report.WaveStatus{"web": report.WaveApplied, "api": report.WaveFailed}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
