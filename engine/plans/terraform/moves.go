package terraform

import (
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// Moves are the outputs that do not stand once the plan is applied, as far as it is
// known which: those it gives another value, those whose value is known only after
// the apply, and those it removes. They are dot paths as a reader writes them, sorted:
// an output, or the part of an object that moves. One with anything sensitive in it is
// named as a whole, for its keys may be secret too (pr-loop decision 8).
func Moves(plan digest.Value) []string {
	changes := plan.Get("output_changes")
	var moved []string
	for i, name := range changes.Keys() {
		change := changes.At(i)
		before, after, unknown := change.Get("before"), change.Get("after"), change.Get("after_unknown")
		within := !hides(change.Get("before_sensitive")) && !hides(change.Get("after_sensitive"))
		moved = append(moved, movedPaths(name, before, after, unknown, within)...)
	}
	slices.Sort(moved)
	return moved
}

// movedPaths compares two sides of one value. Only objects are looked into: no read
// goes into a list.
func movedPaths(path string, before, after, unknown digest.Value, within bool) []string {
	whole, _ := unknown.Bool()
	if !within || whole || before.Kind() != digest.Object || after.Kind() != digest.Object {
		stays := before.IsNull() && after.IsNull() || digest.Equal(before, after)
		if stays && !hasTrue(unknown) {
			return nil
		}
		return []string{path}
	}
	keys := slices.Concat(before.Keys(), after.Keys(), unknown.Keys())
	slices.Sort(keys)
	var moved []string
	for _, key := range slices.Compact(keys) {
		moved = append(moved, movedPaths(path+"."+key, before.Get(key), after.Get(key), unknown.Get(key), within)...)
	}
	return moved
}
