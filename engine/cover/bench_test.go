package cover

import (
	"fmt"
	"testing"

	"github.com/chant-bot/chant/engine/changeset"
)

// covering is a green commit that carries merges, each of which planned some of the
// members, and the plan of all members there. The last tenth of the members no merge
// planned: they are looked for in every one.
func covering(t fataler, merges, members, each, entries int) ([]Merge, Side) {
	t.Helper()
	name := func(i int) string { return fmt.Sprintf("estates/e%03d", i) }
	planned := func(i int, digest string) changeset.Part {
		list := make([]changeset.Entry, entries)
		for k := range list {
			list[k] = entry(fmt.Sprintf("aws_instance.web[%d]", k), changeset.Update, write("size", "1", "2"), unknown("arn", "old"))
		}
		return part(name(i), plan(t, digest), list...)
	}
	var newest []Merge
	for m := range merges {
		var parts []changeset.Part
		for k := range each {
			parts = append(parts, planned((m*each+k)%(members*9/10), "a"))
		}
		newest = append(newest, Merge{PR: merges - m, Side: side(t, parts...)})
	}
	var parts []changeset.Part
	for i := range members {
		parts = append(parts, planned(i, "b"))
	}
	return newest, side(t, parts...)
}

// The promise is a second for 1,000 merges over 200 members.
func BenchmarkByMerges(b *testing.B) {
	for _, c := range []struct{ merges, members, each, entries int }{
		{1_000, 200, 5, 50}, {1_000, 200, 150, 5}, {250, 50, 5, 50},
	} {
		b.Run(fmt.Sprintf("%d merges of %d over %d members", c.merges, c.each, c.members), func(b *testing.B) {
			merges, fresh := covering(b, c.merges, c.members, c.each, c.entries)
			for b.Loop() {
				if got := len(ByMerges(merges, fresh, nil).Uncovered()); got != c.members/10 {
					b.Fatalf("%d members are not covered", got)
				}
			}
		})
	}
}
