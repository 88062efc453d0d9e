// Package terraform reads the plan JSON of terraform, tofu and choudoufu into
// a change-set part and the plan's digest (change-set §4). It runs no tool and
// treats every plan as hostile input.
package terraform

import (
	"errors"

	"github.com/chant-bot/chant/engine/changeset"
	"github.com/chant-bot/chant/engine/digest"
)

// Options are what a plan does not say about itself.
type Options struct {
	Planner      string // terraform, tofu or choudoufu; empty is terraform
	Scope        string
	NativeDigest string
}

// Part is the plan's change-set part.
func Part(member string, plan digest.Value, opts Options) (changeset.Part, error) {
	return changeset.Part{}, errors.New("not built yet")
}

// PlanDigest is what a gate on this plan alone binds.
func PlanDigest(plan digest.Value) (digest.Digest, error) {
	return digest.Digest{}, errors.New("not built yet")
}

// PlannerOf names the planner of a binary by its base name.
func PlannerOf(binary string) string { return "terraform" }

// RunsCode lists what planning or applying a plan executes besides providers.
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

// Code lists what this plan executes.
func Code(plan digest.Value) (RunsCode, error) { return RunsCode{}, errors.New("not built yet") }

// OutputChange is one item of output_changes. Before and After are complete,
// a sensitive output's too: show neither when Sensitive is set.
type OutputChange struct {
	Actions       []string
	Before, After digest.Value
	Unknown       bool
	Sensitive     bool
}

// Outputs are the plan's output changes by name.
func Outputs(plan digest.Value) map[string]OutputChange { return nil }
