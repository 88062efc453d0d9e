// Package green decides whether a commit is green: it judges check runs against
// the declaration, says which ci tag is due and which tags count (pr-loop §4,
// decision 5). It reads no forge and no repository and makes no tag.
package green

import (
	"cmp"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/project"
)

// CheckRun is one run of a check, or what a forge without check runs offers in
// its place: a job or a commit status.
type CheckRun struct {
	ID         int64  // larger is later, among runs of one name
	Name       string // as patterns of ci.green match it
	Status     string // "completed", or anything else while it is not
	Conclusion string // "success", "skipped", "failure" ...; empty while running
	URL        string // page for people
	Source     string // who says so, where the forge tells who speaks for CI
}

// State is the verdict on a run, a phase or a commit.
type State string

// The verdicts.
const (
	Pass    State = "pass"
	Fail    State = "fail"
	Pending State = "pending"
)

// Verdict is what the checks say of a commit.
type Verdict struct {
	State State
	Phase string    // first failing required phase; set only when State is Fail
	Run   *CheckRun // first failing run of Phase; set only when State is Fail
	// Phases holds the latest runs of each required phase, in the order of the
	// phase's patterns, then by name.
	Phases map[string][]CheckRun
}

// Judge reads the runs of one commit (pr-loop §4.2). Only the latest attempt of
// a name counts, of each source: whoever may write a status under the name of a
// check cannot hide that the check failed (forge-facts 1.4). A declaration that requires nothing never passes: no phase
// could have failed.
func Judge(g project.Green, runs []CheckRun) Verdict {
	latest := latestByName(runs)
	v := Verdict{State: Pass, Phases: make(map[string][]CheckRun, len(g.Require))}
	if len(g.Require) == 0 {
		v.State = Pending
	}
	for _, name := range g.Require {
		state, matched, failing := judgePhase(g.Phases[name], latest)
		v.Phases[name] = matched
		switch {
		case state == Fail && v.State != Fail:
			v.State, v.Phase, v.Run = Fail, name, failing
		case state == Pending && v.State == Pass:
			v.State = Pending
		}
	}
	return v
}

// checkKey is what attempts of one check have in common.
type checkKey struct{ name, source string }

func keyOf(r CheckRun) checkKey { return checkKey{r.Name, r.Source} }

// latestByName keeps the run with the largest id of each name and source, sorted
// by name. Of two with one id, which cannot be told apart, it keeps one that does not
// pass.
func latestByName(runs []CheckRun) []CheckRun {
	byName := make(map[checkKey]CheckRun, len(runs))
	for _, r := range runs {
		if kept, seen := byName[keyOf(r)]; !seen || r.ID > kept.ID || r.ID == kept.ID && kept.Conclusion == "success" {
			byName[keyOf(r)] = r
		}
	}
	out := make([]CheckRun, 0, len(byName))
	for _, r := range byName {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b CheckRun) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Source, b.Source)) })
	return out
}

// judgePhase is fail if any run fails, else pending if any is pending or a
// pattern has no run yet, else pass. A phase without patterns is pending.
func judgePhase(p project.Phase, latest []CheckRun) (State, []CheckRun, *CheckRun) {
	state := Pass
	if len(p.Runs) == 0 {
		state = Pending
	}
	var matched []CheckRun
	var failing *CheckRun
	seen := make(map[checkKey]bool)
	for _, pattern := range p.Runs {
		met := false
		for _, r := range latest {
			if !matches(pattern, r.Name) {
				continue
			}
			met = true
			if seen[keyOf(r)] {
				continue
			}
			seen[keyOf(r)] = true
			matched = append(matched, r)
			switch judgeRun(r, p.SkippedPass) {
			case Fail:
				if failing == nil {
					failing = &r
				}
			case Pending:
				state = Pending
			}
		}
		if !met {
			state = Pending
		}
	}
	if failing != nil {
		state = Fail
	}
	return state, matched, failing
}

func judgeRun(r CheckRun, skippedPass bool) State {
	switch {
	case r.Status != "completed":
		return Pending
	case r.Conclusion == "success":
		return Pass
	case r.Conclusion == "skipped" && skippedPass:
		return Pass
	}
	return Fail
}

// matches compares the whole name with a pattern in which * is any run of
// characters and nothing else is special.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	middle := name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(middle, part)
		if i < 0 {
			return false
		}
		middle = middle[i+len(part):]
	}
	return true
}
