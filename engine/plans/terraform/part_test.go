package terraform_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

func partOf(t *testing.T, plan string) changeset.Part {
	t.Helper()
	part, err := terraform.Part("m", decode(t, plan), terraform.Options{})
	if err != nil {
		t.Fatalf("Part(%.200s): %v", plan, err)
	}
	return part
}

// changeOf is the one entry of a plan with one change.
func changeOf(t *testing.T, change string) changeset.Entry {
	t.Helper()
	part := partOf(t, `{"resource_changes":[{"address":"a_b.c","type":"a_b","name":"c","change":`+change+`}]}`)
	if len(part.Entries) != 1 {
		t.Fatalf("got %d entries", len(part.Entries))
	}
	return part.Entries[0]
}

func TestActionsAndDisruption(t *testing.T) {
	t.Parallel()
	for actions, want := range map[string]struct {
		action     changeset.Action
		disruption string
	}{
		`["create"]`:          {changeset.Create, ""},
		`["update"]`:          {changeset.Update, "in-place"},
		`["delete"]`:          {changeset.Delete, "destroy"},
		`["read"]`:            {changeset.Read, ""},
		`["no-op"]`:           {changeset.NoOp, ""},
		`["forget"]`:          {changeset.Forget, ""},
		`["create","delete"]`: {changeset.Replace, "replace"},
		`["delete","create"]`: {changeset.Replace, "destroy"},
	} {
		e := changeOf(t, `{"actions":`+actions+`}`)
		if e.Action != want.action || e.Disruption != want.disruption {
			t.Errorf("%s is %s (%s), want %s (%s)", actions, e.Action, e.Disruption, want.action, want.disruption)
		}
	}
}

// Reading an action that a later tool invents as no change would apply it
// unseen.
func TestAnUnknownActionIsAnErrorThatQuotesIt(t *testing.T) {
	t.Parallel()
	for _, actions := range []string{
		`["create","forget"]`, `["frobnicate"]`, `[]`, `["create","delete","create"]`, `["create","create"]`, `["replace"]`,
		`"create"`, `null`, `{"a":"create"}`, `[1]`, `["no-op","read"]`,
	} {
		plan := decode(t, `{"resource_changes":[{"address":"ok.x","change":{"actions":["no-op"]}},{"address":"a.b","change":{"actions":`+actions+`}}]}`)
		_, err := terraform.Part("m", plan, terraform.Options{Planner: "tofu"})
		if err == nil {
			t.Errorf("%s was taken", actions)
			continue
		}
		for _, want := range []string{actions, "a.b", "resource_changes[1]", "tofu plan of m"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("error for %s is %q; want %q in it", actions, err, want)
			}
		}
	}
	for _, missing := range []string{`{}`, `{"change":7}`, `7`, `{"change":{"actions":["` + strings.Repeat("x", 1000) + `"]}}`} {
		_, err := terraform.Part("m", decode(t, `{"resource_changes":[`+missing+`]}`), terraform.Options{})
		if err == nil || len(err.Error()) > 500 {
			t.Errorf("%.40s: %v", missing, err)
		}
	}
}

func TestChangesOfStateAloneAreEntries(t *testing.T) {
	t.Parallel()
	part := partOf(t, `{"resource_changes":[
		{"address":"a.moved","previous_address":"a.old","change":{"actions":["no-op"],"before":{"x":1},"after":{"x":1}}},
		{"address":"a.imported","change":{"actions":["no-op"],"importing":{"id":"i"},"after":{"x":1}}},
		{"address":"a.both","change":{"actions":["update"],"importing":{"id":"i"},"before":{"x":1},"after":{"x":2}}},
		{"address":"a.gone","change":{"actions":["forget"],"before":{"x":1},"after":null}},
		{"address":"a.left","deposed":"0123abcd","change":{"actions":["delete"],"before":{"x":1}}}]}`)
	var got []string
	for _, e := range part.Entries {
		got = append(got, fmt.Sprintf("%s %s importing=%v deposed=%s attributes=%d", e.Address, e.Action, e.Importing, e.Deposed, len(e.Attributes)))
	}
	want := []string{
		"a.moved no-op importing=false deposed= attributes=0",
		"a.imported no-op importing=true deposed= attributes=0",
		"a.both update importing=true deposed= attributes=1",
		"a.gone forget importing=false deposed= attributes=0",
		"a.left delete importing=false deposed=0123abcd attributes=0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestADeferredChangeIsAHoleWithItsReason(t *testing.T) {
	t.Parallel()
	part := partOf(t, `{"applyable":true,"complete":false,"deferred_changes":[
		{"reason":"instance_count_unknown","resource_change":{"address":"a.b[*]","type":"a","index":{"unknown":true}}},
		{"reason":"provider_config_unknown","resource_change":{"address":"c.d","type":"c"}}, {}],
		"deferred_action_invocations":[{"reason":"deferred_prereq","action_invocation":{"address":"action.x.y","type":"x"}}]}`)
	want := []changeset.Hole{
		{Address: "a.b[*]", Type: "a", Reason: "instance_count_unknown"},
		{Address: "c.d", Type: "c", Reason: "provider_config_unknown"},
		{Address: "m", Reason: "deferred"},
		{Address: "action.x.y", Type: "x", Reason: "deferred_prereq"},
	}
	if diff := cmp.Diff(want, part.Member.Holes); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
	if part.Member.Status != changeset.Planned {
		t.Errorf("status is %s", part.Member.Status)
	}
}

func TestAPlanThatIsNotCompleteIsAHole(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string][]changeset.Hole{
		`{"complete":false}`:                       {{Address: "m", Reason: "the planner says the plan is not complete"}},
		`{"complete":false,"deferred_changes":[]}`: {{Address: "m", Reason: "the planner says the plan is not complete"}},
		`{"complete":true}`:                        {},
		`{}`:                                       {},
	} {
		if diff := cmp.Diff(want, partOf(t, plan).Member.Holes); diff != "" {
			t.Errorf("%s (-want +got):\n%s", plan, diff)
		}
	}
}

func TestAnErroredPlanIsAFailedMemberThatKeepsItsEntries(t *testing.T) {
	t.Parallel()
	const changes = `"resource_changes":[{"address":"a.b","change":{"actions":["create"],"after":{"x":1}}}]`
	plan := decode(t, `{"errored":true,`+changes+`}`)
	part, err := terraform.Part("m", plan, terraform.Options{Planner: "tofu", Scope: "prod", NativeDigest: "n"})
	if err != nil {
		t.Fatal(err)
	}
	d := planDigest(t, decode(t, `{`+changes+`}`))
	want := changeset.Member{
		Member: "m", Lexicon: "terraform", Planner: "tofu", Scope: "prod", Status: changeset.Failed,
		Error: "tofu marked the plan errored", PlanDigest: &d, NativeDigest: "n", Holes: []changeset.Hole{},
	}
	if diff := cmp.Diff(want, part.Member); diff != "" {
		t.Errorf("member (-want +got):\n%s", diff)
	}
	if len(part.Entries) != 1 || part.Entries[0].Scope != "prod" || part.Entries[0].Planner != "tofu" {
		t.Errorf("entries are %v", part.Entries)
	}
}

func TestPlannerOfABinary(t *testing.T) {
	t.Parallel()
	for binary, want := range map[string]string{
		"terraform": "terraform", "/usr/bin/tofu": "tofu", `C:\tools\tofu.exe`: "tofu", "./choudoufu-1.2": "choudoufu",
		"/opt/tofu/bin/terraform": "terraform", "": "terraform", "tofu": "tofu", "stofu": "terraform",
	} {
		if got := terraform.PlannerOf(binary); got != want {
			t.Errorf("PlannerOf(%q) = %q, want %q", binary, got, want)
		}
	}
}

func TestRegion(t *testing.T) {
	t.Parallel()
	for change, want := range map[string]string{
		`{"actions":["create"],"after":{"region":"eu-west-1"}}`:                                        "eu-west-1",
		`{"actions":["delete"],"before":{"region":"us-east-1"},"after":null}`:                          "us-east-1",
		`{"actions":["update"],"before":{"region":"a"},"after":{"region":""}}`:                         "a",
		`{"actions":["update"],"before":{"region":"a"},"after":{"region":"b"}}`:                        "b",
		`{"actions":["create"],"after":{"region":7}}`:                                                  "",
		`{"actions":["create"],"after":{"region":"s"},"after_sensitive":{"region":true}}`:              "",
		`{"actions":["update"],"before":{"region":"s"},"after":{},"before_sensitive":{"region":true}}`: "",
		`{"actions":["create"],"after":{"region":"s"},"after_sensitive":true}`:                         "",
	} {
		if got := changeOf(t, change).Region; got != want {
			t.Errorf("%s: region %q, want %q", change, got, want)
		}
	}
}

func TestAddressesOfOddForm(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		`a.b[007]`:                            `a b "" 7`,
		`a.b[0]`:                              `a b "" 0`,
		`a.b["\u00e9]."]`:                     `a b "" "é]."`,
		`module.m["x"].data.a.b`:              `a b "module.m[\"x\"]" `,
		`a.b["\q"]`:                           `unknown a.b["\q"] "" `,
		`a.b[x]`:                              `unknown a.b[x] "" `,
		`module.a`:                            `module a "" `,
		``:                                    `unknown  "" `,
		`a.b["` + strings.Repeat("x", 99_999): "unknown a.b[\"" + strings.Repeat("x", 99_999) + ` "" `,
	} {
		text := digest.StringOf(address).String()
		e := partOf(t, `{"resource_changes":[{"address":`+text+`,"change":{"actions":["no-op"]}}]}`).Entries[0]
		if got := fmt.Sprintf("%s %s %q %s", e.Type, e.Name, e.Module, e.Index); got != want {
			t.Errorf("%.40q is %.100s, want %.100s", address, got, want)
		}
	}
}

// FuzzPart: no plan panics, and what gives a part composes or is refused.
func FuzzPart(f *testing.F) {
	show, err := os.ReadFile("testdata/rawplan-01-terraform-1.11.4.show.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(show)
	f.Add([]byte(`{"resource_changes":[{"address":"a.b[0]","deposed":"x","change":{"actions":["delete","create"],"before":{"a":[1,{"b":2}]},"after":{"a":null},"after_unknown":{"a":[true]},"before_sensitive":true,"after_sensitive":{"a":[{"b":"x"}]},"replace_paths":[["a",0]],"importing":{}}}],"output_changes":{"o":{"actions":["create"],"after":12345678901234567890}},"action_invocations":[{}],"deferred_changes":[{}],"complete":false,"errored":true}`))
	f.Add([]byte(`{"configuration":{"root_module":{"resources":[{"provisioners":[{}]}],"module_calls":{"m":{"module":{}}}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		plan, err := digest.Decode(data)
		if err != nil {
			return
		}
		if _, err := terraform.Code(plan); err == nil {
			terraform.ChangedOutputs(plan)
		}
		part, err := terraform.Part("m", plan, terraform.Options{})
		if err != nil {
			return
		}
		d, err := changeset.Compose([]changeset.Part{part}, "")
		if err != nil {
			return
		}
		if !d.Verify() {
			t.Error("the composed document does not verify")
		}
		back, err := changeset.Parse(d.JSON())
		if err != nil {
			t.Fatal(err)
		}
		if !back.Verify() {
			t.Error("the stored document does not verify")
		}
	})
}
