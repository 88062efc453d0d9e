package terraform

import "github.com/chant-bot/chant/engine/digest"

// OutputChange is one item of output_changes. Before and After are complete, a
// sensitive output's too: show neither when Sensitive is set.
type OutputChange struct {
	Actions       []string
	Before, After digest.Value
	Unknown       bool // some part of After is known only after apply
	Sensitive     bool // some part of either side is marked
}

// Outputs are the plan's output changes by name; unchanged ones are no-op
// items. Empty when the plan has none.
func Outputs(plan digest.Value) map[string]OutputChange {
	changes := plan.Get("output_changes")
	outputs := make(map[string]OutputChange, changes.Len())
	for i, name := range changes.Keys() {
		change := changes.At(i)
		output := OutputChange{
			Before: change.Get("before"), After: change.Get("after"),
			Unknown:   hasTrue(change.Get("after_unknown")),
			Sensitive: hides(change.Get("before_sensitive")) || hides(change.Get("after_sensitive")),
		}
		actions := change.Get("actions")
		for j := range actions.Len() {
			action, _ := actions.At(j).Text()
			output.Actions = append(output.Actions, action)
		}
		outputs[name] = output
	}
	return outputs
}
