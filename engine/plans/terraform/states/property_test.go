package states

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/digest"
)

var (
	names     = rapid.SampledFrom([]string{"a", "b_c", "d-e", "m1", "m2", "module"})
	indexes   = rapid.SampledFrom([]string{"", "[0]", `["a.b"]`, `["m1__x"]`})
	providers = []string{builtin, builtin + ".west", `provider["registry.terraform.io/hashicorp/aws"]`}
	numbers   = rapid.SampledFrom([]string{"0", "1.50", "1e3", "12345678901234567890.125"})
)

func address(t *rapid.T, what string) string {
	address := ""
	for range rapid.IntRange(0, 2).Draw(t, "depth") {
		address += "module." + names.Draw(t, "module") + indexes.Draw(t, "index") + "."
	}
	return address + what
}

func texts(t *rapid.T, what string, most int) []digest.Value {
	all := []digest.Value{}
	for range rapid.IntRange(0, most).Draw(t, "texts") {
		all = append(all, digest.StringOf(address(t, what+"."+names.Draw(t, "name"))))
	}
	return all
}

func instance(t *rapid.T) digest.Value {
	number, _ := digest.NumberOf(numbers.Draw(t, "number"))
	var b digest.Builder
	b.Value("attributes", digest.ObjectOf(map[string]digest.Value{"n": number, "s": digest.StringOf(names.Draw(t, "value"))}))
	if dependencies := texts(t, "type", 3); len(dependencies) > 0 {
		b.Value("dependencies", digest.ArrayOf(dependencies...))
	}
	if rapid.Bool().Draw(t, "deposed") {
		b.Text("deposed", "0a1b2c3d")
	}
	return b.Object()
}

func resource(t *rapid.T) digest.Value {
	var b digest.Builder
	if module := address(t, ""); module != "" {
		b.Text("module", module[:len(module)-1])
	}
	b.Text("mode", rapid.SampledFrom([]string{"managed", "data"}).Draw(t, "mode"))
	b.Text("type", "type")
	b.Text("name", names.Draw(t, "name"))
	b.Text("provider", rapid.SampledFrom([]string{"", "module.x.", "module.m2.module.y."}).Draw(t, "at")+rapid.SampledFrom(providers).Draw(t, "provider"))
	b.Value("instances", digest.ArrayOf(rapid.SliceOfN(rapid.Custom(instance), 0, 3).Draw(t, "instances")...))
	return b.Object()
}

func checkResult(t *rapid.T) digest.Value {
	at := address(t, "check."+names.Draw(t, "check"))
	return digest.ObjectOf(map[string]digest.Value{
		"object_kind": digest.StringOf("check"), "config_addr": digest.StringOf(at), "status": digest.StringOf("pass"),
		"objects": digest.ArrayOf(digest.ObjectOf(map[string]digest.Value{"object_addr": digest.StringOf(at)})),
	})
}

func member(t *rapid.T, id int) Member {
	m := Member{ID: fmt.Sprintf("m%d", id), Lineage: fmt.Sprintf("first-%d", id), Providers: rapid.SliceOfDistinct(rapid.SampledFrom(providers), func(p string) string { return p }).Draw(t, "configured")}
	if rapid.Bool().Draw(t, "never applied") {
		return m
	}
	outputs := map[string]digest.Value{}
	for _, name := range rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "a__b", "__", "m1__a"}), func(n string) string { return n }).Draw(t, "outputs") {
		outputs[name] = instance(t)
	}
	m.State = digest.ObjectOf(map[string]digest.Value{
		"version": digest.IntOf(4), "terraform_version": digest.StringOf("1.11.4"), "lineage": digest.StringOf(fmt.Sprintf("own-%d", id)),
		"serial":        digest.IntOf(rapid.Int64Range(0, 1<<40).Draw(t, "serial")),
		"outputs":       digest.ObjectOf(outputs),
		"resources":     digest.ArrayOf(rapid.SliceOfN(rapid.Custom(resource), 0, 4).Draw(t, "resources")...),
		"check_results": results(rapid.SliceOfN(rapid.Custom(checkResult), 0, 2).Draw(t, "checks")),
	})
	return m
}

// What was joined is split into the same states, but for their serials, which
// grow by one (soundness I12).
func TestSplitUndoesJoin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var members []Member
		for id := range rapid.IntRange(1, 4).Draw(t, "members") {
			members = append(members, member(t, id+1))
		}
		joined, err := Join(members)
		if err != nil {
			t.Fatal(err)
		}
		// What terraform does to a state's order.
		joined = digest.ObjectOf(map[string]digest.Value{
			"version": joined.Get("version"), "terraform_version": joined.Get("terraform_version"), "serial": joined.Get("serial"),
			"lineage": joined.Get("lineage"), "outputs": joined.Get("outputs"), "check_results": joined.Get("check_results"),
			"resources": digest.ArrayOf(rapid.Permutation(items(joined.Get("resources"))).Draw(t, "order")...),
		})
		parts, err := Split(joined, members)
		if err != nil || len(parts) != len(members) {
			t.Fatalf("%d parts of %d members, %v", len(parts), len(members), err)
		}
		for _, m := range members {
			before, _ := Serial(m.State)
			after, err := Serial(parts[m.ID])
			if !Same(m.State, parts[m.ID]) || err != nil || after != before+1 || parts[m.ID].Get("lineage").IsNull() {
				t.Fatalf("%s was\n%s\nand is\n%s, %v", m.ID, m.State, parts[m.ID], err)
			}
		}
	})
}

func items(array digest.Value) []digest.Value {
	all := make([]digest.Value, array.Len())
	for i := range all {
		all[i] = array.At(i)
	}
	return all
}
