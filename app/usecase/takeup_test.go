package usecase

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/resume"
	"github.com/chant-bot/chant/engine/run"
)

// cidr is app's read of net's cidr, known by a hash.
func cidr(hash string) run.InputRead { return run.InputRead{From: "net", Output: "cidr", Hash: hash} }

// stoppedAfterARound applied net, held app for what net gave and applied it in a
// round, and failed at db.
func stoppedAfterARound(t *testing.T) *Apply {
	t.Helper()
	member := func(component string, reads ...run.InputRead) *PlannedMember {
		return &PlannedMember{Component: component, Reads: reads}
	}
	machine := func(components ...string) run.State {
		c := run.Config{Waves: [][]string{components}, Via: "gate"}
		for _, name := range components {
			c.Units = append(c.Units, run.Unit{Member: name, Component: name})
		}
		s, err := run.New(c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a := &Apply{Op: "green-1", Later: []*Pass{{
		Set: &PlanSet{Members: map[string]*PlannedMember{"app": member("app", cidr("now"))}}, State: machine("app"),
	}}}
	a.Set = &PlanSet{Members: map[string]*PlannedMember{
		"net": member("net"), "app": member("app", cidr("planned")), "db": member("db", cidr("planned")),
	}}
	a.State = machine("net", "app", "db")
	for _, end := range []struct {
		state  *run.State
		member string
		how    run.Outcome
	}{{&a.State, "net", run.Outcome{}}, {&a.State, "db", run.Outcome{Error: "no"}}, {&a.Later[0].State, "app", run.Outcome{}}} {
		if end.member == "app" {
			if err := a.State.Hold("app", []run.InputRead{cidr("now")}); err != nil {
				t.Fatal(err)
			}
		}
		if err := end.state.Start(end.member); err != nil {
			t.Fatal(err)
		}
		if err := end.state.Settle(end.member, end.how); err != nil {
			t.Fatal(err)
		}
	}
	return a
}

// What applied in a round is recorded with what it read then, and what is left with
// what its approved plan read.
func TestARecordKnowsWhatARoundApplied(t *testing.T) {
	t.Parallel()
	r := stoppedAfterARound(t).ResumeRecord()
	want := map[string][]resume.Read{
		"app": {{From: "net", Output: "cidr", Hash: "now"}},
		"db":  {{From: "net", Output: "cidr", Hash: "planned"}},
	}
	if diff := cmp.Diff(want, r.PrApply.Reads); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"net", "app"}, {"db"}}, [][]string{r.Completed, r.Failed}); diff != "" {
		t.Errorf("completed and failed (-want +got):\n%s", diff)
	}
}

// Only an apply that has started says how far it came; until then what the one before
// it left is handed on.
func TestWhatWasLeftIsHandedOnUntilAnApplyStarts(t *testing.T) {
	t.Parallel()
	given := &resume.Record{Completed: []string{"net"}}
	planFailed := &Apply{Stopped: given, Report: report.Report{Status: report.PlanFailed}}
	started := stoppedAfterARound(t)
	tests := []struct {
		name string
		in   ApplyInput
		want []string
	}{
		{"nothing before", ApplyInput{}, nil},
		{"a file", ApplyInput{Resume: given, Earlier: started}, []string{"net"}},
		{"one that failed to plan", ApplyInput{Earlier: planFailed}, []string{"net"}},
		{"one that started", ApplyInput{Earlier: started}, []string{"net", "app"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			if r := tt.in.stopped(); r != nil {
				got = r.Completed
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("completed (-want +got):\n%s", diff)
			}
		})
	}
}

// A component that applied before stays completed in the record of the apply that
// carries on.
func TestWhatWasCarriedOverStaysCompleted(t *testing.T) {
	t.Parallel()
	a := stoppedAfterARound(t)
	s, err := run.New(run.Config{Waves: [][]string{{"net", "app", "db"}}, Units: []run.Unit{
		{Member: "net", Component: "net"}, {Member: "app", Component: "app"}, {Member: "db", Component: "db"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	a.State, a.Later, a.Report.Resumed = s, nil, &report.Resumed{Applied: []string{"net"}}
	for _, name := range []string{"net", "app"} { // neither has changes now
		if err := a.State.Start(name); err != nil {
			t.Fatal(err)
		}
		if err := a.State.Settle(name, run.Outcome{NoChanges: true}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"net"}, a.ResumeRecord().Completed); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
}

// pr-loop §7.5: what was planned with another value than it reads now has its round in
// each apply of the commit that follows, until it applied: the record tells it on, and so
// does what is kept of the apply before, also of a member that failed or was blocked.
func TestWhatMovedWaitsForItsRoundUntilItApplied(t *testing.T) {
	t.Parallel()
	earlier := stoppedAfterARound(t) // db failed, and was planned with the old value
	next := func(follow func(a *Apply)) *Apply {
		a := &Apply{Op: earlier.Op, Pass: Pass{Set: &PlanSet{Members: map[string]*PlannedMember{
			"net": {Component: "net"}, "app": {Component: "app", Reads: []run.InputRead{cidr("now")}}, "db": {Component: "db", Reads: []run.InputRead{cidr("now")}},
		}}}}
		follow(a)
		return a
	}
	first := next(func(a *Apply) { r := earlier.ResumeRecord(); a.followRecord(&r) })
	first.State = stoppedAfterARound(t).State
	for name, follow := range map[string]func(a *Apply){
		"by a record":                  func(a *Apply) { r := earlier.ResumeRecord(); a.followRecord(&r) },
		"by the record that came next": func(a *Apply) { r := first.ResumeRecord(); r.Completed = []string{"net", "app"}; a.followRecord(&r) },
		"by what is kept of the next":  func(a *Apply) { a.follow(first) },
	} {
		a := next(follow)
		want := []run.InputRead{{From: "net", Output: "cidr", Planned: run.NotKept, Hash: "planned"}}
		if diff := cmp.Diff(want, a.Before.Held["db"]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, held := a.Before.Held["net"]; held {
			t.Errorf("%s, net waits, which applied", name)
		}
	}
	gated := &Apply{Op: earlier.Op, Policy: Policy{Env: project.Env{WaveGate: "release"}}, Pass: Pass{Set: next(func(*Apply) {}).Set}}
	r := earlier.ResumeRecord()
	if gated.followRecord(&r); len(gated.Before.Held) > 0 {
		t.Errorf("gated waves have no rounds, and %v are held for one", gated.Before.Held)
	}
}

// pr-loop §7.5: a record lets nothing apply that an apply before held back, also where it
// reads by now what it was approved with. Waves and promotes ask for it elsewhere.
func TestARecordSparesNoRound(t *testing.T) {
	t.Parallel()
	covered := cover.Report{Members: []cover.Verdict{{Member: "app", Status: cover.NothingToDo}, {Member: "db", Status: cover.Covered}}}
	for name, tt := range map[string]struct {
		held   string
		change func(a *Apply)
		want   string
	}{
		"what is covered moved":   {"db", func(*Apply) {}, "db waits for its round"},
		"nothing of it is left":   {"app", func(*Apply) {}, ""},
		"waves":                   {"db", func(a *Apply) { a.Policy.Env.WaveGate = "release" }, ""},
		"a release":               {"db", func(a *Apply) { a.Release = &Release{} }, ""},
		"it follows what is held": {"", func(a *Apply) { a.Before.Held["db"] = nil }, ""},
	} {
		a := &Apply{Before: Before{Held: map[string][]run.InputRead{tt.held: {cidr("planned")}}}}
		tt.change(a)
		if got := a.owesRound(covered); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
