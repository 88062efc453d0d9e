package model

import (
	"flag"
	"os"
	"slices"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// TestMain plays many more runs than a property usually has, unless told otherwise.
func TestMain(m *testing.M) {
	flag.Parse()
	told := false
	flag.Visit(func(f *flag.Flag) { told = told || f.Name == "rapid.checks" })
	if !told {
		if err := flag.Set("rapid.checks", runs); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// played counts the steps of all runs, and together the groups that started.
var played, together atomic.Int64 //nolint:gochecknoglobals // counts over every run of the property

func TestWhatWasApprovedIsWhatApplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(10, 80).Draw(t, "steps") {
			w.move()
		}
		w.settle()
	})
	t.Logf("%d steps, %d groups", played.Load(), together.Load())
	if n := played.Load(); n < leastSteps && !testing.Short() {
		t.Errorf("%d steps were played, and %d are wanted", n, leastSteps)
	}
	if together.Load() == 0 {
		t.Error("no group was played")
	}
}

// move is one thing that happens.
func (w *world) move() {
	w.steps++
	played.Add(1)
	switch move := rapid.IntRange(0, 24).Draw(w.t, "move"); {
	case move == 0:
		w.propose()
		if rapid.Bool().Draw(w.t, "goes through") {
			w.approve(w.pulls[len(w.pulls)-1].note)
			w.merge(len(w.pulls) - 1)
		}
	case move == 1 && len(w.pulls) > 0:
		w.show(rapid.SampledFrom(w.pulls).Draw(w.t, "planned again"))
	case move <= 4 && len(w.notes) > 0:
		w.approve(rapid.SampledFrom(w.notes).Draw(w.t, "approved"))
	case move == 5 && len(w.notes) > 0:
		w.revoke(rapid.SampledFrom(w.notes).Draw(w.t, "taken back"))
	case move <= 7 && len(w.pulls) > 0:
		w.merge(rapid.IntRange(0, len(w.pulls)-1).Draw(w.t, "merged"))
	case move == 8 && rapid.IntRange(0, 3).Draw(w.t, "pushes") == 0:
		w.push()
	case move <= 11:
		w.tag()
	case move == 12:
		w.drift()
	case move == 13:
		rapid.SampledFrom(w.runners).Draw(w.t, "crashes").crash()
	case move <= 16:
		w.childEnds()
	default:
		rapid.SampledFrom(w.runners).Draw(w.t, "runs").step()
	}
}

func (w *world) childEnds() {
	var running []string
	for name, c := range w.children {
		if c.end == nil {
			running = append(running, name)
		}
	}
	slices.Sort(running)
	if len(running) > 0 {
		w.ends(rapid.SampledFrom(running).Draw(w.t, "ends"))
	}
}

// settle stops the faults and lets people approve whatever waits: then the newest
// green commit is applied, or fenced off by a newer one (I15).
func (w *world) settle() {
	w.calm = true
	for range 200 {
		w.steps++
		played.Add(1)
		notes := len(w.notes)
		for _, r := range w.runners {
			w.childEnds()
			r.step()
		}
		for _, n := range w.notes[notes:] {
			w.approve(n)
		}
		if w.row == nil && w.holder == nil && w.rests() {
			return
		}
	}
	w.t.Fatalf("I15: nothing comes to rest: %+v", w.row)
}
