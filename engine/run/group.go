package run

import "slices"

// A group is planned and applied as one (pr-loop §8.2): its members stand in one
// wave, start at one time, and each has an end of its own.

// group are the members that a member is planned and applied with, itself included,
// in order; itself alone where it is in no group.
func (s *State) group(m *MemberState) []*MemberState {
	if m.Group == "" {
		return []*MemberState{m}
	}
	var out []*MemberState
	for _, name := range s.Order {
		if other := s.Members[name]; other.Group == m.Group {
			out = append(out, other)
		}
	}
	return out
}

// Group are the names of the members that a member starts with, itself included.
func (s *State) Group(member string) []string {
	var out []string
	for _, m := range s.group(s.Members[member]) {
		out = append(out, m.Member)
	}
	return out
}

// ready reports that everything ended well which a member, and what it starts with,
// waits for. What its group makes itself is not waited for.
func (s *State) ready(m *MemberState) bool {
	return !slices.ContainsFunc(s.group(m), func(mate *MemberState) bool {
		return slices.ContainsFunc(s.before(mate), func(b *MemberState) bool {
			return !b.Status.ended() && (m.Group == "" || b.Group != m.Group)
		})
	})
}

// broken is a member of the group that will not start with it, nil for none: then the
// plan of the group can't be applied, and the rest is planned again.
func (s *State) broken(m *MemberState) *MemberState {
	if m.Group == "" {
		return nil
	}
	for _, mate := range s.group(m) {
		if mate.Status == Held || mate.Status == Blocked {
			return mate
		}
	}
	return nil
}

// sameGroup reports that two components start together: one has a member in a group,
// and so has the other.
func sameGroup(a, b []Unit) bool {
	return len(a) == 1 && len(b) == 1 && a[0].Group != "" && a[0].Group == b[0].Group
}

// dependenciesFirst orders the components of a wave so that one which depends on
// another of its group comes after it.
func dependenciesFirst(components []string, dependsOn map[string][]string) []string {
	waiting := make(map[string]bool, len(components)) // not placed yet
	for _, component := range components {
		waiting[component] = true
	}
	var out []string
	var place func(component string)
	place = func(component string) {
		if !waiting[component] {
			return
		}
		waiting[component] = false
		for _, dependency := range dependsOn[component] {
			place(dependency)
		}
		out = append(out, component)
	}
	for _, component := range components {
		place(component)
	}
	return out
}
