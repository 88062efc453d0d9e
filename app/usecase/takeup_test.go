package usecase

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
