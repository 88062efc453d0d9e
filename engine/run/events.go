package run

import (
	"cmp"
	"slices"
)

// EventStatus is a word of the progress events.
type EventStatus string

// The words of pr-loop §7.3. A step that runs is Running.
const (
	OK           EventStatus = "ok"
	EventFailed  EventStatus = "failed"
	Gated        EventStatus = "gated"
	EventRunning EventStatus = "running"
)

// Event is one progress event, one JSON object per line (pr-loop §7.3).
type Event struct {
	Type  string     `json:"type"`
	Waves [][]string `json:"waves,omitempty"`
	Wave  int        `json:"wave,omitempty"` // 1-based
	// Components of the wave that starts.
	Components []string    `json:"components,omitempty"`
	Component  string      `json:"component,omitempty"`
	Phase      string      `json:"phase,omitempty"`
	Step       string      `json:"step,omitempty"`
	Member     string      `json:"member,omitempty"` // ours: which member the step applies
	Status     EventStatus `json:"status,omitempty"`
	BlockedBy  string      `json:"blockedBy,omitempty"` // ours: why a component did not run
	Error      string      `json:"error,omitempty"`
}

// events is what happened in this state, in order, without the start and the end
// of the run.
func (s *State) events() []Event {
	var events []Event
	waves, components := s.spans()
	for _, moment := range s.moments() {
		m := s.Members[moment.member]
		wave, component := waves[m.Wave], components[m.Component]
		if moment.at == wave.first {
			events = append(events, Event{Type: "wave-start", Wave: m.Wave, Components: s.Waves[m.Wave-1]})
		}
		if moment.at == m.Started {
			events = append(events, s.startEvents(m, component, moment.at)...)
		} else {
			events = append(events, s.endEvents(m, component, moment.at)...)
		}
		if moment.at == wave.last && wave.first > 0 {
			events = append(events, Event{Type: "wave-done", Wave: m.Wave, Status: wave.status})
		}
	}
	return events
}

func (s *State) startEvents(m *MemberState, component *span, at int) []Event {
	var out []Event
	if at == component.first {
		out = append(out, Event{Type: "component-start", Wave: m.Wave, Component: m.Component})
	}
	if at == s.phase(m).first {
		out = append(out, Event{Type: "phase-start", Component: m.Component, Phase: m.Phase})
	}
	return append(out, Event{Type: "step", Component: m.Component, Phase: m.Phase, Step: m.Step, Member: m.Member, Status: EventRunning})
}

func (s *State) endEvents(m *MemberState, component *span, at int) []Event {
	var out []Event
	if m.Started > 0 {
		out = append(out, Event{
			Type: "step", Component: m.Component, Phase: m.Phase, Step: m.Step, Member: m.Member,
			Status: eventStatus(m.Status), Error: m.Error,
		})
		if phase := s.phase(m); at == phase.last {
			out = append(out, Event{Type: "phase-done", Component: m.Component, Phase: m.Phase, Status: phase.status})
		}
	}
	if at == component.last {
		out = append(out, Event{
			Type: "component-done", Wave: m.Wave, Component: m.Component, Status: component.status, BlockedBy: component.blockedBy,
		})
	}
	return out
}

type moment struct {
	at     int
	member string
}

func (s *State) moments() []moment {
	var out []moment
	for _, name := range s.Order {
		m := s.Members[name]
		if m.Started > 0 {
			out = append(out, moment{m.Started, name})
		}
		if m.Ended > 0 {
			out = append(out, moment{m.Ended, name})
		}
	}
	slices.SortFunc(out, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	return out
}

// span is when the first part of something started and, once every part is
// final, when the last one ended. A part that was blocked or held never started.
type span struct {
	first, last int
	open        bool
	status      EventStatus
	blockedBy   string
}

func (x *span) take(m *MemberState) {
	if m.Started > 0 && (x.first == 0 || m.Started < x.first) {
		x.first = m.Started
	}
	x.open = x.open || !m.Status.Final()
	x.last = max(x.last, m.Ended)
	x.status = worse(x.status, eventStatus(m.Status))
	if x.blockedBy == "" && m.BlockedBy != m.Component {
		x.blockedBy = m.BlockedBy
	}
}

func (s *State) spans() (map[int]*span, map[string]*span) {
	waves, components := make(map[int]*span), make(map[string]*span)
	for _, name := range s.Order {
		m := s.Members[name]
		if waves[m.Wave] == nil {
			waves[m.Wave] = &span{}
		}
		if components[m.Component] == nil {
			components[m.Component] = &span{}
		}
		waves[m.Wave].take(m)
		components[m.Component].take(m)
	}
	for _, x := range waves {
		x.close()
	}
	for _, x := range components {
		x.close()
	}
	return waves, components
}

// close drops the end of what is still open.
func (x *span) close() {
	if x.open {
		x.last = 0
	}
}

// phase is the span of the started members of a member's phase.
func (s *State) phase(m *MemberState) *span {
	x := &span{}
	for _, name := range s.Order {
		other := s.Members[name]
		if other.Component == m.Component && other.Phase == m.Phase && other.Started > 0 {
			x.take(other)
		}
	}
	x.close()
	return x
}

func eventStatus(s Status) EventStatus {
	switch s {
	case Applied, NoChanges:
		return OK
	case Failed, Unknown, Blocked:
		return EventFailed
	case Held:
		return Gated
	}
	return EventRunning
}

func worse(a, b EventStatus) EventStatus {
	order := []EventStatus{"", OK, EventRunning, Gated, EventFailed}
	if slices.Index(order, b) > slices.Index(order, a) {
		return b
	}
	return a
}
