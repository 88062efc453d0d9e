package run

import (
	"cmp"
	"slices"
)

// Passes are the states of one apply, in the order they were carried out: the
// main one, which has every member, and one for each set of members that was
// planned again against the outputs that stood then (pr-loop §7.4, §7.5). A
// member stands where the last state that has it says.
type Passes []*State

// Member is where a member stands, nil for one the apply does not have.
func (p Passes) Member(name string) *MemberState {
	for _, s := range slices.Backward(p) {
		if m := s.Members[name]; m != nil {
			return m
		}
	}
	return nil
}

// order is every member, as the main state has them.
func (p Passes) order() []string {
	if len(p) == 0 {
		return nil
	}
	return p[0].Order
}

// Members are all of them, in order.
func (p Passes) Members() []*MemberState {
	out := make([]*MemberState, 0, len(p.order()))
	for _, name := range p.order() {
		out = append(out, p.Member(name))
	}
	return out
}

// Held are the members that a next pass is to plan again, in order.
func (p Passes) Held() []string {
	var out []string
	for _, m := range p.Members() {
		if m.Status == Held {
			out = append(out, m.Member)
		}
	}
	return out
}

// Halted is why nothing more may start, "" while it may.
func (p Passes) Halted() string {
	for _, s := range p {
		if s.Halted != "" {
			return s.Halted
		}
	}
	return ""
}

// Complete reports that every member ended applied or without changes, so that
// the commit may be recorded as applied (soundness I10).
func (p Passes) Complete() bool {
	return len(p) > 0 && !slices.ContainsFunc(p.Members(), func(m *MemberState) bool { return !m.Status.ended() })
}

// Done reports that nothing runs and nothing more will start, and how the apply
// ended: failed if anything failed or its end is not known, else waiting if
// anything is held, else applied, or nothing when nothing changed. What a halted
// apply did not start waits.
func (p Passes) Done() (result Result, done bool) {
	result = ResultNothing
	halted := p.Halted() != ""
	for _, m := range p.Members() {
		switch {
		case m.Status == Running, m.Status == Pending && !halted:
			return "", false
		case m.Status.bad():
			result = ResultFailed
		case result == ResultFailed:
		case m.Status == Held || m.Status == Pending:
			result = ResultWaiting
		case m.Status == Applied && result == ResultNothing:
			result = ResultApplied
		}
	}
	return result, true
}

// FailHeld ends a held member that could not be planned again, and blocks what
// depends on it.
func (p Passes) FailHeld(member, message string) {
	if m := p.Member(member); m != nil && m.Status == Held {
		m.Status, m.Error, m.BlockedBy, m.Reads = Failed, message, "", nil
	}
	p.Spread()
}

// Spread blocks the held members of which a later pass failed what they depend
// on. The main state knows every dependency, and its order goes dependencies
// first, so one look reaches everything.
func (p Passes) Spread() {
	for _, name := range p.order() {
		m := p.Member(name)
		if m.Status != Held {
			continue
		}
		for _, b := range p[0].before(p[0].Members[name]) {
			if b = p.Member(b.Member); b.Status.bad() {
				m.Status, m.BlockedBy, m.Reads = Blocked, root(b), nil
				break
			}
		}
	}
}

// Dependents are those of the named members and everything that follows from one
// of them, in order.
func (p Passes) Dependents(members []string) []string {
	var out []string
	for _, name := range p.order() {
		follows := func(b *MemberState) bool { return slices.Contains(out, b.Member) }
		if slices.Contains(members, name) || slices.ContainsFunc(p[0].before(p[0].Members[name]), follows) {
			out = append(out, name)
		}
	}
	return out
}

// Events is everything that happened so far, in order. They are derived from the
// states alone, so a restart reports the same ones again and then goes on. over
// says that no pass follows, which the states can't know.
func (p Passes) Events(over bool) []Event {
	var events []Event
	for i, s := range p {
		if i == 0 {
			events = append(events, Event{Type: "run-start", Waves: s.Waves})
		}
		events = append(events, s.events()...)
	}
	if result, done := p.Done(); done && over && len(p) > 0 {
		status := map[Result]EventStatus{ResultFailed: EventFailed, ResultWaiting: Gated}[result]
		events = append(events, Event{Type: "run-done", Status: cmp.Or(status, OK)})
	}
	return events
}
