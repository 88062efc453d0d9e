// Package changeset is the change-set document: the one typed form every
// planner's output takes, its digests, and their verification (change-set §2).
// It reads no planner's own format and does no I/O.
package changeset

import (
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// Schema is the $schema of every document, and Contract its version. Within a
// version fields are only added.
const (
	Schema   = "https://intentius.io/chant/schemas/workspace/change-set/v1/change-set.schema.json"
	Contract = 1
)

// Document is a composed change set. A gate over the whole run binds Digest,
// which covers members, entries and side effects but not the summary.
type Document struct {
	Schema      string        `json:"$schema"`
	Contract    int           `json:"contract"`
	Chant       string        `json:"chant,omitempty"` // version that composed it
	Digest      digest.Digest `json:"digest"`
	Members     []Member      `json:"members"`
	Entries     []Entry       `json:"entries"`
	SideEffects []SideEffect  `json:"sideEffects,omitempty"`
	Summary     Summary       `json:"summary"`
	Inexact     []Inexact     `json:"inexact,omitempty"`
}

// Status tells whether a member planned.
type Status string

// The two statuses of a member.
const (
	Planned Status = "planned"
	Failed  Status = "failed"
)

// Member is one planned unit: a workspace member or a terraform root.
type Member struct {
	Member  string `json:"member"`
	Lexicon string `json:"lexicon"`
	Planner string `json:"planner"` // terraform, tofu, choudoufu, chant or warden
	Scope   string `json:"scope,omitempty"`
	Status  Status `json:"status"`
	Error   string `json:"error,omitempty"`
	// PlanDigest is what a gate on this member alone binds; null when it has
	// no plan.
	PlanDigest *digest.Digest `json:"planDigest"`
	// Provisional marks a preview planned before what it reads applied. It is
	// in no digest, so approving the document never approves it.
	Provisional  bool   `json:"provisional,omitempty"`
	NativeDigest string `json:"nativeDigest,omitempty"`
	Holes        []Hole `json:"holes"`
}

// Hole is something the planner could not read or decide. The entries say
// nothing about its address.
type Hole struct {
	Address string `json:"address"`
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason"`
	// Extra are fields this version does not know, or known ones left empty
	// in an odd way; they are hashed as they stand.
	Extra map[string]digest.Value `json:"-"`
}

// InputHole is the Type of a hole that stands for a read whose value is not known yet.
const InputHole = "input"

// ReadsUnknown tells that the member is such a hole itself, or has one: nothing of it is
// covered by an approval of the document (pr-loop §8.1).
func (m Member) ReadsUnknown() bool {
	return slices.ContainsFunc(m.Holes, func(h Hole) bool { return h.Type == InputHole })
}

// Entry is one resource change. Address and Deposed identify it in its member.
type Entry struct {
	Member     string       `json:"member"`
	Lexicon    string       `json:"lexicon"`
	Planner    string       `json:"planner"`
	Address    string       `json:"address"`
	Type       string       `json:"type"`
	Name       string       `json:"name,omitempty"`
	Index      digest.Value `json:"index,omitzero"` // string or integer
	Module     string       `json:"module,omitempty"`
	Deposed    string       `json:"deposed,omitempty"`
	ID         string       `json:"id,omitempty"`
	Action     Action       `json:"action"`
	Importing  bool         `json:"importing,omitempty"`
	Disruption string       `json:"disruption,omitempty"` // in-place, rolling, replace, destroy or unknown
	Region     string       `json:"region,omitempty"`
	Scope      string       `json:"scope,omitempty"`
	Attributes []Attribute  `json:"attributes"`

	Extra map[string]digest.Value `json:"-"` // as in Hole
}

// Action is what happens to a resource.
type Action string

// The actions, in the order the summary counts them.
const (
	Create  Action = "create"
	Update  Action = "update"
	Replace Action = "replace"
	Delete  Action = "delete"
	Read    Action = "read"
	NoOp    Action = "no-op"
	Forget  Action = "forget"
)

// Attribute is a top-level attribute the change writes. Unknown stands for
// After when it is known only after apply; Sensitive for both values.
type Attribute struct {
	Path              string       `json:"path"`
	Before            digest.Value `json:"before,omitzero"`
	After             digest.Value `json:"after,omitzero"`
	Unknown           bool         `json:"unknown,omitempty"`
	Sensitive         bool         `json:"sensitive,omitempty"`
	ForcesReplacement bool         `json:"forcesReplacement,omitempty"`

	Extra map[string]digest.Value `json:"-"` // as in Hole
}

// SideEffect is an action an apply runs beside the changes. In a part Member
// is empty.
type SideEffect struct {
	Member  string `json:"member,omitempty"`
	Address string `json:"address"`
	Type    string `json:"type"`
	Trigger string `json:"trigger,omitempty"`
	Event   string `json:"event,omitempty"`

	Extra map[string]digest.Value `json:"-"` // as in Hole
}

// Inexact is a number whose exact value its canonical text, and so every
// digest, does not hold. Two plans of equal digest are equal only if these
// are too. It is in no digest.
type Inexact struct {
	Member  string `json:"member"`
	Address string `json:"address"`
	Deposed string `json:"deposed,omitempty"`
	Path    string `json:"path"`
	Before  string `json:"before,omitempty"` // exact decimal text
	After   string `json:"after,omitempty"`
	// Sensitive: the values are withheld, so an equal digest alone never
	// covers the member.
	Sensitive bool `json:"sensitive,omitempty"`
}

// Part is one adapter's output: a member and its changes.
type Part struct {
	Member      Member       `json:"member"`
	Entries     []Entry      `json:"entries"`
	SideEffects []SideEffect `json:"sideEffects,omitempty"`
	Inexact     []Inexact    `json:"inexact,omitempty"`
}

// Member is the member of that name.
func (d *Document) Member(name string) (Member, bool) {
	for i := range d.Members {
		if d.Members[i].Member == name {
			return d.Members[i], true
		}
	}
	return Member{}, false
}

// EntriesOf are the entries of one member, in document order.
func (d *Document) EntriesOf(member string) []Entry {
	return filter(d.Entries, func(e *Entry) bool { return e.Member == member })
}

// SideEffectsOf are the side effects of one member, in document order.
func (d *Document) SideEffectsOf(member string) []SideEffect {
	return filter(d.SideEffects, func(s *SideEffect) bool { return s.Member == member })
}

// InexactOf are the inexact numbers of one member, in document order.
func (d *Document) InexactOf(member string) []Inexact {
	return filter(d.Inexact, func(i *Inexact) bool { return i.Member == member })
}

// filter copies only what it keeps: an entry is large, and a document is gone
// through once for each member.
func filter[T any](all []T, keep func(*T) bool) []T {
	var kept []T
	for i := range all {
		if keep(&all[i]) {
			kept = append(kept, all[i])
		}
	}
	return kept
}
