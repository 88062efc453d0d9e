package terraform

import "github.com/chant-bot/chant/engine/digest"

// ChangedOutputs are the names of the outputs that a plan changes, in its order.
func ChangedOutputs(plan digest.Value) []string {
	changes := plan.Get("output_changes")
	var names []string
	for i, name := range changes.Keys() {
		if action, _ := changes.At(i).Get("actions").At(0).Text(); action != "no-op" {
			names = append(names, name)
		}
	}
	return names
}
