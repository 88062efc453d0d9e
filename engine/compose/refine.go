package compose

import "slices"

// refine splits clusters that stand on a cycle once each cluster is one: a path leads
// out of one of them and back, perhaps through others. Such a path runs within one
// strongly connected part of that graph, so each part is looked at by itself. It
// reports whether there was any; connect then makes clusters of equal levels.
//
// A member's level counts how often a path to it enters a cluster from outside. It
// never falls along a dependency and grows where a cluster is entered, so clusters of
// one level each could not stand on a cycle: at least one is split each time.
func (g *grouping) refine() bool {
	part := g.parts()
	found := false
	for i := range g.components {
		if part[i] == alone {
			continue
		}
		found = true
		for _, dep := range g.deps[i] {
			if part[dep] != part[i] {
				continue
			}
			level, through := g.level[dep], g.between[dep]
			if g.entered(dep, i) {
				level, through = level+1, dep
			}
			if level > g.level[i] {
				g.level[i], g.between[i] = level, through
			}
		}
	}
	if found {
		g.delay(part)
	}
	return found
}

// entered reports that the way from a dependency leads into another cluster.
func (g *grouping) entered(dep, i int) bool {
	return g.cluster[i] != alone && g.cluster[dep] != g.cluster[i]
}

// delay raises the level of what reads nothing of its own cluster at its level and is
// read at higher ones only: it is planned with those instead of by itself.
func (g *grouping) delay(part []int) {
	for i := len(g.components) - 1; i >= 0; i-- {
		beside := func(j int) bool { return g.cluster[j] == g.cluster[i] && g.level[j] == g.level[i] }
		if part[i] == alone || g.cluster[i] == alone || slices.ContainsFunc(g.reads[i], beside) {
			continue
		}
		highest := alone
		for _, f := range g.followers[i] {
			if part[f] != part[i] {
				continue
			}
			level := g.level[f]
			if g.entered(i, f) {
				level--
			}
			if highest == alone || level < highest {
				highest = level
			}
		}
		g.level[i] = max(g.level[i], highest)
	}
}

// parts are the strongly connected parts of the graph in which each cluster is one:
// for each component the number of its part, alone where the part is a single
// cluster or component.
func (g *grouping) parts() []int {
	t := tarjan{g: g, members: make(map[int][]int), index: make([]int, len(g.components)), low: make([]int, len(g.components)), part: make([]int, len(g.components))}
	for i := range g.components {
		t.part[i] = alone
		t.members[g.one(i)] = append(t.members[g.one(i)], i)
	}
	for i := range g.components {
		if t.index[g.one(i)] == 0 {
			t.visit(g.one(i))
		}
	}
	return t.part
}

// one is what stands for a component where each cluster is one.
func (g *grouping) one(i int) int {
	if g.cluster[i] != alone {
		return g.cluster[i]
	}
	return i
}

// tarjan finds strongly connected parts, by his algorithm.
type tarjan struct {
	g       *grouping
	members map[int][]int
	visited int
	index   []int // order of the visit, 0 before it
	low     []int // lowest index on the stack that is reached
	stack   []int
	part    []int
}

const finished = -1 // index of what is off the stack

func (t *tarjan) visit(one int) {
	t.visited++
	t.index[one], t.low[one] = t.visited, t.visited
	t.stack = append(t.stack, one)
	for _, i := range t.members[one] {
		for _, dep := range t.g.deps[i] {
			switch next := t.g.one(dep); t.index[next] {
			case 0:
				t.visit(next)
				t.low[one] = min(t.low[one], t.low[next])
			case finished:
			default:
				t.low[one] = min(t.low[one], t.index[next])
			}
		}
	}
	if t.low[one] != t.index[one] {
		return
	}
	from := len(t.stack) - 1
	for t.stack[from] != one {
		from--
	}
	for _, each := range t.stack[from:] {
		t.index[each] = finished
		if from < len(t.stack)-1 {
			for _, i := range t.members[each] {
				t.part[i] = one
			}
		}
	}
	t.stack = t.stack[:from]
}
