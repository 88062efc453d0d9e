// Package mutants breaks, one at a time, the lines that keep the promise, and
// expects the tests to notice (soundness, "Mutants that must die"; each clause of
// pr-loop §5.11). Nothing in the tree is changed: the toolchain reads the broken
// file in place of the real one.
package mutants

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mutant is one broken line.
type mutant struct {
	name     string
	file     string // from the root of the module
	old, new string // old stands in the file once
	// killers are the packages whose tests must fail, and only those named by run
	// where that is set.
	killers string
	run     string
	slow    bool // of the slow lane are those tests
}

const root = "../.."

func mutants() []mutant {
	return slices.Concat(gates, coverage, composed, grouped, decided, resumed, deployed, fences, drivers, played)
}

// A line that was rewritten takes the mutant of it along: that is said here, at once,
// and not by the slow lane.
func TestEveryMutantHasItsLine(t *testing.T) {
	t.Parallel()
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.text(t)
		})
	}
}

// text is the file with the line that is broken, which stands in it once.
func (m mutant) text(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		t.Fatalf("%q stands %d times in %s", m.old, n, m.file)
	}
	return string(text)
}
