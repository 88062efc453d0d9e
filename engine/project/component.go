package project

import (
	"time"
)

// Component is one *.component.json or .yaml (pr-loop §7.1).
type Component struct {
	Name      string
	DependsOn []string
	Disabled  bool // "enabled": false
	Deploy    []DeployPhase
	Verify    []DeployPhase
	Rollback  []DeployPhase
	File      string
	Line      int
	Node      *Node // as authored; nil for a component made in memory

	refs []Read
}

// DeployPhase is a named list of steps. Nested phases and gates are steps too.
type DeployPhase struct {
	Name      string
	Parallel  bool
	Steps     []Step
	OnFailure []Step
	Line      int
}

// Step is a capability step, a gate (Kind "gate", Gate set) or a nested phase
// (Kind "", Phase set).
type Step struct {
	Kind  string
	Input *Node // the step as authored, kind included
	Gate  *GateStep
	Phase *DeployPhase
	File  string
	Line  int
}

// GateStep waits for an approval; the op is the component's name.
type GateStep struct {
	Name        string
	Timeout     time.Duration // 48 h unless given
	Description string
}

// Source says where a reference reads from.
type Source int

// The places a reference reads from.
const (
	FromOutput  Source = iota // {"stackOutput":{"stack","name"}}
	FromPublish               // @<component>.publish.uri|digest|key
	FromPhase                 // @Phase.field, an earlier phase of this component
	FromEnv                   // $env.name
)

// Read is one reference in a step's input.
type Read struct {
	Source    Source   `json:"source"`
	Component string   `json:"component"` // of FromOutput and FromPublish; the phase name of FromPhase
	Output    string   `json:"output"`    // dot path: output, field or variable
	Path      []string `json:"path"`      // where the value goes in the step's input; array indexes in decimal
	Step      int      `json:"step"`      // index into Component.Steps; -1 outside deploy
	Line      int      `json:"line"`
}
