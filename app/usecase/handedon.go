package usecase

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/chant-bot/chant/engine"
	"github.com/chant-bot/chant/engine/digest"
	"github.com/chant-bot/chant/engine/project"
)

// An output is a secret where its root says so. A root that reads one gets it as a plain
// value, and may hand it on in an output of which it does not say so. Such an output is
// treated as the secret that it holds: whoever reads it shows no more of it than the one
// that read the secret did.

// secretPaths tell how secrets may come from one component to another.
type secretPaths struct {
	driver     engine.OutputReader
	in         PlanInput
	components map[string]*project.Component

	mu       sync.Mutex
	declared map[string]map[string]bool // outputs by root, as Declared; nil: not understood
}

func newSecretPaths(driver engine.OutputReader, in PlanInput, components map[string]*project.Component) *secretPaths {
	return &secretPaths{driver: driver, in: in, components: components, declared: map[string]map[string]bool{}}
}

// above are the components whose outputs may have reached another one, and those of them
// of which an output is read there that they declare to be a secret.
func (p *secretPaths) above(name string) (all, secret map[string]bool) {
	all, secret = map[string]bool{}, map[string]bool{}
	for next := []string{name}; len(next) > 0; next = next[1:] {
		c := p.components[next[0]]
		if c == nil {
			continue
		}
		for _, read := range c.Reads() {
			from := read.Component
			if !all[from] {
				all[from], next = true, append(next, from)
			}
			if !secret[from] && p.declaresSecret(from, read.Output) {
				secret[from] = true
			}
		}
	}
	return all, secret
}

// declaresSecret tells that a component's code says of an output that it is a secret, or
// is not understood.
func (p *secretPaths) declaresSecret(component, output string) bool {
	c := p.components[component]
	if c == nil {
		return false
	}
	name, _, _ := strings.Cut(output, ".")
	for _, step := range c.Steps() {
		if root, ok := p.in.Project.Roots[step.RootOf()]; ok {
			if declared := p.declaredBy(root); declared == nil || declared[name] {
				return true
			}
		}
	}
	return false
}

func (p *secretPaths) declaredBy(root project.Root) map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	declared, known := p.declared[root.Name]
	if !known {
		var err error
		if declared, err = p.driver.Declared(p.in.Checkout.Dir, p.in.Project.Dir, root); err != nil {
			declared = nil
		}
		p.declared[root.Name] = declared
	}
	return declared
}

// unread are the components that have to be read besides those that were, to know the
// secrets that the outputs of names may hand on.
func (p *secretPaths) unread(names []string, outputs map[string]outputs) []string {
	found := map[string]bool{}
	for _, name := range names {
		_, secret := p.above(name)
		for from := range secret {
			if _, known := outputs[from]; !known {
				found[from] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// mark gives outputs with those of names marked that hand a secret on. Where a secret
// above one could not be read all of its outputs may.
func (p *secretPaths) mark(names []string, known map[string]outputs, failed map[string]error) map[string]outputs {
	all := maps.Clone(known)
	for _, name := range names {
		above, secret := p.above(name)
		var secrets []digest.Value
		hidden := false
		for from := range above {
			hidden = hidden || secret[from] && (known[from] == nil || failed[from] != nil)
			for _, o := range known[from] {
				if o.Sensitive {
					secrets = append(secrets, o.Value)
				}
			}
		}
		marked := make(outputs, len(known[name]))
		for key, o := range known[name] {
			o.Sensitive = o.Sensitive || hidden || holdsSecret(o.Value, secrets)
			marked[key] = o
		}
		all[name] = marked
	}
	return all
}

// What is shorter is a secret nowhere: too much else reads the same. Up to a certain
// length a secret is only found where it is all of a text.
const (
	leastSecret = 4
	leastWithin = 8
)

// holdsSecret tells that a value has the text of a secret in it.
func holdsSecret(v digest.Value, secrets []digest.Value) bool {
	texts := textsOf(v)
	for _, secret := range secrets {
		for _, s := range textsOf(secret) {
			if len(s) >= leastSecret && slices.ContainsFunc(texts, func(text string) bool {
				return text == s || len(s) >= leastWithin && strings.Contains(text, s)
			}) {
				return true
			}
		}
	}
	return false
}

// textsOf are the texts in a value, keys of objects among them.
func textsOf(v digest.Value) []string {
	if text, ok := v.Text(); ok {
		return []string{text}
	}
	texts := slices.Clone(v.Keys())
	for i := range v.Len() {
		texts = append(texts, textsOf(v.At(i))...)
	}
	return texts
}

// secretsIn are a secret and those that it was made of.
func secretsIn(value digest.Value, outputs map[string]outputs) []digest.Value {
	secrets := []digest.Value{value}
	for _, outs := range outputs {
		for _, o := range outs {
			if o.Sensitive && holdsSecret(value, []digest.Value{o.Value}) {
				secrets = append(secrets, o.Value)
			}
		}
	}
	return secrets
}
