// Package pullenv decides about the environments that pull requests have of their own
// (components decision 6): what they are called, which states one of them has, and in
// which order these end. It decides on lines of the ledger; whoever applies and
// destroys writes them.
package pullenv

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Name is the environment of a pull request; it names the workspace of each of its
// states too.
func Name(number int) string { return fmt.Sprintf("pr-%d", number) }

// Path is the file on the ledger that keeps the states of a pull request's
// environment, under a ledger prefix.
func Path(prefix string, number int) string { return prefix + "_pull-envs/" + Name(number) + ".jsonl" }

// Entry is one line: from when it was written the state may hold what the merge of
// Head into Base makes, or, when Ended, nothing.
type Entry struct {
	Component, Root string
	// State names where the state is, so that a root whose backend changed has two.
	State      string
	Head, Base string // commits; what ends a state has to be made from the same
	// DependsOn are the components that this one follows, which stay as long as it does,
	// also where its commits are gone.
	DependsOn []string
	Timestamp string // UTC with milliseconds
	Ended     bool
}

// Line is the entry as one line of the ledger, without its line end.
func (e Entry) Line() []byte {
	fields := map[string]digest.Value{"version": digest.IntOf(1)}
	for name, text := range e.texts() {
		fields[name] = digest.StringOf(*text)
	}
	if len(e.DependsOn) > 0 {
		names := make([]digest.Value, len(e.DependsOn))
		for i, name := range e.DependsOn {
			names[i] = digest.StringOf(name)
		}
		fields["dependsOn"] = digest.ArrayOf(names...)
	}
	if e.Ended {
		fields["ended"] = digest.BoolOf(true)
	}
	line, _ := digest.Canonical(digest.ObjectOf(fields)) // texts and a small number never fail
	return line
}

func (e *Entry) texts() map[string]*string {
	return map[string]*string{
		"component": &e.Component, "root": &e.Root, "state": &e.State,
		"head": &e.Head, "base": &e.Base, "timestamp": &e.Timestamp,
	}
}

// Parse reads the lines of an environment and counts those it does not understand:
// they may name a state that still holds something.
func Parse(data []byte) (entries []Entry, skipped int) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if e, ok := parseLine(line); ok {
			entries = append(entries, e)
		} else {
			skipped++
		}
	}
	return entries, skipped
}

func parseLine(line []byte) (Entry, bool) {
	v, err := digest.Decode(line)
	if err != nil {
		return Entry{}, false
	}
	var e Entry
	for name, text := range e.texts() {
		var ok bool
		if *text, ok = v.Get(name).Text(); !ok || *text == "" {
			return Entry{}, false
		}
	}
	names := v.Get("dependsOn")
	for i := range names.Len() {
		name, ok := names.At(i).Text()
		if !ok {
			return Entry{}, false
		}
		e.DependsOn = append(e.DependsOn, name)
	}
	e.Ended, _ = v.Get("ended").Bool()
	version, ok := v.Get("version").NumberText()
	return e, ok && version == "1"
}

// Standing are the states that may hold something, each with its latest entry, by
// component, root and state.
func Standing(entries []Entry) []Entry {
	latest := map[string]Entry{}
	for _, e := range entries {
		latest[e.State] = e
	}
	maps.DeleteFunc(latest, func(_ string, e Entry) bool { return e.Ended })
	standing := slices.Collect(maps.Values(latest))
	slices.SortFunc(standing, func(a, b Entry) int {
		for _, pair := range [][2]string{{a.Component, b.Component}, {a.Root, b.Root}} {
			if c := strings.Compare(pair[0], pair[1]); c != 0 {
				return c
			}
		}
		return strings.Compare(a.State, b.State)
	})
	return standing
}

// LastFirst orders components so that each ends after all that depend on it.
// Dependencies on others than those named are left out. Components that were applied
// from different commits may depend on one another in a circle, which has no order.
func LastFirst(dependsOn map[string][]string) ([]string, error) {
	left := maps.Clone(dependsOn)
	var order []string
	for len(left) > 0 {
		needed := map[string]bool{}
		for _, deps := range left {
			for _, dep := range deps {
				needed[dep] = true
			}
		}
		var free []string
		for name := range left {
			if !needed[name] {
				free = append(free, name)
			}
		}
		if len(free) == 0 {
			return nil, fmt.Errorf("components %s were applied from commits in which they follow one another in a circle; apply the pull request's head once more, then end the environment", strings.Join(slices.Sorted(maps.Keys(left)), ", "))
		}
		slices.Sort(free)
		for _, name := range free {
			delete(left, name)
		}
		order = append(order, free...)
	}
	return order, nil
}
