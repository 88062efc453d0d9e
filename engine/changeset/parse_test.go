package changeset_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// document is a small document with something of every kind, as JSON.
func document(t *testing.T) string {
	t.Helper()
	p := planned("m", "x", "y")
	p.Member.Holes = []changeset.Hole{{Address: "h", Type: "t", Reason: "r"}}
	p.Entries[0].Index, p.Entries[0].Importing = digest.StringOf("k"), true
	p.Entries[1].Index, p.Entries[1].Deposed = digest.IntOf(3), "00"
	p.Entries[1].Attributes = []changeset.Attribute{{Path: "p", Before: digest.NullValue(), Unknown: true, Sensitive: true, ForcesReplacement: true}}
	p.SideEffects = []changeset.SideEffect{{Address: "s", Type: "t", Trigger: "x", Event: "e"}}
	p.Inexact = []changeset.Inexact{{Address: "x", Path: "a", Before: "9007199254740993", Sensitive: false}, {Address: "y", Path: "p", Sensitive: true}}
	return string(compose(t, p).JSON())
}

func TestADocumentComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	text := document(t)
	d, err := changeset.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(d.JSON())); diff != "" || !d.Verify() {
		t.Errorf("document (-written +read):\n%s", diff)
	}
	var decoded changeset.Document
	if err := json.Unmarshal([]byte(text), &decoded); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*d, decoded); diff != "" {
		t.Errorf("Parse and encoding/json differ:\n%s", diff)
	}
	if !strings.HasPrefix(text, "{\n  \"$schema\"") || !strings.HasSuffix(text, "}\n") {
		t.Errorf("form of the text:\n%s", text)
	}
}

func TestTextIsNotEscapedForHTML(t *testing.T) {
	t.Parallel()
	p := planned("m", `x["<&>"]`)
	p.Member.Status, p.Member.Error = changeset.Failed, "a < b & c"
	d := compose(t, p)
	if text := string(d.JSON()); !strings.Contains(text, `x[\"<&>\"]`) || !strings.Contains(text, "a < b & c") {
		t.Errorf("document is\n%s", text)
	}
}

// replaced is text with its one occurrence of old replaced.
func replaced(t *testing.T, text, old, with string) string {
	t.Helper()
	if strings.Count(text, old) != 1 {
		t.Fatalf("%q stands %d times in\n%s", old, strings.Count(text, old), text)
	}
	return strings.Replace(text, old, with, 1)
}

func TestParseNamesTheFieldThatIsWrong(t *testing.T) {
	t.Parallel()
	text := document(t)
	for _, test := range []struct{ old, with, want string }{
		{"v1/change-set.schema", "v2/change-set.schema", `$schema is "https://`},
		{`"contract": 1`, `"contract": 2`, "contract is 2; this version reads contract 1"},
		{`"contract": 1`, `"contract": 1.5`, "contract is not an integer"},
		{`"digest": "jcs1-sha256:`, `"digest": "md5:`, "change set: digest is wrong"},
		{`"status": "planned"`, `"status": "perhaps"`, `members[0]: status is "perhaps"`},
		{`"planDigest": "jcs1`, `"planDigest": "jcs2`, "members[0]: planDigest is wrong"},
		{`"reason": "r"`, `"because": "r"`, "members[0]: holes[0]: reason is missing"},
		{`"importing": true`, `"importing": "yes"`, "entries[0]: importing is of type string, want a boolean"},
		{`"index": 3`, `"index": [3]`, "entries[1]: index is of type array, want a string or a number"},
		{`"path": "p",` + "\n          \"before\"", `"path": 7,` + "\n          \"before\"", "entries[1]: attributes[0]: path is of type number, want a string"},
		{`"trigger": "x"`, `"trigger": {}`, "sideEffects[0]: trigger is of type object"},
		{`"before": "9007199254740993"`, `"before": 9007199254740993`, "inexact[0]: before is of type number"},
		{`"summary"`, `"summary": {}, "entries"`, "entries is of type object, want a list"},
	} {
		d, err := changeset.Parse([]byte(replaced(t, text, test.old, test.with)))
		if err == nil || d != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.with, err, test.want)
		}
	}
	for text, want := range map[string]string{
		``:                     "reading a change set: JSON at offset 0",
		`7`:                    "$schema is missing",
		`{"members":[7]}`:      "$schema is missing",
		`{"$schema":"\ud800"}`: "lone surrogate",
	} {
		if d, err := changeset.Parse([]byte(text)); err == nil || d != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if _, err := changeset.ParsePart([]byte(`{"member":[],"entries":[]}`)); err == nil || !strings.Contains(err.Error(), "part: member is of type array") {
		t.Errorf("ParsePart says %v", err)
	}
	if _, err := changeset.ParsePart([]byte(`{"member":{"member":"m","lexicon":"l","planner":"p","status":"planned","holes":[]},"entries":[7]}`)); err == nil ||
		!strings.Contains(err.Error(), "part: entries[0] is of type number") {
		t.Errorf("ParsePart says %v", err)
	}
}

func TestAnUnknownActionInADocumentIsAnError(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(document(t), `"action": "update"`, `"action": "explode"`)
	if _, err := changeset.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), `entries[0]: action is "explode"`) {
		t.Errorf("error is %v", err)
	}
}

// A field of a later version is hashed as it stands, so its document verifies
// here, and not once the field is changed or taken away.
func TestUnknownFieldsAreHashedAsTheyStand(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/changeset-04-mixed.json")
	if err != nil {
		t.Fatal(err)
	}
	vector, err := digest.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	text := vector.Get("expectedDocument").String()
	for what, change := range map[string][2]string{
		"entry":       {`{"action":"create",`, `{"zz":{"later":[1.50,null]},"action":"create",`},
		"attribute":   {`"path":"output"`, `"path":"output","later":true`},
		"hole":        {`"reason":`, `"later":7,"reason":`},
		"side effect": {`"trigger":`, `"later":7,"trigger":`},
		"null name":   {`{"action":"delete",`, `{"id":null,"action":"delete",`},
		"false flag":  {`{"action":"delete",`, `{"importing":false,"action":"delete",`},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			// The vector has none of these; the small document has.
			changed = strings.Replace(compact(t, document(t)), change[0], change[1], 1)
		}
		signed := withDigestOf(t, changed)
		d, err := changeset.Parse([]byte(signed))
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !d.Verify() {
			t.Errorf("a document with another field in its %s does not verify", what)
		}
		again, err := changeset.Parse(d.JSON())
		if err != nil || !again.Verify() {
			t.Errorf("stored again, the %s lost its field: %v", what, err)
		}
		strip(d)
		if d.Verify() {
			t.Errorf("without the field of its %s the document still verifies", what)
		}
	}
}

func compact(t *testing.T, text string) string {
	t.Helper()
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.String()
}

// withDigestOf is a document's text with the digest its content has, computed
// from the text alone.
func withDigestOf(t *testing.T, text string) string {
	t.Helper()
	d, err := changeset.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	set, err := changeset.SetDigest(d.Members)
	if err != nil {
		t.Fatal(err)
	}
	v, err := digest.Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var members []digest.Value
	for i := range v.Get("members").Len() {
		m := v.Get("members").At(i)
		members = append(members, digest.ObjectOf(map[string]digest.Value{"member": m.Get("member"), "status": m.Get("status"), "holes": m.Get("holes")}))
	}
	effects := v.Get("sideEffects")
	if effects.IsAbsent() {
		effects = digest.ArrayOf()
	}
	computed := mustDigest(digest.Of("change-set-document", digest.ObjectOf(map[string]digest.Value{
		"set": digest.StringOf(set.String()), "members": digest.ArrayOf(members...), "entries": v.Get("entries"), "sideEffects": effects,
	})))
	return strings.Replace(text, d.Digest.String(), computed.String(), 1)
}

// strip takes away every field this version does not know.
func strip(d *changeset.Document) {
	for i := range d.Members {
		for j := range d.Members[i].Holes {
			d.Members[i].Holes[j].Extra = nil
		}
	}
	for i := range d.Entries {
		d.Entries[i].Extra = nil
		for j := range d.Entries[i].Attributes {
			d.Entries[i].Attributes[j].Extra = nil
		}
	}
	for i := range d.SideEffects {
		d.SideEffects[i].Extra = nil
	}
}

func TestWhatTheDocumentDigestCovers(t *testing.T) {
	t.Parallel()
	text := document(t)
	for name, test := range map[string]struct {
		change func(*changeset.Document)
		covers bool
	}{
		"a plan digest":   {func(d *changeset.Document) { d.Members[0].PlanDigest = nil }, true},
		"a status":        {func(d *changeset.Document) { d.Members[0].Status = changeset.Failed }, true},
		"a hole":          {func(d *changeset.Document) { d.Members[0].Holes[0].Reason = "other" }, true},
		"provisional":     {func(d *changeset.Document) { d.Members[0].Provisional = true }, true},
		"an action":       {func(d *changeset.Document) { d.Entries[0].Action = changeset.Delete }, true},
		"a value":         {func(d *changeset.Document) { d.Entries[0].Attributes[0].After = digest.IntOf(3) }, true},
		"an entry":        {func(d *changeset.Document) { d.Entries = d.Entries[1:] }, true},
		"a side effect":   {func(d *changeset.Document) { d.SideEffects[0].Event = "other" }, true},
		"no side effects": {func(d *changeset.Document) { d.SideEffects = nil }, true},
		"a stray entry": {func(d *changeset.Document) {
			d.Entries = append(d.Entries, changeset.Entry{Member: "z", Action: changeset.Create})
		}, true},
		"a stray side effect": {func(d *changeset.Document) { d.SideEffects = append(d.SideEffects, changeset.SideEffect{Member: "z"}) }, true},
		"an entry twice":      {func(d *changeset.Document) { d.Entries = append(d.Entries, d.Entries[0]) }, true},
		"a member twice":      {func(d *changeset.Document) { d.Members = append(d.Members, d.Members[0]) }, true},
		"the digest's prefix": {func(d *changeset.Document) { d.Digest = mustDigest(digest.Parse("sha256:" + d.Digest.Hex())) }, true},
		"the summary":         {func(d *changeset.Document) { d.Summary.Members = 9 }, false},
		"the chant version":   {func(d *changeset.Document) { d.Chant = "9" }, false},
		"an error text":       {func(d *changeset.Document) { d.Members[0].Error = "other" }, false},
		"a native digest":     {func(d *changeset.Document) { d.Members[0].NativeDigest = "other" }, false},
		"a member's scope":    {func(d *changeset.Document) { d.Members[0].Scope = "other" }, false},
		"inexact numbers":     {func(d *changeset.Document) { d.Inexact = nil }, false},
		"the order":           {func(d *changeset.Document) { d.Entries[0], d.Entries[1] = d.Entries[1], d.Entries[0] }, false},
	} {
		d, err := changeset.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		test.change(d)
		if d.Verify() == test.covers {
			t.Errorf("%s changed: Verify() = %v", name, !test.covers)
		}
	}
}

// FuzzParse: no text panics, and a document that is read verifies the same
// after it is stored again.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"$schema":"` + changeset.Schema + `","contract":1,"digest":"jcs1-sha256:fca0af4eb405523c6fe57edc81089a9ff58337c5273f4dde5c66c534c6e26b82","members":[],"entries":[]}`))
	f.Add([]byte(`{"$schema":"` + changeset.Schema + `","contract":1,"digest":"jcs1-sha256:fca0af4eb405523c6fe57edc81089a9ff58337c5273f4dde5c66c534c6e26b82",` +
		`"members":[{"member":"m","lexicon":"l","planner":"p","status":"planned","planDigest":null,"holes":[{"address":"a","reason":"r","x":1}]}],` +
		`"entries":[{"member":"m","lexicon":"l","planner":"p","address":"a","type":"t","index":1e2,"action":"no-op","name":null,"attributes":[{"path":"p","after":[1.0]}]}],` +
		`"sideEffects":[{"member":"m","address":"a","type":"t"}],"inexact":[{"address":"a","path":"p"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := changeset.Parse(data)
		if err != nil {
			return
		}
		again, err := changeset.Parse(d.JSON())
		if err != nil {
			t.Fatalf("%v in %s", err, d.JSON())
		}
		if diff := cmp.Diff(d, again); diff != "" || d.Verify() != again.Verify() {
			t.Errorf("the stored document differs:\n%s", diff)
		}
	})
}
