package states

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Split takes apart what became of a joined state: each member's new state by
// its id, with the member's lineage and one serial above the one it was joined
// with. Dependencies on other members are dropped. A resource, output or
// provider that is no member's is an error.
func Split(joined digest.Value, members []Member) (map[string]digest.Value, error) {
	if err := checkIDs(members); err != nil {
		return nil, err
	}
	if err := check(joined); err != nil {
		return nil, fmt.Errorf("splitting the joined state: %w", err)
	}
	owners := ownership{ids: map[string]bool{}}
	for _, m := range members {
		owners.ids[m.ID] = true
	}
	if err := owners.covers(joined); err != nil {
		return nil, fmt.Errorf("splitting the joined state: %w", err)
	}
	parts := make(map[string]digest.Value, len(members))
	for _, m := range members {
		part, err := owners.part(joined, m)
		if err != nil {
			return nil, fmt.Errorf("splitting off the state of %s: %w", m.ID, err)
		}
		parts[m.ID] = part
	}
	return parts, nil
}

// ownership tells whose an address of the joined state is.
type ownership struct{ ids map[string]bool }

// owner is the member that an address of the joined state is of, and the address
// in that member's own state, "" for the member's root. ok is false for an
// address that is no member's.
func (o ownership) owner(address string) (id, own string, ok bool) {
	rest, ok := strings.CutPrefix(address, "module.")
	if !ok {
		return "", "", false
	}
	id, own, _ = strings.Cut(rest, ".")
	return id, own, o.ids[id]
}

// covers refuses what would be in no member's part.
func (o ownership) covers(joined digest.Value) error {
	resources := joined.Get("resources")
	for i := range resources.Len() {
		module, _ := resources.At(i).Get("module").Text()
		if _, _, ok := o.owner(module); !ok {
			return fmt.Errorf("the resource %s.%s in %q is no member's", resources.At(i).Get("type"), resources.At(i).Get("name"), module)
		}
	}
	for _, name := range joined.Get("outputs").Keys() {
		if id, _, _ := outputOf(name); !o.ids[id] {
			return fmt.Errorf("the output %s is no member's", name)
		}
	}
	return nil
}

func (o ownership) part(joined digest.Value, m Member) (digest.Value, error) {
	r := o.of(m)
	resources, err := list(joined.Get("resources"), "resources", r.resource)
	if err != nil {
		return digest.Value{}, err
	}
	checks, err := list(joined.Get("check_results"), "check_results", r.checkResult)
	if err != nil {
		return digest.Value{}, err
	}
	serial, err := Serial(m.State)
	if err != nil {
		return digest.Value{}, err
	}
	return digest.ObjectOf(map[string]digest.Value{
		"version": digest.IntOf(version), "terraform_version": joined.Get("terraform_version"),
		"serial": digest.IntOf(serial + 1), "lineage": digest.StringOf(m.lineage()),
		"outputs": OutputsOf(m.ID, joined.Get("outputs")), "resources": digest.ArrayOf(resources...), "check_results": results(checks),
	}), nil
}

// of undoes Member.under.
func (o ownership) of(m Member) rewriting {
	return rewriting{
		address: func(address string) (string, bool, error) {
			id, own, ok := o.owner(address)
			return own, ok && id == m.ID, nil
		},
		module: func(module string) (string, bool, error) {
			id, own, ok := o.owner(module)
			return own, ok && id == m.ID, nil
		},
		provider: func(provider string) (string, error) {
			if !strings.HasPrefix(provider, "module.") {
				return provider, nil
			}
			id, own, ok := o.owner(provider)
			if !ok || id != m.ID {
				return "", fmt.Errorf("the provider %q is not the member's", provider)
			}
			return own, nil
		},
	}
}

// Same tells whether two states of one root hold the same, in whatever order and
// under whatever serial; the tool's version is no part of it. An absent state is
// the same as one that holds nothing.
func Same(a, b digest.Value) bool {
	if !a.IsAbsent() && !b.IsAbsent() && !digest.Equal(a.Get("lineage"), b.Get("lineage")) {
		return false
	}
	return digest.Equal(content(a), content(b))
}

// SameContent is Same whatever the lineages are: a first state gets another one when a
// person pushes it.
func SameContent(a, b digest.Value) bool { return digest.Equal(content(a), content(b)) }

// content is what a state holds, in one order.
func content(state digest.Value) digest.Value {
	outputs := state.Get("outputs")
	if outputs.IsNull() {
		outputs = digest.ObjectOf(nil)
	}
	state = Ordered(state)
	return digest.ArrayOf(outputs, state.Get("resources"), state.Get("check_results"))
}

// Ordered is a state with all it lists in one order: the tool writes the results of
// checks in another one each time that it is asked for the same state.
func Ordered(state digest.Value) digest.Value {
	resources := ordered(state.Get("resources"), func(resource digest.Value) digest.Value {
		instances := ordered(resource.Get("instances"), func(instance digest.Value) digest.Value {
			return with(instance, map[string]digest.Value{
				"dependencies":         ordered(instance.Get("dependencies"), nil),
				"sensitive_attributes": ordered(instance.Get("sensitive_attributes"), nil),
			})
		})
		return with(resource, map[string]digest.Value{"instances": instances})
	})
	return with(state, map[string]digest.Value{"resources": resources, "check_results": orderedChecks(state.Get("check_results"))})
}

// orderedChecks are check results in one order.
func orderedChecks(results digest.Value) digest.Value {
	return ordered(results, func(result digest.Value) digest.Value {
		if result.Get("objects").IsNull() {
			return result
		}
		return with(result, map[string]digest.Value{"objects": ordered(result.Get("objects"), nil)})
	})
}

// ordered is an array with its items mapped and sorted by their text.
func ordered(array digest.Value, f func(digest.Value) digest.Value) digest.Value {
	type item struct {
		value digest.Value
		text  string
	}
	items := make([]item, array.Len())
	for i := range items {
		v := array.At(i)
		if f != nil {
			v = f(v)
		}
		items[i] = item{v, v.String()}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Compare(a.text, b.text) })
	values := make([]digest.Value, len(items))
	for i, one := range items {
		values[i] = one.value
	}
	return digest.ArrayOf(values...)
}
