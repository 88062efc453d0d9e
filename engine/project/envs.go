package project

import (
	"fmt"
	"slices"
)

// EnvsOf returns the envs whose pull requests target a branch, in the order
// declared, defaults filled; security's review rules show as RequireReview.
// Without any declared env there is one, named defaultEnv, that only records. An
// env that names no branch is on ci.green's or, without ci.green, on the
// repository's default branch: nobody merged what stands on any other.
func (d *Declaration) EnvsOf(branch, defaultEnv string) []Env {
	var envs []Env
	for _, e := range d.envs(defaultEnv) {
		if e.Branch != "" && e.Branch != branch {
			continue
		}
		e.Branch = branch
		envs = append(envs, e)
	}
	return envs
}

// Envs returns every env, as EnvsOf does; a Branch stays empty where any branch
// will do.
func (d *Declaration) Envs(defaultEnv string) []Env { return d.envs(defaultEnv) }

func (d *Declaration) envs(defaultEnv string) []Env {
	envs := []Env{{Name: defaultEnv, Gate: DefaultGate, Execution: "server", MinApprovals: 1}}
	if d.Bot != nil && len(d.Bot.Envs) > 0 {
		envs = slices.Clone(d.Bot.Envs)
	}
	for i := range envs {
		if envs[i].Branch == "" && d.Green != nil {
			envs[i].Branch = d.Green.Branch
		}
		if envs[i].Branch == "" {
			envs[i].Branch = d.DefaultBranch
		}
		envs[i].RequireReview = envs[i].RequireReview || d.ReviewRules
	}
	return envs
}

// Unenforced returns the settings that bind a gate of an env and that this version
// reads and does not enforce, as people wrote them. A gate with any is never open: an
// approval must not pass by a rule that nobody checked. The gates of an env's own bind
// each other: who may open one could let its waves or its rounds do what a rule of the
// other was to keep back.
func (e Env) Unenforced(d *Declaration, gate string) []string {
	var names []string
	if d.Identity != nil {
		if d.Identity.Attribution == "identified" {
			names = append(names, "identity.attribution: identified")
		}
		for ruled := range d.Identity.Gates {
			if sameGate(ruled, gate) || e.owns(gate) && e.owns(ruled) {
				names = append(names, "identity.gates."+ruled)
			}
		}
	}
	if e.MinApprovals > 1 {
		names = append(names, fmt.Sprintf("minApprovals: %d", e.MinApprovals))
	}
	if e.Execution != "server" && e.Execution != "" {
		names = append(names, "execution: "+e.Execution)
	}
	if e.ApproveOnReview {
		names = append(names, "approveOnReview: true")
	}
	slices.Sort(names)
	return names
}

// owns tells whether a gate of this name can be asked for a change in the env: its own,
// its wave gate, or a round or wave of one of them.
func (e Env) owns(gate string) bool {
	return sameGate(gate, e.Gate) || sameGate(gate, e.WaveGate)
}

// sameGate tells that a rule for one of two gates binds the other: a rule for a gate
// holds for its rounds and waves, and one for a round or a wave for the whole of it
// (pr-loop §3.7, the stricter of the two).
func sameGate(a, b string) bool { return a != "" && b != "" && BaseGate(a) == BaseGate(b) }
