package changeset

import (
	"fmt"
	"strconv"

	"github.com/chant-bot/chant/engine/digest"
)

// Parse reads a document of this schema and contract. An error names the field
// that is wrong. Fields it does not know are kept in entries, attributes,
// holes and side effects, which the digest covers as they stand, and dropped
// elsewhere. The summary is counted anew. Parse does not verify the digest.
func Parse(data []byte) (*Document, error) {
	v, err := digest.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading a change set: %w", err)
	}
	var r reader
	d := documentOf(object{r: &r, at: "change set", v: v})
	if r.err != nil {
		return nil, r.err
	}
	return d, nil
}

// ParsePart reads what an adapter wrote: {member, entries, sideEffects?,
// inexact?}.
func ParsePart(data []byte) (Part, error) {
	v, err := digest.Decode(data)
	if err != nil {
		return Part{}, fmt.Errorf("reading a change-set part: %w", err)
	}
	var r reader
	o := object{r: &r, at: "part", v: v}
	p := Part{
		Member:      memberOf(o.object("member")),
		Entries:     list(each(o, "entries", true, entryOf)),
		SideEffects: each(o, "sideEffects", false, sideEffectOf),
		Inexact:     each(o, "inexact", false, inexactOf),
	}
	return p, r.err
}

func documentOf(o object) *Document {
	d := &Document{
		Schema:      o.text("$schema"),
		Contract:    o.integer("contract"),
		Chant:       o.optional("chant"),
		Digest:      o.digest("digest"),
		Members:     list(each(o, "members", true, memberOf)),
		Entries:     list(each(o, "entries", true, entryOf)),
		SideEffects: each(o, "sideEffects", false, sideEffectOf),
		Inexact:     each(o, "inexact", false, inexactOf),
	}
	if d.Schema != Schema {
		o.fail("$schema", "is %q, want %q", d.Schema, Schema)
	}
	if d.Contract != Contract {
		o.fail("contract", "is %d; this version reads contract %d", d.Contract, Contract)
	}
	d.Summary = summarise(d.Members, d.Entries)
	return d
}

func memberOf(o object) Member {
	m := Member{
		Member:       o.text("member"),
		Lexicon:      o.text("lexicon"),
		Planner:      o.text("planner"),
		Scope:        o.optional("scope"),
		Status:       Status(o.text("status")),
		Error:        o.optional("error"),
		Provisional:  o.flag("provisional"),
		NativeDigest: o.optional("nativeDigest"),
		Holes:        list(each(o, "holes", true, holeOf)),
	}
	if m.Status != Planned && m.Status != Failed {
		o.fail("status", "is %q, want planned or failed", m.Status)
	}
	if !o.v.Get("planDigest").IsNull() {
		d := o.digest("planDigest")
		m.PlanDigest = &d
	}
	return m
}

func holeOf(o object) Hole {
	h := Hole{Address: o.text("address"), Type: o.optional("type"), Reason: o.text("reason")}
	h.Extra = o.beyond(h.record())
	return h
}

func sideEffectOf(o object) SideEffect {
	s := SideEffect{
		Member: o.optional("member"), Address: o.text("address"), Type: o.text("type"),
		Trigger: o.optional("trigger"), Event: o.optional("event"),
	}
	s.Extra = o.beyond(s.record())
	return s
}

func entryOf(o object) Entry {
	e := Entry{
		Member:     o.text("member"),
		Lexicon:    o.text("lexicon"),
		Planner:    o.text("planner"),
		Address:    o.text("address"),
		Type:       o.text("type"),
		Name:       o.optional("name"),
		Module:     o.optional("module"),
		Deposed:    o.optional("deposed"),
		ID:         o.optional("id"),
		Action:     Action(o.text("action")),
		Importing:  o.flag("importing"),
		Disruption: o.optional("disruption"),
		Region:     o.optional("region"),
		Scope:      o.optional("scope"),
		Attributes: list(each(o, "attributes", true, attributeOf)),
	}
	switch index := o.v.Get("index"); index.Kind() {
	case digest.String, digest.Number:
		e.Index = index
	case digest.Absent, digest.Null:
	default:
		o.fail("index", "is of type %s, want a string or a number", index.Kind())
	}
	if !e.Action.known() {
		o.fail("action", "is %q, which this version does not know", e.Action)
	}
	known := e.record()
	known.Value("attributes", o.v.Get("attributes"))
	e.Extra = o.beyond(known)
	return e
}

func attributeOf(o object) Attribute {
	a := Attribute{
		Path: o.text("path"), Before: o.v.Get("before"), After: o.v.Get("after"),
		Unknown: o.flag("unknown"), Sensitive: o.flag("sensitive"), ForcesReplacement: o.flag("forcesReplacement"),
	}
	a.Extra = o.beyond(a.record())
	return a
}

func inexactOf(o object) Inexact {
	return Inexact{
		Member: o.optional("member"), Address: o.text("address"), Deposed: o.optional("deposed"), Path: o.text("path"),
		Before: o.optional("before"), After: o.optional("after"), Sensitive: o.flag("sensitive"),
	}
}

// reader keeps the first thing that is wrong.
type reader struct{ err error }

// object is a JSON object being read, and where it stands.
type object struct {
	r  *reader
	at string
	v  digest.Value
}

func (o object) fail(key, format string, args ...any) {
	if o.r.err == nil {
		o.r.err = fmt.Errorf("%s: %s %s", o.at, key, fmt.Sprintf(format, args...))
	}
}

// text is a string that must be there, though it may be empty.
func (o object) text(key string) string {
	if o.v.Get(key).IsNull() {
		o.fail(key, "is missing")
	}
	return o.optional(key)
}

// optional is a string, or "" when absent or null.
func (o object) optional(key string) string {
	v := o.v.Get(key)
	s, ok := v.Text()
	if !ok && !v.IsNull() {
		o.fail(key, "is of type %s, want a string", v.Kind())
	}
	return s
}

// flag is a boolean, false when absent or null.
func (o object) flag(key string) bool {
	v := o.v.Get(key)
	b, ok := v.Bool()
	if !ok && !v.IsNull() {
		o.fail(key, "is of type %s, want a boolean", v.Kind())
	}
	return b
}

func (o object) integer(key string) int {
	text, _ := o.v.Get(key).NumberText()
	n, err := strconv.Atoi(text)
	if err != nil {
		o.fail(key, "is not an integer")
	}
	return n
}

func (o object) digest(key string) digest.Digest {
	d, err := digest.Parse(o.text(key))
	if err != nil {
		o.fail(key, "is wrong: %v", err)
	}
	return d
}

func (o object) object(key string) object {
	v := o.v.Get(key)
	if v.Kind() != digest.Object {
		o.fail(key, "is of type %s, want an object", v.Kind())
	}
	return object{r: o.r, at: o.at + ": " + key, v: v}
}

// each reads every element of a list of objects. A list that is not required
// may be absent or null.
func each[T any](o object, key string, required bool, read func(object) T) []T {
	v := o.v.Get(key)
	if v.IsNull() && !required {
		return nil
	}
	if v.Kind() != digest.Array {
		o.fail(key, "is of type %s, want a list", v.Kind())
		return nil
	}
	var items []T
	for i := range v.Len() {
		item := object{r: o.r, at: o.at + ": " + key + "[" + strconv.Itoa(i) + "]", v: v.At(i)}
		if item.v.Kind() != digest.Object {
			o.fail(key+"["+strconv.Itoa(i)+"]", "is of type %s, want an object", item.v.Kind())
			return nil
		}
		items = append(items, read(item))
	}
	return items
}

// beyond are the properties that known does not write: those of a later
// version, and ones written as null or false where this version writes none.
// With them the object hashes as it stands.
func (o object) beyond(known *record) map[string]digest.Value {
	if o.r.err != nil || o.v.Len() == known.Len() {
		return nil
	}
	extra := map[string]digest.Value{}
	for i, key := range o.v.Keys() {
		if !known.Has(key) {
			extra[key] = o.v.At(i)
		}
	}
	return extra
}

// decode fills into from JSON through read.
func decode[T any](data []byte, into *T, what string, read func(object) T) error {
	v, err := digest.Decode(data)
	if err != nil {
		return fmt.Errorf("reading a %s: %w", what, err)
	}
	var r reader
	if got := read(object{r: &r, at: what, v: v}); r.err == nil {
		*into = got
	}
	return r.err
}

// UnmarshalJSON is Parse.
func (d *Document) UnmarshalJSON(data []byte) error {
	parsed, err := Parse(data)
	if err == nil {
		*d = *parsed
	}
	return err
}

// UnmarshalJSON is ParsePart.
func (p *Part) UnmarshalJSON(data []byte) error {
	parsed, err := ParsePart(data)
	if err == nil {
		*p = parsed
	}
	return err
}

// UnmarshalJSON is as strict as Parse.
func (m *Member) UnmarshalJSON(data []byte) error { return decode(data, m, "member", memberOf) }

// UnmarshalJSON is as strict as Parse, and keeps unknown fields.
func (h *Hole) UnmarshalJSON(data []byte) error { return decode(data, h, "hole", holeOf) }

// UnmarshalJSON is as strict as Parse, and keeps unknown fields.
func (e *Entry) UnmarshalJSON(data []byte) error { return decode(data, e, "entry", entryOf) }

// UnmarshalJSON is as strict as Parse, and keeps unknown fields.
func (a *Attribute) UnmarshalJSON(data []byte) error {
	return decode(data, a, "attribute", attributeOf)
}

// UnmarshalJSON is as strict as Parse, and keeps unknown fields.
func (s *SideEffect) UnmarshalJSON(data []byte) error {
	return decode(data, s, "side effect", sideEffectOf)
}
