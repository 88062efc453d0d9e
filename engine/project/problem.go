package project

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The codes of a Problem (pr-loop §4.4; component and config codes are ours).
const (
	CodeMissing          = "declaration-missing"
	CodeAmbiguous        = "declaration-ambiguous"
	CodeUnparseable      = "declaration-unparseable"
	CodeInvalid          = "declaration-invalid"
	CodePlacement        = "placement-invalid"
	CodeReaderTooOld     = "reader-too-old"
	CodeComponentInvalid = "component-invalid"
	CodeConfigInvalid    = "config-invalid"
	CodeProjectInvalid   = "project-invalid"
)

// ErrNoDeclaration: the checkout holds neither chant.workspace.json nor
// chant.workspace.jsonc (code declaration-missing).
var ErrNoDeclaration = errors.New("no chant.workspace.json found; add one and its components, as examples/two-roots of chant has them")

// Problem is one thing wrong with a declared file, for people: where it stands,
// what is wrong and what to do next.
type Problem struct {
	Code    string
	File    string
	Line    int    // 0 when the file as a whole is meant
	Field   string // path such as "ci.green.require[1]"; empty for the whole file
	Message string
	Next    string // what to do; may be empty
}

func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d", p.Line)
		}
		b.WriteString(": ")
	}
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	if p.Next != "" {
		b.WriteString("; " + p.Next)
	}
	return b.String()
}

// Problems is every problem found in one go, in file and line order. It is
// never empty when used as an error.
type Problems []Problem //nolint:errname // a list, each of which is one

// Error lists the problems one a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Has tells whether a problem has this code.
func (ps Problems) Has(code string) bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Code == code })
}

// MaxProblems bounds a list of problems: a hostile file must not cost more than
// the first of them do. Collectors stop there.
const MaxProblems = 100

// Full tells whether no more problems need to be collected.
func (ps Problems) Full() bool { return len(ps) >= MaxProblems }

// suggest is closest while the list is short; comparing words costs the most.
func (ps Problems) suggest(word string, known []string) string {
	if ps.Full() {
		return ""
	}
	return closest(word, known)
}

// Err sorts the problems and returns them as an error, or nil when there are
// none.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return ps
}
