package changeset

import (
	"bytes"
	"encoding/json"

	"github.com/chant-bot/chant/engine/digest"
)

// record is an object's properties in the order the document writes them. The
// same list is written as JSON and hashed, so the two cannot differ.
type record struct{ digest.Builder }

// optional leaves an empty text out.
func (r *record) optional(key, s string) {
	if s != "" {
		r.Text(key, s)
	}
}

// flag writes true and leaves false out.
func (r *record) flag(key string, set bool) {
	if set {
		r.Bool(key, true)
	}
}

// extra adds the fields that r does not have.
func (r *record) extra(fields map[string]digest.Value) {
	if len(fields) == 0 {
		return
	}
	rest := digest.ObjectOf(fields)
	for i, key := range rest.Keys() {
		if !r.Has(key) {
			r.Value(key, rest.At(i))
		}
	}
}

func (h Hole) record() *record {
	r := new(record)
	r.Text("address", h.Address)
	r.optional("type", h.Type)
	r.Text("reason", h.Reason)
	r.extra(h.Extra)
	return r
}

func (s SideEffect) record() *record {
	r := new(record)
	r.optional("member", s.Member)
	r.Text("address", s.Address)
	r.Text("type", s.Type)
	r.optional("trigger", s.Trigger)
	r.optional("event", s.Event)
	r.extra(s.Extra)
	return r
}

func (a Attribute) record() *record {
	r := new(record)
	r.Text("path", a.Path)
	r.Value("before", a.Before)
	r.Value("after", a.After)
	r.flag("unknown", a.Unknown)
	r.flag("sensitive", a.Sensitive)
	r.flag("forcesReplacement", a.ForcesReplacement)
	r.extra(a.Extra)
	return r
}

// record has every property but the attributes, which are a list of records.
func (e *Entry) record() *record {
	r := new(record)
	r.Text("member", e.Member)
	r.Text("lexicon", e.Lexicon)
	r.Text("planner", e.Planner)
	r.Text("address", e.Address)
	r.Text("type", e.Type)
	r.optional("name", e.Name)
	r.Value("index", e.Index)
	r.optional("module", e.Module)
	r.optional("deposed", e.Deposed)
	r.optional("id", e.ID)
	r.Text("action", string(e.Action))
	r.flag("importing", e.Importing)
	r.optional("disruption", e.Disruption)
	r.optional("region", e.Region)
	r.optional("scope", e.Scope)
	r.extra(e.Extra)
	return r
}

// object is the entry as it is hashed.
func (e *Entry) object() digest.Value {
	attributes := make([]digest.Value, len(e.Attributes))
	for i := range e.Attributes {
		attributes[i] = e.Attributes[i].record().Object()
	}
	r := e.record()
	r.Value("attributes", digest.ArrayOf(attributes...))
	return r.Object()
}

func holeList(holes []Hole) digest.Value {
	list := make([]digest.Value, len(holes))
	for i, h := range holes {
		list[i] = h.record().Object()
	}
	return digest.ArrayOf(list...)
}

// MarshalJSON writes the fields, then Extra.
func (h Hole) MarshalJSON() ([]byte, error) { return h.record().JSON(), nil }

// MarshalJSON writes the fields, then Extra.
func (s SideEffect) MarshalJSON() ([]byte, error) { return s.record().JSON(), nil }

// MarshalJSON writes the fields, then Extra.
func (a Attribute) MarshalJSON() ([]byte, error) { return a.record().JSON(), nil }

// MarshalJSON writes the fields, then Extra, then the attributes.
func (e Entry) MarshalJSON() ([]byte, error) {
	attributes, err := encode(list(e.Attributes), "")
	if err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(e.record().JSON(), []byte("}"))
	text = append(text, `,"attributes":`...)
	text = append(text, attributes...)
	return append(text, '}'), nil
}

// MarshalJSON writes holes as a list even when there are none.
func (m Member) MarshalJSON() ([]byte, error) {
	type plain Member
	m.Holes = list(m.Holes)
	return encode(plain(m), "")
}

// MarshalJSON writes entries as a list even when there are none.
func (p Part) MarshalJSON() ([]byte, error) {
	type plain Part
	p.Entries = list(p.Entries)
	return encode(plain(p), "")
}

// MarshalJSON writes members and entries as lists even when there are none.
func (d Document) MarshalJSON() ([]byte, error) {
	type plain Document
	d.Members, d.Entries = list(d.Members), list(d.Entries)
	return encode(plain(d), "")
}

// list is items, never nil, so that JSON has a list and not null.
func list[T any](items []T) []T {
	if items == nil {
		return []T{}
	}
	return items
}

// JSON is the document as it is stored and shown: fields in the order of
// change-set §2, indented by two spaces, with a final line feed.
func (d *Document) JSON() []byte {
	text, _ := encode(d, "  ") // nothing in a Document fails to encode
	return text
}

// encode writes v without escaping <, > and &, which people read.
func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(v)
	return b.Bytes(), err
}
