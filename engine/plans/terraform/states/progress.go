package states

import (
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// Fate is what became of one resource instance between two states of a root.
type Fate int

// Fates. A tainted instance, and one whose old object is left, is not finished.
const (
	Untouched  Fate = iota
	Finished        // made, changed or gone
	Unfinished      // changed, and not as it was meant to
)

// Progress tells what became of resource instances, by address.
type Progress struct{ before, after map[string]digest.Value }

// NewProgress compares two states of one root.
func NewProgress(before, after digest.Value) Progress {
	return Progress{before: objects(before), after: objects(after)}
}

// objects are what a state holds, by address.
func objects(state digest.Value) map[string]digest.Value {
	found := instances(state)
	outputs := state.Get("outputs")
	for i, name := range outputs.Keys() {
		found[OutputAddress(name)] = outputs.At(i)
	}
	return found
}

// OutputAddress names an output among addresses.
func OutputAddress(name string) string { return "output." + name }

// Of is the fate of the instance, or the output, at an address.
func (p Progress) Of(address string) Fate {
	was, is := p.before[address], p.after[address]
	switch {
	case digest.Equal(was, is):
		return Untouched
	case is.IsAbsent():
		return Finished
	}
	for i := range is.Len() { // of an output these are no objects
		object := is.At(i)
		if status, _ := object.Get("status").Text(); status == "tainted" || !object.Get("deposed").IsNull() {
			return Unfinished
		}
	}
	return Finished
}

// instances are the objects of each resource instance by its address; more than
// one where an old object is left.
func instances(state digest.Value) map[string]digest.Value {
	all := map[string][]digest.Value{}
	resources := state.Get("resources")
	for i := range resources.Len() {
		resource := resources.At(i)
		base := addressOf(resource)
		own := resource.Get("instances")
		for j := range own.Len() {
			address := base + index(own.At(j).Get("index_key"))
			all[address] = append(all[address], with(own.At(j), map[string]digest.Value{"dependencies": {}, "create_before_destroy": {}}))
		}
	}
	found := make(map[string]digest.Value, len(all))
	for address, own := range all {
		found[address] = digest.ArrayOf(own...)
	}
	return found
}

func addressOf(resource digest.Value) string {
	var parts []string
	if module, _ := resource.Get("module").Text(); module != "" {
		parts = append(parts, module)
	}
	if mode, _ := resource.Get("mode").Text(); mode == "data" {
		parts = append(parts, "data")
	}
	kind, _ := resource.Get("type").Text()
	name, _ := resource.Get("name").Text()
	return strings.Join(append(parts, kind, name), ".")
}

// index is the key of an instance as addresses write it, "" for none.
func index(key digest.Value) string {
	if key.IsNull() {
		return ""
	}
	text := "[" + key.String() + "]"
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(text)
}
