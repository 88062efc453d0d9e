package changes

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

func value(t testing.TB, json string) digest.Value {
	t.Helper()
	v, err := digest.Decode([]byte(json))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func text(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.String() + "\n")
	}
	return b.String()
}

// stategraph/stategraph#528.
func TestOneChangedLineOfAYAMLListIsTheOnlyLineShownChanged(t *testing.T) {
	t.Parallel()
	before := digest.StringOf("rules:\n- a\n- b\n- c\n- d\n- e\n- f\n- g\n- h\n")
	after := digest.StringOf("rules:\n- a\n- b\n- c\n- d\n- E\n- f\n- g\n- h\n")
	got := text(Attribute(changeset.Attribute{Path: "content", Before: before, After: after}))
	want := `  content:
      … 3 unchanged lines
      - c
      - d
-     - e
+     - E
      - f
      - g
      - h
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAPolicyDocumentInAStringIsComparedLineByLine(t *testing.T) {
	t.Parallel()
	before := digest.StringOf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetObject"],"Resource":"arn:aws:s3:::one/*"}]}`)
	after := digest.StringOf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*"],"Resource":"arn:aws:s3:::one/*"}]}`)
	changed := 0
	for _, l := range Attribute(changeset.Attribute{Path: "policy", Before: before, After: after}) {
		if l.Op != Same {
			changed++
		}
	}
	if changed != 2 {
		t.Errorf("%d lines changed, want one removed and one added", changed)
	}
}

func TestEachKindOfAttributeReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a    changeset.Attribute
		want string
	}{
		"update":    {changeset.Attribute{Path: "cidr", Before: value(t, `"10.0.8.0/24"`), After: value(t, `"10.0.9.0/24"`), ForcesReplacement: true}, "- cidr: \"10.0.8.0/24\"\n+ cidr: \"10.0.9.0/24\"  (forces replacement)\n"},
		"create":    {changeset.Attribute{Path: "n", After: value(t, `12345678901234567890`)}, "+ n: 12345678901234567890\n"},
		"unset":     {changeset.Attribute{Path: "n", Before: value(t, `true`)}, "- n: true\n"},
		"unknown":   {changeset.Attribute{Path: "arn", Before: value(t, `"a"`), Unknown: true}, "- arn: \"a\"\n+ arn: (known after apply)\n"},
		"sensitive": {changeset.Attribute{Path: "x", Sensitive: true}, "! x: (sensitive value)\n"},
		"named":     {changeset.Attribute{Path: "db_password", After: value(t, `"hunter2"`)}, "! db_password: (redacted)\n"},
		"nested":    {changeset.Attribute{Path: "env", After: value(t, `[{"name":"DB_PASSWORD","value":"hunter2"},{"apiKey":"hunter2"}]`)}, "  env:\n+     [\n+       {\n+         \"name\": \"DB_PASSWORD\",\n+         \"value\": \"(redacted)\",\n+       },\n+       {\n+         \"apiKey\": \"(redacted)\",\n+       },\n+     ]\n"},
		"short":     {changeset.Attribute{Path: "m", After: value(t, `{"token":"hunter2"}`)}, "+ m: {\"token\": \"(redacted)\"}\n"},
	} {
		if diff := cmp.Diff(c.want, text(Attribute(c.a))); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestADifferenceLeadsFromOneTextToTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		side := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "- x"}), 0, 12)
		before, after := side.Draw(t, "before"), side.Draw(t, "after")
		var gone, come, kept []string
		for _, l := range middle(before, after) {
			switch l.Op {
			case Removed:
				gone = append(gone, l.Text)
			case Added:
				come = append(come, l.Text)
			default:
				kept = append(kept, l.Text)
			}
		}
		if len(gone)+len(kept) != len(before) || len(come)+len(kept) != len(after) {
			t.Fatalf("%v to %v: -%v +%v =%v", before, after, gone, come, kept)
		}
		if len(before) == len(after) && cmp.Equal(before, after) && len(gone) > 0 {
			t.Fatalf("equal texts differ: %v", gone)
		}
	})
}

func TestALongDifferenceIsBoundedAndSaysByHowMuch(t *testing.T) {
	t.Parallel()
	var lines []string
	for i := range 3000 {
		lines = append(lines, fmt.Sprint(i))
	}
	got := Compare(nil, lines)
	if len(got) != maxLines+1 || got[maxLines].Text != "… 2880 more lines" {
		t.Errorf("%d lines, last %q", len(got), got[len(got)-1].Text)
	}
	if got := Compare(lines, append([]string{"x"}, append(lines[1:len(lines)-1:len(lines)-1], "y")...)); len(got) > maxLines+1 {
		t.Errorf("%d lines", len(got))
	}
}

func TestSinceNamesWhatBecameOfEachChange(t *testing.T) {
	t.Parallel()
	entry := func(address string, a changeset.Action, attrs ...changeset.Attribute) changeset.Entry {
		return changeset.Entry{Member: "net", Address: address, Action: a, Attributes: attrs}
	}
	old := &changeset.Document{Entries: []changeset.Entry{
		entry("subnet.b", changeset.Update), entry("gone.x", changeset.Create), entry("same.x", changeset.Create),
		entry("value.x", changeset.Update, changeset.Attribute{Path: "cidr", After: value(t, `"a"`)}),
		entry("still.x", changeset.NoOp),
	}}
	now := &changeset.Document{Entries: []changeset.Entry{
		entry("subnet.b", changeset.Replace), entry("same.x", changeset.Create), entry("new.x", changeset.Delete),
		entry("value.x", changeset.Update, changeset.Attribute{Path: "cidr", After: value(t, `"b"`)}),
	}}
	want := []Difference{
		{Member: "net", Name: "new.x", Now: changeset.Delete},
		{Member: "net", Name: "subnet.b", Was: changeset.Update, Now: changeset.Replace},
		{Member: "net", Name: "gone.x", Was: changeset.Create},
		{Member: "net", Name: "value.x", Was: changeset.Update, Now: changeset.Update, Paths: []string{"cidr"}},
	}
	if diff := cmp.Diff(want, Since(old, now)); diff != "" {
		t.Error(diff)
	}
}

func TestTitlesShowSymbolNameAndPaths(t *testing.T) {
	t.Parallel()
	for want, e := range map[string]changeset.Entry{
		"+ a.b":                           {Address: "a.b", Action: changeset.Create, Attributes: []changeset.Attribute{{Path: "x"}}},
		"~ a.b: x, y":                     {Address: "a.b", Action: changeset.Update, Attributes: []changeset.Attribute{{Path: "x"}, {Path: "y"}}},
		"-/+ a.b: x (forces replacement)": {Address: "a.b", Action: changeset.Replace, Attributes: []changeset.Attribute{{Path: "x", ForcesReplacement: true}}},
		"- a.b (deposed 1f)":              {Address: "a.b", Deposed: "1f", Action: changeset.Delete},
		"forget a.b":                      {Address: "a.b", Action: changeset.Forget},
		"import a.b":                      {Address: "a.b", Action: changeset.NoOp, Importing: true},
		"~ a.b (import): x":               {Address: "a.b", Action: changeset.Update, Importing: true, Attributes: []changeset.Attribute{{Path: "x"}}},
	} {
		if got := Title(e); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
