package cover

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
)

// The domain is small, so that plans often agree in part.
var actions = []changeset.Action{
	changeset.Create, changeset.Update, changeset.Replace, changeset.Delete, changeset.Read, changeset.NoOp, changeset.Forget,
}

func anyAttribute(t *rapid.T, path string, action changeset.Action) changeset.Attribute {
	value := rapid.SampledFrom([]string{"1", "2", "3", ""})
	a := changeset.Attribute{Path: path}
	switch rapid.IntRange(0, 5).Draw(t, "sort of value") {
	case 0:
		a.Sensitive = true
		return a
	case 1:
		a.Unknown = true
	default:
		a.After = text(value.Draw(t, "after"))
	}
	if action != changeset.Create {
		a.Before = text(value.Draw(t, "before"))
	}
	return a
}

func anyEntries(t *rapid.T) []changeset.Entry {
	var out []changeset.Entry
	for _, address := range []string{"a.x", "a.y", "b.z"} {
		if !rapid.Bool().Draw(t, "has "+address) {
			continue
		}
		action := rapid.SampledFrom(actions).Draw(t, "action")
		e := entry(address, action)
		if action == changeset.Create || action == changeset.Update || action == changeset.Replace {
			for _, path := range []string{"m", "n"} {
				if rapid.Bool().Draw(t, "writes "+path) {
					e.Attributes = append(e.Attributes, anyAttribute(t, path, action))
				}
			}
		}
		e.Importing = rapid.IntRange(0, 5).Draw(t, "importing") == 0
		out = append(out, e)
	}
	return out
}

// likeEntries are the entries of a plan, some of them changed.
func likeEntries(t *rapid.T, s Side) []changeset.Entry {
	var out []changeset.Entry
	for _, e := range s.Doc.Entries {
		e.Attributes = slices.Clone(e.Attributes)
		if len(e.Attributes) > 0 && rapid.IntRange(0, 3).Draw(t, "changes") == 0 {
			e.Attributes[0] = anyAttribute(t, e.Attributes[0].Path, e.Action)
		}
		if rapid.IntRange(0, 5).Draw(t, "turns around") == 0 {
			e.Action = rapid.SampledFrom(actions).Draw(t, "action")
		}
		out = append(out, e)
	}
	return out
}

func anySide(t *rapid.T, members ...string) Side {
	var parts []changeset.Part
	for _, m := range members {
		parts = append(parts, part(m, plan(t, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "digest")), anyEntries(t)...))
	}
	s := side(t, parts...)
	for _, m := range members {
		s.Sources[m] = rapid.SampledFrom([]string{"source-1", "source-1", "source-2", ""}).Draw(t, "source")
	}
	return s
}

func onSource(s Side, source string) Side {
	s.Sources = map[string]string{net: source}
	return s
}

// A fresh plan that is the approved one is covered under an equal source.
func TestAnEqualPlanUnderAnEqualSourceIsCovered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := anyEntries(t)
		approved := side(t, part(net, plan(t, "a"), entries...))
		// Another digest, so that every rule is asked and not the digest alone.
		fresh := side(t, part(net, plan(t, "b"), entries...))
		if ok, why := PlanCoveredBy(approved, fresh, net); !ok {
			t.Fatalf("not covered: %s", why)
		}
	})
}

// Fewer changes than a covered plan are covered too, under an equal source.
func TestFewerChangesStayCovered(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		approved := onSource(anySide(t, net), source)
		entries := likeEntries(t, approved)
		fresh := side(t, part(net, plan(t, "d"), entries...))
		if ok, _ := PlanCoveredBy(approved, fresh, net); !ok || len(entries) == 0 {
			return
		}
		i := rapid.IntRange(0, len(entries)-1).Draw(t, "dropped")
		fewer := side(t, part(net, plan(t, "d"), slices.Delete(slices.Clone(entries), i, i+1)...))
		if ok, why := PlanCoveredBy(approved, fewer, net); !ok {
			t.Fatalf("one change less is not covered: %s", why)
		}
	})
}

// Whatever is covered under another source is covered under an equal one, and
// nothing is covered under another source but an equal digest.
func TestAnotherSourceOnlyCoversLess(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		approved, fresh := anySide(t, net), anySide(t, net)
		apart, _ := PlanCoveredBy(onSource(approved, "source-1"), onSource(fresh, "source-2"), net)
		same, why := PlanCoveredBy(onSource(approved, "source-1"), onSource(fresh, "source-1"), net)
		if apart && !same {
			t.Fatalf("covered under another source and not under an equal one: %s", why)
		}
		if apart && *approved.Doc.Members[0].PlanDigest != *fresh.Doc.Members[0].PlanDigest {
			t.Fatal("covered under another source by another digest")
		}
	})
}

// I1, the part of it that plans can show: under an equal source and another
// digest, no known value that was not approved is ever covered.
func TestNoKnownValueIsCoveredThatNobodySaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		approved := onSource(anySide(t, net), source)
		entries := likeEntries(t, approved)
		for i := range entries {
			for j := range entries[i].Attributes {
				if a := &entries[i].Attributes[j]; !a.Sensitive && !a.Unknown {
					a.After = text("nobody saw this")
				}
			}
		}
		fresh := side(t, part(net, plan(t, "d"), entries...))
		if ok, _ := PlanCoveredBy(approved, fresh, net); !ok {
			return
		}
		for _, e := range fresh.Doc.Entries {
			for _, a := range e.Attributes {
				if changes(e) && !a.After.IsAbsent() && !openlyUnknown(approved.Doc, e, a.Path) {
					t.Fatalf("%s.%s is covered with a value nobody saw", e.Address, a.Path)
				}
			}
		}
	})
}

// openlyUnknown: the approver saw that the value was not known yet, or approved
// a replacement of which this is the create that is left and which keeps it.
func openlyUnknown(approved *changeset.Document, e changeset.Entry, path string) bool {
	for _, then := range approved.Entries {
		if then.Address != e.Address {
			continue
		}
		i := slices.IndexFunc(then.Attributes, func(a changeset.Attribute) bool { return a.Path == path })
		if i < 0 {
			return then.Action == changeset.Replace && e.Action == changeset.Create
		}
		return then.Attributes[i].Unknown
	}
	return false
}

func anyMerges(t *rapid.T) []Merge {
	merges := make([]Merge, rapid.IntRange(1, 4).Draw(t, "merges"))
	for i := range merges {
		members := rapid.SampledFrom([][]string{{net}, {"app"}, {net, "app"}}).Draw(t, "members")
		merges[i] = Merge{PR: len(merges) - i, Revoked: rapid.IntRange(0, 3).Draw(t, "revoked") == 0, Side: anySide(t, members...)}
	}
	return merges
}

// I14: taking an approval back never covers more, so giving it never uncovers.
func TestMoreRevocationsNeverCover(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		merges, fresh := anyMerges(t), anySide(t, net, "app")
		before := statuses(ByMerges(merges, fresh, nil))
		i := rapid.IntRange(0, len(merges)-1).Draw(t, "taken back")
		revoked := slices.Clone(merges)
		revoked[i].Revoked = true
		for member, status := range statuses(ByMerges(revoked, fresh, nil)) {
			if status == Covered && before[member] != Covered {
				t.Fatalf("revoking #%d covered %s", merges[i].PR, member)
			}
		}
	})
}

// A merge that did not plan a member, or is older than the newest that did,
// decides nothing about it. More than that cannot hold: a newer merge that
// planned the member takes the place of the older one, covered or not.
func TestOnlyTheNewestMergeThatPlannedAMemberDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		merges, fresh := anyMerges(t), anySide(t, net, "app")
		for _, v := range ByMerges(merges, fresh, nil).Members {
			newest := slices.IndexFunc(merges, func(m Merge) bool {
				_, planned := m.Doc.Member(v.Member)
				return planned
			})
			var alone []Merge
			if newest >= 0 {
				alone = merges[newest : newest+1]
			}
			for _, again := range ByMerges(alone, fresh, nil).Members {
				if again.Member == v.Member && again.Status != v.Status {
					t.Fatalf("%s is %s by all merges and %s by the newest that planned it", v.Member, v.Status, again.Status)
				}
			}
		}
	})
}
