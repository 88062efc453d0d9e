package terraform_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/plans/terraform"
)

// pr-loop decision 8: an output that is unknown or moved is an unknown input of its
// reader.
func TestAnOutputMovesUnlessThePlanLeavesItsValue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change string
		want   []string
	}{
		"unchanged":                      {`{"actions":["no-op"],"before":"a","after":"a","after_unknown":false}`, nil},
		"created":                        {`{"actions":["create"],"before":null,"after":"a","after_unknown":false}`, []string{"o"}},
		"created as null":                {`{"actions":["create"],"before":null,"after":null,"after_unknown":false}`, nil},
		"updated":                        {`{"actions":["update"],"before":"a","after":"b","after_unknown":false}`, []string{"o"}},
		"removed":                        {`{"actions":["delete"],"before":"a","after":null,"after_unknown":false}`, []string{"o"}},
		"known after the apply":          {`{"actions":["update"],"before":"a","after_unknown":true}`, []string{"o"}},
		"created, known after the apply": {`{"actions":["create"],"before":null,"after_unknown":true}`, []string{"o"}},
		"unknown though a no-op":         {`{"actions":["no-op"],"before":"a","after_unknown":true}`, []string{"o"}},
		"only its mark changes":          {`{"actions":["update"],"before":"a","after":"a","after_unknown":false,"after_sensitive":true}`, nil},
		"a number no double holds":       {`{"actions":["update"],"before":9007199254740992,"after":9007199254740993,"after_unknown":false}`, []string{"o"}},
		"the same number":                {`{"actions":["update"],"before":1.50,"after":1.5,"after_unknown":false}`, nil},
		"a text that was a number":       {`{"actions":["update"],"before":"1","after":1,"after_unknown":false}`, []string{"o"}},
		"a sensitive one updated":        {`{"actions":["update"],"before":"a","after":"b","after_unknown":false,"before_sensitive":true,"after_sensitive":true}`, []string{"o"}},
		"a sensitive one unchanged":      {`{"actions":["no-op"],"before":"a","after":"a","after_unknown":false,"before_sensitive":true,"after_sensitive":true}`, nil},
		"a list":                         {`{"actions":["update"],"before":["a"],"after":["a","b"],"after_unknown":false}`, []string{"o"}},
		"a part of a list unknown":       {`{"actions":["update"],"before":["a"],"after":["a",null],"after_unknown":[false,true]}`, []string{"o"}},
		"parts of an object":             {`{"actions":["update"],"before":{"a":1,"b":{"c":1,"d":1}},"after":{"a":1,"b":{"c":2,"d":1},"e":1},"after_unknown":false}`, []string{"o.b.c", "o.e"}},
		"a part that is removed":         {`{"actions":["update"],"before":{"a":1,"b":1},"after":{"a":1},"after_unknown":{}}`, []string{"o.b"}},
		"a part known after the apply":   {`{"actions":["update"],"before":{"a":1,"b":1},"after":{"a":1},"after_unknown":{"b":true}}`, []string{"o.b"}},
		"a part of a part unknown":       {`{"actions":["update"],"before":{"a":{"x":1}},"after":{"a":{}},"after_unknown":{"a":{"x":true}}}`, []string{"o.a.x"}},
		"a part that becomes null":       {`{"actions":["update"],"before":{"a":1,"b":1},"after":{"a":1,"b":null},"after_unknown":{}}`, []string{"o.b"}},
		"a part of a sensitive object":   {`{"actions":["update"],"before":{"a":1,"b":1},"after":{"a":1,"b":2},"after_unknown":{},"after_sensitive":{"a":true}}`, []string{"o"}},
		"an object that was a text":      {`{"actions":["update"],"before":"a","after":{"a":1},"after_unknown":{}}`, []string{"o"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := terraform.Moves(decode(t, `{"output_changes":{"o":`+tt.change+`}}`))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := terraform.Moves(decode(t, `{}`)); len(got) != 0 {
		t.Errorf("a plan without outputs moves %v", got)
	}
}
