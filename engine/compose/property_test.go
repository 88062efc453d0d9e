package compose

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/graph"
	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// drawInput makes a graph without cycles in which most could group, and what may
// keep some from it.
func drawInput(t *rapid.T) Input {
	var written []string
	n := rapid.IntRange(0, 12).Draw(t, "components")
	for i := range n {
		line := fmt.Sprintf("c%02d %s", i, rapid.SampledFrom([]string{apply, apply, apply, gcp, kube, stack, "terraform-apply,gate"}).Draw(t, "kind"))
		for j := range i {
			if edge := rapid.SampledFrom([]string{"", "", "", "", "", "%s", "%s", ">%s"}).Draw(t, "edge"); edge != "" {
				line += " " + fmt.Sprintf(edge, fmt.Sprintf("c%02d", j))
			}
		}
		written = append(written, line)
	}
	in := everything(t, estate(t, written...))
	in.Unknown, in.Live, in.Refused = map[report.UnknownInput]bool{}, map[string]bool{}, map[string]Refusal{}
	for _, c := range in.Components {
		switch rapid.IntRange(0, 19).Draw(t, "special") {
		case 0:
			in.Live[c.Name] = true
		case 1:
			in.Refused[c.Name] = Refusal{report.FallbackConfig, "it reads path.cwd"}
		case 2, 3, 4:
			in.Unknown[report.UnknownInput{From: c.Name, Output: "id"}] = true
		}
	}
	return in
}

func TestCompositionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		c := composed(t, in)
		byName := map[string]*project.Component{}
		for _, one := range in.Components {
			byName[one.Name] = one
		}
		groupsAreDisjointAndAllowed(t, in, c, byName)
		groupsAreConnectedThroughReads(t, c, byName)
		wavesAreInOrder(t, c, byName)
		noMemberWaitsForAValueFromOutside(t, in, c, byName)
		everyWouldBeMemberIsAccounted(t, c, byName)
		whatNoPathLeavesIsOneGroup(t, in, c, byName)
		orderOfInputIsIrrelevant(t, in, c)
	})
}

// Without a group the waves are those of the selection, canaries first.
func TestWithoutAGroupTheWavesAreTheSelections(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.WaveGates = true
		changed := in.Selection.Order()
		for _, c := range in.Components {
			if len(c.Dependencies()) == 0 && rapid.Bool().Draw(t, "canary") {
				in.Canary = append(in.Canary, c.Name)
			}
		}
		var err error
		if in.Selection, err = graph.SelectChanges(in.Components, graph.Changes{Components: changed, Canary: in.Canary}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(in.Selection.Waves, composed(t, in).Waves); diff != "" {
			t.Fatal(diff)
		}
	})
}

func groupsAreDisjointAndAllowed(t *rapid.T, in Input, c Composition, byName map[string]*project.Component) {
	seen := map[string]bool{}
	for _, g := range c.Groups {
		if len(g.Members) < 2 || g.ID != g.Members[0] {
			t.Fatalf("group %+v", g)
		}
		for _, m := range g.Members {
			steps := byName[m].Steps()
			_, refused := in.Refused[m]
			if seen[m] || refused || in.Live[m] || len(steps) != 1 || steps[0].Kind != g.Capability || !in.Kinds[g.Capability].Groups {
				t.Fatalf("%s in %+v", m, g)
			}
			seen[m] = true
			if diff := cmp.Diff([]Way{Grouped}, c.Ways[m]); diff != "" {
				t.Fatal(diff)
			}
		}
	}
}

func groupsAreConnectedThroughReads(t *rapid.T, c Composition, byName map[string]*project.Component) {
	for _, g := range c.Groups {
		reached := map[string]bool{g.ID: true}
		for range g.Members {
			for _, m := range g.Members {
				for _, read := range byName[m].Reads() {
					if slices.Contains(g.Members, read.Component) && (reached[m] || reached[read.Component]) {
						reached[m], reached[read.Component] = true, true
					}
				}
			}
		}
		if len(reached) != len(g.Members) {
			t.Fatalf("group %v is connected only as far as %v", g.Members, reached)
		}
	}
}

// wavesAreInOrder: each component once, after what it follows, a group as one, and
// no later than that asks for. Such waves exist only where the graph in which each
// group is one has no cycle.
func wavesAreInOrder(t *rapid.T, c Composition, byName map[string]*project.Component) {
	wave := map[string]int{}
	for k, names := range c.Waves {
		for _, name := range names {
			if wave[name] != 0 {
				t.Fatalf("%s is in two waves", name)
			}
			wave[name] = k + 1
		}
	}
	if len(wave) != len(byName) {
		t.Fatalf("waves hold %d of %d components", len(wave), len(byName))
	}
	for name := range byName {
		together := []string{name}
		g, grouped := groupOf(c, name)
		if grouped {
			together = g.Members
		}
		latest := 0
		for _, m := range together {
			for _, dep := range byName[m].Dependencies() {
				if !slices.Contains(together, dep) {
					latest = max(latest, wave[dep])
				}
			}
		}
		if wave[name] != latest+1 || grouped && g.Wave != wave[name] {
			t.Fatalf("%s with %v is in wave %d (its group in %d), after wave %d", name, together, wave[name], g.Wave, latest)
		}
	}
}

func noMemberWaitsForAValueFromOutside(t *rapid.T, in Input, c Composition, byName map[string]*project.Component) {
	for _, g := range c.Groups {
		for _, m := range g.Members {
			for _, read := range byName[m].Reads() {
				if in.Unknown[report.UnknownInput{From: read.Component, Output: read.Output}] && !slices.Contains(g.Members, read.Component) {
					t.Fatalf("%s waits for %s in group %v", m, read, g.Members)
				}
			}
		}
	}
}

func everyWouldBeMemberIsAccounted(t *rapid.T, c Composition, byName map[string]*project.Component) {
	fallen := map[string]int{}
	for _, f := range c.Fallbacks {
		fallen[f.Component]++
		if f.Reason == "" || f.Kind == "" {
			t.Fatalf("fallback %+v", f)
		}
	}
	for name, one := range byName {
		could := slices.ContainsFunc(one.Steps(), func(s project.Step) bool { return s.Kind == apply || s.Kind == gcp })
		read := len(one.Reads()) > 0
		for _, other := range byName {
			read = read || slices.ContainsFunc(other.Reads(), func(r project.Read) bool { return r.Component == name })
		}
		_, grouped := groupOf(c, name)
		want := 0
		if could && read && !grouped {
			want = 1
		}
		if fallen[name] != want {
			t.Fatalf("%s has %d fallbacks, want %d", name, fallen[name], want)
		}
	}
}

// whatNoPathLeavesIsOneGroup: where nothing outside follows one of those connected
// and is followed by another, and none waits for a value from outside, they all are
// one group.
func whatNoPathLeavesIsOneGroup(t *rapid.T, in Input, c Composition, byName map[string]*project.Component) {
	may := func(name string) bool {
		_, refused := in.Refused[name]
		return len(byName[name].Steps()) == 1 && in.Kinds[byName[name].Steps()[0].Kind].Groups && !refused && !in.Live[name]
	}
	for _, start := range in.Selection.Order() {
		if !may(start) {
			continue
		}
		cluster := []string{start}
		for range byName {
			for name, one := range byName {
				for _, read := range one.Reads() {
					same := may(name) && may(read.Component) && one.Steps()[0].Kind == byName[read.Component].Steps()[0].Kind
					if same && slices.Contains(cluster, name) != slices.Contains(cluster, read.Component) {
						cluster = append(cluster, name, read.Component)
					}
				}
			}
		}
		slices.Sort(cluster)
		cluster = slices.Compact(cluster)
		if len(cluster) < 2 || leaves(cluster, byName) || waits(cluster, in, byName) {
			continue
		}
		g, _ := groupOf(c, start)
		got := slices.Sorted(slices.Values(g.Members))
		if diff := cmp.Diff(cluster, got); diff != "" {
			t.Fatalf("%v could be one group: %s", cluster, diff)
		}
	}
}

// leaves: a path leads out of the cluster and back, groups counted as one.
func leaves(cluster []string, byName map[string]*project.Component) bool {
	outside := map[string]bool{} // follows a member, by a path outside
	for range byName {
		for name, one := range byName {
			if slices.Contains(cluster, name) {
				continue
			}
			together := []string{name}
			// Two clusters that wait for each other are both split; the other is taken
			// as one whether or not it was.
			for other, o := range byName {
				if o.Steps()[0].Kind == one.Steps()[0].Kind && !slices.Contains(cluster, other) {
					together = append(together, other)
				}
			}
			for _, m := range together {
				for _, dep := range byName[m].Dependencies() {
					outside[name] = outside[name] || outside[dep] || slices.Contains(cluster, dep)
				}
			}
		}
	}
	for _, m := range cluster {
		for _, dep := range byName[m].Dependencies() {
			if outside[dep] {
				return true
			}
		}
	}
	return false
}

func waits(cluster []string, in Input, byName map[string]*project.Component) bool {
	for _, m := range cluster {
		for _, read := range byName[m].Reads() {
			if in.Unknown[report.UnknownInput{From: read.Component, Output: read.Output}] && !slices.Contains(cluster, read.Component) {
				return true
			}
		}
	}
	return false
}

func orderOfInputIsIrrelevant(t *rapid.T, in Input, c Composition) {
	in.Components = rapid.Permutation(in.Components).Draw(t, "components mixed")
	again := composed(t, in)
	if diff := cmp.Diff(c, again); diff != "" {
		t.Fatalf("another order of input gave another composition: %s", diff)
	}
}
