// Package states joins the states of several roots into the one of a root that
// calls each of them as a module, and takes it apart again (pr-loop decision 9).
// It knows the state format of terraform and tofu, version 4, keeps numbers as
// they were written, and refuses what it does not know: a resource lost between
// two states is one that nobody manages (soundness I12).
package states

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Member is one root of a group.
type Member struct {
	// ID is the name of its module call, such as "m1"; names of roots may be no
	// identifiers.
	ID string
	// State is what its backend holds, absent for a root that was never applied.
	State digest.Value
	// Lineage is what a root that was never applied gets; otherwise it has one.
	Lineage string
	// Providers are the provider configurations the root's own configuration
	// has, as states write them: provider["host/ns/type"], with .alias behind one
	// that has an alias. A resource of another belongs to one that the root above
	// gives, as an empty configuration does.
	Providers []string
}

const version = 4

// lineage is that of its state, or the one its first state gets.
func (m Member) lineage() string {
	if text, ok := m.State.Get("lineage").Text(); ok && text != "" {
		return text
	}
	return m.Lineage
}

// module is what addresses of the member start with in the joined state.
func (m Member) module() string { return "module." + m.ID }

// OutputName is what the joined root calls an output of a member.
func OutputName(id, output string) string { return id + "__" + output }

// outputOf is the inverse of OutputName: an id has no underscore.
func outputOf(name string) (id, output string, ok bool) { return strings.Cut(name, "__") }

// OutputsOf picks the entries of an object by output of the joined root that are
// one member's, under the member's own names.
func OutputsOf(id string, outputs digest.Value) digest.Value {
	own := map[string]digest.Value{}
	for i, name := range outputs.Keys() {
		if of, output, ok := outputOf(name); ok && of == id {
			own[output] = outputs.At(i)
		}
	}
	return digest.ObjectOf(own)
}

var idForm = regexp.MustCompile(`^[a-z][a-z0-9]*$`)

// checkIDs refuses ids that addresses and outputs could not be told apart by.
func checkIDs(members []Member) error {
	seen := map[string]bool{}
	for _, m := range members {
		if !idForm.MatchString(m.ID) || seen[m.ID] {
			return fmt.Errorf("%q is not a member's id, or twice one", m.ID)
		}
		seen[m.ID] = true
	}
	return nil
}

// stateKeys are the fields of a state that are known here.
var stateKeys = []string{"version", "terraform_version", "serial", "lineage", "outputs", "resources", "check_results"}

// check refuses a state of another version and fields that would be lost.
func check(state digest.Value) error {
	if text, _ := state.Get("version").NumberText(); text != "4" {
		return fmt.Errorf("the state is of version %s, want %d", state.Get("version"), version)
	}
	for _, key := range state.Keys() {
		if !slices.Contains(stateKeys, key) {
			return fmt.Errorf("the state has a field %q, which this version does not know", key)
		}
	}
	return nil
}

// Serial is the serial of a state, 0 for none.
func Serial(state digest.Value) (int64, error) {
	if state.IsAbsent() {
		return 0, nil
	}
	text, _ := state.Get("serial").NumberText()
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("the serial of the state is %s, want a whole number", state.Get("serial"))
	}
	return n, nil
}

// with is an object with some fields replaced; absent ones are taken out.
func with(object digest.Value, fields map[string]digest.Value) digest.Value {
	all := make(map[string]digest.Value, object.Len())
	for i, key := range object.Keys() {
		all[key] = object.At(i)
	}
	maps.Copy(all, fields)
	return digest.ObjectOf(all)
}

// list is an array's items with f applied, those left out for which keep is
// false. Null and absent are an empty list.
func list(array digest.Value, what string, f func(item digest.Value) (mapped digest.Value, keep bool, err error)) ([]digest.Value, error) {
	if !array.IsNull() && array.Kind() != digest.Array {
		return nil, fmt.Errorf("%s is of type %s, want a list", what, array.Kind())
	}
	items := []digest.Value{}
	for i := range array.Len() {
		item, keep, err := f(array.At(i))
		if err != nil {
			return nil, fmt.Errorf("%s[%d]: %w", what, i, err)
		}
		if keep {
			items = append(items, item)
		}
	}
	return items, nil
}

// rewriting is how the fields of a resource or a check change.
type rewriting struct {
	// address maps an absolute address; keep is false for one of another member.
	address func(string) (mapped string, keep bool, err error)
	module  func(string) (mapped string, keep bool, err error)
	// provider maps the address of a provider configuration.
	provider func(string) (string, error)
}

// resource rewrites one of a state's resources, in all its instances.
func (r rewriting) resource(resource digest.Value) (digest.Value, bool, error) {
	at, _ := resource.Get("module").Text()
	module, keep, err := r.module(at)
	if err != nil || !keep {
		return digest.Value{}, false, err
	}
	fields := map[string]digest.Value{"module": {}}
	if module != "" {
		fields["module"] = digest.StringOf(module)
	}
	if fields["provider"], err = r.providerOf(resource); err != nil {
		return digest.Value{}, false, err
	}
	instances, err := list(resource.Get("instances"), "instances", func(instance digest.Value) (digest.Value, bool, error) {
		mapped, err := r.instance(instance)
		return mapped, true, err
	})
	fields["instances"] = digest.ArrayOf(instances...)
	return with(resource, fields), true, err
}

// providerOf maps the provider of a resource or, in tofu's states, an instance.
func (r rewriting) providerOf(v digest.Value) (digest.Value, error) {
	text, ok := v.Get("provider").Text()
	if !ok {
		return v.Get("provider"), nil
	}
	mapped, err := r.provider(text)
	return digest.StringOf(mapped), err
}

func (r rewriting) instance(instance digest.Value) (digest.Value, error) {
	fields := map[string]digest.Value{}
	var err error
	if fields["provider"], err = r.providerOf(instance); err != nil {
		return digest.Value{}, err
	}
	dependencies, err := list(instance.Get("dependencies"), "dependencies", func(v digest.Value) (digest.Value, bool, error) {
		text, ok := v.Text()
		if !ok {
			return digest.Value{}, false, fmt.Errorf("%s is not an address", v)
		}
		mapped, keep, err := r.address(text)
		return digest.StringOf(mapped), keep, err
	})
	fields["dependencies"] = digest.ArrayOf(dependencies...)
	if len(dependencies) == 0 {
		fields["dependencies"] = digest.Value{} // as terraform writes it
	}
	return with(instance, fields), err
}

// checkResult rewrites one of a state's check results.
func (r rewriting) checkResult(result digest.Value) (digest.Value, bool, error) {
	mapped, keep, err := r.field(result, "config_addr")
	if err != nil || !keep {
		return digest.Value{}, false, err
	}
	objects, err := list(result.Get("objects"), "objects", func(object digest.Value) (digest.Value, bool, error) {
		return r.field(object, "object_addr")
	})
	if result.Get("objects").IsNull() {
		return mapped, true, err
	}
	return with(mapped, map[string]digest.Value{"objects": digest.ArrayOf(objects...)}), true, err
}

// field rewrites the address in one field of an object.
func (r rewriting) field(object digest.Value, key string) (digest.Value, bool, error) {
	text, ok := object.Get(key).Text()
	if !ok {
		return digest.Value{}, false, fmt.Errorf("%s is %s, want an address", key, object.Get(key))
	}
	mapped, keep, err := r.address(text)
	return with(object, map[string]digest.Value{key: digest.StringOf(mapped)}), keep, err
}
