// Package changes turns the entries of a change set into the lines people read:
// a title for each change, the attributes it writes as line differences, and
// what became of a plan since an earlier one. Values under secret names and
// known token formats are hidden. It formats for no medium: its lines are
// foreign text that the note and the pages make inert.
package changes

import (
	"fmt"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
)

// Symbol is the mark of an action as plans print it.
func Symbol(e changeset.Entry) string {
	switch e.Action {
	case changeset.Create:
		return "+"
	case changeset.Update:
		return "~"
	case changeset.Replace:
		return "-/+"
	case changeset.Delete:
		return "-"
	case changeset.Read:
		return "<="
	case changeset.Forget:
		return "forget"
	}
	if e.Importing {
		return "import"
	}
	return " "
}

// Changing reports whether an entry does something: everything but a plain
// no-op.
func Changing(e changeset.Entry) bool {
	return e.Action != changeset.NoOp || e.Importing
}

// Name is the address, with the deposed key where there is one.
func Name(e changeset.Entry) string {
	if e.Deposed == "" {
		return e.Address
	}
	return e.Address + " (deposed " + e.Deposed + ")"
}

// Title is one line for an entry: symbol, name, and what it writes.
func Title(e changeset.Entry) string {
	var b strings.Builder
	b.WriteString(Symbol(e) + " " + Name(e))
	if e.Importing && e.Action != changeset.NoOp {
		b.WriteString(" (import)")
	}
	if e.Action != changeset.Update && e.Action != changeset.Replace {
		return b.String()
	}
	const shown = 12
	for i, a := range e.Attributes {
		switch i {
		case shown:
			fmt.Fprintf(&b, " and %d more", len(e.Attributes)-shown)
			return b.String()
		case 0:
			b.WriteString(": ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(a.Path)
		if a.ForcesReplacement {
			b.WriteString(" (forces replacement)")
		}
	}
	return b.String()
}

// Forcing lists the attributes that force a replacement.
func Forcing(e changeset.Entry) []string {
	var paths []string
	for _, a := range e.Attributes {
		if a.ForcesReplacement {
			paths = append(paths, a.Path)
		}
	}
	return paths
}

// Totals counts the entries of a document by what they do.
type Totals struct {
	Create, Update, Replace, Delete, Forget, Import int
}

// Count adds up a document; nil counts as empty. An import that also changes
// something counts under both.
func Count(d *changeset.Document) Totals {
	var t Totals
	if d == nil {
		return t
	}
	for _, e := range d.Entries {
		if e.Importing {
			t.Import++
		}
		switch e.Action {
		case changeset.Create:
			t.Create++
		case changeset.Update:
			t.Update++
		case changeset.Replace:
			t.Replace++
		case changeset.Delete:
			t.Delete++
		case changeset.Forget:
			t.Forget++
		}
	}
	return t
}
