package usecase

import (
	"errors"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/cover"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/plans/terraform"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
	"github.com/chant-bot/chant/engine/run"
)

// PlanSet is what planning a selection came to: a document, and what an apply
// needs to carry exactly these plans out.
type PlanSet struct {
	// Selection has the waves that are run: each group stands in one.
	Selection graph.Selection `json:"selection"`
	// FanOut is the component-fan-out digest of what was selected, whatever was
	// planned together.
	FanOut   digest.Digest       `json:"fanOut"`
	Document *changeset.Document `json:"document"`
	// Sources is the hash of what each member was planned from (pr-loop §5.11).
	Sources map[string]string         `json:"sources"`
	Members map[string]*PlannedMember `json:"members"` // by change-set member
	// Units and DependsOn are what an apply runs, in order.
	Units     []run.Unit          `json:"units"`
	DependsOn map[string][]string `json:"dependsOn"`
	// Groups are planned, and applied, as one; Fallbacks say why others are not.
	Groups    []*GroupPlan      `json:"groups,omitempty"`
	Fallbacks []report.Fallback `json:"fallbacks,omitempty"`
	// Trees is the directory the plans ran in, "" where it was not kept.
	Trees string `json:"trees"`
}

// PlannedMember is one member of a PlanSet, JSON-serialisable so that an apply
// survives a restart.
type PlannedMember struct {
	Component string `json:"component"`
	Step      int    `json:"step"` // index of the step in the component
	// Group is the group it is planned in, "" for none: then Planned is applied with it.
	Group string `json:"group,omitempty"`
	// Planned is the zero value when the member failed to plan or is a hole.
	Planned engine.Planned `json:"planned"`
	// Reads are the upstream outputs the plan was made with, as hashes: what is
	// kept holds no output's value. Within are those that its group passes on.
	Reads   []run.InputRead `json:"reads"`
	Within  []run.InputRead `json:"within,omitempty"`
	Unknown []project.Read  `json:"unknown"` // reads without a value: the member is a hole
	// Done: an apply of this commit applied it before, with the same reads, so that
	// outputs that no plan leaves as they are do not apply it again.
	Done  bool   `json:"done,omitempty"`
	Error string `json:"error"`

	cause error // what Error says, where it was planned just now
}

// Side is the set as coverage compares it.
func (p *PlanSet) Side() cover.Side {
	side := cover.Side{Doc: p.Document, Sources: p.Sources, Code: map[string]terraform.RunsCode{}}
	for name, m := range p.Members {
		side.Code[name] = m.Planned.Code
	}
	return side
}

// Nothing tells which members have nothing to apply (decision 15).
func (p *PlanSet) Nothing() map[string]bool {
	out := map[string]bool{}
	for name, m := range p.Members {
		out[name] = cover.Nothing(p.Document, name, m.Planned.NoChanges || m.Done)
	}
	return out
}

// Shown is what a reviewer of this plan is shown beside the document.
func (p *PlanSet) Shown() Shown {
	side := p.Side()
	return Shown{Sources: side.Sources, Code: side.Code}
}

// NothingDue reports that every member is planned and has nothing to apply.
func (p *PlanSet) NothingDue() bool {
	for _, nothing := range p.Nothing() {
		if !nothing {
			return false
		}
	}
	return true
}

// open are the marks of groups that kept members from being planned.
func (p *PlanSet) open() []string {
	var marks []string
	for _, m := range p.Members {
		if o, is := errors.AsType[openGroupError](m.cause); is {
			marks = withNew(marks, []string{o.mark})
		}
	}
	slices.Sort(marks)
	return marks
}

// whyOpen says what has to be done about them, once for all members of each.
func (p *PlanSet) whyOpen() string {
	var said []string
	for _, u := range p.Units {
		if m := p.Members[u.Member]; m != nil {
			if _, is := errors.AsType[openGroupError](m.cause); is {
				said = withNew(said, []string{m.Error})
			}
		}
	}
	return strings.Join(said, "\n")
}

// holes are the members that read what has no value yet.
func (p *PlanSet) holes() []string {
	var out []string
	for name, m := range p.Members {
		if len(m.Unknown) > 0 {
			out = append(out, name)
		}
	}
	return out
}

// digestOf is the digest of the set of some members, which is what the gate of a
// round or a wave binds (decision 14).
func (p *PlanSet) digestOf(members []string) (digest.Digest, error) {
	return changeset.WaveDigest(slices.DeleteFunc(slices.Clone(p.Document.Members), func(m changeset.Member) bool {
		return !slices.Contains(members, m.Member)
	}))
}

// keep are the waves with some of their components alone. A wave keeps its number,
// so one may be empty.
func keep(waves [][]string, wanted func(component string) bool) [][]string {
	out := make([][]string, len(waves))
	for i, wave := range waves {
		out[i] = slices.DeleteFunc(slices.Clone(wave), func(name string) bool { return !wanted(name) })
	}
	return out
}

// only is the set of the named members alone, with a document of its own.
func (p *PlanSet) only(names []string) (*PlanSet, error) {
	if len(names) == len(p.Members) {
		return p, nil
	}
	doc, err := p.Document.Only(names...)
	if err != nil {
		return nil, err
	}
	set := &PlanSet{Document: doc, Sources: map[string]string{}, Members: map[string]*PlannedMember{}, DependsOn: map[string][]string{}, Trees: p.Trees, Groups: p.Groups}
	components := map[string]bool{}
	for _, u := range p.Units {
		if slices.Contains(names, u.Member) {
			set.Units = append(set.Units, u)
			set.Sources[u.Member], set.Members[u.Member] = p.Sources[u.Member], p.Members[u.Member]
			set.DependsOn[u.Component], components[u.Component] = p.DependsOn[u.Component], true
		}
	}
	set.Selection.Waves = keep(p.Selection.Waves, func(name string) bool { return components[name] })
	return set, nil
}
