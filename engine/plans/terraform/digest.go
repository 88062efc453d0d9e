package terraform

import (
	"bytes"
	"fmt"
	"slices"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"github.com/chant-bot/chant/engine/digest"
)

// PlanDigest is what a gate on this plan alone binds (change-set §4.3): every
// resource change, complete and unredacted, and the output changes, whatever
// their order in the plan. Versions, times, state, configuration and drift are
// not in it. Non-empty action_invocations are (change-set, decisions).
func PlanDigest(plan digest.Value) (digest.Digest, error) {
	subject, err := projection(plan)
	if err != nil {
		return digest.Digest{}, err
	}
	d, err := digest.Of("terraform-plan", subject)
	if err != nil {
		return digest.Digest{}, fmt.Errorf("digesting the plan: %w", err)
	}
	return d, nil
}

// projection is what of a plan its digest covers.
func projection(plan digest.Value) (digest.Value, error) {
	changes, err := array(plan, "resource_changes")
	if err != nil {
		return digest.Value{}, err
	}
	invocations, err := array(plan, "action_invocations")
	if err != nil {
		return digest.Value{}, err
	}
	outputs := plan.Get("output_changes")
	if outputs.IsNull() {
		outputs = digest.ObjectOf(nil)
	}
	subject := map[string]digest.Value{
		"resourceChanges": resourceChanges(changes),
		"outputChanges":   outputs,
	}
	if invocations.Len() > 0 {
		subject["actionInvocations"] = actionInvocations(invocations)
	}
	return digest.ObjectOf(subject), nil
}

// resourceChanges projects each change to the keys the digest covers and
// sorts them by address and deposed key.
func resourceChanges(changes digest.Value) digest.Value {
	s := newSorter(changes.Len())
	for i := range changes.Len() {
		resource := changes.At(i)
		change := resource.Get("change")
		var b digest.Builder
		for _, key := range []string{"address", "mode", "type", "name", "index", "provider_name", "deposed"} {
			b.Value(key, resource.Get(key))
		}
		for _, key := range []string{"actions", "before", "after", "after_unknown", "replace_paths", "importing"} {
			b.Value(key, change.Get(key))
		}
		deposed := resource.Get("deposed")
		place := sortText(resource.Get("address")) + "\x00"
		if !deposed.IsNull() {
			place += sortText(deposed)
		}
		s.add(b.Object(), place)
	}
	return s.sorted()
}

// actionInvocations sorts the items by address, then trigger address, then
// event. As the order of equal ones must not matter either, their text decides
// last.
func actionInvocations(items digest.Value) digest.Value {
	s := newSorter(items.Len())
	for i := range items.Len() {
		item := items.At(i)
		trigger := item.Get("lifecycle_action_trigger")
		s.add(item, textOf(item, "address"), textOf(trigger, "triggering_resource_address"), textOf(trigger, "action_trigger_event"))
		s.items[i].text = item.String()
	}
	return s.sorted()
}

// sortText is v as JavaScript joins it into a text: a missing address sorts as
// "undefined".
func sortText(v digest.Value) string {
	if s, ok := v.Text(); ok {
		return s
	}
	if v.IsAbsent() {
		return "undefined"
	}
	return v.String()
}

// sorter sorts values by texts in the order of JavaScript's localeCompare: the
// root collation at tertiary strength, in which punctuation counts and control
// characters do not (change-set §4.3). Equal values keep their order.
type sorter struct {
	collator *collate.Collator
	buffer   collate.Buffer
	items    []sortItem
}

type sortItem struct {
	value digest.Value
	keys  [3][]byte
	text  string // decides between equal keys
}

func newSorter(size int) *sorter {
	return &sorter{collator: collate.New(language.Und), items: make([]sortItem, 0, size)}
}

func (s *sorter) add(value digest.Value, texts ...string) {
	item := sortItem{value: value}
	for i, text := range texts {
		item.keys[i] = bytes.Clone(s.collator.KeyFromString(&s.buffer, text))
		s.buffer.Reset()
	}
	s.items = append(s.items, item)
}

func (s *sorter) sorted() digest.Value {
	slices.SortStableFunc(s.items, func(a, b sortItem) int {
		for i := range a.keys {
			if c := bytes.Compare(a.keys[i], b.keys[i]); c != 0 {
				return c
			}
		}
		return digest.Compare(a.text, b.text)
	})
	values := make([]digest.Value, len(s.items))
	for i, item := range s.items {
		values[i] = item.value
	}
	return digest.ArrayOf(values...)
}
