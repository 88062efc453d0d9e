package report

import (
	"fmt"
	"slices"
)

// Later is a round, or a wave after the first, that decides about members beside
// what the apply itself was allowed under.
type Later struct {
	Name       string // "round 2", "wave 3"
	Gate       string
	Status     WaveStatus
	ApprovedBy []string // principals; empty while it waits
}

// LaterOf is the newest round that was asked for a member, else the gate of its
// wave; false where neither was asked.
func (r Report) LaterOf(m Member) (Later, bool) {
	for _, round := range slices.Backward(r.Rounds) {
		if slices.ContainsFunc(round.Members, func(of RoundMember) bool { return of.Member == m.Member }) {
			return Later{fmt.Sprintf("round %d", round.Round), round.Gate, round.Status, round.ApprovedBy}, true
		}
	}
	for _, w := range r.Waves {
		asked := w.Status == WaveWaiting || w.Via == ViaGate && w.Gate != r.Gate
		if asked && slices.Contains(w.Components, m.Component) {
			return Later{fmt.Sprintf("wave %d", w.Wave), w.Gate, w.Status, w.ApprovedBy}, true
		}
	}
	return Later{}, false
}

// In are the rows of a report whose component is among the named, as a wave has
// them.
func (r Report) In(components []string) []Member {
	var out []Member
	for _, m := range r.Members {
		if slices.Contains(components, m.Component) {
			out = append(out, m)
		}
	}
	return out
}

// Under says what let a wave apply, beside the people that approved it; "" for
// nothing yet.
func (w Wave) Under() string {
	switch w.Via {
	case ViaMerges:
		return "the merges' approvals"
	case ViaCoverage:
		return "the approved plan, which covers it"
	case ViaGate:
		return "its gate"
	}
	return ""
}
