package engine

import (
	"context"

	"github.com/chant-bot/chant/engine/cover"
)

// UnresolvedInput is an input of a step that has no value yet (components §3.1).
type UnresolvedInput struct {
	// Path is where the value goes in Target.Vars: the variable, then keys and
	// decimal indexes in it.
	Path  []string `json:"path"`
	Reads string   `json:"reads"` // "<component>.<output>"
	// StandIn is a text that occurs nowhere else. What the plan has of it is
	// unknown in the shape.
	StandIn string `json:"standIn"`
}

// Previewer plans a step before all of its inputs have a value (pr-loop §8.1).
type Previewer interface {
	// Preview plans with the stand-ins in place of what is missing, saves nothing and
	// leaves nothing behind that an apply could take up. The shape is the same for
	// any stand-ins. A *Told is a step that can't be previewed and is a hole.
	Preview(ctx context.Context, t Target, unresolved []UnresolvedInput, sink Sink) (cover.PlanShape, error)
}
