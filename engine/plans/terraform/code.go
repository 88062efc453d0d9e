package terraform

import (
	"fmt"

	"github.com/chant-bot/chant/engine/digest"
)

// RunsCode lists what planning or applying a plan executes beyond the resource
// changes themselves (pr-loop §5.11, soundness: the note says what runs).
type RunsCode struct {
	Provisioners []Provisioner `json:"provisioners,omitempty"`
	// External are the addresses of external data sources.
	External []string `json:"external,omitempty"`
	// ProviderConfig is the digest of configuration.provider_config; zero when
	// the plan has none.
	ProviderConfig digest.Digest `json:"providerConfig,omitzero"`
	// HasDeferredReads: data sources are read during the apply.
	HasDeferredReads bool `json:"hasDeferredReads,omitempty"`
}

// Provisioner is one provisioner block.
type Provisioner struct {
	Address string `json:"address"` // of its resource, module-qualified, without instance keys
	Type    string `json:"type"`    // local-exec, remote-exec, file ...
}

// Code lists what this plan executes, from its configuration: in the order the
// plan names resources, a module's own before those of the modules it calls.
func Code(plan digest.Value) (RunsCode, error) {
	var code RunsCode
	configuration := plan.Get("configuration")
	if providers := configuration.Get("provider_config"); !providers.IsNull() {
		d, err := digest.Of("terraform-provider-config", providers)
		if err != nil {
			return RunsCode{}, fmt.Errorf("reading provider_config: %w", err)
		}
		code.ProviderConfig = d
	}
	code.addModule("", configuration.Get("root_module"))
	changes := plan.Get("resource_changes")
	for i := range changes.Len() {
		actions := changes.At(i).Get("change").Get("actions")
		if first, _ := actions.At(0).Text(); first == "read" {
			code.HasDeferredReads = true
		}
	}
	return code, nil
}

// addModule adds what one module runs. Addresses in a module's configuration
// are relative to it; prefix is the path of calls that leads there.
func (c *RunsCode) addModule(prefix string, module digest.Value) {
	resources := module.Get("resources")
	for i := range resources.Len() {
		resource := resources.At(i)
		address := prefix + textOf(resource, "address")
		provisioners := resource.Get("provisioners")
		for j := range provisioners.Len() {
			c.Provisioners = append(c.Provisioners, Provisioner{Address: address, Type: textOf(provisioners.At(j), "type")})
		}
		if textOf(resource, "mode") == "data" && textOf(resource, "type") == "external" {
			c.External = append(c.External, address)
		}
	}
	calls := module.Get("module_calls")
	for i, name := range calls.Keys() {
		c.addModule(prefix+"module."+name+".", calls.At(i).Get("module"))
	}
}
