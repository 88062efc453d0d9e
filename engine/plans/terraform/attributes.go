package terraform

import (
	"slices"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// attributes are the top-level attributes a change writes (change-set §4.1).
// Only a create, an update and a replace write any.
func attributes(action changeset.Action, change digest.Value) []changeset.Attribute {
	written := []changeset.Attribute{}
	if action != changeset.Create && action != changeset.Update && action != changeset.Replace {
		return written
	}
	before, after, unknown := change.Get("before"), change.Get("after"), change.Get("after_unknown")
	marks := marksOf(change)
	forcing := forcingKeys(change.Get("replace_paths"))
	for _, key := range unionKeys(before, after, unknown) {
		was, is := before.Get(key), after.Get(key)
		attribute := changeset.Attribute{
			Path: key, Unknown: hasTrue(unknown.Get(key)), Sensitive: marks.hide(key), ForcesReplacement: forcing[key],
		}
		switch {
		case attribute.Unknown:
		case action == changeset.Create && is.IsNull():
			continue
		case action != changeset.Create && digest.EqualAsDoubles(was, is):
			continue
		}
		if !attribute.Sensitive {
			if action != changeset.Create && !was.IsNull() {
				attribute.Before = was
			}
			if !attribute.Unknown && !is.IsNull() {
				attribute.After = is
			}
		}
		written = append(written, attribute)
	}
	return written
}

// unionKeys are the keys of all objects, in code-unit order.
func unionKeys(objects ...digest.Value) []string {
	var keys []string
	for _, object := range objects {
		keys = append(keys, object.Keys()...)
	}
	slices.SortFunc(keys, digest.Compare)
	return slices.Compact(keys)
}

// hasTrue reports whether true stands anywhere in v.
func hasTrue(v digest.Value) bool {
	if b, ok := v.Bool(); ok {
		return b
	}
	for i := range v.Len() {
		if hasTrue(v.At(i)) {
			return true
		}
	}
	return false
}

// forcingKeys are the attributes that force a replace: the first steps of
// replace_paths.
func forcingKeys(paths digest.Value) map[string]bool {
	forcing := map[string]bool{}
	for i := range paths.Len() {
		if path := paths.At(i); path.Kind() == digest.Array {
			if key, ok := path.At(0).Text(); ok {
				forcing[key] = true
			}
		}
	}
	return forcing
}

// marks are what a change says is sensitive, on either side.
type marks struct{ before, after digest.Value }

func marksOf(change digest.Value) marks {
	return marks{change.Get("before_sensitive"), change.Get("after_sensitive")}
}

// hide reports whether the top-level attribute key must not be shown: it, or
// anything in it, is marked on either side. Marks that are no object but hide
// something cannot be aligned with attributes, and hide all of them (change-set,
// decisions).
func (m marks) hide(key string) bool {
	for _, side := range []digest.Value{m.before, m.after} {
		if side.Kind() != digest.Object && hides(side) || hides(side.Get(key)) {
			return true
		}
	}
	return false
}

// hides reports whether a tree of marks hides anything. Empty containers and
// false do not; what is no mark at all, such as a string, does.
func hides(mark digest.Value) bool {
	switch mark.Kind() {
	case digest.Absent, digest.Null:
		return false
	case digest.Bool:
		b, _ := mark.Bool()
		return b
	case digest.Array, digest.Object:
		for i := range mark.Len() {
			if hides(mark.At(i)) {
				return true
			}
		}
		return false
	}
	return true
}
