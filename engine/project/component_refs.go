package project

import "slices"

// Steps returns the steps of deploy in order, nested phases flattened and gates
// counted; onFailure steps are left out.
func (c *Component) Steps() []Step {
	return flatten(nil, c.Deploy)
}

func flatten(into []Step, phases []DeployPhase) []Step {
	for _, p := range phases {
		for _, s := range p.Steps {
			if s.Phase != nil {
				into = flatten(into, []DeployPhase{*s.Phase})
				continue
			}
			into = append(into, s)
		}
	}
	return into
}

// PhaseOf returns the name of the phase in which Steps()[index] stands, "" when
// there is no such step.
func (c *Component) PhaseOf(index int) string {
	var names []string
	var walk func(phases []DeployPhase)
	walk = func(phases []DeployPhase) {
		for _, p := range phases {
			for _, s := range p.Steps {
				if s.Phase != nil {
					walk([]DeployPhase{*s.Phase})
					continue
				}
				names = append(names, p.Name)
			}
		}
	}
	walk(c.Deploy)
	if index < 0 || index >= len(names) {
		return ""
	}
	return names[index]
}

// Reads returns the outputs of other components this one reads (stackOutput),
// in the order written.
func (c *Component) Reads() []Read {
	var reads []Read
	for _, r := range c.refs {
		if r.Source == FromOutput {
			reads = append(reads, r)
		}
	}
	return reads
}

// Dependencies returns the components this one must follow: dependsOn, and
// every other component whose output or published artifact it reads
// (components decision 3). Sorted, each once.
func (c *Component) Dependencies() []string {
	deps := slices.Clone(c.DependsOn)
	for _, r := range c.refs {
		if r.Source == FromOutput || r.Source == FromPublish && r.Component != c.Name {
			deps = append(deps, r.Component)
		}
	}
	slices.Sort(deps)
	return slices.Compact(deps)
}
