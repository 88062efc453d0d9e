package compose

import (
	"fmt"
	"testing"

	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// large is n components with four edges each, a few of them of another kind, some
// outputs without a value: one knot that has to be split in many places.
func large(t fataler, n int) Input {
	t.Helper()
	components := make([]*project.Component, 0, n)
	in := Input{Kinds: map[string]Ability{apply: {Groups: true}}, Unknown: map[report.UnknownInput]bool{}}
	next := uint64(1)
	draw := func(most int) int { // a fixed sequence, so that sizes compare
		next = next*6364136223846793005 + 1442695040888963407
		return int(next>>33) % most
	}
	names := make([]string, 0, n)
	for i := range n {
		kind := apply
		if draw(20) == 0 {
			kind = kube
		}
		line := fmt.Sprintf("c%05d %s", i, kind)
		seen := map[int]bool{}
		for range min(i, 4) {
			j := max(0, i-1-draw(200))
			if seen[j] {
				continue
			}
			seen[j] = true
			edge := " c%05d"
			if draw(2) == 0 {
				edge = " >c%05d"
			}
			line += fmt.Sprintf(edge, j)
		}
		c := component(t, line)
		components, names = append(components, c), append(names, c.Name)
		if draw(10) == 0 {
			in.Unknown[report.UnknownInput{From: c.Name, Output: "id"}] = true
		}
	}
	in.Components = components
	selection, err := graph.SelectChanges(components, graph.Changes{Components: names})
	if err != nil {
		t.Fatal(err)
	}
	in.Selection = selection
	return in
}

// The promise is half a second for selection, waves and composition of 5,000
// components with 20,000 edges, and time linear in both.
func BenchmarkSelectAndCompose(b *testing.B) {
	for _, n := range []int{1_250, 5_000, 20_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			in := large(b, n)
			changed := in.Selection.Order()
			for b.Loop() {
				selection, err := graph.SelectChanges(in.Components, graph.Changes{Components: changed})
				if err != nil {
					b.Fatal(err)
				}
				in.Selection = selection
				c := composed(b, in)
				if len(c.Ways) != n {
					b.Fatal("not everything was composed")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/component")
		})
	}
}
