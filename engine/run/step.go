package run

import (
	"fmt"
	"slices"
)

// Outcome is how a step ended.
type Outcome struct {
	NoChanges bool // nothing was to apply; Error is empty
	Moved     bool // the target changed since the plan and nothing was applied
	Unknown   bool // the end was not seen
	// NotReached: the apply of its group ended before anything of it was begun. It is
	// planned again, without what failed.
	NotReached bool
	Error      string // for people; empty when it ended well
}

// Start marks a member, and what it is applied with, as running. Store the state after it and before the step
// starts, so that a crash in between is seen. It refuses a member that Next does
// not offer: a step is never started twice (soundness I6).
func (s *State) Start(member string) error {
	if !slices.Contains(s.Next(), member) {
		return fmt.Errorf("member %q may not start: %s", member, s.why(member))
	}
	for _, m := range s.group(s.Members[member]) {
		m.Status, m.Started = Running, s.tick()
	}
	return nil
}

func (s *State) why(member string) string {
	m := s.Members[member]
	switch {
	case m == nil:
		return "it is not part of this apply"
	case s.Halted != "":
		return s.Halted
	case m.Status != Pending:
		return "it is " + string(m.Status)
	}
	return "what it depends on, or an earlier wave, has not ended"
}

// Settle records how a running member ended, and blocks what depends on it when
// it did not end well.
func (s *State) Settle(member string, o Outcome) error {
	m := s.Members[member]
	if m == nil || m.Status != Running {
		return fmt.Errorf("member %q is not running", member)
	}
	m.Error, m.Moved, m.Ended = o.Error, o.Moved, s.tick()
	switch {
	case o.Unknown:
		m.Status = Unknown
	case o.NotReached:
		m.Status = Held
	case o.Error != "" || o.Moved:
		m.Status = Failed
	case o.NoChanges:
		m.Status = NoChanges
	default:
		m.Status = Applied
	}
	if m.Status.bad() || m.Status == Held {
		s.spread()
	}
	return nil
}

// Hold keeps back a member whose inputs moved, and with it what depends on it
// (pr-loop §7.5). Only a member that may start now can be held.
func (s *State) Hold(member string, moved []InputRead) error {
	if !slices.Contains(s.Next(), member) {
		return fmt.Errorf("member %q cannot be held: %s", member, s.why(member))
	}
	m := s.Members[member]
	m.Status, m.Reads, m.Ended = Held, moved, s.tick()
	s.spread()
	return nil
}

// HoldBack keeps back a member before anything of this state started, and with it
// what depends on it: a pass of its own plans it again (pr-loop §7.4, §7.5). reads
// are the ones that moved, where that is why.
func (s *State) HoldBack(member string, reads []InputRead) error {
	m := s.Members[member]
	if m == nil || m.Status != Pending && m.Status != Held {
		return fmt.Errorf("member %q cannot be held back: %s", member, s.why(member))
	}
	m.Status, m.Reads = Held, reads
	s.spread()
	return nil
}

// Halt lets nothing more start: the approval no longer stands, the lease cannot
// be renewed, or another run took over. What runs may end.
func (s *State) Halt(reason string) {
	if s.Halted == "" {
		s.Halted = reason
	}
}

// NotStarted takes back the start of a member, and of what it was to be applied with,
// of which it is known that its step never began, such as when the process that was about to begin it died:
// it may start again.
func (s *State) NotStarted(member string) error {
	m := s.Members[member]
	if m == nil || m.Status != Running {
		return fmt.Errorf("member %q is not running", member)
	}
	for _, mate := range s.group(m) {
		if mate.Status == Running {
			mate.Status, mate.Started = Pending, 0
		}
	}
	return nil
}

// Recover is called once after a crash, after every running member whose end a
// supervisor saw was settled: the rest may have ended in any way, so they are
// unknown and not repeated from their plan (soundness I6). A fresh plan decides.
func (s *State) Recover() {
	for _, name := range s.Order {
		m := s.Members[name]
		if m.Status != Running {
			continue
		}
		m.Status, m.Ended = Unknown, s.tick()
		m.Error = "it started, and how it ended was not seen; it is planned again before anything else is done"
	}
	s.spread()
}

// spread gives blocks and holds to what depends on them, and holds what was to be
// applied with them. A block wins over a hold, since a held member whose other
// dependency failed cannot be planned in a round. Order goes dependencies first, so
// one pass reaches everything, but for a group: that is held as far as its first
// member, and with it what follows that one.
func (s *State) spread() {
	for again := true; again; {
		again = false
		for _, name := range s.Order {
			again = s.spreadTo(s.Members[name]) || again
		}
	}
}

func (s *State) spreadTo(m *MemberState) (moved bool) {
	if m.Status != Pending && m.Status != Held {
		return false
	}
	before := s.before(m)
	if i := slices.IndexFunc(before, func(b *MemberState) bool { return b.Status.bad() }); i >= 0 {
		m.Status, m.BlockedBy, m.Reads = Blocked, root(before[i]), nil
		m.end(s)
		return true
	}
	cause := s.broken(m)
	if i := slices.IndexFunc(before, func(b *MemberState) bool { return b.Status == Held }); i >= 0 {
		cause = before[i]
	}
	if m.Status == Held || cause == nil {
		return false
	}
	m.Status, m.BlockedBy = Held, root(cause)
	if cause.Ended > 0 { // else nothing happened yet
		m.end(s)
	}
	return true
}

func (m *MemberState) end(s *State) {
	if m.Ended == 0 {
		m.Ended = s.tick()
	}
}

// root is the component that a block or hold is blamed on.
func root(m *MemberState) string {
	if m.BlockedBy != "" {
		return m.BlockedBy
	}
	return m.Component
}

func (s *State) tick() int {
	s.Seq++
	return s.Seq
}
