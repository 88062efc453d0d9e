package run

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

// apply is an apply over one member per component, named like it.
func apply(t *testing.T, waves [][]string, dependsOn map[string][]string) *State {
	t.Helper()
	c := Config{Commit: "c", Env: "prod", Waves: waves, DependsOn: dependsOn}
	for _, wave := range waves {
		for _, component := range wave {
			c.Units = append(c.Units, Unit{Member: component, Component: component, Phase: "Apply", Step: "terraform-apply"})
		}
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// diamond: net feeds data and app, both feed edge; docs stands alone in wave 2.
func diamond(t *testing.T) *State {
	t.Helper()
	return apply(t, [][]string{{"net"}, {"app", "data", "docs"}, {"edge"}}, map[string][]string{
		"app": {"net"}, "data": {"net"}, "edge": {"app", "data"}, "docs": {"elsewhere"},
	})
}

func finish(t *testing.T, s *State, member string, o Outcome) {
	t.Helper()
	if err := s.Start(member); err != nil {
		t.Fatal(err)
	}
	if err := s.Settle(member, o); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, s *State, result Result, statuses map[string]Status) {
	t.Helper()
	got := map[string]Status{}
	for name := range statuses {
		got[name] = s.Members[name].Status
	}
	if diff := cmp.Diff(statuses, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if r, done := s.Done(); r != result || done != (result != "") {
		t.Errorf("ended %q, %v; want %q", r, done, result)
	}
}

func next(t *testing.T, s *State, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, s.Next()); diff != "" {
		t.Errorf("next (-want +got):\n%s", diff)
	}
}

func TestMembersOfAWaveStartTogetherAndWavesInOrder(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	if s.DependsOn["docs"] != nil {
		t.Errorf("docs waits for %v, which is not in the run", s.DependsOn["docs"])
	}
	next(t, s, "net")
	finish(t, s, "net", Outcome{})
	next(t, s, "app", "data", "docs")
	finish(t, s, "app", Outcome{})
	finish(t, s, "data", Outcome{NoChanges: true})
	next(t, s, "docs") // edge waits for the wave, though all it reads ended
	finish(t, s, "docs", Outcome{})
	next(t, s, "edge")
	finish(t, s, "edge", Outcome{})
	next(t, s)
	want(t, s, ResultApplied, map[string]Status{"net": Applied, "data": NoChanges, "edge": Applied})
	if !(Passes{s}).Complete() {
		t.Error("every member ended well")
	}
}

func TestAFailureBlocksWhatDependsOnItAndNothingElse(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	finish(t, s, "net", Outcome{})
	if err := s.Start("data"); err != nil {
		t.Fatal(err)
	}
	finish(t, s, "app", Outcome{Error: "boom"})
	next(t, s, "docs")
	want(t, s, "", map[string]Status{"app": Failed, "edge": Blocked, "data": Running, "docs": Pending})
	if by := s.Members["edge"].BlockedBy; by != "app" {
		t.Errorf("edge is blocked by %q, want app", by)
	}
	finish(t, s, "docs", Outcome{})
	if err := s.Settle("data", Outcome{}); err != nil {
		t.Fatal(err)
	}
	want(t, s, ResultFailed, map[string]Status{"app": Failed, "edge": Blocked, "data": Applied, "docs": Applied})
	if (Passes{s}).Complete() {
		t.Error("a failed apply is not complete")
	}
}

func TestABlockIsBlamedOnTheRootFailure(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"a"}, {"b"}, {"c"}}, map[string][]string{"b": {"a"}, "c": {"b"}})
	finish(t, s, "a", Outcome{Error: "boom"})
	want(t, s, ResultFailed, map[string]Status{"b": Blocked, "c": Blocked})
	if by := s.Members["c"].BlockedBy; by != "a" {
		t.Errorf("c is blocked by %q, want the root failure a", by)
	}
}

func TestAMovedTargetFailsItsMemberAndIsMarked(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"a"}}, nil)
	finish(t, s, "a", Outcome{Moved: true})
	want(t, s, ResultFailed, map[string]Status{"a": Failed})
	if !s.Members["a"].Moved {
		t.Error("the moved target is not marked")
	}
}

func TestAMemberWhoseInputMovedIsHeldWithItsDependents(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	finish(t, s, "net", Outcome{})
	read, moved := PlannedRead("net", "cidr", digest.Value{}, false).Moved(digest.StringOf("10.0.0.0/16"), false)
	if !moved {
		t.Fatal("a value that was not known moved")
	}
	if err := s.Hold("app", []InputRead{read}); err != nil {
		t.Fatal(err)
	}
	next(t, s, "data", "docs")
	finish(t, s, "data", Outcome{})
	finish(t, s, "docs", Outcome{})
	want(t, s, ResultWaiting, map[string]Status{"app": Held, "edge": Held, "data": Applied})
	if diff := cmp.Diff([]string{"app", "edge"}, (Passes{s}).Held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if s.Members["edge"].BlockedBy != "app" || s.Members["app"].BlockedBy != "" {
		t.Errorf("edge is held by %q and app by %q", s.Members["edge"].BlockedBy, s.Members["app"].BlockedBy)
	}
	if (Passes{s}).Complete() {
		t.Error("a waiting apply is not complete")
	}
}

func TestAFailureWinsOverAHold(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	finish(t, s, "net", Outcome{})
	if err := s.Hold("app", nil); err != nil {
		t.Fatal(err)
	}
	finish(t, s, "docs", Outcome{})
	finish(t, s, "data", Outcome{Error: "boom"})
	want(t, s, ResultFailed, map[string]Status{"app": Held, "edge": Blocked})
	if by := s.Members["edge"].BlockedBy; by != "data" {
		t.Errorf("edge is blocked by %q, want data", by)
	}
}

// soundness I6: terraform outlives a killed server; the restarted one must not
// start a second apply from the old plan.
func TestAStepWhoseEndWasNotSeenIsNotRepeated(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	finish(t, s, "net", Outcome{})
	for _, m := range []string{"app", "data"} {
		if err := s.Start(m); err != nil {
			t.Fatal(err)
		}
	}
	s = restart(t, s)
	if err := s.Start("app"); err == nil {
		t.Error("app started twice")
	}
	if err := s.Settle("data", Outcome{}); err != nil { // a supervisor saw its end
		t.Fatal(err)
	}
	s.Recover()
	next(t, s, "docs")
	if err := s.Start("app"); err == nil {
		t.Error("app was repeated from its old plan")
	}
	finish(t, s, "docs", Outcome{})
	want(t, s, ResultFailed, map[string]Status{"app": Unknown, "data": Applied, "edge": Blocked, "docs": Applied})
	if (Passes{s}).Complete() {
		t.Error("an apply with an unknown end is not complete")
	}
}

func TestAStepThatIsKnownNeverToHaveBegunMayStartAgain(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"a"}, {"b"}}, map[string][]string{"b": {"a"}})
	if err := s.Start("a"); err != nil {
		t.Fatal(err)
	}
	if err := s.NotStarted("a"); err != nil {
		t.Fatal(err)
	}
	s.Recover()
	next(t, s, "a")
	finish(t, s, "a", Outcome{})
	for _, member := range []string{"a", "b", "nobody"} {
		if err := s.NotStarted(member); err == nil {
			t.Errorf("the start of %s, which does not run, was taken back", member)
		}
	}
	want(t, s, "", map[string]Status{"a": Applied, "b": Pending})
}

func TestAnOutcomeThatIsUnknownBlocks(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"a"}, {"b"}}, map[string][]string{"b": {"a"}})
	finish(t, s, "a", Outcome{Unknown: true, Error: "no status file"})
	want(t, s, ResultFailed, map[string]Status{"a": Unknown, "b": Blocked})
}

// soundness: an approval taken back or a lease lost between two steps.
func TestAHaltedApplyStartsNothingMoreAndLetsStepsEnd(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	if err := s.Start("net"); err != nil {
		t.Fatal(err)
	}
	s.Halt("the approval was revoked")
	s.Halt("and the lease was lost")
	next(t, s)
	want(t, s, "", map[string]Status{"net": Running})
	if err := s.Settle("net", Outcome{}); err != nil {
		t.Fatal(err)
	}
	next(t, s)
	if err := s.Start("app"); err == nil {
		t.Error("a halted apply started a member")
	}
	want(t, s, ResultWaiting, map[string]Status{"net": Applied, "app": Pending})
	if s.Halted != "the approval was revoked" || (Passes{s}).Complete() {
		t.Errorf("halted %q, complete %v", s.Halted, Passes{s}.Complete())
	}
}

func TestStepsOfOneComponentRunInOrder(t *testing.T) {
	t.Parallel()
	s, err := New(Config{
		Waves: [][]string{{"net"}, {"app"}}, DependsOn: map[string][]string{"app": {"net"}},
		Units: []Unit{{Member: "app", Component: "app"}, {Member: "net-1", Component: "net"}, {Member: "net-2", Component: "net"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	next(t, &s, "net-1")
	finish(t, &s, "net-1", Outcome{Error: "boom"})
	want(t, &s, ResultFailed, map[string]Status{"net-2": Blocked, "app": Blocked})
	if by := s.Members["app"].BlockedBy; by != "net" {
		t.Errorf("app is blocked by %q, want net", by)
	}
}

func TestNothingChangedIsNothing(t *testing.T) {
	t.Parallel()
	s := apply(t, [][]string{{"a", "b"}}, nil)
	finish(t, s, "a", Outcome{NoChanges: true})
	finish(t, s, "b", Outcome{NoChanges: true})
	want(t, s, ResultNothing, map[string]Status{"a": NoChanges, "b": NoChanges})
	if !(Passes{s}).Complete() {
		t.Error("nothing to do is complete")
	}
	empty := apply(t, nil, nil)
	want(t, empty, ResultNothing, map[string]Status{})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	unit := func(member, component string) Unit { return Unit{Member: member, Component: component} }
	for name, c := range map[string]Config{
		"a component in two waves":           {Waves: [][]string{{"a"}, {"a"}}, Units: []Unit{unit("a", "a")}},
		"a component without a member":       {Waves: [][]string{{"a"}}},
		"a member of a component in no wave": {Waves: [][]string{{"a"}}, Units: []Unit{unit("a", "a"), unit("b", "b")}},
		"a member named twice":               {Waves: [][]string{{"a", "b"}}, Units: []Unit{unit("m", "a"), unit("m", "b")}},
		"a dependency in the same wave":      {Waves: [][]string{{"a", "b"}}, DependsOn: map[string][]string{"b": {"a"}}, Units: []Unit{unit("a", "a"), unit("b", "b")}},
		"a dependency in a later wave":       {Waves: [][]string{{"b"}, {"a"}}, DependsOn: map[string][]string{"b": {"a"}}, Units: []Unit{unit("a", "a"), unit("b", "b")}},
		"a component that depends on itself": {Waves: [][]string{{"a"}}, DependsOn: map[string][]string{"a": {"a"}}, Units: []Unit{unit("a", "a")}},
	} {
		if _, err := New(c); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestMovesOutOfTurnAreRefused(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	if err := s.Start("edge"); !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("why edge may not start: %v", err)
	}
	halted := diamond(t)
	finish(t, halted, "net", Outcome{})
	if err := halted.Start("net"); !strings.Contains(err.Error(), "it is applied") {
		t.Errorf("why net may not start: %v", err)
	}
	halted.Halt("the approval was revoked")
	if err := halted.Start("app"); !strings.Contains(err.Error(), "the approval was revoked") {
		t.Errorf("why app may not start: %v", err)
	}
	for name, err := range map[string]error{
		"start of a later wave":   s.Start("edge"),
		"start of an unknown one": s.Start("nobody"),
		"end of what did not run": s.Settle("net", Outcome{}),
		"end of an unknown one":   s.Settle("nobody", Outcome{}),
		"hold of what cannot run": s.Hold("edge", nil),
		"hold of an unknown one":  s.Hold("nobody", nil),
	} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	want(t, s, "", map[string]Status{"net": Pending, "edge": Pending})
}

// restart is the state as a new process reads it.
func restart(t fataler, s *State) *State {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var again State
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	return &again
}

type fataler interface {
	Helper()
	Fatal(args ...any)
}
