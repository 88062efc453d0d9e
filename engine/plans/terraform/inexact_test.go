package terraform_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-bot/chant/engine/changeset"
)

const inexactPlan = `{"resource_changes":[
	{"address":"a.update","change":{"actions":["update"],
		"before":{"n":12345678901234567890,"same":1,"list":[0,{"odd key":0.12345678901234567890}]},
		"after":{"n":12345678901234567891,"same":2,"list":[12345678901234567890]}}},
	{"address":"a.noop","deposed":"d","change":{"actions":["no-op"],"before":{"n":9007199254740993},"after":{"n":9007199254740993}}},
	{"address":"a.secret","change":{"actions":["update"],"before":{"m":{"k":9007199254740993}},"after":{"m":{"k":1,"l":9007199254740993}},"after_sensitive":{"m":{"k":true}}}},
	{"address":"a.hidden","change":{"actions":["create"],"after":{"x":9007199254740993},"after_sensitive":true}},
	{"address":"a.index","index":9007199254740993,"change":{"actions":["no-op"],"importing":{"identity":{"account":9007199254740993}}}},
	{"address":"a.exact","change":{"actions":["create"],"after":{"x":12345678901234567000,"y":1e21,"z":0.1}}}],
	"output_changes":{
		"o":{"actions":["create"],"before":null,"after":{"v":9007199254740993}},
		"s":{"actions":["create"],"after":9007199254740993,"after_sensitive":true}},
	"action_invocations":[{"address":"action.a.b","config_values":{"n":9007199254740993}},
		{"address":"action.a.c","config_values":{"n":9007199254740993},"config_sensitive":{"n":true}}]}`

func TestEveryNumberTheDigestRoundsIsListed(t *testing.T) {
	t.Parallel()
	const odd = "9007199254740993"
	want := []changeset.Inexact{
		{Member: "m", Address: "a.update", Path: "list[0]", After: "12345678901234567890"},
		{Member: "m", Address: "a.update", Path: `list[1]["odd key"]`, Before: "0.12345678901234567890"},
		{Member: "m", Address: "a.update", Path: "n", Before: "12345678901234567890", After: "12345678901234567891"},
		{Member: "m", Address: "a.noop", Deposed: "d", Path: "n", Before: odd, After: odd},
		{Member: "m", Address: "a.secret", Path: "m", Sensitive: true},
		{Member: "m", Address: "a.hidden", Path: "x", Sensitive: true},
		{Member: "m", Address: "a.index", Path: "$index", After: odd},
		{Member: "m", Address: "a.index", Path: "$importing.identity.account", After: odd},
		{Member: "m", Address: "output.o", Path: "value.v", After: odd},
		{Member: "m", Address: "output.s", Path: "value", Sensitive: true},
		{Member: "m", Address: "action.a.b", Path: "$action.config_values.n", After: odd},
		{Member: "m", Address: "action.a.c", Path: "$action", Sensitive: true},
	}
	if diff := cmp.Diff(want, partOf(t, inexactPlan).Inexact); diff != "" {
		t.Errorf("inexact (-want +got):\n%s", diff)
	}
}

// As doubles the two values are one, so the update shows no attribute and the
// digests are equal: only the list tells the plans apart.
func TestPlansOfEqualDigestDifferInTheirInexactNumbers(t *testing.T) {
	t.Parallel()
	plan := func(after string) changeset.Part {
		return partOf(t, `{"resource_changes":[{"address":"a.b","change":{"actions":["update"],"before":{"n":1},"after":{"n":`+after+`}}}]}`)
	}
	one, other := plan("12345678901234567890"), plan("12345678901234567891")
	if !one.Member.PlanDigest.Equal(*other.Member.PlanDigest) {
		t.Fatal("the digests differ")
	}
	if cmp.Equal(one.Inexact, other.Inexact) {
		t.Errorf("both list %v", one.Inexact)
	}
}
