package model

import (
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/run"
)

// Groups (pr-loop §8.2): members that read each other are planned as one, start as one
// and end one by one; what one makes passes to its readers inside.

// unknown is a value that a group makes itself, as its plan has it.
const unknown = "?"

// grouping says which of the members that are planned together are planned as one, by
// the first of each group. Those in it stand side by side in the order of
// dependencies, so that no other comes between.
func (w *world) grouping(members []string, op string) map[string]string {
	group := map[string]string{}
	applies := strings.HasPrefix(op, "green-")
	if w.off || w.gated && applies || rapid.IntRange(0, 7).Draw(w.t, "dissolves") == 0 {
		return group
	}
	for i := 0; i < len(members); i++ {
		first := i
		for i+1 < len(members) && !w.single(members[first]) && !w.single(members[i+1]) && w.readsOneOf(members[i+1], members[first:i+1]) {
			i++
		}
		if i > first {
			for _, name := range members[first : i+1] {
				group[name] = members[first]
			}
		}
	}
	return group
}

// single tells that a member joins no group.
func (w *world) single(name string) bool { return w.alone[name] || w.done[name] }

func (w *world) readsOneOf(member string, these []string) bool {
	return slices.ContainsFunc(w.reads[member], func(from string) bool { return slices.Contains(these, from) })
}

// mates reports that one of two members reads the other inside their group.
func (n *note) mates(a, b string) bool { return n.group[a] != "" && n.group[a] == n.group[b] }

// outside are the values a member reads, as they stand, but for those its group makes.
func (n *note) outside(w *world, member string) string {
	var values []string
	for _, from := range w.reads[member] {
		if n.mates(member, from) {
			values = append(values, "@"+from)
		} else {
			values = append(values, w.live[from].output())
		}
	}
	return strings.Join(values, ",")
}

// makes reports that something a member reads inside its group changes with it.
func (n *note) makes(w *world, member string) bool {
	for _, from := range w.reads[member] {
		if n.mates(member, from) && len(n.effects[from].writes) > 0 {
			return true
		}
	}
	return false
}

// moved reports that the state of one member is another than the plan was made with:
// the tool refuses the plan then. That what somebody else changed behind the back of one
// alone is noticed, too, nothing here relies on.
func (n *note) moved(w *world, members []string) bool {
	for _, name := range members {
		then, now := n.stood[name], w.live[name]
		if n.group[name] == "" {
			then.drift = now.drift
		}
		if then != now {
			return true
		}
	}
	return false
}

// joins moves the state of a member into the journal of its group, until the runner
// gives it back.
func (w *world) joins(n *note, name string) {
	if at := w.journal[name]; at != "" {
		w.broken("I12", "%s starts while its state is in the journal of %s", name, at)
	}
	w.journal[name] = n.group[name]
}

// gone takes a child away that ended: its state goes back to its member.
func (w *world) gone(name string) {
	delete(w.children, name)
	if w.planted != "a state stays in its journal" {
		delete(w.journal, name)
	}
}

// first is the one of a group that ends before a member can: what that reads.
func (w *world) first(name string) string {
	c := w.children[name]
	for _, from := range w.reads[name] {
		if up := w.children[from]; up != nil && up.end == nil && c.note.mates(name, from) {
			return w.first(from)
		}
	}
	return name
}

// unreached reports that something which a member reads inside its group did not end
// well, so that nothing of the member was begun.
func (w *world) unreached(name string) bool {
	c := w.children[name]
	for _, from := range w.reads[name] {
		if c.note.mates(name, from) && c.of.ends[from] != (run.Outcome{}) {
			return true
		}
	}
	return false
}

// inputsOf is what a member that ends well was applied with: what stood outside its group
// when it started, and what its group made.
func (w *world) inputsOf(name string) string {
	c := w.children[name]
	values := strings.Split(c.outside, ",")
	for i, from := range w.reads[name] {
		if c.note.mates(name, from) {
			values[i] = w.live[from].output()
		}
	}
	return strings.Join(values, ",")
}
