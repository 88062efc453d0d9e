package green

import (
	"slices"

	"github.com/chant-bot/chant/engine/project"
)

// Waits is what keeps a commit from being green, for people. All are empty for
// one that passes.
type Waits struct {
	Failed  []string // required checks that failed
	Running []string // required checks that have not ended
	Missing []string // required patterns that no check matches
	Others  []string // checks that no required pattern matches
}

// WaitsFor reads the runs of one commit as Judge does.
func WaitsFor(g project.Green, runs []CheckRun) Waits {
	var w Waits
	latest := latestByName(runs)
	required := map[checkKey]bool{}
	for _, name := range g.Require {
		phase := g.Phases[name]
		_, matched, _ := judgePhase(phase, latest)
		for _, r := range matched {
			required[keyOf(r)] = true
			switch judgeRun(r, phase.SkippedPass) {
			case Fail:
				w.Failed = append(w.Failed, r.Name)
			case Pending:
				w.Running = append(w.Running, r.Name)
			}
		}
		for _, pattern := range phase.Runs {
			if !slices.ContainsFunc(latest, func(r CheckRun) bool { return matches(pattern, r.Name) }) {
				w.Missing = append(w.Missing, pattern)
			}
		}
	}
	if len(w.Failed)+len(w.Running)+len(w.Missing) == 0 {
		return w
	}
	for _, r := range latest {
		if !required[keyOf(r)] {
			w.Others = append(w.Others, r.Name)
		}
	}
	return w
}
