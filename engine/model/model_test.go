package model

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/green"
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

// count is what was played in all runs.
var count struct{ steps, begun, groups, rounds, waves, resumed atomic.Int64 } //nolint:gochecknoglobals // counts over every run of the property

func TestWhatWasApprovedIsWhatApplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { play(t, "") })
	t.Logf("%d moves: %d members applied, %d groups, %d rounds and %d gated waves that opened, %d records that were taken up",
		count.steps.Load(), count.begun.Load(), count.groups.Load(), count.rounds.Load(), count.waves.Load(), count.resumed.Load())
	if n := count.steps.Load(); n < leastSteps && !testing.Short() {
		t.Errorf("%d steps were played, and %d are wanted", n, leastSteps)
	}
	for what, n := range map[string]*atomic.Int64{"group": &count.groups, "round": &count.rounds, "gated wave": &count.waves, "resume record": &count.resumed} {
		if n.Load() == 0 {
			t.Errorf("no %s was played", what)
		}
	}
}

// play plays a world.
func play(t *rapid.T, planted string) {
	w := newWorld(t)
	w.planted = planted
	for range rapid.IntRange(10, 80).Draw(t, "steps") {
		w.move()
	}
	w.settle()
}

// move is one thing that happens.
func (w *world) move() {
	w.steps++
	count.steps.Add(1)
	switch move := rapid.IntRange(0, 27).Draw(w.t, "move"); {
	case move == 0:
		w.propose()
		if rapid.Bool().Draw(w.t, "goes through") {
			w.approve(w.pulls[len(w.pulls)-1].note)
			w.merge(len(w.pulls) - 1)
			w.tags = append(w.tags, green.Tag{Name: green.GreenPrefix + w.line[len(w.line)-1].sha, Commit: w.line[len(w.line)-1].sha})
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
	case move <= 18:
		w.database()
	default:
		rapid.SampledFrom(w.runners).Draw(w.t, "runs").step()
	}
}

// database is what happens to it: a backup, or it is there again as it was at the last
// one, or empty.
func (w *world) database() {
	switch rapid.IntRange(0, 3).Draw(w.t, "database") {
	case 0:
		w.restores(w.backup)
	case 1:
		w.restores(nil)
	default:
		w.backup = w.stored()
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
		count.steps.Add(1)
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
	w.broken("I15", "nothing comes to rest: %s", w.shown())
}

// shown is the apply under way, for people.
func (w *world) shown() string {
	if w.row == nil {
		return "none"
	}
	var out strings.Builder
	fmt.Fprintf(&out, "apply %s of commit %d", w.row.token, w.row.commit)
	for _, p := range w.row.passes {
		fmt.Fprintf(&out, "\n a pass, halted %q:", p.State.Halted)
		for _, name := range p.State.Order {
			fmt.Fprintf(&out, " %s %s", name, p.State.Members[name].Status)
		}
	}
	return out.String()
}
