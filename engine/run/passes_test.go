package run

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// again is the state of a pass over some members of an apply.
func again(t fataler, s *State, members []string) *State {
	t.Helper()
	c := Config{DependsOn: s.DependsOn}
	components := map[string]bool{}
	for _, name := range s.Order {
		if m := s.Members[name]; slices.Contains(members, name) {
			c.Units = append(c.Units, Unit{Member: name, Component: m.Component, Phase: m.Phase, Step: m.Step, Group: m.Group})
			components[m.Component] = true
		}
	}
	for _, wave := range s.Waves {
		c.Waves = append(c.Waves, slices.DeleteFunc(slices.Clone(wave), func(name string) bool { return !components[name] }))
	}
	next, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &next
}

func TestAMemberStandsWhereItsLastPassSays(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	finish(t, s, "net", Outcome{})
	if err := s.Hold("app", []InputRead{{From: "net", Output: "cidr"}}); err != nil {
		t.Fatal(err)
	}
	finish(t, s, "data", Outcome{})
	finish(t, s, "docs", Outcome{})
	p := Passes{s}
	if diff := cmp.Diff([]string{"app", "edge"}, p.Held()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"data", "edge"}, p.Dependents([]string{"data"})); diff != "" {
		t.Errorf("what follows from data (-want +got):\n%s", diff)
	}
	before := p.Events(false)
	p = append(p, again(t, s, []string{"app", "edge"}))
	next(t, p[1], "app")
	finish(t, p[1], "app", Outcome{})
	if got := p[1].Members["edge"].Wave; got != 3 {
		t.Errorf("edge is in wave %d of its pass, want the 3 of the apply", got)
	}
	finish(t, p[1], "edge", Outcome{NoChanges: true})
	if result, done := p.Done(); !done || result != ResultApplied || !p.Complete() {
		t.Errorf("ended %s, %v, complete %v", result, done, p.Complete())
	}
	events := p.Events(true)
	if diff := cmp.Diff(before, events[:len(before)]); diff != "" {
		t.Errorf("what was told before the pass changed (-then +now):\n%s", diff)
	}
	if last := events[len(events)-1]; last.Type != "run-done" || last.Status != OK {
		t.Errorf("it ends with %+v", last)
	}
}

func TestAMemberThatIsNotPlannedAgainBlocksWhatFollows(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	if err := s.HoldBack("app", nil); err != nil {
		t.Fatal(err)
	}
	p := Passes{s}
	finish(t, s, "net", Outcome{})
	finish(t, s, "data", Outcome{})
	finish(t, s, "docs", Outcome{})
	p.FailHeld("app", "no such region")
	want(t, s, ResultFailed, map[string]Status{"app": Failed, "edge": Blocked, "data": Applied})
	if by := s.Members["edge"].BlockedBy; by != "app" {
		t.Errorf("edge is blocked by %q, want app", by)
	}
	if err := s.HoldBack("net", nil); err == nil {
		t.Error("a member that ended was held back")
	}
}

// I6, I7, I10 and I15 over passes: a plan is applied once at most, a member of a
// pass is one that was held and whose dependencies ended well, and an apply is
// complete only when every member ended well in some pass.
func TestPasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, well := Passes{}, map[string]bool{}
		s := anyApply(t)
		for n := range 6 {
			p = append(p, s)
			w := &world{starts: map[string]int{}, ended: map[string]Outcome{}}
			told := 0
			end := drive(t, s, w, func(s *State) {
				p[len(p)-1] = s
				for _, name := range s.Next() {
					if well[name] {
						t.Fatalf("%s is offered in pass %d, and it ended well before", name, n+1)
					}
					for _, b := range p[0].before(p[0].Members[name]) {
						within := b.Group != "" && b.Group == p[0].Members[name].Group && s.Members[b.Member] != nil
						if !within && !p.Member(b.Member).Status.ended() {
							t.Fatalf("%s may start in pass %d, and %s is %s", name, n+1, b.Member, p.Member(b.Member).Status)
						}
					}
				}
				if events := len(p.Events(false)); events < told {
					t.Fatalf("%d events were told, and %d are left", told, events)
				} else {
					told = events
				}
			})
			p[len(p)-1] = end
			for name, starts := range w.starts {
				if starts > 1 {
					t.Fatalf("%s started %d times from one plan", name, starts)
				}
			}
			for name, o := range w.ended {
				well[name] = o.Error == "" && !o.Moved && !o.Unknown && !o.NotReached
			}
			p.Spread()
			held := p.Held()
			if len(held) == 0 || p.Halted() != "" || rapid.IntRange(0, 3).Draw(t, "waits") == 0 {
				break
			}
			if rapid.IntRange(0, 3).Draw(t, "does not plan") == 0 {
				p.FailHeld(held[0], "boom")
			}
			if held = p.Held(); len(held) == 0 {
				break
			}
			s = again(t, p[0], held)
			if rapid.Bool().Draw(t, "a part waits on") {
				must(t, s.HoldBack(rapid.SampledFrom(held).Draw(t, "kept"), nil))
			}
		}
		checkPasses(t, p, well)
	})
}

func checkPasses(t *rapid.T, p Passes, well map[string]bool) {
	complete := true
	for _, m := range p.Members() {
		complete = complete && well[m.Member]
		bad := slices.ContainsFunc(p[0].before(p[0].Members[m.Member]), func(b *MemberState) bool { return p.Member(b.Member).Status.bad() })
		switch {
		case m.Status.ended() != well[m.Member]:
			t.Fatalf("%s is %s, and ended well is %v", m.Member, m.Status, well[m.Member])
		case m.Status == Blocked && (!bad || m.BlockedBy == ""):
			t.Fatalf("%s is blocked by %q without a reason", m.Member, m.BlockedBy)
		case m.Status == Held && bad:
			t.Fatalf("%s waits for a round, and what it depends on failed", m.Member)
		}
	}
	result, done := p.Done()
	if !done {
		t.Fatal("it is not done")
	}
	if p.Complete() != complete || complete != (result == ResultApplied || result == ResultNothing) {
		t.Fatalf("complete %v, ended %s, all ended well %v", p.Complete(), result, complete)
	}
}

func TestOnlyWhatIsHeldFailsWithoutRunning(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	finish(t, s, "net", Outcome{})
	p := Passes{s}
	for _, member := range []string{"net", "app", "nobody"} { // applied, pending, unknown
		p.FailHeld(member, "boom")
	}
	want(t, s, "", map[string]Status{"net": Applied, "app": Pending})
	if (Passes{}).Complete() {
		t.Error("an apply that has not started is complete")
	}
}

func TestWhatIsHeldMayBeHeldBackAgainAndNothingElse(t *testing.T) {
	t.Parallel()
	s := diamond(t)
	for range 2 {
		if err := s.HoldBack("app", nil); err != nil {
			t.Error(err)
		}
	}
	finish(t, s, "net", Outcome{})
	for _, member := range []string{"net", "nobody"} {
		if err := s.HoldBack(member, nil); err == nil {
			t.Errorf("%s is held back", member)
		}
	}
}
