package terraform

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform/states"
)

// GroupPlans takes the plan of a root that calls each member as a module apart:
// each member's own plan, with its own addresses, in the order of ids (pr-loop
// decision 9). A change that is no member's is an error: it would be shown to
// nobody.
func GroupPlans(plan digest.Value, ids []string) ([]digest.Value, error) {
	plans := make([]digest.Value, len(ids))
	for i, id := range ids {
		plans[i] = memberPlan(plan, id)
	}
	for _, key := range groupLists {
		whole, err := array(plan, key.list)
		if err != nil {
			return nil, err
		}
		for i := range whole.Len() {
			address := textOf(key.of(whole.At(i)), "address")
			if id, _, ok := memberAddress(address); !ok || !slices.Contains(ids, id) {
				return nil, fmt.Errorf("%s[%d]: %q is no member's", key.list, i, address)
			}
		}
	}
	for _, name := range plan.Get("output_changes").Keys() {
		if !slices.ContainsFunc(ids, func(id string) bool { return strings.HasPrefix(name, states.OutputName(id, "")) }) {
			return nil, fmt.Errorf("the output %q is no member's", name)
		}
	}
	return plans, nil
}

// groupList is a list of a plan whose items have an address, in the item or in
// the object under a key of it.
type groupList struct{ list, under string }

var groupLists = [...]groupList{
	{"resource_changes", ""}, {"resource_drift", ""}, {"action_invocations", ""},
	{"deferred_changes", "resource_change"}, {"deferred_action_invocations", "action_invocation"},
}

func (l groupList) of(item digest.Value) digest.Value {
	if l.under == "" {
		return item
	}
	return item.Get(l.under)
}

// memberAddress takes an address in a called module apart.
func memberAddress(address string) (id, own string, ok bool) {
	rest, ok := strings.CutPrefix(address, "module.")
	if !ok {
		return "", "", false
	}
	id, own, _ = strings.Cut(rest, ".")
	return id, own, true
}

func memberPlan(plan digest.Value, id string) digest.Value {
	fields := map[string]digest.Value{}
	for _, key := range []string{"format_version", "terraform_version", "errored", "complete"} {
		fields[key] = plan.Get(key)
	}
	for _, key := range groupLists {
		fields[key.list] = key.ownOf(plan.Get(key.list), id)
	}
	fields["output_changes"] = states.OutputsOf(id, plan.Get("output_changes"))
	configuration := plan.Get("configuration")
	fields["configuration"] = digest.ObjectOf(map[string]digest.Value{
		"provider_config": ownProviders(configuration.Get("provider_config"), id),
		"root_module":     configuration.Get("root_module").Get("module_calls").Get(id).Get("module"),
	})
	return digest.ObjectOf(fields)
}

// ownOf are the list's items that are the member's, in its own addresses.
func (l groupList) ownOf(list digest.Value, id string) digest.Value {
	if list.IsNull() {
		return digest.Value{}
	}
	own := []digest.Value{}
	for i := range list.Len() {
		item := list.At(i)
		if of, _, ok := memberAddress(textOf(l.of(item), "address")); !ok || of != id {
			continue
		}
		if l.under == "" {
			item = ownAddresses(item, id)
		} else {
			item = replaced(item, l.under, ownAddresses(item.Get(l.under), id))
		}
		own = append(own, item)
	}
	return digest.ArrayOf(own...)
}

// ownAddresses are an item's addresses without the module it is called as. A
// trigger is within the member, since configuration refers to its own module.
func ownAddresses(item digest.Value, id string) digest.Value {
	trigger := item.Get("lifecycle_action_trigger")
	if !trigger.IsAbsent() {
		item = replaced(item, "lifecycle_action_trigger", ownAddress(trigger, id, "triggering_resource_address"))
	}
	for _, key := range []string{"address", "previous_address", "module_address"} {
		item = ownAddress(item, id, key)
	}
	return item
}

func ownAddress(v digest.Value, id, key string) digest.Value {
	of, own, ok := memberAddress(textOf(v, key))
	switch {
	case !ok || of != id:
		return v
	case own == "":
		return replaced(v, key, digest.Value{})
	}
	return replaced(v, key, digest.StringOf(own))
}

// ownProviders are the provider configurations of a member: "module.m1:aws" is
// its own "aws", "module.m1.module.x:aws" that of a module of its.
func ownProviders(providers digest.Value, id string) digest.Value {
	own := map[string]digest.Value{}
	for i, key := range providers.Keys() {
		rest, ok := strings.CutPrefix(key, "module."+id)
		if !ok || rest == "" || rest[0] != ':' && rest[0] != '.' {
			continue
		}
		own[rest[1:]] = ownAddress(providers.At(i), id, "module_address")
	}
	if len(own) == 0 {
		return digest.Value{}
	}
	return digest.ObjectOf(own)
}

// replaced is an object with one field replaced, or taken out for an absent one.
func replaced(object digest.Value, key string, v digest.Value) digest.Value {
	var b digest.Builder
	for i, k := range object.Keys() {
		if k != key {
			b.Value(k, object.At(i))
		}
	}
	b.Value(key, v)
	return b.Object()
}

// Hide marks every attribute of a plan's resources as sensitive: a member that
// reads a sensitive output of another may show it anywhere, since terraform does
// not mark what passes between modules (pr-loop decision 9).
func Hide(plan digest.Value) digest.Value {
	changes := plan.Get("resource_changes")
	hidden := make([]digest.Value, changes.Len())
	for i := range hidden {
		change := changes.At(i).Get("change")
		change = replaced(change, "before_sensitive", digest.BoolOf(true))
		hidden[i] = replaced(changes.At(i), "change", replaced(change, "after_sensitive", digest.BoolOf(true)))
	}
	outputs := map[string]digest.Value{}
	for i, name := range plan.Get("output_changes").Keys() {
		change := replaced(plan.Get("output_changes").At(i), "before_sensitive", digest.BoolOf(true))
		outputs[name] = replaced(change, "after_sensitive", digest.BoolOf(true))
	}
	return replaced(replaced(plan, "resource_changes", digest.ArrayOf(hidden...)), "output_changes", digest.ObjectOf(outputs))
}

// GroupDigest is what a gate on any member of a group binds: the plans of all of
// them, by member (pr-loop decision 9).
func GroupDigest(group string, plans map[string]digest.Value) (digest.Digest, error) {
	names := make([]string, 0, len(plans))
	for name := range plans {
		names = append(names, name)
	}
	slices.SortFunc(names, digest.Compare)
	members := make([]digest.Value, len(names))
	for i, name := range names {
		plan, err := projection(plans[name])
		if err != nil {
			return digest.Digest{}, fmt.Errorf("digesting the plan of %s: %w", name, err)
		}
		members[i] = digest.ObjectOf(map[string]digest.Value{"member": digest.StringOf(name), "plan": plan})
	}
	d, err := digest.Of("terraform-group", digest.ObjectOf(map[string]digest.Value{
		"group": digest.StringOf(group), "members": digest.ArrayOf(members...),
	}))
	if err != nil {
		return digest.Digest{}, fmt.Errorf("digesting the plan of the group %s: %w", group, err)
	}
	return d, nil
}

// Unchanged tells whether a member's part of a plan, by which something else may
// change, changes nothing of it: only no-ops, none of them moved or imported, no
// output and nothing deferred.
func Unchanged(plan digest.Value) bool {
	changes := plan.Get("resource_changes")
	for i := range changes.Len() {
		resource := changes.At(i)
		action, _, err := actionOf(resource.Get("change").Get("actions"))
		if err != nil || action != changeset.NoOp || !resource.Get("previous_address").IsAbsent() || !resource.Get("change").Get("importing").IsNull() {
			return false
		}
	}
	outputs := plan.Get("output_changes")
	for i := range outputs.Len() {
		if action, _, err := actionOf(outputs.At(i).Get("actions")); err != nil || action != changeset.NoOp {
			return false
		}
	}
	return plan.Get("deferred_changes").Len() == 0 && plan.Get("deferred_action_invocations").Len() == 0 && plan.Get("action_invocations").Len() == 0
}
