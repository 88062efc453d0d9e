package changes

import (
	"cmp"
	"slices"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// Difference is what became of one change between two plans.
type Difference struct {
	Member, Name string
	Was, Now     changeset.Action // empty: the plan did not change it
	Paths        []string         // attributes that are written otherwise, when Was equals Now
}

type key struct{ member, address, deposed string }

// Since lists how the changes of a plan differ from an earlier one, what is
// destroyed or replaced now first. Either document may be nil.
func Since(earlier, now *changeset.Document) []Difference {
	old, fresh := index(earlier), index(now)
	var out []Difference
	for k, e := range fresh {
		was, ok := old[k]
		switch {
		case !ok:
			out = append(out, Difference{Member: e.Member, Name: Name(e), Now: e.Action})
		case was.Action != e.Action:
			out = append(out, Difference{Member: e.Member, Name: Name(e), Was: was.Action, Now: e.Action})
		default:
			if paths := otherwise(was, e); len(paths) > 0 {
				out = append(out, Difference{Member: e.Member, Name: Name(e), Was: e.Action, Now: e.Action, Paths: paths})
			}
		}
	}
	for k, e := range old {
		if _, ok := fresh[k]; !ok {
			out = append(out, Difference{Member: e.Member, Name: Name(e), Was: e.Action})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(weight(a.Now), weight(b.Now)), cmp.Compare(a.Member, b.Member), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func weight(a changeset.Action) int {
	switch a {
	case changeset.Delete:
		return 0
	case changeset.Replace:
		return 1
	case changeset.Forget:
		return 2
	}
	return 3
}

func index(d *changeset.Document) map[key]changeset.Entry {
	entries := map[key]changeset.Entry{}
	if d == nil {
		return entries
	}
	for _, e := range d.Entries {
		if Changing(e) && e.Action != changeset.Read {
			entries[key{e.Member, e.Address, e.Deposed}] = e
		}
	}
	return entries
}

// otherwise lists the attributes two changes of one resource write differently.
func otherwise(was, now changeset.Entry) []string {
	old := map[string]changeset.Attribute{}
	for _, a := range was.Attributes {
		old[a.Path] = a
	}
	var paths []string
	for _, a := range now.Attributes {
		o, ok := old[a.Path]
		delete(old, a.Path)
		if !ok || !sameAttribute(o, a) {
			paths = append(paths, a.Path)
		}
	}
	for path := range old {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func sameAttribute(a, b changeset.Attribute) bool {
	return a.Unknown == b.Unknown && a.Sensitive == b.Sensitive && a.ForcesReplacement == b.ForcesReplacement &&
		(a.Before.IsNull() && b.Before.IsNull() || digest.Equal(a.Before, b.Before)) &&
		(a.After.IsNull() && b.After.IsNull() || digest.Equal(a.After, b.After))
}
