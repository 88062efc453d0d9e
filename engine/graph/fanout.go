package graph

import (
	"fmt"

	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
)

// FanOutDigest names a selection with its order and edges (component-fan-out,
// pr-loop §2.3). inputs, when not nil, adds each component's input digest, null
// for a component without one. A resume narrows the selection and keeps the
// digest of the whole.
func FanOutDigest(components []*project.Component, s Selection, inputs map[string]digest.Digest) (digest.Digest, error) {
	byName := make(map[string]*project.Component, len(components))
	for _, c := range components {
		byName[c.Name] = c
	}
	waves := make([]digest.Value, len(s.Waves))
	for i, wave := range s.Waves {
		waves[i] = texts(wave)
	}
	order := s.Order()
	edges := make([]digest.Value, len(order))
	given := make([]digest.Value, len(order))
	for i, name := range order {
		c := byName[name]
		if c == nil {
			return digest.Digest{}, fmt.Errorf("digesting a fan-out: component %q is selected but not declared", name)
		}
		edges[i] = digest.ObjectOf(map[string]digest.Value{"component": digest.StringOf(name), "dependsOn": texts(c.Dependencies())})
		in := digest.NullValue()
		if d, ok := inputs[name]; ok && !d.IsZero() {
			in = digest.StringOf(d.String())
		}
		given[i] = digest.ObjectOf(map[string]digest.Value{"component": digest.StringOf(name), "digest": in})
	}
	subject := map[string]digest.Value{
		"order": texts(order),
		"waves": digest.ArrayOf(waves...),
		"seeds": texts(Seeds(components, s)),
		"edges": digest.ArrayOf(edges...),
	}
	if inputs != nil {
		subject["inputs"] = digest.ArrayOf(given...)
	}
	return digest.Of("component-fan-out", digest.ObjectOf(subject))
}

func texts(words []string) digest.Value {
	items := make([]digest.Value, len(words))
	for i, w := range words {
		items[i] = digest.StringOf(w)
	}
	return digest.ArrayOf(items...)
}
