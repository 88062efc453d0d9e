package terraform

import (
	"regexp"
	"strings"

	"github.com/chant-bot/chant/engine/digest"
)

// place is the parts of a resource's address.
type place struct {
	kind, name, module string
	index              digest.Value // string, number or absent
}

// placeOf takes each part from the plan, or off the address where the plan
// does not carry it.
func placeOf(resource digest.Value, address string) place {
	var p place
	kind, hasKind := resource.Get("type").Text()
	name, hasName := resource.Get("name").Text()
	module, hasModule := resource.Get("module_address").Text()
	index := resource.Get("index")
	if k := index.Kind(); k != digest.String && k != digest.Number {
		index = digest.Value{}
	}
	if !hasKind || !hasName || !hasModule || index.IsAbsent() {
		p = parseAddress(address)
	}
	if hasKind {
		p.kind = kind
	}
	if hasName {
		p.name = name
	}
	if hasModule {
		p.module = module
	}
	if !index.IsAbsent() {
		p.index = index
	}
	return p
}

// addressForm is change-set §4.1: module steps, an optional data., type and
// name, an optional index.
var addressForm = regexp.MustCompile(`^((?:module\.[^.\[\]]+` + indexForm + `?\.)*)(?:data\.)?([^.\[\]]+)\.([^.\[\]]+)(` + indexForm + `?)$`)

const indexForm = `(?:\[(?:[0-9]+|"(?:[^"\\]|\\.)*")\])`

// parseAddress takes an address apart. One of another form is a name of
// unknown type.
func parseAddress(address string) place {
	m := addressForm.FindStringSubmatch(address)
	if m == nil {
		return place{kind: "unknown", name: address}
	}
	p := place{module: strings.TrimSuffix(m[1], "."), kind: m[2], name: m[3]}
	if m[4] == "" {
		return p
	}
	text := m[4][1 : len(m[4])-1]
	if text[0] != '"' {
		text = strings.TrimLeft(text[:len(text)-1], "0") + text[len(text)-1:]
	}
	index, err := digest.Decode([]byte(text))
	if err != nil {
		return place{kind: "unknown", name: address}
	}
	p.index = index
	return p
}
