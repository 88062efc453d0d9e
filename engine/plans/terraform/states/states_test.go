package states

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/digest"
)

const builtin = `provider["terraform.io/builtin/terraform"]`

// uuids are what no two applies share.
var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// written is a state that terraform 1.11.4 wrote, without what is random in it:
// net and app by themselves, and group by a root that calls both.
func written(t *testing.T, name string) digest.Value {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, uuids.ReplaceAllString(string(data), "id"))
}

func decode(t *testing.T, text string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// writtenMembers are the roots net and app; net has a provider block.
func writtenMembers(t *testing.T) []Member {
	t.Helper()
	return []Member{
		{ID: "m1", State: written(t, "net"), Providers: []string{builtin}},
		{ID: "m2", State: written(t, "app")},
	}
}

// lines are a value's text with a line per item, for diffs.
func lines(v digest.Value) []string {
	return strings.Split(strings.NewReplacer("{", "{\n", ",", ",\n").Replace(v.String()), "\n")
}

func TestJoinWritesWhatTerraformWritesOfACallingRoot(t *testing.T) {
	t.Parallel()
	joined, err := Join(writtenMembers(t))
	if err != nil {
		t.Fatal(err)
	}
	// What the reader depends on across the call is the group's alone.
	across := `"dependencies":["module.m1.terraform_data.net"],"schema_version":0,"sensitive_attributes":[[`
	group := decode(t, strings.Replace(written(t, "group").String(), across, strings.TrimPrefix(across, `"dependencies":["module.m1.terraform_data.net"],`), 1))
	if diff := cmp.Diff(lines(content(group)), lines(content(joined))); diff != "" {
		t.Errorf("(-terraform +joined):\n%s", diff)
	}
}

func TestSplitGivesEachRootWhatTerraformWritesOfItAlone(t *testing.T) {
	t.Parallel()
	members := writtenMembers(t)
	parts, err := Split(written(t, "group"), members)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if diff := cmp.Diff(lines(content(m.State)), lines(content(parts[m.ID]))); diff != "" {
			t.Errorf("%s (-alone +split):\n%s", m.ID, diff)
		}
		before, _ := Serial(m.State)
		if after, err := Serial(parts[m.ID]); err != nil || after != before+1 {
			t.Errorf("%s: serial %d after %d, %v", m.ID, after, before, err)
		}
		if !digest.Equal(parts[m.ID].Get("lineage"), m.State.Get("lineage")) {
			t.Errorf("%s: the lineage is %s", m.ID, parts[m.ID].Get("lineage"))
		}
	}
}

// one is a state with one resource, of which the test says the rest.
func one(resource string) string {
	return `{"version":4,"serial":7,"lineage":"l","outputs":{},"resources":[` + resource + `],"check_results":null}`
}

func TestWhatAResourceIsRewrittenTo(t *testing.T) {
	t.Parallel()
	const aws = `provider["registry.terraform.io/hashicorp/aws"]`
	for name, tc := range map[string]struct{ own, joined string }{
		"its own configuration": {
			own:    `{"mode":"managed","type":"a","name":"b","provider":"` + quoted(aws) + `","instances":[]}`,
			joined: `{"module":"module.m1","mode":"managed","type":"a","name":"b","provider":"module.m1.` + quoted(aws) + `","instances":[]}`,
		},
		"an alias it does not have": {
			own:    `{"mode":"data","type":"a","name":"b","provider":"` + quoted(aws) + `.west","instances":[]}`,
			joined: `{"module":"module.m1","mode":"data","type":"a","name":"b","provider":"` + quoted(aws) + `.west","instances":[]}`,
		},
		"of a module, and its configuration there": {
			own:    `{"module":"module.x[\"a.b\"].module.y[0]","mode":"managed","type":"a","name":"b","provider":"module.x.` + quoted(aws) + `","instances":[]}`,
			joined: `{"module":"module.m1.module.x[\"a.b\"].module.y[0]","mode":"managed","type":"a","name":"b","provider":"module.m1.module.x.` + quoted(aws) + `","instances":[]}`,
		},
		"a configuration for each instance, and what depends on what": {
			own: `{"mode":"managed","type":"a","name":"b","provider":"` + quoted(aws) + `","instances":[
				{"index_key":"k","provider":"` + quoted(aws) + `[\"eu\"]","deposed":"0a","attributes":{"n":1e3,"big":12345678901234567890.50},"dependencies":["a.c","module.x.a.d","data.a.e"]}]}`,
			joined: `{"module":"module.m1","mode":"managed","type":"a","name":"b","provider":"module.m1.` + quoted(aws) + `","instances":[
				{"index_key":"k","provider":"module.m1.` + quoted(aws) + `[\"eu\"]","deposed":"0a","attributes":{"n":1e3,"big":12345678901234567890.50},"dependencies":["module.m1.a.c","module.m1.module.x.a.d","module.m1.data.a.e"]}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := Member{ID: "m1", State: decode(t, one(tc.own)), Providers: []string{aws}}
			joined, err := Join([]Member{m})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tc.joined).String(), joined.Get("resources").At(0).String()); diff != "" {
				t.Errorf("joined (-want +got):\n%s", diff)
			}
			parts, err := Split(joined, []Member{m})
			if diff := cmp.Diff(decode(t, tc.own).String(), parts["m1"].Get("resources").At(0).String()); diff != "" || err != nil {
				t.Errorf("split again, %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func quoted(provider string) string { return strings.ReplaceAll(provider, `"`, `\"`) }

func TestARootNeverAppliedJoinsAsNothingAndIsSplitWithItsFirstLineage(t *testing.T) {
	t.Parallel()
	fresh := Member{ID: "m1", Lineage: "new"}
	joined, err := Join([]Member{fresh, {ID: "m2", State: written(t, "app")}})
	if err != nil {
		t.Fatal(err)
	}
	parts, err := Split(joined, []Member{fresh, {ID: "m2", State: written(t, "app")}})
	if err != nil {
		t.Fatal(err)
	}
	if !Same(parts["m1"], digest.Value{}) || parts["m1"].Get("lineage").String() != `"new"` || parts["m1"].Get("serial").String() != "1" {
		t.Errorf("got %s", parts["m1"])
	}
}

func TestOtherStatesJoinUnderAnotherLineage(t *testing.T) {
	t.Parallel()
	lineages := map[string]string{}
	for name, state := range map[string]string{
		"one":               one(`{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"n":1.0}}]}`),
		"another number":    one(`{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"n":1.00}}]}`),
		"another resource":  one(`{"mode":"managed","type":"a","name":"c","instances":[{"attributes":{"n":1.0}}]}`),
		"another serial":    strings.Replace(one(`{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"n":1.0}}]}`), `"serial":7`, `"serial":8`, 1),
		"another root's":    strings.Replace(one(`{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"n":1.0}}]}`), `"l"`, `"k"`, 1),
		"nothing in it yet": one(""),
	} {
		joined, err := Join([]Member{{ID: "m1", State: decode(t, state)}})
		if err != nil {
			t.Fatal(err)
		}
		lineage := joined.Get("lineage").String()
		if other, taken := lineages[lineage]; taken {
			t.Errorf("%s and %s have one lineage", name, other)
		}
		lineages[lineage] = name
	}
}

// The tool writes check results in the order of a map, another one at each pull.
func TestAStateIsOneStateHoweverItsChecksAreOrdered(t *testing.T) {
	t.Parallel()
	check := func(address string, objects ...string) string {
		var all []string
		for _, object := range objects {
			all = append(all, `{"object_addr":"`+object+`","status":"pass"}`)
		}
		return `{"object_kind":"resource","config_addr":"` + address + `","status":"pass","objects":[` + strings.Join(all, ",") + `]}`
	}
	const resource = `{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{"n":1.0}}]}`
	pulled := func(checks ...string) digest.Value {
		return decode(t, strings.Replace(one(resource), `"check_results":null`, `"check_results":[`+strings.Join(checks, ",")+`]`, 1))
	}
	first := pulled(check("a.b", "a.b[0]", "a.b[1]"), check("output.x"), check("var.y"))
	again := pulled(check("var.y"), check("a.b", "a.b[1]", "a.b[0]"), check("output.x"))
	if !digest.Equal(Ordered(first), Ordered(again)) || !Same(first, again) {
		t.Errorf("%s is not %s", Ordered(again), Ordered(first))
	}
	var lineages []string
	for _, state := range []digest.Value{first, again} {
		joined, err := Join([]Member{{ID: "m1", State: state}})
		if err != nil {
			t.Fatal(err)
		}
		lineages = append(lineages, joined.Get("lineage").String())
	}
	if lineages[0] != lineages[1] {
		t.Errorf("joined under %v", lineages)
	}
}

func TestAStateThatIsNotUnderstoodIsRefused(t *testing.T) {
	t.Parallel()
	good := one(`{"mode":"managed","type":"a","name":"b","provider":"provider[\"x/y/z\"]","instances":[]}`)
	for name, tc := range map[string]struct{ state, want string }{
		"an older version":        {strings.Replace(good, `"version":4`, `"version":3`, 1), "version 3, want 4"},
		"a field of later":        {strings.Replace(good, `"outputs"`, `"actions":[],"outputs"`, 1), `field "actions"`},
		"a provider of old":       {strings.Replace(good, `provider[\"x/y/z\"]`, `provider.aws`, 1), `provider "provider.aws"`},
		"resources that are none": {`{"version":4,"resources":"a"}`, "resources is of type string"},
		"a dependency on nothing": {one(`{"mode":"managed","type":"a","name":"b","instances":[{"dependencies":[1]}]}`), "resources[0]: instances[0]: dependencies[0]: 1 is not an address"},
	} {
		_, err := Join([]Member{{ID: "m1", State: decode(t, tc.state)}})
		if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "state of m1") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, ids := range [][]string{{"m1", "m1"}, {"m_1"}, {""}, {"M1"}} {
		var members []Member
		for _, id := range ids {
			members = append(members, Member{ID: id, State: decode(t, good)})
		}
		if _, err := Join(members); err == nil {
			t.Errorf("the ids %q were joined", ids)
		}
	}
}

func TestWhatIsNoMembersIsNotSplitAway(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ joined, want string }{
		"a resource of the root above": {one(`{"mode":"managed","type":"a","name":"b","instances":[]}`), "is no member's"},
		"a resource of a third":        {one(`{"module":"module.m3","mode":"managed","type":"a","name":"b","instances":[]}`), "is no member's"},
		"a module called more often":   {one(`{"module":"module.m1[0]","mode":"managed","type":"a","name":"b","instances":[]}`), "is no member's"},
		"an output of a third":         {strings.Replace(one(""), `"outputs":{}`, `"outputs":{"m3__x":{}}`, 1), "the output m3__x is no member's"},
		"another's provider":           {one(`{"module":"module.m1","mode":"managed","type":"a","name":"b","provider":"module.m2.provider[\"x\"]","instances":[]}`), "not the member's"},
		"a field of later":             {strings.Replace(one(""), `"outputs"`, `"actions":[],"outputs"`, 1), `field "actions"`},
	} {
		_, err := Split(decode(t, tc.joined), []Member{{ID: "m1"}, {ID: "m2"}})
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSameIsBlindToOrderAndSerialOnly(t *testing.T) {
	t.Parallel()
	const a, b = `{"mode":"managed","type":"a","name":"a","instances":[{"attributes":{"x":1},"dependencies":["p","q"]}]}`, `{"mode":"managed","type":"a","name":"b","instances":[{"attributes":{}}]}`
	base := one(a + "," + b)
	for name, tc := range map[string]struct {
		other string
		want  bool
	}{
		"the same":           {base, true},
		"another serial":     {strings.Replace(base, `"serial":7`, `"serial":9`, 1), true},
		"another order":      {strings.Replace(one(b+","+a), `["p","q"]`, `["q","p"]`, 1), true},
		"another version":    {strings.Replace(base, `"outputs"`, `"terraform_version":"1.9","outputs"`, 1), true},
		"no checks at all":   {strings.Replace(base, `,"check_results":null`, "", 1), true},
		"another lineage":    {strings.Replace(base, `"l"`, `"k"`, 1), false},
		"another value":      {strings.Replace(base, `"x":1`, `"x":2`, 1), false},
		"another dependency": {strings.Replace(base, `"p"`, `"r"`, 1), false},
		"a resource less":    {one(a), false},
		"another output":     {strings.Replace(base, `"outputs":{}`, `"outputs":{"o":{"value":1}}`, 1), false},
	} {
		if got := Same(decode(t, base), decode(t, tc.other)); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Same(digest.Value{}, decode(t, base)) || !Same(digest.Value{}, decode(t, one(""))) {
		t.Error("no state is the same as one that holds nothing, and as no other")
	}
}
