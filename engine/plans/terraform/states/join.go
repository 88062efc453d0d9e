package states

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/chant-bot/chant/engine/digest"
)

// Join is the state of the root above: every resource, output and check result
// of each member under its module. Its lineage follows from all it holds, so a
// plan made against it fits no other; its serial is 1.
func Join(members []Member) (digest.Value, error) {
	if err := checkIDs(members); err != nil {
		return digest.Value{}, err
	}
	joined := map[string]digest.Value{"version": digest.IntOf(version), "serial": digest.IntOf(1)}
	outputs := map[string]digest.Value{}
	var resources, checks []digest.Value
	for _, m := range members {
		if m.State.IsAbsent() {
			continue
		}
		if err := check(m.State); err != nil {
			return digest.Value{}, fmt.Errorf("joining the state of %s: %w", m.ID, err)
		}
		if joined["terraform_version"].IsAbsent() {
			joined["terraform_version"] = m.State.Get("terraform_version")
		}
		own := m.State.Get("outputs")
		for i, name := range own.Keys() {
			outputs[OutputName(m.ID, name)] = own.At(i)
		}
		r := m.under()
		found, err := list(m.State.Get("resources"), "resources", r.resource)
		if err != nil {
			return digest.Value{}, fmt.Errorf("joining the state of %s: %w", m.ID, err)
		}
		resources = append(resources, found...)
		if found, err = list(m.State.Get("check_results"), "check_results", r.checkResult); err != nil {
			return digest.Value{}, fmt.Errorf("joining the state of %s: %w", m.ID, err)
		}
		checks = append(checks, found...)
	}
	joined["outputs"], joined["resources"] = digest.ObjectOf(outputs), digest.ArrayOf(resources...)
	joined["check_results"] = results(checks)
	lineage, err := lineageOf(joined, members)
	joined["lineage"] = digest.StringOf(lineage)
	return digest.ObjectOf(joined), err
}

// results are check results as terraform writes them, but always in one order: a state
// has one lineage, however it was pulled.
func results(checks []digest.Value) digest.Value {
	if len(checks) == 0 {
		return digest.NullValue()
	}
	return orderedChecks(digest.ArrayOf(checks...))
}

// lineageOf is a lineage, in the form of a UUID, that follows from the members
// and from what they hold.
func lineageOf(joined map[string]digest.Value, members []Member) (string, error) {
	subject := []digest.Value{digest.ObjectOf(joined)}
	for _, m := range members {
		subject = append(subject, digest.StringOf(m.ID), m.State.Get("lineage"), m.State.Get("serial"))
	}
	// As text, in which numbers are exact.
	d, err := digest.Of("terraform-group-state", digest.StringOf(digest.ArrayOf(subject...).String()))
	if err != nil {
		return "", fmt.Errorf("naming the joined state: %w", err)
	}
	hex := d.Hex()
	return hex[:8] + "-" + hex[8:12] + "-" + hex[12:16] + "-" + hex[16:20] + "-" + hex[20:32], nil
}

// under puts a member's addresses below its module.
func (m Member) under() rewriting {
	return rewriting{
		address: func(address string) (string, bool, error) { return m.module() + "." + address, true, nil },
		module: func(module string) (string, bool, error) {
			if module == "" {
				return m.module(), true, nil
			}
			return m.module() + "." + module, true, nil
		},
		provider: m.providerUnder,
	}
}

// providerForm is the address of a provider configuration: in a module or not,
// its source, and its alias. What older versions wrote is refused.
var providerForm = regexp.MustCompile(`^((?:module\.[^.\[\]]+\.)*)(provider\["[^"\]]+"\](?:\.[^.\[\]]+)?)(\[.*\])?$`)

// providerUnder is the configuration's own address where the member's code has
// it, and the root's above where it doesn't: a resource that its code no longer
// has is destroyed with the one that its state names.
func (m Member) providerUnder(provider string) (string, error) {
	parts := providerForm.FindStringSubmatch(provider)
	if parts == nil {
		return "", fmt.Errorf("the provider %q is of a form this version does not know", provider)
	}
	if parts[1] == "" && !slices.Contains(m.Providers, parts[2]) {
		return provider, nil
	}
	return m.module() + "." + provider, nil
}
