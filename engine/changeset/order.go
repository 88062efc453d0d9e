package changeset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// sortEntries checks entries and orders them by member, address, deposed key
// and action (change-set §2.1). As none of these holds a NUL, that is the
// order of the one text they make joined by NULs.
func (c *content) sortEntries(entries []Entry) ([]Entry, error) {
	rank := make(map[string]int, len(c.members))
	for i, m := range c.members {
		rank[m.Member] = i
	}
	// Members are few and sorted already: entries are dealt to them, and only
	// those of one member are compared.
	dealt := make([][]placed, len(c.members))
	for i := range entries {
		e := &entries[i]
		m, known := rank[e.Member]
		if !known {
			return nil, fmt.Errorf("an entry at %s names member %s, which the change set does not have", e.Address, e.Member)
		}
		if err := checkEntry(e); err != nil {
			return nil, err
		}
		dealt[m] = append(dealt[m], placed{e.Address, e})
	}
	sorted := make([]Entry, 0, len(entries))
	for _, own := range dealt {
		if !slices.IsSortedFunc(own, comparePlaced) {
			slices.SortFunc(own, comparePlaced)
		}
		for i, p := range own {
			if i > 0 && samePlace(own[i-1].entry, p.entry) {
				return nil, fmt.Errorf("member %s has two entries at %s%s", p.entry.Member, p.address, deposedNote(p.entry.Deposed))
			}
			sorted = append(sorted, *p.entry)
			sorted[len(sorted)-1].Attributes = list(p.entry.Attributes)
		}
	}
	return sorted, nil
}

func checkEntry(e *Entry) error {
	if strings.Contains(e.Address, "\x00") || strings.Contains(e.Deposed, "\x00") {
		return fmt.Errorf("an entry of member %s has an address that holds a NUL: %q", e.Member, e.Address)
	}
	if !e.Action.known() {
		return fmt.Errorf("the entry at %s of member %s has action %q, which this version does not know", e.Address, e.Member, e.Action)
	}
	return nil
}

// placed is an entry with its address at hand: sorting a hundred thousand
// would otherwise spend its time fetching entries from memory.
type placed struct {
	address string
	entry   *Entry
}

// comparePlaced orders the entries of one member.
func comparePlaced(a, b placed) int {
	if c := digest.Compare(a.address, b.address); c != 0 {
		return c
	}
	return compareTexts(a.entry.Deposed, b.entry.Deposed, string(a.entry.Action), string(b.entry.Action))
}

func samePlace(a, b *Entry) bool {
	return a.Address == b.Address && a.Deposed == b.Deposed
}

func deposedNote(key string) string {
	if key == "" {
		return ""
	}
	return " (deposed " + key + ")"
}

// known reports whether a is one of the seven actions.
func (a Action) known() bool {
	switch a {
	case Create, Update, Replace, Delete, Read, NoOp, Forget:
		return true
	}
	return false
}
