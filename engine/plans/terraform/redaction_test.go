package terraform_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/plans/terraform"
)

// shown is one line per attribute of a change: path, values and flags.
func shown(e changeset.Entry) string {
	var lines []string
	for _, a := range e.Attributes {
		line := a.Path + ":" + a.Before.String() + ">" + a.After.String()
		if a.Unknown {
			line += " unknown"
		}
		if a.Sensitive {
			line += " sensitive"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestWhatTheMarksHide(t *testing.T) {
	t.Parallel()
	const set = `"actions":["update"],"before":{"b":[{"name":"x","password":"p"}],"c":1},"after":{"b":[{"name":"x","password":"q"}],"c":2}`
	const shownB = `b:[{"name":"x","password":"p"}]>[{"name":"x","password":"q"}]`
	for name, test := range map[string]struct{ change, want string }{
		"true over a block hides all of it on both sides":  {set + `,"after_sensitive":{"b":true}`, "b:> sensitive\nc:1>2"},
		"a mark on the old side hides the new one":         {set + `,"before_sensitive":{"b":true},"after_sensitive":{}`, "b:> sensitive\nc:1>2"},
		"a mark deep in a block hides the whole attribute": {set + `,"after_sensitive":{"b":[{"password":true}]}`, "b:> sensitive\nc:1>2"},
		"an empty object is no mark":                       {set + `,"after_sensitive":{"b":{}}`, shownB + "\nc:1>2"},
		"an empty list is no mark":                         {set + `,"after_sensitive":{"b":[]}`, shownB + "\nc:1>2"},
		"false is no mark":                                 {set + `,"after_sensitive":{"b":[{"name":false}]},"before_sensitive":false`, shownB + "\nc:1>2"},
		"a scalar true hides every attribute":              {set + `,"after_sensitive":true`, "b:> sensitive\nc:> sensitive"},
		"a scalar true on the old side too":                {set + `,"before_sensitive":true,"after_sensitive":{}`, "b:> sensitive\nc:> sensitive"},
		"marks without keys hide every attribute":          {set + `,"after_sensitive":[{"b":true}]`, "b:> sensitive\nc:> sensitive"},
		"what is no mark hides":                            {set + `,"after_sensitive":{"b":"true"}`, "b:> sensitive\nc:1>2"},
		"what is no mark at the top hides all":             {set + `,"after_sensitive":"x"`, "b:> sensitive\nc:> sensitive"},
		"marks by attribute": {
			`"actions":["create"],"before":null,"after":{"data":{"k":"v"},"data_json":"{}"},"after_sensitive":{"data":{},"data_json":true}`,
			"data:>{\"k\":\"v\"}\ndata_json:> sensitive",
		},
		"unknown and sensitive": {
			`"actions":["create"],"after":{},"after_unknown":{"u":true},"after_sensitive":{"u":true}`, "u:> unknown sensitive",
		},
		"a sensitive value that stays is not a change": {
			`"actions":["update"],"before":{"s":"same"},"after":{"s":"same"},"before_sensitive":{"s":true},"after_sensitive":{"s":true}`, "",
		},
	} {
		if got := shown(changeOf(t, "{"+test.change+"}")); got != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, test.want)
		}
	}
}

// Wherever the mark stands on the way to a secret, no part holds the secret.
func TestNoMarkedValueReachesThePart(t *testing.T) {
	t.Parallel()
	const secret, secretNumber = "hunter2-hunter2", "98765432109876543210"
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 5).Draw(t, "depth")
		marked := rapid.IntRange(0, depth).Draw(t, "marked at")
		value := rapid.SampledFrom([]string{`"` + secret + `"`, secretNumber, `{"` + secret + `":` + secretNumber + `}`}).Draw(t, "value")
		mark := rapid.SampledFrom([]string{"true", `"odd"`, "1"}).Draw(t, "mark")
		if marked < depth {
			mark = rapid.SampledFrom([]string{"true", `[true]`, `[{"x":true}]`}).Draw(t, "mark above")
		}
		for level := depth; level > 0; level-- {
			inList := level > 1 && rapid.Bool().Draw(t, "in a list")
			wrap := func(s string) string {
				if inList {
					return "[0," + s + "]"
				}
				return `{"region":` + s + `}`
			}
			value = wrap(value)
			if level <= marked {
				if inList {
					mark = "[false," + mark + "]"
				} else {
					mark = `{"region":` + mark + `}`
				}
			}
		}
		side := rapid.SampledFrom([]string{"before", "after"}).Draw(t, "side of the mark")
		where := rapid.SampledFrom([]string{"before", "after"}).Draw(t, "side of the secret")
		other := map[string]string{"before": "after", "after": "before"}[where]
		actions := rapid.SampledFrom([]string{`["update"]`, `["delete","create"]`, `["delete"]`, `["no-op"]`, `["create"]`}).Draw(t, "actions")
		text := `{"resource_changes":[{"address":"a.b","change":{"actions":` + actions + `,"` + where + `":` + value + `,"` + other + `":{"region":null},"` +
			side + `_sensitive":` + mark + `}}],"output_changes":{"o":{"actions":["update"],"` + where + `":` + value + `,"` + side + `_sensitive":` + mark + `}}}`
		plan, err := digest.Decode([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		part, err := terraform.Part("m", plan, terraform.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := changeset.Compose([]changeset.Part{part}, "")
		if err != nil {
			t.Fatal(err)
		}
		if out := string(d.JSON()); strings.Contains(out, secret) || strings.Contains(out, secretNumber) {
			t.Fatalf("%s\nshows\n%s", text, out)
		}
	})
}
