package changeset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Compose joins parts into one document (change-set §2.1). It refuses a member
// named twice, provisional or not, an entry that names another member than its
// part's, and two entries of a member with one address and deposed key. No
// part at all is legal. chantVersion may be empty.
func Compose(parts []Part, chantVersion string) (*Document, error) {
	total := 0
	for i := range parts {
		total += len(parts[i].Entries)
	}
	d := &Document{Schema: Schema, Contract: Contract, Chant: chantVersion, Entries: make([]Entry, 0, total)}
	for i := range parts {
		if err := d.add(&parts[i]); err != nil {
			return nil, err
		}
	}
	c, err := contentOf(d.Members, d.Entries, d.SideEffects)
	if err != nil {
		return nil, err
	}
	if d.Digest, err = c.digest(); err != nil {
		return nil, fmt.Errorf("composing a change set: %w", err)
	}
	d.Members, d.Entries, d.SideEffects = c.members, c.entries, c.sideEffects
	slices.SortFunc(d.Inexact, compareInexact)
	d.Summary = summarise(d.Members, d.Entries)
	return d, nil
}

// add appends one part, with its member's name in everything it holds.
func (d *Document) add(p *Part) error {
	name := p.Member.Member
	member := p.Member
	member.Holes = list(member.Holes)
	d.Members = append(d.Members, member)
	for i := range p.Entries {
		if e := &p.Entries[i]; e.Member != name {
			return fmt.Errorf("an entry at %s names member %s, inside member %s", e.Address, e.Member, name)
		}
	}
	d.Entries = append(d.Entries, p.Entries...)
	for _, s := range p.SideEffects {
		if s.Member != "" && s.Member != name {
			return fmt.Errorf("a side effect at %s names member %s, inside member %s", s.Address, s.Member, name)
		}
		s.Member = name
		d.SideEffects = append(d.SideEffects, s)
	}
	for _, n := range p.Inexact {
		if n.Member != "" && n.Member != name {
			return fmt.Errorf("an inexact number at %s names member %s, inside member %s", n.Address, n.Member, name)
		}
		n.Member = name
		d.Inexact = append(d.Inexact, n)
	}
	return nil
}

// Verify recomputes the document digest from members, entries and side effects
// and compares it as text. It is false for a document that Compose would
// refuse.
func (d *Document) Verify() bool {
	c, err := contentOf(d.Members, d.Entries, d.SideEffects)
	if err != nil {
		return false
	}
	computed, err := c.digest()
	return err == nil && computed == d.Digest
}

// Only is the document of the named members alone, with a digest of its own,
// as a wave shows it. A name the document does not have is an error.
func (d *Document) Only(names ...string) (*Document, error) {
	at := make(map[string]int, len(names))
	parts := make([]Part, len(names))
	for i, name := range names {
		m, ok := d.Member(name)
		if !ok {
			return nil, fmt.Errorf("the change set has no member %s", name)
		}
		at[name], parts[i].Member = i, m
	}
	for i := range d.Entries {
		if p, ok := at[d.Entries[i].Member]; ok {
			parts[p].Entries = append(parts[p].Entries, d.Entries[i])
		}
	}
	for _, s := range d.SideEffects {
		if p, ok := at[s.Member]; ok {
			parts[p].SideEffects = append(parts[p].SideEffects, s)
		}
	}
	for _, n := range d.Inexact {
		if p, ok := at[n.Member]; ok {
			parts[p].Inexact = append(parts[p].Inexact, n)
		}
	}
	return Compose(parts, d.Chant)
}

// content is what a document digest covers, checked and sorted.
type content struct {
	members     []Member
	entries     []Entry
	sideEffects []SideEffect
	provisional map[string]bool
}

func contentOf(members []Member, entries []Entry, sideEffects []SideEffect) (*content, error) {
	c := &content{members: sortedMembers(members), provisional: make(map[string]bool, len(members))}
	for i, m := range c.members {
		switch {
		case m.Member == "":
			return nil, errors.New("the change set has a member without a name")
		case strings.Contains(m.Member, "\x00"):
			return nil, fmt.Errorf("member name %q holds a NUL", m.Member)
		case m.Status != Planned && m.Status != Failed:
			return nil, fmt.Errorf("member %s has status %q, want planned or failed", m.Member, m.Status)
		case i > 0 && c.members[i-1].Member == m.Member:
			return nil, fmt.Errorf("the change set names member %s twice", m.Member)
		}
		c.provisional[m.Member] = m.Provisional
	}
	var err error
	if c.entries, err = c.sortEntries(entries); err != nil {
		return nil, err
	}
	for _, s := range sideEffects {
		if _, ok := c.provisional[s.Member]; !ok {
			return nil, fmt.Errorf("a side effect at %s names member %s, which the change set does not have", s.Address, s.Member)
		}
	}
	c.sideEffects = slices.Clone(sideEffects)
	slices.SortStableFunc(c.sideEffects, compareSideEffects)
	return c, nil
}

func sortedMembers(members []Member) []Member {
	sorted := list(slices.Clone(members))
	slices.SortStableFunc(sorted, func(a, b Member) int { return digest.Compare(a.Member, b.Member) })
	return sorted
}

func compareSideEffects(a, b SideEffect) int {
	return compareTexts(a.Member, b.Member, a.Address, b.Address, a.Trigger, b.Trigger, a.Event, b.Event)
}

func compareInexact(a, b Inexact) int {
	return compareTexts(a.Member, b.Member, a.Address, b.Address, a.Deposed, b.Deposed, a.Path, b.Path)
}

// compareTexts compares pair after pair until one differs.
func compareTexts(pairs ...string) int {
	for ; len(pairs) > 1; pairs = pairs[2:] {
		if c := digest.Compare(pairs[0], pairs[1]); c != 0 {
			return c
		}
	}
	return 0
}
