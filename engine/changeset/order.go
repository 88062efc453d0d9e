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
	order := make([]*Entry, len(entries))
	for i := range entries {
		e := &entries[i]
		order[i] = e
		_, known := c.provisional[e.Member]
		switch {
		case !known:
			return nil, fmt.Errorf("an entry at %s names member %s, which the change set does not have", e.Address, e.Member)
		case strings.Contains(e.Address, "\x00") || strings.Contains(e.Deposed, "\x00"):
			return nil, fmt.Errorf("an entry of member %s has an address that holds a NUL: %q", e.Member, e.Address)
		case !e.Action.known():
			return nil, fmt.Errorf("the entry at %s of member %s has action %q, which this version does not know", e.Address, e.Member, e.Action)
		}
	}
	if !slices.IsSortedFunc(order, compareEntries) {
		slices.SortFunc(order, compareEntries)
	}
	sorted := make([]Entry, len(order))
	for i, e := range order {
		if i > 0 && samePlace(order[i-1], e) {
			return nil, fmt.Errorf("member %s has two entries at %s%s", e.Member, e.Address, deposedNote(e.Deposed))
		}
		sorted[i] = *e
		sorted[i].Attributes = list(e.Attributes)
	}
	return sorted, nil
}

func compareEntries(a, b *Entry) int {
	if c := digest.Compare(a.Member, b.Member); c != 0 {
		return c
	}
	if c := digest.Compare(a.Address, b.Address); c != 0 {
		return c
	}
	if c := digest.Compare(a.Deposed, b.Deposed); c != 0 {
		return c
	}
	return digest.Compare(string(a.Action), string(b.Action))
}

func samePlace(a, b *Entry) bool {
	return a.Address == b.Address && a.Deposed == b.Deposed && a.Member == b.Member
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
