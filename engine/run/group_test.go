package run

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grouped: net and app, which reads net, are one group; app follows docs of the wave
// before, edge follows app, and web net.
func grouped(t *testing.T) *State {
	t.Helper()
	c := Config{
		Waves:     [][]string{{"docs"}, {"app", "net"}, {"edge", "web"}},
		DependsOn: map[string][]string{"app": {"net", "docs"}, "edge": {"app"}, "web": {"net"}},
	}
	for _, name := range []string{"docs", "app", "net", "edge", "web"} {
		u := Unit{Member: name, Component: name, Phase: "Apply", Step: "terraform-apply"}
		if name == "app" || name == "net" {
			u.Group = "net"
		}
		c.Units = append(c.Units, u)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

func settle(t *testing.T, s *State, member string, o Outcome) {
	t.Helper()
	if err := s.Settle(member, o); err != nil {
		t.Fatal(err)
	}
}

func TestAGroupStartsWholeAndItsMembersEndByThemselves(t *testing.T) {
	t.Parallel()
	s := grouped(t)
	if diff := cmp.Diff([]string{"docs", "net", "app", "edge", "web"}, s.Order); diff != "" {
		t.Errorf("dependencies of a group come first: %s", diff)
	}
	finish(t, s, "docs", Outcome{})
	next(t, s, "net", "app")
	if diff := cmp.Diff([]string{"net", "app"}, s.Group("app")); diff != "" {
		t.Error(diff)
	}
	if err := s.Start("app"); err != nil {
		t.Fatal(err)
	}
	want(t, s, "", map[string]Status{"net": Running, "app": Running})
	next(t, s)
	if err := s.Start("net"); err == nil {
		t.Error("a member that runs with its group started again")
	}
	settle(t, s, "net", Outcome{})
	settle(t, s, "app", Outcome{Error: "boom"})
	next(t, s, "web")
	want(t, s, "", map[string]Status{"net": Applied, "app": Failed, "edge": Blocked})
}

func TestAMemberThatItsGroupDidNotReach(t *testing.T) {
	t.Parallel()
	s := grouped(t)
	finish(t, s, "docs", Outcome{})
	if err := s.Start("net"); err != nil {
		t.Fatal(err)
	}
	settle(t, s, "app", Outcome{NotReached: true})
	want(t, s, "", map[string]Status{"app": Held, "edge": Held})
	settle(t, s, "net", Outcome{Error: "boom"})
	want(t, s, ResultFailed, map[string]Status{"net": Failed, "app": Blocked, "edge": Blocked, "web": Blocked})
}

// I7: the plan of a group is applied whole or not at all.
func TestAGroupOfWhichOneIsHeldOrBlockedDoesNotStart(t *testing.T) {
	t.Parallel()
	s := grouped(t)
	finish(t, s, "docs", Outcome{})
	if err := s.Hold("app", []InputRead{{From: "docs", Output: "url"}}); err != nil {
		t.Fatal(err)
	}
	next(t, s)
	want(t, s, ResultWaiting, map[string]Status{"net": Held, "app": Held, "edge": Held, "web": Held})
	if s.Members["net"].BlockedBy != "app" || s.Members["net"].Reads != nil {
		t.Errorf("net is %+v", s.Members["net"])
	}

	s = grouped(t)
	finish(t, s, "docs", Outcome{Error: "boom"})
	next(t, s)
	want(t, s, ResultFailed, map[string]Status{"net": Held, "app": Blocked, "edge": Blocked, "web": Held})
	if diff := cmp.Diff([]string{"net", "web"}, Passes{s}.Held()); diff != "" {
		t.Errorf("a pass of its own plans what is left again: %s", diff)
	}
}

func TestAGroupThatNeverBeganStartsAgain(t *testing.T) {
	t.Parallel()
	s := grouped(t)
	finish(t, s, "docs", Outcome{})
	if err := s.Start("net"); err != nil {
		t.Fatal(err)
	}
	if err := s.NotStarted("app"); err != nil {
		t.Fatal(err)
	}
	next(t, s, "net", "app")
}

// Of a group of which one ended, only what still runs is taken back: what applied is not
// started again from its old plan (soundness I6).
func TestWhatEndedOfAGroupIsNotTakenBack(t *testing.T) {
	t.Parallel()
	s := grouped(t)
	finish(t, s, "docs", Outcome{})
	if err := s.Start("net"); err != nil {
		t.Fatal(err)
	}
	settle(t, s, "net", Outcome{})
	if err := s.NotStarted("app"); err != nil {
		t.Fatal(err)
	}
	want(t, s, "", map[string]Status{"net": Applied, "app": Pending})
	next(t, s, "app")
}

func TestOnlyAGroupDependsWithinItsWave(t *testing.T) {
	t.Parallel()
	for name, units := range map[string][]Unit{
		"without a group":            {{Member: "net", Component: "net"}, {Member: "app", Component: "app"}},
		"of two groups":              {{Member: "net", Component: "net", Group: "a"}, {Member: "app", Component: "app", Group: "b"}},
		"on more than the grouped":   {{Member: "net", Component: "net", Group: "a"}, {Member: "more", Component: "net", Group: "a"}, {Member: "app", Component: "app", Group: "a"}},
		"with more than the grouped": {{Member: "net", Component: "net", Group: "a"}, {Member: "app", Component: "app", Group: "a"}, {Member: "more", Component: "app"}},
	} {
		_, err := New(Config{Waves: [][]string{{"app", "net"}}, DependsOn: map[string][]string{"app": {"net"}}, Units: units})
		if err == nil || !strings.Contains(err.Error(), `"app" depends on "net", which is not in an earlier wave`) {
			t.Errorf("%s: %v", name, err)
		}
	}
	cycle := Config{
		Waves: [][]string{{"app", "net"}}, DependsOn: map[string][]string{"app": {"net"}, "net": {"app"}},
		Units: []Unit{{Member: "net", Component: "net"}, {Member: "app", Component: "app"}},
	}
	if _, err := New(cycle); err == nil {
		t.Error("a cycle within a wave is no apply")
	}
}
