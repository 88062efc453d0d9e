//go:build e2e

package model

// How much is played in the slow lane.
const (
	runs       = "30000"
	leastSteps = 1_000_000
)
