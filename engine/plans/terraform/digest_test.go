package terraform_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

func planDigest(t interface {
	Helper()
	Fatalf(string, ...any)
}, plan digest.Value) digest.Digest {
	t.Helper()
	d, err := terraform.PlanDigest(plan)
	if err != nil {
		t.Fatalf("PlanDigest: %v", err)
	}
	return d
}

// with is v with one property replaced, found by a path of keys and indices.
func with(v digest.Value, to digest.Value, path ...any) digest.Value {
	if len(path) == 0 {
		return to
	}
	if i, ok := path[0].(int); ok {
		var items []digest.Value
		for j := range v.Len() {
			items = append(items, v.At(j))
		}
		items[i] = with(items[i], to, path[1:]...)
		return digest.ArrayOf(items...)
	}
	fields := map[string]digest.Value{}
	for i, key := range v.Keys() {
		fields[key] = v.At(i)
	}
	key := path[0].(string)
	fields[key] = with(fields[key], to, path[1:]...)
	return digest.ObjectOf(fields)
}

func TestWhatDoesNotChangeThePlanDigest(t *testing.T) {
	t.Parallel()
	plan := decode(t, string(readFile(t, "rawplan-01-terraform-1.11.4.show.json")))
	want := planDigest(t, plan)
	other := digest.StringOf("other")
	for name, changed := range map[string]digest.Value{
		"timestamp":            with(plan, other, "timestamp"),
		"terraform version":    with(plan, other, "terraform_version"),
		"format version":       with(plan, other, "format_version"),
		"relevant attributes":  with(plan, other, "relevant_attributes"),
		"provider version":     with(plan, other, "configuration", "provider_config", "terraform", "version_constraint"),
		"prior state":          with(plan, other, "prior_state"),
		"checks":               with(plan, digest.Value{}, "checks"),
		"variables":            with(plan, digest.Value{}, "variables"),
		"errored":              with(plan, digest.BoolOf(true), "errored"),
		"drift":                with(plan, decode(t, `[{"address":"a.b"}]`), "resource_drift"),
		"sensitive marks":      with(plan, digest.BoolOf(true), "resource_changes", 3, "change", "after_sensitive"),
		"action reason":        with(plan, other, "resource_changes", 3, "action_reason"),
		"previous address":     with(plan, other, "resource_changes", 3, "previous_address"),
		"module address":       with(plan, other, "resource_changes", 3, "module_address"),
		"no invocations":       with(plan, digest.ArrayOf(), "action_invocations"),
		"null invocations":     with(plan, digest.NullValue(), "action_invocations"),
		"exact part of number": with(plan, mustNumber(t, "1000000000000000000000.0"), "resource_changes", 7, "change", "after", "input", "n"),
	} {
		if got := planDigest(t, changed); got != want {
			t.Errorf("%s changes the digest", name)
		}
	}
}

func TestWhatChangesThePlanDigest(t *testing.T) {
	t.Parallel()
	plan := decode(t, string(readFile(t, "rawplan-01-terraform-1.11.4.show.json")))
	other := digest.StringOf("other")
	seen := map[digest.Digest]string{planDigest(t, plan): "the plan itself"}
	for name, changed := range map[string]digest.Value{
		"an after value":      with(plan, other, "resource_changes", 3, "change", "after", "input", "size"),
		"a before value":      with(plan, other, "resource_changes", 3, "change", "before", "input", "size"),
		"a sensitive value":   with(plan, other, "resource_changes", 9, "change", "after", "input"),
		"an unknown":          with(plan, digest.BoolOf(true), "resource_changes", 3, "change", "after_unknown", "input"),
		"actions":             with(plan, decode(t, `["no-op"]`), "resource_changes", 3, "change", "actions"),
		"replace paths":       with(plan, decode(t, `[["input"]]`), "resource_changes", 2, "change", "replace_paths"),
		"importing":           with(plan, other, "resource_changes", 5, "change", "importing", "id"),
		"no longer importing": with(plan, digest.Value{}, "resource_changes", 5, "change", "importing"),
		"null importing":      with(plan, digest.NullValue(), "resource_changes", 5, "change", "importing"),
		"a deposed key":       with(plan, other, "resource_changes", 5, "deposed"),
		"a provider":          with(plan, other, "resource_changes", 5, "provider_name"),
		"an output":           with(plan, other, "output_changes", "s", "after"),
		"a new output":        with(plan, decode(t, `{"actions":["create"],"after":1}`), "output_changes", "new"),
		"no outputs":          with(plan, digest.Value{}, "output_changes"),
		"an invocation":       with(plan, decode(t, `[{}]`), "action_invocations"),
		"its address":         with(plan, decode(t, `[{"address":"action.a.b"}]`), "action_invocations"),
	} {
		got := planDigest(t, changed)
		if before, ok := seen[got]; ok {
			t.Errorf("%s has the digest of %s", name, before)
		}
		seen[got] = name
	}
}

func mustNumber(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.NumberOf(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestTheOrderOfChangesAndInvocationsDoesNotMatter(t *testing.T) {
	t.Parallel()
	plan := decode(t, string(readFile(t, "rawplan-01-terraform-1.11.4.show.json")))
	changes := elements(plan.Get("resource_changes"))
	invocations := elements(decode(t, `[
		{"address":"action.a.b","lifecycle_action_trigger":{"triggering_resource_address":"r.a","action_trigger_event":"after_create"}},
		{"address":"action.a.b","lifecycle_action_trigger":{"triggering_resource_address":"r.a","action_trigger_event":"before_create"}},
		{"address":"action.a.b","lifecycle_action_trigger":{"triggering_resource_address":"r.B"}},
		{"address":"action.A.b"}, {"type":"t"}, {"type":"u"}, {}]`))
	want := planDigest(t, with(plan, digest.ArrayOf(invocations...), "action_invocations"))
	rapid.Check(t, func(t *rapid.T) {
		shuffled := with(plan, digest.ArrayOf(rapid.Permutation(changes).Draw(t, "changes")...), "resource_changes")
		shuffled = with(shuffled, digest.ArrayOf(rapid.Permutation(invocations).Draw(t, "invocations")...), "action_invocations")
		if got := planDigest(t, shuffled); got != want {
			t.Fatalf("digest is %s, want %s", got, want)
		}
	})
}

func elements(v digest.Value) []digest.Value {
	items := make([]digest.Value, v.Len())
	for i := range items {
		items[i] = v.At(i)
	}
	return items
}

// subjectOf is the digest of changes in exactly the given order.
func subjectOf(t *testing.T, addresses []string) digest.Digest {
	t.Helper()
	var items []digest.Value
	for _, address := range addresses {
		items = append(items, digest.ObjectOf(map[string]digest.Value{"address": digest.StringOf(address)}))
	}
	d, err := digest.Of("terraform-plan", decode(t, fmt.Sprintf(`{"resourceChanges":%s,"outputChanges":{}}`, digest.ArrayOf(items...))))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func checkOrder(t *testing.T, sorted []string) {
	t.Helper()
	items := make([]digest.Value, len(sorted))
	for i, address := range sorted {
		items[len(sorted)-1-i] = digest.ObjectOf(map[string]digest.Value{"address": digest.StringOf(address)})
	}
	plan := digest.ObjectOf(map[string]digest.Value{"resource_changes": digest.ArrayOf(items...)})
	if planDigest(t, plan) != subjectOf(t, sorted) {
		t.Errorf("the order is not %q", sorted)
	}
}

func TestChangesAreSortedAsLocaleCompareDoes(t *testing.T) {
	t.Parallel()
	var ascii struct {
		Order string `json:"order"`
	}
	if err := json.Unmarshal(readFile(t, "collation-ascii.json"), &ascii); err != nil {
		t.Fatal(err)
	}
	if len(ascii.Order) != 95 {
		t.Fatalf("the order has %d characters, want the 95 of printable ASCII", len(ascii.Order))
	}
	checkOrder(t, strings.Split(ascii.Order, ""))
	for _, sorted := range [][]string{
		{"a[10]", "a[2]"},
		{"a", "a_b", "a-b", "a.b", "a[0]", "a0", "aa", "ab"},
		{"ab", "aB", "Ab", "AB", "abc"},
		{"co-op", "coop"},
		{"e", "é", "ê", "ea", "f"},
		{"u", "Ü", "ua", "Ünï", "v", "z", "Ω", "я", "中"},
	} {
		checkOrder(t, sorted)
	}
}

// As NUL does not count, a deposed key sorts as if it were part of the
// address, and what is missing sorts as the word undefined.
func TestDeposedKeysAndMissingAddressesSort(t *testing.T) {
	t.Parallel()
	sorted := `[{"address":"t.a"},{"address":"t.a","deposed":"0b"},{"address":"t.a","deposed":"0c"},{"address":"t.a0d"},{"mode":"managed"},{"address":"undefinee"}]`
	want, err := digest.OfBytes("terraform-plan", []byte(`{"resourceChanges":`+sorted+`,"outputChanges":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	items := elements(decode(t, sorted))
	slices.Reverse(items)
	plan := digest.ObjectOf(map[string]digest.Value{"resource_changes": digest.ArrayOf(items...), "output_changes": digest.NullValue()})
	if got := planDigest(t, plan); got != want {
		t.Errorf("digest is %s, want %s", got, want)
	}
}

func TestAPlanThatIsNotReadableHasNoDigest(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"resource_changes":{}}`:        "resource_changes is of type object, want a list",
		`{"action_invocations":"x"}`:     "action_invocations is of type string, want a list",
		`{"output_changes":{"a":1e999}}`: "$.outputChanges.a: number 1e999",
	} {
		plan := decode(t, text)
		if _, err := terraform.PlanDigest(plan); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("PlanDigest(%s) says %v; want %q", text, err, want)
		}
		if _, err := terraform.Part("m", plan, terraform.Options{}); err == nil || !strings.Contains(err.Error(), "the terraform plan of m: ") {
			t.Errorf("Part(%s) says %v", text, err)
		}
	}
}
