package compose

import (
	"fmt"
	"slices"

	"github.com/chant-bot/chant/engine/project"
	"github.com/chant-bot/chant/engine/report"
)

// alone is the cluster of a component that is in none.
const alone = -1

// grouping is the selected part of the graph on its way to groups. Components are
// numbered in run order, so that what one follows has lower numbers.
type grouping struct {
	in         Input
	components []*project.Component
	number     map[string]int
	deps       [][]int // what each follows
	followers  [][]int
	reads      [][]int // the part of deps whose outputs it reads
	readers    [][]int

	kind []string // the step kind it can group by, "" for none
	// cluster is the lowest number of those it is grouped with.
	cluster []int
	level   []int // within one refinement, see refine
	// between is the component outside that led to a split, alone for none.
	between []int
	// missing is the read that keeps it out of a group.
	missing map[int]report.UnknownInput
}

func newGrouping(in Input) (*grouping, error) {
	order := in.Selection.Order()
	g := &grouping{
		in: in, number: make(map[string]int, len(order)), components: make([]*project.Component, len(order)),
		deps: make([][]int, len(order)), followers: make([][]int, len(order)),
		reads: make([][]int, len(order)), readers: make([][]int, len(order)),
		kind: make([]string, len(order)), cluster: make([]int, len(order)),
		level: make([]int, len(order)), between: make([]int, len(order)), missing: map[int]report.UnknownInput{},
	}
	for i, name := range order {
		g.number[name] = i
	}
	for _, c := range in.Components {
		if i, selected := g.number[c.Name]; selected {
			g.components[i] = c
		}
	}
	for i, c := range g.components {
		if c == nil {
			return nil, fmt.Errorf("composing a run: component %q is selected but not declared", order[i])
		}
		g.between[i], g.cluster[i] = alone, alone
		if err := g.link(i, c); err != nil {
			return nil, err
		}
		g.kind[i] = g.groupKind(c)
	}
	return g, nil
}

// link enters what a component follows and reads.
func (g *grouping) link(i int, c *project.Component) error {
	for _, dep := range c.Dependencies() {
		if j, selected := g.number[dep]; selected {
			if j >= i {
				return fmt.Errorf("composing a run: component %q is to run after %q, which follows it", dep, c.Name)
			}
			g.deps[i] = append(g.deps[i], j)
			g.followers[j] = append(g.followers[j], i)
		}
	}
	for _, read := range c.Reads() {
		if j, selected := g.number[read.Component]; selected && read.Step >= 0 && !slices.Contains(g.reads[i], j) {
			g.reads[i] = append(g.reads[i], j)
			g.readers[j] = append(g.readers[j], i)
		}
	}
	return nil
}

// groupKind is the kind of the only step of a component, gates counted, if it may
// join a group.
func (g *grouping) groupKind(c *project.Component) string {
	steps := c.Steps()
	_, refused := g.in.Refused[c.Name]
	if len(steps) != 1 || refused || g.in.Live[c.Name] || slices.Contains(g.in.Canary, c.Name) || !g.in.Kinds[steps[0].Kind].Groups {
		return ""
	}
	return steps[0].Kind
}

// settle finds the groups: what is connected through reads, split until no path
// leads out of a group and back, and until no member reads from outside what has no
// value. A split only ever makes groups smaller, so it ends; each look at the whole
// graph takes linear time, and few are needed.
func (g *grouping) settle() {
	same := func(i, j int) bool { return g.kind[i] == g.kind[j] }
	g.connect(func(i int) bool { return g.kind[i] != "" }, same)
	for {
		if g.refine() || g.dropUnknown() {
			old := slices.Clone(g.cluster)
			level := slices.Clone(g.level)
			g.connect(func(i int) bool { return old[i] != alone }, func(i, j int) bool { return old[i] == old[j] && level[i] == level[j] })
			continue
		}
		return
	}
}

// connect makes clusters of those that may be in one and are connected through
// reads that may connect. One by itself is in none.
func (g *grouping) connect(may func(i int) bool, together func(i, j int) bool) {
	lowest := make([]int, len(g.components)) // union-find, the lowest number is the root
	for i := range lowest {
		lowest[i] = i
	}
	find := func(i int) int {
		for lowest[i] != i {
			lowest[i] = lowest[lowest[i]]
			i = lowest[i]
		}
		return i
	}
	for i := range g.components {
		for _, j := range g.reads[i] {
			if may(i) && may(j) && together(i, j) {
				a, b := find(i), find(j)
				lowest[max(a, b)] = min(a, b)
			}
		}
	}
	size := make([]int, len(g.components))
	for i := range g.components {
		size[find(i)]++
	}
	for i := range g.components {
		if g.cluster[i] = find(i); size[g.cluster[i]] == 1 {
			g.cluster[i] = alone
		}
		g.level[i] = 0
	}
}

// clusters are the members of each cluster, in run order, by their first member.
func (g *grouping) clusters() [][]int {
	members := make(map[int][]int)
	var firsts []int
	for i, cluster := range g.cluster {
		if cluster == alone {
			continue
		}
		if cluster == i { // the first has the lowest number
			firsts = append(firsts, i)
		}
		members[cluster] = append(members[cluster], i)
	}
	out := make([][]int, len(firsts))
	for k, first := range firsts {
		out[k] = members[first]
	}
	return out
}

// dropUnknown takes out of their clusters those that read a value which does not
// stand and which their cluster does not make: no composed root could express it
// (pr-loop decision 8, reads). In run order, so that what reads one that is taken
// out goes with it.
func (g *grouping) dropUnknown() bool {
	dropped := false
	for i, c := range g.components {
		if g.cluster[i] == alone {
			continue
		}
		for _, read := range c.Reads() {
			from, selected := g.number[read.Component]
			input := report.UnknownInput{From: read.Component, Output: read.Output}
			if read.Step < 0 || !g.in.Unknown[input] || selected && g.cluster[from] == g.cluster[i] {
				continue
			}
			g.missing[i], g.cluster[i] = input, alone
			dropped = true
			break
		}
	}
	return dropped
}

func (g *grouping) names(ids []int) []string {
	names := make([]string, len(ids))
	for k, i := range ids {
		names[k] = g.components[i].Name
	}
	return names
}
