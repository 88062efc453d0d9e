package terraform

import (
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// inexact lists every number the plan digest covers whose exact value its
// canonical text does not hold (change-set, decisions). Entries without
// attributes have them too, for the digest covers their values as well.
func inexact(member string, plan digest.Value) []changeset.Inexact {
	var list []changeset.Inexact
	changes := plan.Get("resource_changes")
	for i := range changes.Len() {
		resource := changes.At(i)
		place := changeset.Inexact{Member: member, Address: textOf(resource, "address"), Deposed: textOf(resource, "deposed")}
		list = append(list, inexactChange(place, resource)...)
	}
	outputs := plan.Get("output_changes")
	for i, name := range outputs.Keys() {
		change := outputs.At(i)
		place := changeset.Inexact{Member: member, Address: "output." + name}
		hidden := hides(change.Get("before_sensitive")) || hides(change.Get("after_sensitive"))
		list = append(list, inexactAt(place, "value", hidden, change.Get("before"), change.Get("after"))...)
	}
	invocations := plan.Get("action_invocations")
	for i := range invocations.Len() {
		item := invocations.At(i)
		place := changeset.Inexact{Member: member, Address: textOf(item, "address")}
		list = append(list, inexactAt(place, "$action", hides(item.Get("config_sensitive")), digest.Value{}, item)...)
	}
	return list
}

func inexactChange(place changeset.Inexact, resource digest.Value) []changeset.Inexact {
	change := resource.Get("change")
	before, after, marks := change.Get("before"), change.Get("after"), marksOf(change)
	var list []changeset.Inexact
	for _, key := range unionKeys(before, after) {
		list = append(list, inexactAt(place, key, marks.hide(key), before.Get(key), after.Get(key))...)
	}
	// "$" keeps these apart from attributes, whose names are identifiers.
	list = append(list, inexactAt(place, "$index", false, digest.Value{}, resource.Get("index"))...)
	for _, key := range []string{"importing", "replace_paths", "after_unknown"} {
		list = append(list, inexactAt(place, "$"+key, false, digest.Value{}, change.Get(key))...)
	}
	return list
}

// inexactAt lists the inexact numbers at and below path, before and after side
// by side. A hidden place gives one item without values, and without the keys
// inside it, which may be as secret.
func inexactAt(place changeset.Inexact, path string, hidden bool, before, after digest.Value) []changeset.Inexact {
	w := inexactWalk{place: place}
	w.walk(path, before, after)
	if hidden && len(w.found) > 0 {
		place.Path, place.Sensitive = path, true
		return []changeset.Inexact{place}
	}
	return w.found
}

type inexactWalk struct {
	place changeset.Inexact
	found []changeset.Inexact
}

func (w *inexactWalk) walk(path string, before, after digest.Value) {
	item := w.place
	item.Path = path
	item.Before, item.After = inexactText(before), inexactText(after)
	if item.Before != "" || item.After != "" {
		w.found = append(w.found, item)
	}
	if before.Kind() == digest.Object || after.Kind() == digest.Object {
		for _, key := range unionKeys(before, after) {
			w.walk(path+keyStep(key), before.Get(key), after.Get(key))
		}
	}
	if before.Kind() == digest.Array || after.Kind() == digest.Array {
		for i := range max(arrayLen(before), arrayLen(after)) {
			w.walk(path+"["+strconv.Itoa(i)+"]", elementAt(before, i), elementAt(after, i))
		}
	}
}

func inexactText(v digest.Value) string {
	if !digest.IsInexact(v) {
		return ""
	}
	text, _ := v.NumberText()
	return text
}

func arrayLen(v digest.Value) int {
	if v.Kind() != digest.Array {
		return 0
	}
	return v.Len()
}

func elementAt(v digest.Value, i int) digest.Value {
	if v.Kind() != digest.Array {
		return digest.Value{}
	}
	return v.At(i)
}

// keyStep is .key, or ["odd key"] where a dot would not be read back.
func keyStep(key string) string {
	if key == "" || strings.ContainsAny(key, ".[]\"\\ \n") {
		return "[" + digest.StringOf(key).String() + "]"
	}
	return "." + key
}
