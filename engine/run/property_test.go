package run

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// anyApply is a random graph in layers, one or two members a component, with a group
// in some of them.
func anyApply(t *rapid.T) *State {
	c := Config{DependsOn: map[string][]string{}}
	var earlier []string
	for w := range rapid.IntRange(1, 4).Draw(t, "waves") {
		var wave, grouped []string
		for i := range rapid.IntRange(1, 3).Draw(t, "components") {
			name := fmt.Sprintf("c%d%d", w, i)
			wave = append(wave, name)
			for _, dependency := range earlier {
				if rapid.Bool().Draw(t, name+" on "+dependency) {
					c.DependsOn[name] = append(c.DependsOn[name], dependency)
				}
			}
			members := rapid.IntRange(1, 2).Draw(t, "members")
			group := ""
			if members == 1 && rapid.Bool().Draw(t, "grouped") {
				group = fmt.Sprintf("g%d", w)
				for _, mate := range grouped {
					if rapid.Bool().Draw(t, name+" reads "+mate) {
						c.DependsOn[name] = append(c.DependsOn[name], mate)
					}
				}
				grouped = append(grouped, name)
			}
			for j := range members {
				c.Units = append(c.Units, Unit{Member: fmt.Sprintf("%s-m%d", name, j), Component: name, Phase: "Apply", Step: "terraform-apply", Group: group})
			}
		}
		c.Waves = append(c.Waves, wave)
		earlier = append(earlier, wave...)
	}
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// world is what really happened, apart from the state: children started and
// ended, and what a supervisor knows of them.
type world struct {
	starts map[string]int
	ended  map[string]Outcome
}

func anyOutcome(t *rapid.T) Outcome {
	return rapid.SampledFrom([]Outcome{
		{}, {}, {}, {NoChanges: true}, {Error: "boom"}, {Moved: true}, {Unknown: true, Error: "lost"},
	}).Draw(t, "outcome")
}

// drive applies to the end with any order, outcomes, holds, halts and crashes.
// The state is stored before a step starts and after it ends, as promised.
func drive(t *rapid.T, s *State, w *world, each func(*State)) *State {
	for range 1000 {
		each(s)
		if _, done := s.Done(); done {
			return s
		}
		running := slices.DeleteFunc(slices.Clone(s.Order), func(m string) bool { return s.Members[m].Status != Running })
		next := s.Next()
		if len(next) == 0 && len(running) == 0 {
			t.Fatal("nothing runs, nothing may start, and the apply is not done")
		}
		switch move := rapid.IntRange(0, 9).Draw(t, "move"); {
		case move == 0:
			s = crash(t, s, w)
		case move == 1 && len(next) > 0:
			must(t, s.Hold(rapid.SampledFrom(next).Draw(t, "held"), nil))
		case move == 2 && rapid.IntRange(0, 4).Draw(t, "halts") == 0:
			s.Halt("the approval was revoked")
		case move < 7 && len(next) > 0:
			m := rapid.SampledFrom(next).Draw(t, "starts")
			must(t, s.Start(m))
			s = restart(t, s) // stored; the child starts only now
			if rapid.IntRange(0, 5).Draw(t, "dies before the child starts") == 0 {
				must(t, s.NotStarted(m))
				s = crash(t, s, w)
				continue
			}
			for _, mate := range s.Group(m) {
				w.starts[mate]++
			}
		case len(running) > 0:
			m := rapid.SampledFrom(running).Draw(t, "ends")
			w.ended[m] = anyOutcome(t)
			if s.Members[m].Group != "" && rapid.IntRange(0, 5).Draw(t, "not reached") == 0 {
				w.ended[m] = Outcome{NotReached: true}
			}
			must(t, s.Settle(m, w.ended[m]))
		}
	}
	t.Fatal("the apply does not end")
	return nil
}

// crash loses the process. A supervisor saw some of the running children end.
func crash(t *rapid.T, s *State, w *world) *State {
	s = restart(t, s)
	for _, m := range s.Order {
		if s.Members[m].Status == Running && rapid.Bool().Draw(t, "seen") {
			w.ended[m] = anyOutcome(t)
			must(t, s.Settle(m, w.ended[m]))
		}
	}
	s.Recover()
	return s
}

func must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// I6, I15 and the order of dependencies, over random graphs, outcomes and
// crashes.
func TestApplies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{starts: map[string]int{}, ended: map[string]Outcome{}}
		s := drive(t, anyApply(t), w, func(s *State) {
			for _, name := range s.Next() {
				if w.starts[name] > 0 {
					t.Fatalf("%s is offered again after it started", name)
				}
				for _, b := range s.before(s.Members[name]) {
					if b.Group != "" && b.Group == s.Members[name].Group {
						continue // it makes what is read within the same apply
					}
					if end, seen := w.ended[b.Member]; !seen || end.Error != "" || end.Moved || end.Unknown {
						t.Fatalf("%s may start, and %s did not end well", name, b.Member)
					}
				}
			}
		})
		for name, n := range w.starts {
			if n > 1 {
				t.Fatalf("%s started %d times from one plan", name, n)
			}
		}
		checkEnd(t, s, w)
		for _, name := range s.Order {
			for _, mate := range s.Group(name) {
				if w.starts[name] != w.starts[mate] {
					t.Fatalf("%s started without %s", name, mate)
				}
			}
		}
	})
}

func checkEnd(t *rapid.T, s *State, w *world) {
	result, _ := s.Done()
	complete := true
	for _, name := range s.Order {
		m := s.Members[name]
		end, seen := w.ended[name]
		well := seen && end.Error == "" && !end.Moved && !end.Unknown && !end.NotReached
		complete = complete && well
		switch m.Status {
		case Applied, NoChanges:
			if !well {
				t.Fatalf("%s is %s, and its end was not good", name, m.Status)
			}
		case Blocked:
			culprit := slices.ContainsFunc(s.before(m), func(b *MemberState) bool { return b.Status.bad() })
			if !culprit || m.BlockedBy == "" || w.starts[name] > 0 && !end.NotReached {
				t.Fatalf("%s is blocked by %q without a reason", name, m.BlockedBy)
			}
		case Pending:
			if s.Halted == "" {
				t.Fatalf("%s was left behind", name)
			}
		}
		if m.Status == Held && result != ResultWaiting && result != ResultFailed {
			t.Fatalf("%s waits, and the apply ended %s", name, result)
		}
	}
	if (Passes{s}).Complete() != complete || complete != (result == ResultApplied || result == ResultNothing) {
		t.Fatalf("complete %v, ended %s, all ended well %v", Passes{s}.Complete(), result, complete)
	}
}

// Events are the same after a restart, balanced, and end with the run.
func TestEventsAreBalanced(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := &world{starts: map[string]int{}, ended: map[string]Outcome{}}
		s := drive(t, anyApply(t), w, func(*State) {})
		events := Passes{s}.Events(true)
		if diff := cmp.Diff(events, (Passes{restart(t, s)}).Events(true)); diff != "" {
			t.Fatalf("events after a restart:\n%s", diff)
		}
		count := map[string]int{}
		for _, e := range events {
			count[e.Type]++
		}
		open := 0 // components a halt left pending have no end
		for _, m := range s.Members {
			if m.Status == Pending {
				open++
			}
		}
		if open == 0 && (count["wave-start"] != count["wave-done"] || count["phase-start"] != count["phase-done"]) {
			t.Fatalf("unbalanced: %v", count)
		}
		if events[0].Type != "run-start" || events[len(events)-1].Type != "run-done" {
			t.Fatal("a run starts first and ends last")
		}
	})
}
