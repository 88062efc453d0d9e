package project

import (
	"fmt"
	"slices"
	"strings"
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

// Unenforced returns the settings of an env that this version reads and does
// not enforce, as people wrote them. A gate of an env with any is never open:
// an approval must not pass by a rule that nobody checked.
func (e Env) Unenforced(d *Declaration) []string {
	var names []string
	if d.Identity != nil {
		if d.Identity.Attribution == "identified" {
			names = append(names, "identity.attribution: identified")
		}
		for gate := range d.Identity.Gates {
			if e.hasGate(gate) {
				names = append(names, "identity.gates."+gate)
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

// hasGate tells whether a gate of this name can be asked for the env: its own,
// its wave gate, or a round or wave of one of them (pr-loop §3.7).
func (e Env) hasGate(name string) bool {
	for _, own := range []string{e.Gate, e.WaveGate} {
		if own != "" && (name == own || strings.HasPrefix(name, own+"-round-") || strings.HasPrefix(name, own+"-wave-")) {
			return true
		}
	}
	return false
}

// Allows tells whether a person is on every list of approvers of the env. member
// answers for a team written "github:@org/team". Without a list anyone is.
func (e Env) Allows(principal string, member func(team string) (bool, error)) (bool, error) {
	for _, list := range append([][]string{e.Approvers}, e.AlsoApprovers...) {
		if list == nil {
			continue
		}
		ok, err := onList(list, principal, member)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func onList(list []string, principal string, member func(team string) (bool, error)) (bool, error) {
	principal = strings.ToLower(strings.TrimSpace(principal))
	if slices.Contains(list, principal) {
		return true, nil
	}
	for _, who := range list {
		if !strings.Contains(who, ":@") {
			continue
		}
		if ok, err := member(who); err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}
