package cover

import (
	"testing"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

func changed(e changeset.Entry, change func(*changeset.Entry)) []changeset.Entry {
	change(&e)
	return []changeset.Entry{e}
}

// pr-loop §5.11, rule 7: which change is the approved one.
func TestEntries(t *testing.T) {
	t.Parallel()
	update := entry("a.x", changeset.Update, write("n", "1", "2"))
	create := entry("a.x", changeset.Create, write("n", "", "2"))
	destroy, replace := entry("a.x", changeset.Delete), entry("a.x", changeset.Replace, write("n", "1", "2"))
	id := func(e changeset.Entry, id string) []changeset.Entry {
		return changed(e, func(e *changeset.Entry) { e.ID = id })
	}
	deposed := func(e changeset.Entry, key string) []changeset.Entry {
		return changed(e, func(e *changeset.Entry) { e.Deposed = key })
	}
	one := func(e changeset.Entry) []changeset.Entry { return []changeset.Entry{e} }
	runCases(t, []coverCase{
		{name: "the same change is covered", approved: one(update), fresh: one(update)},
		{name: "no change at all is covered", approved: one(update)},
		{name: "a no-op needs no approved entry", fresh: one(entry("a.y", changeset.NoOp))},
		{name: "a read needs no approved entry", fresh: one(entry("data.y", changeset.Read))},
		{name: "a no-op that imports does", fresh: changed(entry("a.y", changeset.NoOp), func(e *changeset.Entry) { e.Importing = true }), why: "not in the approved plan"},
		{name: "a no-op that imports is not covered by one that does not", approved: one(entry("a.y", changeset.NoOp)), fresh: changed(entry("a.y", changeset.NoOp), func(e *changeset.Entry) { e.Importing = true }), why: "import"},
		{name: "an update that also imports is not covered by one that does not", approved: one(update), fresh: changed(update, func(e *changeset.Entry) { e.Importing = true }), why: "import"},
		{name: "an update is covered by one that also imported", approved: changed(update, func(e *changeset.Entry) { e.Importing = true }), fresh: one(update)},
		{name: "a change at another address is not covered", approved: one(update), fresh: one(entry("a.y", changeset.Update, write("n", "1", "2"))), why: "`a.y`"},
		{name: "a change of a deposed object is not covered by one of the current", approved: one(update), fresh: deposed(update, "k1"), why: "not in the approved plan"},
		{name: "a change of another deposed object is not covered", approved: deposed(entry("a.x", changeset.Forget), "k1"), fresh: deposed(entry("a.x", changeset.Forget), "k2"), why: "not in the approved plan"},
		{name: "a delete of a deposed object is covered by the replacement that left it", approved: one(replace), fresh: deposed(destroy, "k1")},
		{name: "a delete of a deposed object is covered by the delete of the address", approved: one(destroy), fresh: deposed(destroy, "k1")},
		{name: "a delete of a deposed object is covered by itself, whatever else happens at the address", approved: append(one(update), deposed(destroy, "k1")...), fresh: deposed(destroy, "k1")},
		{name: "a delete of a deposed object is not covered by an update", approved: one(update), fresh: deposed(destroy, "k1"), why: "update was approved"},
		{name: "another action is not covered", approved: one(update), fresh: one(destroy), why: "delete now, update was approved"},
		{name: "a replacement is not covered by an update", approved: one(update), fresh: one(replace), why: "replace now"},
		{name: "an update is not covered by a replacement", approved: one(replace), fresh: one(update), why: "update now"},
		{name: "a replacement is not covered by a create", approved: one(create), fresh: one(replace), why: "replace now"},
		{name: "a forget is not covered by a delete", approved: one(destroy), fresh: one(entry("a.x", changeset.Forget)), why: "forget now"},
		{name: "half a replace: the create that is left", approved: one(replace), fresh: one(create)},
		{name: "half a replace: the create also writes what the replacement kept", approved: one(replace), fresh: one(entry("a.x", changeset.Create, write("kept", "", "k"), write("n", "", "2")))},
		{name: "half a replace: the create of another value is not covered", approved: one(replace), fresh: one(entry("a.x", changeset.Create, write("n", "", "3"))), why: "`n`"},
		{name: "half a replace: the delete that is left", approved: one(replace), fresh: one(destroy)},
		{name: "half a replace: the delete that is left of one that created first", approved: changed(replace, func(e *changeset.Entry) { e.Disruption = "replace" }), fresh: one(destroy)},
		{name: "half a replace: the delete writes no more than was approved", approved: one(replace), fresh: one(entry("a.x", changeset.Delete, write("extra", "k", ""))), why: "`extra`"},
		{name: "half a replace: the delete of another object is not covered", approved: id(replace, "i-1"), fresh: id(destroy, "i-2"), why: "i-2"},
		{name: "a create writes only what was approved", approved: one(create), fresh: one(entry("a.x", changeset.Create, write("extra", "", "k"), write("n", "", "2"))), why: "`extra`"},
		{name: "a delete of another known id is not covered", approved: id(destroy, "i-1"), fresh: id(destroy, "i-2"), why: "i-2"},
		{name: "a replace of another known id is not covered", approved: id(replace, "i-1"), fresh: id(replace, "i-2"), why: "i-2"},
		{name: "an update of the same id in the same region is covered", approved: changed(update, func(e *changeset.Entry) { e.ID, e.Region = "i-1", "eu-west-1" }), fresh: changed(update, func(e *changeset.Entry) { e.ID, e.Region = "i-1", "eu-west-1" })},
		{name: "an update of another known id is not covered", approved: id(update, "i-1"), fresh: id(update, "i-2"), why: "i-2"},
		{name: "a forget of another known id is not covered", approved: id(entry("a.x", changeset.Forget), "i-1"), fresh: id(entry("a.x", changeset.Forget), "i-2"), why: "i-2"},
		{name: "an id that is not known any more cannot differ", approved: id(destroy, "i-1"), fresh: one(destroy)},
		{name: "an id that was not known cannot differ", approved: one(destroy), fresh: id(destroy, "i-2")},
		{name: "an in-place change that is disruptive now is not covered", approved: one(update), fresh: changed(update, func(e *changeset.Entry) { e.Disruption = "rolling" }), why: "rolling now"},
		{name: "a disruption nobody can name now is not covered", approved: one(update), fresh: changed(update, func(e *changeset.Entry) { e.Disruption = "unknown" }), why: "unknown now"},
		{name: "a milder disruption is covered", approved: changed(update, func(e *changeset.Entry) { e.Disruption = "unknown" }), fresh: one(update)},
		{name: "a replacement that destroys first is not covered by one that creates first", approved: changed(replace, func(e *changeset.Entry) { e.Disruption = "replace" }), fresh: one(replace), why: "destroy now"},
		{name: "another region is not covered", approved: changed(create, func(e *changeset.Entry) { e.Region = "eu-west-1" }), fresh: changed(create, func(e *changeset.Entry) { e.Region = "us-east-1" }), why: "us-east-1"},
		{name: "a region that was not known cannot differ", approved: one(create), fresh: changed(create, func(e *changeset.Entry) { e.Region = "us-east-1" })},
		{name: "a region that is not known cannot differ", approved: changed(create, func(e *changeset.Entry) { e.Region = "eu-west-1" }), fresh: one(create)},
		{name: "another scope is not covered", approved: changed(create, func(e *changeset.Entry) { e.Scope = "prod" }), fresh: changed(create, func(e *changeset.Entry) { e.Scope = "root" }), why: "root"},
		{name: "another type under one address is not covered", approved: one(create), fresh: changed(create, func(e *changeset.Entry) { e.Type = "b" }), why: "when approved"},
		{name: "another lexicon under one address is not covered", approved: one(create), fresh: changed(create, func(e *changeset.Entry) { e.Lexicon = "aws" }), why: "when approved"},
		{name: "another planner under one address is not covered", approved: one(create), fresh: changed(create, func(e *changeset.Entry) { e.Planner = "tofu" }), why: "when approved"},
		{name: "one uncovered change among covered ones is not covered", approved: one(update), fresh: []changeset.Entry{update, entry("a.z", changeset.Delete)}, why: "`a.z`"},
	})
}

// pr-loop §5.11, rule 7: which values are the approved ones.
func TestAttributes(t *testing.T) {
	t.Parallel()
	up := func(a ...changeset.Attribute) []changeset.Entry {
		return []changeset.Entry{entry("a.x", changeset.Update, a...)}
	}
	mk := func(a ...changeset.Attribute) []changeset.Entry {
		return []changeset.Entry{entry("a.x", changeset.Create, a...)}
	}
	object := func(text string) changeset.Attribute {
		v, err := digest.Decode([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return changeset.Attribute{Path: "n", After: v}
	}
	runCases(t, []coverCase{
		{name: "equal values are covered", approved: up(write("n", "1", "2")), fresh: up(write("n", "1", "2"))},
		{name: "another value is not", approved: up(write("n", "1", "2")), fresh: up(write("n", "1", "3")), why: `"3" now, "2" was approved`},
		{name: "fewer attributes are covered", approved: up(write("m", "1", "2"), write("n", "1", "2")), fresh: up(write("n", "1", "2"))},
		{name: "an attribute nobody approved is not", approved: up(write("n", "1", "2")), fresh: up(write("m", "1", "2"), write("n", "1", "2")), why: "`m`"},
		{name: "order of keys does not matter", approved: mk(object(`{"a":1,"b":2}`)), fresh: mk(object(`{"b":2,"a":1}`))},
		{name: "order of items does", approved: mk(object(`[1,2]`)), fresh: mk(object(`[2,1]`)), why: "`n`"},
		{name: "null is absent", approved: up(changeset.Attribute{Path: "n", Before: text("1"), After: digest.NullValue()}), fresh: up(write("n", "1", ""))},
		{name: "unset is not a value", approved: up(write("n", "1", "")), fresh: up(write("n", "1", "2")), why: "not set was approved"},
		{name: "any value is covered where none was known", approved: up(unknown("n", "1")), fresh: up(write("n", "1", "9"))},
		{name: "unknown is covered where none was known", approved: up(unknown("n", "1")), fresh: up(unknown("n", "1"))},
		{name: "unknown is not covered where a value was", approved: up(write("n", "1", "2")), fresh: up(unknown("n", "1")), why: "known only after apply"},
		{name: "sensitive is covered by sensitive", approved: up(secret("n")), fresh: up(secret("n"))},
		{name: "sensitive is not covered by a value shown", approved: up(write("n", "1", "2")), fresh: up(secret("n")), why: "sensitive now"},
		{name: "sensitive is not covered by an unknown value shown", approved: up(unknown("n", "1")), fresh: up(secret("n")), why: "sensitive now"},
		{name: "a value shown is not covered by sensitive", approved: up(secret("n")), fresh: up(write("n", "1", "2")), why: "was sensitive"},
		{name: "an unknown value is not covered by sensitive", approved: up(secret("n")), fresh: up(unknown("n", "1")), why: "was sensitive"},
		{name: "sensitive and unknown is covered by the same", approved: up(changeset.Attribute{Path: "n", Sensitive: true, Unknown: true}), fresh: up(changeset.Attribute{Path: "n", Sensitive: true, Unknown: true})},
		{name: "sensitive and unknown covers no value shown", approved: up(changeset.Attribute{Path: "n", Sensitive: true, Unknown: true}), fresh: up(write("n", "1", "2")), why: "was sensitive"},
	})
}

// soundness: approved A to B; meanwhile the live value became C.
func TestTheLiveValueMovedMeanwhile(t *testing.T) {
	t.Parallel()
	up := func(a changeset.Attribute) []changeset.Entry {
		return []changeset.Entry{entry("a.x", changeset.Update, a)}
	}
	re := func(a changeset.Attribute) []changeset.Entry {
		return []changeset.Entry{entry("a.x", changeset.Replace, a)}
	}
	runCases(t, []coverCase{
		{name: "an update from another value", approved: up(write("n", "A", "B")), fresh: up(write("n", "C", "B")), why: `"C" now, and was "A" when approved`},
		{name: "an update from a value where none was", approved: up(write("n", "", "B")), fresh: up(write("n", "C", "B")), why: "moved since"},
		{name: "an update from no value where one was", approved: up(write("n", "A", "B")), fresh: up(write("n", "", "B")), why: "moved since"},
		{name: "an update to an unknown value from another value", approved: up(unknown("n", "A")), fresh: up(unknown("n", "C")), why: "moved since"},
		{name: "a replacement from another value", approved: re(write("n", "A", "B")), fresh: re(write("n", "C", "B")), why: "moved since"},
	})
}
