package usecase

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// pr-loop §8.2, soundness I6: each member of a group ends for itself, and one that was
// not reached is tried again only where another failed instead of it.
func TestAMemberOfAGroupEndsForItself(t *testing.T) {
	t.Parallel()
	end := func(member string, status report.OutcomeStatus) engine.MemberOutcome {
		return engine.MemberOutcome{Member: member, Status: status}
	}
	for name, tt := range map[string]struct {
		outcome engine.GroupOutcome
		want    []run.Outcome // of net, app and web
	}{
		"all applied": {
			engine.GroupOutcome{Members: []engine.MemberOutcome{end("net", report.OutcomeApplied), end("app", report.OutcomeApplied), end("web", report.OutcomeNoChanges)}},
			[]run.Outcome{{}, {}, {NoChanges: true}},
		},
		"one failed": {
			engine.GroupOutcome{Error: "boom", Members: []engine.MemberOutcome{end("net", report.OutcomeApplied), end("app", report.OutcomeFailed), end("web", report.OutcomeNotStarted)}},
			[]run.Outcome{{}, {Error: "boom"}, {NotReached: true}},
		},
		"one failed half way": {
			engine.GroupOutcome{Error: "boom", Members: []engine.MemberOutcome{end("net", report.OutcomePartial), end("app", report.OutcomeNotStarted), end("web", report.OutcomeNotStarted)}},
			[]run.Outcome{{Error: "boom"}, {NotReached: true}, {NotReached: true}},
		},
		"none was begun": {
			engine.GroupOutcome{Error: "locked", Members: []engine.MemberOutcome{end("net", report.OutcomeNotStarted), end("app", report.OutcomeNotStarted), end("web", report.OutcomeNoChanges)}},
			[]run.Outcome{{Error: "locked"}, {Error: "locked"}, {NoChanges: true}},
		},
		"a state moved": {
			engine.GroupOutcome{Error: "moved", Moved: true, Members: []engine.MemberOutcome{end("net", report.OutcomeNotStarted), end("app", report.OutcomeNotStarted), end("web", report.OutcomeNotStarted)}},
			[]run.Outcome{{Moved: true, Error: "moved"}, {Moved: true, Error: "moved"}, {Moved: true, Error: "moved"}},
		},
		"nobody saw the end": {
			engine.GroupOutcome{Error: "lost", Unknown: true, Members: []engine.MemberOutcome{end("net", report.OutcomeApplied), end("app", report.OutcomePartial), end("web", report.OutcomeNoChanges)}},
			[]run.Outcome{{Unknown: true, Error: "lost"}, {Unknown: true, Error: "lost"}, {NoChanges: true}},
		},
		"a member is not told of": {
			engine.GroupOutcome{Error: "lost", Members: []engine.MemberOutcome{end("net", report.OutcomeApplied), end("web", report.OutcomeNotStarted)}},
			[]run.Outcome{{}, {Error: "lost"}, {NotReached: true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := tt.outcome
			o.Members = everyMember(&GroupPlan{Members: []string{"net", "app", "web"}}, o)
			var got []run.Outcome
			for _, m := range o.Members {
				got = append(got, groupEnd(o, m))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// pr-loop §8.1: what its group would have passed on to a member was approved whatever
// it comes to; a value it was planned with from elsewhere was not.
func TestAValueFromWithinAGroupHasNotMoved(t *testing.T) {
	t.Parallel()
	read := func(from, hash string) run.InputRead { return run.InputRead{From: from, Output: "id", Hash: hash} }
	earlier := &PlannedMember{Reads: []run.InputRead{read("data", "a")}, Within: []run.InputRead{read("net", "")}}
	for name, tt := range map[string]struct {
		now   []run.InputRead
		moved int
	}{
		"the group's value stands now": {[]run.InputRead{read("data", "a"), read("net", "x")}, 0},
		"another one moved":            {[]run.InputRead{read("data", "b"), read("net", "x")}, 1},
		"one that was not read":        {[]run.InputRead{read("dns", "a")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &PlannedMember{Reads: tt.now}
			if got := m.movedSince(earlier); len(got) != tt.moved {
				t.Errorf("%d moved, want %d: %v", len(got), tt.moved, got)
			}
		})
	}
}

// pr-loop §7.5: a hole always has a round, also when it is planned again in a group that
// passes on what it waited for; and what any plan of this apply was made with counts,
// not the newest alone.
func TestWhatAnyPlanOfTheApplyWasMadeWithMayHaveMoved(t *testing.T) {
	t.Parallel()
	known := func(hash string) *PlannedMember {
		return &PlannedMember{Reads: []run.InputRead{{From: "net", Output: "id", Planned: hash, Hash: hash}}}
	}
	hole := &PlannedMember{Unknown: []project.Read{{Component: "net", Output: "id"}}}
	grouped := &PlannedMember{Within: []run.InputRead{{From: "net", Output: "id"}}}
	for name, tt := range map[string]struct {
		plans []*PlannedMember
		now   *PlannedMember
		want  []run.InputRead
	}{
		"a hole, in a group now":       {[]*PlannedMember{hole}, grouped, []run.InputRead{{From: "net", Output: "id", Planned: run.NotKnown, Now: run.InGroup}}},
		"a hole before, in groups now": {[]*PlannedMember{hole, grouped}, grouped, []run.InputRead{{From: "net", Output: "id", Planned: run.NotKnown, Now: run.InGroup}}},
		"another value before a group": {[]*PlannedMember{known("a"), grouped}, known("b"), []run.InputRead{{From: "net", Output: "id", Planned: "a", Now: "b", Hash: "a"}}},
		"there and back":               {[]*PlannedMember{known("a"), known("b")}, known("a"), []run.InputRead{{From: "net", Output: "id", Planned: "b", Now: "a", Hash: "b"}}},
		"in groups all along":          {[]*PlannedMember{grouped, grouped}, grouped, nil},
		"one value all along":          {[]*PlannedMember{known("a"), grouped}, known("a"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := func(m *PlannedMember) *PlanSet { return &PlanSet{Members: map[string]*PlannedMember{"app": m}} }
			a := &Apply{Pass: Pass{Set: set(tt.plans[0])}}
			for _, m := range tt.plans[1:] {
				a.Later = append(a.Later, &Pass{Set: set(m)})
			}
			if diff := cmp.Diff(tt.want, a.moved(set(tt.now))["app"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// soundness I7: what is applied with a member waits with it, and so does all that
// follows from either.
func TestWhatIsAppliedTogetherWaitsTogether(t *testing.T) {
	t.Parallel()
	set := &PlanSet{Members: map[string]*PlannedMember{
		"net": {Component: "net", Group: "net"}, "app": {Component: "app", Group: "net"}, "dns": {Component: "dns"}, "log": {Component: "log"},
	}, Groups: []*GroupPlan{{ID: "net", Members: []string{"net", "app"}}}}
	s, err := run.New(run.Config{
		Waves: [][]string{{"log", "net", "app"}, {"dns"}}, DependsOn: map[string][]string{"app": {"net"}, "dns": {"net"}},
		Units: []run.Unit{{Member: "log", Component: "log"}, {Member: "net", Component: "net", Group: "net"}, {Member: "app", Component: "app", Group: "net"}, {Member: "dns", Component: "dns"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := set.following(run.Passes{&s}, []string{"app"})
	if diff := cmp.Diff([]string{"net", "app", "dns"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
