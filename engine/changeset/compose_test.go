package changeset_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// planned is a part of one member with an entry at each address.
func planned(member string, addresses ...string) changeset.Part {
	d := mustDigest(digest.Of("terraform-plan", digest.StringOf(member)))
	p := changeset.Part{
		Member: changeset.Member{
			Member: member, Lexicon: "terraform", Planner: "terraform", Status: changeset.Planned,
			PlanDigest: &d, Holes: []changeset.Hole{},
		},
		Entries: []changeset.Entry{},
	}
	for _, address := range addresses {
		p.Entries = append(p.Entries, changeset.Entry{
			Member: member, Lexicon: "terraform", Planner: "terraform", Address: address, Type: "t", Action: changeset.Update,
			Attributes: []changeset.Attribute{{Path: "a", Before: digest.IntOf(1), After: digest.IntOf(2)}},
		})
	}
	return p
}

func mustDigest(d digest.Digest, err error) digest.Digest {
	if err != nil {
		panic(err)
	}
	return d
}

func compose(t interface {
	Helper()
	Fatalf(string, ...any)
}, parts ...changeset.Part) *changeset.Document {
	t.Helper()
	d, err := changeset.Compose(parts, "")
	if err != nil {
		t.Fatalf("Compose: %v", err)
	}
	return d
}

func TestComposeRefusesWhatCannotBeApprovedAsAWhole(t *testing.T) {
	t.Parallel()
	provisional := planned("a")
	provisional.Member.Provisional = true
	stray := planned("a", "x")
	stray.Entries[0].Member = "b"
	strayEffect := planned("a")
	strayEffect.SideEffects = []changeset.SideEffect{{Member: "b", Address: "y"}}
	strayNumber := planned("a")
	strayNumber.Inexact = []changeset.Inexact{{Member: "b", Address: "z"}}
	unknown := planned("a", "x")
	unknown.Entries[0].Action = "explode"
	status := planned("a")
	status.Member.Status = "maybe"
	deposed := planned("a", "x", "x")
	deposed.Entries[0].Deposed, deposed.Entries[1].Deposed = "00", "00"
	deposed.Entries[1].Action = changeset.Delete
	for name, test := range map[string]struct {
		parts []changeset.Part
		want  string
	}{
		"a member twice":                   {[]changeset.Part{planned("a"), planned("b"), planned("a")}, "the change set names member a twice"},
		"a member real and provisional":    {[]changeset.Part{planned("a"), provisional}, "the change set names member a twice"},
		"a member provisional twice":       {[]changeset.Part{provisional, provisional}, "the change set names member a twice"},
		"a nameless member":                {[]changeset.Part{planned("")}, "a member without a name"},
		"a NUL in a member":                {[]changeset.Part{planned("a\x00b")}, "holds a NUL"},
		"a NUL in an address":              {[]changeset.Part{planned("a", "x\x00y")}, "holds a NUL"},
		"an entry of another member":       {[]changeset.Part{stray}, "an entry at x names member b, inside member a"},
		"an effect of another member":      {[]changeset.Part{strayEffect}, "a side effect at y names member b, inside member a"},
		"a number of another member":       {[]changeset.Part{strayNumber}, "an inexact number at z names member b, inside member a"},
		"an address twice":                 {[]changeset.Part{planned("a", "x", "y", "x")}, "member a has two entries at x"},
		"an address and deposed key twice": {[]changeset.Part{deposed}, "member a has two entries at x (deposed 00)"},
		"an unknown action":                {[]changeset.Part{unknown}, `the entry at x of member a has action "explode"`},
		"an unknown status":                {[]changeset.Part{status}, `member a has status "maybe"`},
	} {
		d, err := changeset.Compose(test.parts, "")
		if err == nil || d != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestOneAddressInTwoMembersOrUnderTwoDeposedKeysIsFine(t *testing.T) {
	t.Parallel()
	a := planned("a", "x", "x", "x")
	a.Entries[1].Deposed, a.Entries[2].Deposed = "01", "00"
	d := compose(t, planned("b", "x"), a)
	var got []string
	for _, e := range d.Entries {
		got = append(got, e.Member+" "+e.Address+" "+e.Deposed)
	}
	if diff := cmp.Diff([]string{"a x ", "a x 00", "a x 01", "b x "}, got); diff != "" || !d.Verify() {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

func TestSideEffectsAreSortedByEventLast(t *testing.T) {
	t.Parallel()
	p := planned("a")
	p.SideEffects = []changeset.SideEffect{
		{Address: "b", Type: "t"},
		{Address: "a", Type: "t", Trigger: "x", Event: "b"},
		{Address: "a", Type: "t", Trigger: "x", Event: "a"},
		{Address: "a", Type: "t"},
	}
	d := compose(t, p)
	slices.Reverse(p.SideEffects)
	if again := compose(t, p); again.Digest != d.Digest {
		t.Error("the order of side effects changes the digest")
	}
	want := []changeset.SideEffect{
		{Member: "a", Address: "a", Type: "t"},
		{Member: "a", Address: "a", Type: "t", Trigger: "x", Event: "a"},
		{Member: "a", Address: "a", Type: "t", Trigger: "x", Event: "b"},
		{Member: "a", Address: "b", Type: "t"},
	}
	if diff := cmp.Diff(want, d.SideEffects); diff != "" {
		t.Errorf("side effects (-want +got):\n%s", diff)
	}
}

func TestTheOrderOfPartsAndEntriesDoesNotMatter(t *testing.T) {
	t.Parallel()
	names := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("ab-_/Zé\ue000😀")), 1, 4, -1), 0, 5, rapid.ID[string])
	addresses := rapid.SliceOfNDistinct(rapid.StringOfN(rapid.RuneFrom([]rune("ab.[]\"Aé\uffff😀")), 0, 5, -1), 0, 8, rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		var parts, shuffled []changeset.Part
		for _, name := range names.Draw(t, "members") {
			p := planned(name, addresses.Draw(t, "addresses")...)
			p.Member.Provisional = rapid.Bool().Draw(t, "provisional")
			p.SideEffects = []changeset.SideEffect{{Address: "x", Event: "1"}, {Address: "x", Event: "2"}}
			p.Inexact = []changeset.Inexact{{Address: "x", Path: "1"}, {Address: "x", Path: "2"}}
			parts = append(parts, p)
			p.Entries = rapid.Permutation(p.Entries).Draw(t, "entries")
			p.SideEffects = rapid.Permutation(p.SideEffects).Draw(t, "effects")
			p.Inexact = rapid.Permutation(p.Inexact).Draw(t, "inexact")
			shuffled = append(shuffled, p)
		}
		d := compose(t, parts...)
		if diff := cmp.Diff(d, compose(t, rapid.Permutation(shuffled).Draw(t, "parts")...)); diff != "" {
			t.Fatalf("documents differ:\n%s", diff)
		}
		if !slices.IsSortedFunc(d.Entries, func(a, b changeset.Entry) int {
			return digest.Compare(a.Member+"\x00"+a.Address+"\x00"+a.Deposed+"\x00"+string(a.Action), b.Member+"\x00"+b.Address+"\x00"+b.Deposed+"\x00"+string(b.Action))
		}) {
			t.Fatal("entries are not in the order of their joined key")
		}
		back, err := changeset.Parse(d.JSON())
		if err != nil {
			t.Fatalf("Parse: %v", err)
		}
		if diff := cmp.Diff(d, back); diff != "" || !back.Verify() {
			t.Fatalf("the stored document differs:\n%s", diff)
		}
	})
}

// The digest is written piece by piece; this builds its subject whole.
func TestTheDocumentDigestIsThatOfItsWholeSubject(t *testing.T) {
	t.Parallel()
	preview := planned("preview", "p.q")
	preview.Member.Provisional = true
	preview.SideEffects = []changeset.SideEffect{{Address: "p"}}
	failed := planned("failed")
	failed.Member.Status, failed.Member.PlanDigest = changeset.Failed, nil
	failed.Member.Holes = []changeset.Hole{{Address: "h", Reason: "r"}}
	firm := planned("real", "r.s", "a.b")
	firm.SideEffects = []changeset.SideEffect{{Address: "s", Type: "t"}}
	for _, parts := range [][]changeset.Part{{}, {firm}, {preview}, {firm, preview, failed}} {
		d := compose(t, parts...)
		set, err := changeset.SetDigest(d.Members)
		if err != nil {
			t.Fatal(err)
		}
		isReal := func(member string) bool { m, _ := d.Member(member); return !m.Provisional }
		subject := map[string]any{"set": set, "members": []any{}, "entries": []any{}, "sideEffects": []any{}}
		for _, m := range d.Members {
			if isReal(m.Member) {
				subject["members"] = append(subject["members"].([]any), map[string]any{"member": m.Member, "status": m.Status, "holes": m.Holes})
			}
		}
		for _, e := range d.Entries {
			if isReal(e.Member) {
				subject["entries"] = append(subject["entries"].([]any), e)
			}
		}
		for _, s := range d.SideEffects {
			if isReal(s.Member) {
				subject["sideEffects"] = append(subject["sideEffects"].([]any), s)
			}
		}
		text, err := json.Marshal(subject)
		if err != nil {
			t.Fatal(err)
		}
		if want := mustDigest(digest.OfBytes("change-set-document", text)); d.Digest != want {
			t.Errorf("digest is %s, want %s of %s", d.Digest, want, text)
		}
	}
}

func TestAWaveOfPreviewsIsRefused(t *testing.T) {
	t.Parallel()
	firm, one, two := planned("real").Member, planned("b").Member, planned("a").Member
	one.Provisional, two.Provisional = true, true
	if _, err := changeset.WaveDigest([]changeset.Member{one, firm, two, one}); err == nil || !strings.Contains(err.Error(), ": a, b is provisional") {
		t.Errorf("error is %v", err)
	}
	if _, err := changeset.WaveDigest([]changeset.Member{firm, firm}); err == nil || err.Error() != "the change set names member real twice" {
		t.Errorf("error is %v", err)
	}
	wave, err := changeset.WaveDigest([]changeset.Member{firm})
	if err != nil {
		t.Fatal(err)
	}
	if set, err := changeset.SetDigest([]changeset.Member{one, firm}); err != nil || set != wave {
		t.Errorf("set digest with a preview is %s, %v; want that of the wave without, %s", set, err, wave)
	}
}

func TestOnlyIsTheDocumentOfSomeMembers(t *testing.T) {
	t.Parallel()
	parts := map[string]changeset.Part{}
	for _, name := range []string{"a", "b", "c"} {
		p := planned(name, "x", "y")
		p.SideEffects = []changeset.SideEffect{{Address: "s"}}
		p.Inexact = []changeset.Inexact{{Address: "x", Path: "n", After: "9007199254740993"}}
		parts[name] = p
	}
	d := compose(t, parts["a"], parts["b"], parts["c"])
	only, err := d.Only("c", "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(compose(t, parts["a"], parts["c"]), only); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	if len(d.EntriesOf("b")) != 2 || len(d.SideEffectsOf("b")) != 1 || len(d.InexactOf("b")) != 1 || len(only.EntriesOf("b")) != 0 {
		t.Error("what belongs to b is not found")
	}
	for _, names := range [][]string{{"d"}, {"a", "a"}} {
		if _, err := d.Only(names...); err == nil {
			t.Errorf("Only(%q) gave a document", names)
		}
	}
}

func TestTheSummaryCountsAndNames(t *testing.T) {
	t.Parallel()
	a := planned("a", "1", "2", "3")
	a.Entries[0].Action, a.Entries[0].Disruption = changeset.Delete, "destroy"
	a.Entries[1].Action, a.Entries[1].Deposed = changeset.Replace, "0f"
	a.Entries[2].Type = "u"
	a.Member.Holes = []changeset.Hole{{Address: "h", Reason: "r"}, {Address: "i", Reason: "r"}}
	b := planned("b")
	b.Member.Status = changeset.Failed
	got, err := json.Marshal(compose(t, b, a).Summary)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"members":2,"entries":3,"actions":{"create":0,"update":1,"replace":1,"delete":1,"read":0,"no-op":0,"forget":0},` +
		`"types":{"t":{"replace":1,"delete":1},"u":{"update":1}},"byMember":{"a":{"update":1,"replace":1,"delete":1}},` +
		`"deletes":[{"member":"a","address":"1","type":"t","disruption":"destroy"}],` +
		`"replacements":[{"member":"a","address":"2","type":"t","deposed":"0f"}],"failed":["b"],"holes":2}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("summary (-want +got):\n%s", diff)
	}
}

// A hundred thousand entries are composed in a time that grows as their number
// does: per entry at most 1.3 times that of ten thousand.
func benchmarkCompose(b *testing.B, entries int) {
	b.Helper()
	const members = 20
	parts := make([]changeset.Part, members)
	for m := range parts {
		addresses := make([]string, entries/members)
		for i := range addresses {
			// Far from sorted: a step that is prime to the count.
			addresses[i] = fmt.Sprintf(`module.app["eu-%d"].aws_instance.web[%d]`, i%7, i*7919%len(addresses))
		}
		parts[m] = planned(fmt.Sprintf("estates/e%02d", m), addresses...)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := changeset.Compose(parts, "1.0.0"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(entries), "ns/entry")
}

func BenchmarkCompose10k(b *testing.B)  { benchmarkCompose(b, 10_000) }
func BenchmarkCompose100k(b *testing.B) { benchmarkCompose(b, 100_000) }
