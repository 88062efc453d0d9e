package note

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/comments/changes"
	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/report"
)

// named is one thing an approver must have seen by name, every part inert.
type named struct{ member, name, extra string }

func newNamed(member, name, extra string) named {
	return named{member: Inline(member), name: Inline(name), extra: extra}
}

// namedKind is all of one kind; noun counts them when they do not fit.
type namedKind struct {
	verb, noun string
	items      []named
}

// nameSet is what the note never folds: destroys, replacements, forgets, and
// what runs code.
type nameSet []namedKind

func namesOf(r report.Report) nameSet {
	destroy := namedKind{verb: "destroy", noun: "to destroy"}
	replace := namedKind{verb: "replace", noun: "to replace"}
	forget := namedKind{verb: "forget", noun: "to forget"}
	if r.ChangeSet != nil {
		for _, e := range r.ChangeSet.Entries {
			switch e.Action {
			case changeset.Delete:
				destroy.items = append(destroy.items, newNamed(e.Member, changes.Name(e), ""))
			case changeset.Forget:
				forget.items = append(forget.items, newNamed(e.Member, changes.Name(e), ""))
			case changeset.Replace:
				why := ""
				if paths := changes.Forcing(e); len(paths) > 0 {
					why = " (" + nameList(paths, 4) + " forces it)"
				}
				replace.items = append(replace.items, newNamed(e.Member, changes.Name(e), why))
			}
		}
	}
	return append(nameSet{destroy, replace, forget}, codeNames(r)...)
}

func codeNames(r report.Report) nameSet {
	runs := namedKind{verb: "runs code", noun: "that run code"}
	config := namedKind{verb: "changed", noun: "changed settings"}
	effects := namedKind{verb: "triggers", noun: "triggered actions"}
	members := make([]string, 0, len(r.RunsCode))
	for m := range r.RunsCode {
		members = append(members, m)
	}
	slices.Sort(members)
	for _, m := range members {
		c := r.RunsCode[m]
		for _, p := range c.Provisioners {
			runs.items = append(runs.items, newNamed(m, p.Address, " (provisioner "+Inline(p.Type)+")"))
		}
		for _, address := range c.External {
			runs.items = append(runs.items, newNamed(m, address, " (external data source)"))
		}
		if c.DeferredReads {
			runs.items = append(runs.items, newNamed(m, "data sources", " (read only while it applies)"))
		}
		if c.ProviderConfigChanged {
			config.items = append(config.items, newNamed(m, "provider configuration", ""))
		}
		if c.BackendChanged {
			config.items = append(config.items, newNamed(m, "backend", ""))
		}
	}
	if r.ChangeSet != nil {
		for _, s := range r.ChangeSet.SideEffects {
			n := newNamed(s.Member, s.Address, "")
			if s.Trigger != "" {
				n.extra = " (by " + Inline(s.Trigger) + ")"
			}
			effects.items = append(effects.items, n)
		}
	}
	return nameSet{runs, config, effects}
}

// codeSummary is the short form for the counts line.
func codeSummary(r report.Report) string {
	var provisioners, external, deferred, provider, backend int
	for _, c := range r.RunsCode {
		provisioners += len(c.Provisioners)
		external += len(c.External)
		deferred += one(c.DeferredReads)
		provider += one(c.ProviderConfigChanged)
		backend += one(c.BackendChanged)
	}
	var parts []string
	if provisioners > 0 {
		parts = append(parts, plural(provisioners, "provisioner"))
	}
	if external > 0 {
		parts = append(parts, plural(external, "external data source"))
	}
	if deferred > 0 {
		parts = append(parts, "reads deferred to apply")
	}
	if provider > 0 {
		parts = append(parts, "provider configuration changed")
	}
	if backend > 0 {
		parts = append(parts, "backend changed")
	}
	if r.ChangeSet != nil && len(r.ChangeSet.SideEffects) > 0 {
		parts = append(parts, plural(len(r.ChangeSet.SideEffects), "triggered action"))
	}
	return strings.Join(parts, ", ")
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// render lists every name: one a line while that fits, else one line per kind
// and member. Only when even that does not fit does each kind get its share of
// the room, small kinds first, and what is left out is counted.
func (set nameSet) render(budget int, runURL string) string {
	var full strings.Builder
	for _, k := range set {
		for _, n := range k.items {
			fmt.Fprintf(&full, "- **%s** %s in %s%s\n", k.verb, n.name, n.member, n.extra)
		}
	}
	if s := full.String(); length(s) <= budget {
		return s + blankAfter(s)
	}
	shares := set.shares(budget - len(set)*200)
	var b strings.Builder
	for i, k := range set {
		b.WriteString(k.compact(shares[i], runURL))
	}
	return b.String() + "\n"
}

func blankAfter(s string) string {
	if s == "" {
		return ""
	}
	return "\n"
}

// shares divides the room: smallest kinds first, each at most an even part of
// what is left.
func (set nameSet) shares(budget int) []int {
	order := make([]int, len(set))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(set[a].items) - len(set[b].items) })
	shares := make([]int, len(set))
	for n, i := range order {
		shares[i] = min(set[i].cost(), max(0, budget)/(len(order)-n))
		budget -= shares[i]
	}
	return shares
}

func (k namedKind) cost() int {
	total := 0
	for i, n := range k.items {
		total += k.itemCost(i, n)
	}
	return total
}

func (k namedKind) itemCost(i int, n named) int {
	c := length(n.name) + 2
	if i == 0 || k.items[i-1].member != n.member {
		c += length(n.member) + length(k.verb) + 16
	}
	return c
}

func (k namedKind) compact(share int, runURL string) string {
	var b strings.Builder
	shown := 0
	for i, n := range k.items {
		c := k.itemCost(i, n)
		if c > share {
			break
		}
		share -= c
		switch {
		case i == 0:
			fmt.Fprintf(&b, "- **%s** in %s: ", k.verb, n.member)
		case k.items[i-1].member != n.member:
			fmt.Fprintf(&b, "\n- **%s** in %s: ", k.verb, n.member)
		default:
			b.WriteString(", ")
		}
		b.WriteString(n.name)
		shown++
	}
	if shown > 0 {
		b.WriteString("\n")
	}
	if rest := len(k.items) - shown; rest > 0 {
		where := "in the plan"
		if l := link("run page", runURL); l != "" {
			where = "on the " + l
		}
		fmt.Fprintf(&b, "- **and %d more %s**, by name %s\n", rest, k.noun, where)
	}
	return b.String()
}
