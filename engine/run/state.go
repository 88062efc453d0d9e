// Package run is one apply as a state machine: which member may start, what a
// failure blocks, what a moved input holds back, and what a crash leaves
// unknown (pr-loop §7.3, §7.5; soundness I6, I10, I15). A State is plain data
// that survives a crash as JSON. The package runs nothing and reads no clock;
// its caller stores the state before a step starts and after it ends.
package run

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// Status is where one member stands.
type Status string

// The statuses. Pending and Running are open, the others final.
const (
	Pending   Status = "pending"
	Running   Status = "running"
	Applied   Status = "applied"
	NoChanges Status = "no-changes"
	Failed    Status = "failed"
	Held      Status = "held"    // an input moved, or it depends on a member that is held
	Blocked   Status = "blocked" // it depends on a member that failed
	Unknown   Status = "unknown" // it started and its end was not seen
)

// Final reports that a member in this status will not run any more.
func (s Status) Final() bool { return s != Pending && s != Running }

// ended reports that what depends on the member may start.
func (s Status) ended() bool { return s == Applied || s == NoChanges }

// bad reports that what depends on the member is blocked.
func (s Status) bad() bool { return s == Failed || s == Unknown || s == Blocked }

// State is one apply. Change it only through its methods.
type State struct {
	Commit string        `json:"commit"`
	Base   string        `json:"base"`
	Env    string        `json:"env"`
	Member string        `json:"member,omitempty"` // workspace member
	Digest digest.Digest `json:"digest"`           // of the document whose plans are applied
	Via    string        `json:"via"`              // merges, gate or nothing: under what it was allowed

	Waves     [][]string          `json:"waves"`     // component names, dependency order
	DependsOn map[string][]string `json:"dependsOn"` // component to the components of this run it reads or follows
	Order     []string            `json:"order"`     // members: by wave, then component, then step
	// Members by change-set member.
	Members map[string]*MemberState `json:"members"`
	// Halted is why nothing more may start, "" while it may.
	Halted string `json:"halted,omitempty"`
	// Seq counts what happened; see Events.
	Seq int `json:"seq"`
}

// MemberState is one member of an apply. The member is one step of its
// component.
type MemberState struct {
	Member    string `json:"member"`
	Component string `json:"component"`
	Phase     string `json:"phase"`
	Step      string `json:"step"` // capability, "terraform-apply"
	Wave      int    `json:"wave"` // 1-based
	// Group is what it is planned and applied with, as one; "" for nothing.
	Group  string `json:"group,omitempty"`
	Status Status `json:"status"`
	Error  string `json:"error,omitempty"` // for people
	// Moved: the step found that its target changed since the plan and applied
	// nothing.
	Moved bool `json:"moved,omitempty"`
	// BlockedBy is the component at the root of a block or hold; "" when the
	// member is held for its own inputs.
	BlockedBy string      `json:"blockedBy,omitempty"`
	Reads     []InputRead `json:"reads,omitempty"` // on a held member: the reads that moved
	Started   int         `json:"started,omitempty"`
	Ended     int         `json:"ended,omitempty"`
}

// Unit is one member to apply.
type Unit struct {
	Member    string `json:"member"`
	Component string `json:"component"`
	Phase     string `json:"phase"`
	Step      string `json:"step"`
	// Group names those that are planned and applied as one; "" for none. Each is the
	// only unit of its component, and all stand in one wave.
	Group string `json:"group,omitempty"`
}

// Config is what an apply is made of.
type Config struct {
	Commit, Base, Env, Member string
	Digest                    digest.Digest
	Via                       string
	Waves                     [][]string
	// DependsOn may name components outside the run; those count as satisfied.
	DependsOn map[string][]string
	// Units in step order within each component. Every component of Waves has
	// one at least.
	Units []Unit
}

// New is an apply of which nothing has started. It refuses a component that
// stands in two waves or has no member, a member named twice or of a component
// outside the waves, and a dependency that stands neither in an earlier wave nor in
// the same group.
func New(c Config) (State, error) {
	s := State{
		Commit: c.Commit, Base: c.Base, Env: c.Env, Member: c.Member, Digest: c.Digest, Via: c.Via,
		Waves: c.Waves, DependsOn: make(map[string][]string), Members: make(map[string]*MemberState),
	}
	wave := make(map[string]int)
	for i, components := range c.Waves {
		for _, component := range components {
			if wave[component] != 0 {
				return State{}, fmt.Errorf("component %q stands in the waves twice", component)
			}
			wave[component] = i + 1
		}
	}
	units := make(map[string][]Unit)
	for _, u := range c.Units {
		if wave[u.Component] == 0 {
			return State{}, fmt.Errorf("member %q belongs to %q, which is in no wave", u.Member, u.Component)
		}
		units[u.Component] = append(units[u.Component], u)
	}
	for i, components := range c.Waves {
		for _, component := range dependenciesFirst(components, c.DependsOn) {
			for _, dependency := range c.DependsOn[component] {
				switch at := wave[dependency]; {
				case at == 0:
					continue
				case at == i+1 && sameGroup(units[component], units[dependency]):
				case at > i:
					return State{}, fmt.Errorf("component %q depends on %q, which is not in an earlier wave", component, dependency)
				}
				s.DependsOn[component] = append(s.DependsOn[component], dependency)
			}
			if err := s.add(units[component], component, i+1); err != nil {
				return State{}, err
			}
		}
	}
	return s, nil
}

func (s *State) add(units []Unit, component string, wave int) error {
	if len(units) == 0 {
		return fmt.Errorf("component %q has no member to apply", component)
	}
	for _, u := range units {
		if s.Members[u.Member] != nil {
			return fmt.Errorf("member %q is to be applied twice", u.Member)
		}
		s.Order = append(s.Order, u.Member)
		s.Members[u.Member] = &MemberState{
			Member: u.Member, Component: component, Phase: u.Phase, Step: u.Step, Wave: wave, Group: u.Group, Status: Pending,
		}
	}
	return nil
}

// before are the members a member waits for: the earlier steps of its component,
// and every member of the components that one depends on.
func (s *State) before(m *MemberState) []*MemberState {
	var out []*MemberState
	earlier := true
	for _, name := range s.Order {
		other := s.Members[name]
		if other == m {
			earlier = false
		}
		if earlier && other.Component == m.Component || slices.Contains(s.DependsOn[m.Component], other.Component) {
			out = append(out, other)
		}
	}
	return out
}

// current is the first wave with an open member, 0 when all are final.
func (s *State) current() int {
	for _, name := range s.Order {
		if m := s.Members[name]; !m.Status.Final() {
			return m.Wave // Order goes wave by wave
		}
	}
	return 0
}

// Next are the members that may start now, in order: those of the current wave
// whose dependencies all ended well. A wave is current once every member of the
// waves before it is final.
func (s *State) Next() []string {
	if s.Halted != "" {
		return nil
	}
	var out []string
	wave := s.current()
	for _, name := range s.Order {
		m := s.Members[name]
		if m.Status != Pending || m.Wave != wave {
			continue
		}
		if s.ready(m) {
			out = append(out, name)
		}
	}
	return out
}

// Result is how an apply ended, in the words of its report.
type Result string

// The results.
const (
	ResultApplied Result = "applied"
	ResultFailed  Result = "failed"
	ResultWaiting Result = "waiting"
	ResultNothing Result = "nothing"
)

// Done is Passes.Done of this state alone.
func (s *State) Done() (result Result, done bool) { return Passes{s}.Done() }
