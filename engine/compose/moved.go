package compose

import (
	"strings"

	"github.com/chant-bot/chant/engine/report"
)

// Moved are the outputs that are read and whose value does not stand once everything
// planned is applied: those of the input, which have none now, those that the plan of
// what makes them moves, and all of a component that is a hole for one of them itself.
// moves are the outputs, or parts of them, that the plan of each component moves: dot
// paths. What is read within a group moves with it. Compose again with them, and what
// reads one from outside its group is a hole (pr-loop §8.1, decision 8).
func (c Composition) Moved(in Input, moves map[string][]string) (map[report.UnknownInput]bool, error) {
	g, err := newGrouping(in)
	if err != nil {
		return nil, err
	}
	group := map[string]string{}
	for _, each := range c.Groups {
		for _, name := range each.Members {
			group[name] = each.ID
		}
	}
	moved, hole := map[report.UnknownInput]bool{}, map[string]bool{}
	for _, reader := range g.components { // each after those it reads
		for _, read := range reader.Reads() {
			_, selected := g.number[read.Component]
			if read.Step < 0 || selected && group[reader.Name] != "" && group[reader.Name] == group[read.Component] {
				continue
			}
			input := report.UnknownInput{From: read.Component, Output: read.Output}
			if in.Unknown[input] || hole[read.Component] || movesOutput(moves[read.Component], read.Output) {
				moved[input], hole[reader.Name] = true, true
			}
		}
	}
	return moved, nil
}

// movesOutput tells whether what is read is among what moves, a part of it, or the
// whole of which a part moves.
func movesOutput(moves []string, read string) bool {
	for _, m := range moves {
		if m == read || strings.HasPrefix(m, read+".") || strings.HasPrefix(read, m+".") {
			return true
		}
	}
	return false
}
