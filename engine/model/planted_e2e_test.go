//go:build e2e

package model

import (
	"testing"

	"pgregory.net/rapid"
)

// A model that can't fail proves nothing: with a fault planted in the runners, each
// invariant that is checked is found broken.
func TestEachInvariantIsBrokenByAPlantedFault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ planted, breaks string }{
		{"coverage is not asked", "I1"},
		{"approvals are not read again", "I1"},
		{"a record is believed", "I1"},
		{"two at once", "I4"},
		{"no fence", "I5"},
		{"an attempt of another run counts", "decision 18"},
		{"tags are not looked at", "decision 5"},
		{"unknown starts again", "I6"},
		{"another source", "I7, source"},
		{"inputs are not read again", "I7, inputs"},
		{"recorded early", "I10"},
		{"a state stays in its journal", "I12"},
		{"nobody is told what waits", "I15"},
		{"a round is spared", "§7.5"},
		{"an earlier round is forgotten", "§7.5, before"},
	} {
		t.Run(c.breaks+" by "+c.planted, func(t *testing.T) {
			t.Parallel()
			const plays = 20_000
			for seed := range plays {
				if rapid.Custom(func(t *rapid.T) string { return breaks(t, c.planted) }).Example(seed) == c.breaks {
					return
				}
			}
			t.Errorf("in %d plays nothing broke %s", plays, c.breaks)
		})
	}
}

// breaks is the invariant that one play breaks, "" for none.
func breaks(t *rapid.T, planted string) (broken string) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case promise:
			broken = string(p)
		default:
			panic(p)
		}
	}()
	play(t, planted)
	return ""
}
