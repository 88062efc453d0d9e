package terraform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

func groupJSON(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

const groupPlan = `{
  "format_version":"1.2","terraform_version":"1.11.4","complete":false,"errored":false,
  "resource_changes":[
    {"address":"module.m1.a.b","module_address":"module.m1","mode":"managed","type":"a","name":"b","change":{"actions":["create"],"before":null,"after":{"v":1.50}}},
    {"address":"module.m10.module.x[\"k\"].a.b[0]","previous_address":"module.m10.a.old","module_address":"module.m10.module.x[\"k\"]","mode":"managed","type":"a","name":"b","index":0,"change":{"actions":["no-op"]}}],
  "deferred_changes":[{"reason":"absent_prereq","resource_change":{"address":"module.m1.a.later","module_address":"module.m1"}}],
  "action_invocations":[{"address":"module.m1.action.x.y","lifecycle_action_trigger":{"triggering_resource_address":"module.m1.a.b","action_trigger_event":"after_create"}}],
  "output_changes":{"m1__id":{"actions":["create"],"after":"x"},"m10__m1__id":{"actions":["no-op"]}},
  "configuration":{
    "provider_config":{"module.m1:aws":{"name":"aws","module_address":"module.m1"},"module.m1.module.x:aws":{"name":"aws","module_address":"module.m1.module.x"},"module.m10:aws":{"name":"aws","alias":"ten"}},
    "root_module":{"module_calls":{"m1":{"module":{"resources":[{"address":"a.b"}]}},"m10":{"module":{"resources":[]}}}}}}`

func TestAGroupsPlanIsTakenApartIntoEachMembersOwn(t *testing.T) {
	t.Parallel()
	got, err := GroupPlans(groupJSON(t, groupPlan), []string{"m1", "m10"})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`{"format_version":"1.2","terraform_version":"1.11.4","complete":false,"errored":false,
		"resource_changes":[{"address":"a.b","mode":"managed","type":"a","name":"b","change":{"actions":["create"],"before":null,"after":{"v":1.50}}}],
		"deferred_changes":[{"reason":"absent_prereq","resource_change":{"address":"a.later"}}],
		"action_invocations":[{"address":"action.x.y","lifecycle_action_trigger":{"triggering_resource_address":"a.b","action_trigger_event":"after_create"}}],
		"output_changes":{"id":{"actions":["create"],"after":"x"}},
		"configuration":{"provider_config":{"aws":{"name":"aws"},"module.x:aws":{"name":"aws","module_address":"module.x"}},"root_module":{"resources":[{"address":"a.b"}]}}}`,
		`{"format_version":"1.2","terraform_version":"1.11.4","complete":false,"errored":false,
		"resource_changes":[{"address":"module.x[\"k\"].a.b[0]","previous_address":"a.old","module_address":"module.x[\"k\"]","mode":"managed","type":"a","name":"b","index":0,"change":{"actions":["no-op"]}}],
		"deferred_changes":[],"action_invocations":[],
		"output_changes":{"m1__id":{"actions":["no-op"]}},
		"configuration":{"provider_config":{"aws":{"name":"aws","alias":"ten"}},"root_module":{"resources":[]}}}`,
	}
	for i := range want {
		if diff := cmp.Diff(groupJSON(t, want[i]).String(), got[i].String()); diff != "" {
			t.Errorf("plan %d (-want +got):\n%s", i, diff)
		}
	}
	if Unchanged(got[0]) || Unchanged(got[1]) {
		t.Error("a create, and a resource that moved, are no changes")
	}
}

func TestWhatIsNoMembersOfAPlanIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"resource_changes":[{"address":"a.b"}]}`:                     `resource_changes[0]: "a.b" is no member's`,
		`{"resource_changes":[{"address":"module.m2.a.b"}]}`:           `is no member's`,
		`{"resource_changes":[{"address":"module.m1[0].a.b"}]}`:        `is no member's`,
		`{"deferred_changes":[{"resource_change":{"address":"a.b"}}]}`: `deferred_changes[0]`,
		`{"action_invocations":[{"address":"action.a.b"}]}`:            `action_invocations[0]`,
		`{"output_changes":{"m2__x":{}}}`:                              `the output "m2__x" is no member's`,
		`{"output_changes":{"m1":{}}}`:                                 `the output "m1" is no member's`,
		`{"resource_changes":{}}`:                                      `want a list`,
	} {
		if _, err := GroupPlans(groupJSON(t, text), []string{"m1"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func TestUnchangedIsSaidOfNothingElse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{}`: true,
		`{"resource_changes":[{"change":{"actions":["no-op"]}}],"output_changes":{"a":{"actions":["no-op"]}}}`: true,
		`{"resource_changes":[{"change":{"actions":["update"]}}]}`:                                             false,
		`{"resource_changes":[{"change":{"actions":["read"]}}]}`:                                               false,
		`{"resource_changes":[{"change":{"actions":["else"]}}]}`:                                               false,
		`{"resource_changes":[{"change":{"actions":["no-op"],"importing":{"id":"x"}}}]}`:                       false,
		`{"resource_changes":[{"previous_address":"a.c","change":{"actions":["no-op"]}}]}`:                     false,
		`{"output_changes":{"a":{"actions":["delete"]}}}`:                                                      false,
		`{"deferred_changes":[{}]}`:                                                                            false,
		`{"action_invocations":[{}]}`:                                                                          false,
	} {
		if got := Unchanged(groupJSON(t, text)); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestAGroupsDigestBindsThePlansOfAllByMember(t *testing.T) {
	t.Parallel()
	plan := func(value string) digest.Value {
		return groupJSON(t, `{"terraform_version":"1","resource_changes":[{"address":"a.b","change":{"actions":["create"],"after":`+value+`}}]}`)
	}
	of := func(group string, plans map[string]digest.Value) string {
		t.Helper()
		d, err := GroupDigest(group, plans)
		if err != nil {
			t.Fatal(err)
		}
		return d.String()
	}
	base := of("g", map[string]digest.Value{"net": plan("1"), "app": plan("2")})
	subject := groupJSON(t, `{"group":"g","members":[
		{"member":"app","plan":{"outputChanges":{},"resourceChanges":[{"address":"a.b","actions":["create"],"after":2}]}},
		{"member":"net","plan":{"outputChanges":{},"resourceChanges":[{"address":"a.b","actions":["create"],"after":1}]}}]}`)
	if want, err := digest.Of("terraform-group", subject); err != nil || want.String() != base {
		t.Errorf("the digest is %s, want %s, %v", base, want, err)
	}
	for name, other := range map[string]string{
		"another group":           of("h", map[string]digest.Value{"net": plan("1"), "app": plan("2")}),
		"the plans swapped":       of("g", map[string]digest.Value{"net": plan("2"), "app": plan("1")}),
		"another member's change": of("g", map[string]digest.Value{"net": plan("1"), "app": plan("3")}),
		"a member less":           of("g", map[string]digest.Value{"net": plan("1")}),
	} {
		if other == base {
			t.Errorf("%s has the same digest", name)
		}
	}
}

func TestHiddenPlansShowNoValue(t *testing.T) {
	t.Parallel()
	plan := groupJSON(t, `{"resource_changes":[{"address":"a.b","type":"a","name":"b","change":{"actions":["update"],"before":{"s":"secret-1"},"after":{"s":"secret-2"}}}],
		"output_changes":{"o":{"actions":["update"],"before":1.00000000000000000001,"after":12345678901234567890.5}}}`)
	hidden := Hide(plan)
	part, err := Part("app", hidden, Options{})
	if err != nil || len(part.Entries) != 1 {
		t.Fatal(part, err)
	}
	a := part.Entries[0].Attributes
	if len(a) != 1 || !a[0].Sensitive || !a[0].Before.IsAbsent() || !a[0].After.IsAbsent() {
		t.Errorf("it shows %+v", a)
	}
	for _, x := range part.Inexact {
		if !x.Sensitive || x.Before != "" || x.After != "" {
			t.Errorf("it shows %+v", x)
		}
	}
}
